//! Programs at the ends of a link, from outside: what they print and read, and what became of them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_emulator::framing::Framing;
use lasthop_emulator::stepped::{Attachment, Stepped};
use lasthop_emulator::{Peer, Summary};
use lasthop_packet::Instant;
use lasthop_sim::{NodeId, World};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::conduct::{self, Over};
use super::control::{Output, PIECE};
use super::job::{Job, Programs};
use super::kernel::{self, Parts, address_of};
use super::layout::Layout;
use super::note_on_repetition;
use super::task::Task;
use super::wire::{Between, ModelWire};
use crate::error::TrialError;
use crate::options::GuestProgram;

/// Octets of the guest's memory, of which most is free for programs.
const MEMORY: u64 = 512 << 20;
/// More than the start and the end of a guest take.
const MARGIN: Duration = Duration::from_secs(120);

/// What programs at the ends of a link run on.
pub struct Setting<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// Its first program.
    pub guest: &'a GuestProgram,
    /// The seed of the kernel's random numbers.
    pub seed: u64,
    /// The model between the ends.
    pub world: World,
    /// Where the command's host is in it.
    pub near: NodeId,
    /// Where the other host is.
    pub far: NodeId,
    /// The command's files, outside.
    pub streams: Streams,
    /// Set when the user interrupts the run.
    pub stop: &'a AtomicBool,
}

/// Where the octets of standard streams come from and go to.
#[derive(Debug)]
pub struct Streams {
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error, also of the programs at the far end.
    pub error: OwnedFd,
    /// Called once if standard input has nothing for a while, during which the guest's time stands still.
    pub on_wait: fn(),
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It has ended.
    Exited {
        /// Its exit code, or 128 and the number of the signal that ended it.
        code: u8,
        /// How long it took, in simulated time.
        took: Duration,
    },
    /// It took longer than the limit.
    TooLong,
    /// Nothing reads its output any more.
    ReaderGone,
    /// The user has interrupted the run.
    Interrupted,
}

/// Runs programs at the ends of a link until the command ends.
pub fn run(setting: Setting<'_>, programs: Programs) -> Result<(Ended, Summary), TrialError> {
    let Setting { kernel, guest, seed, world, near, far, streams, stop } = setting;
    if let Some(note) = note_on_repetition() {
        // As with output that has no reader, the run goes on.
        let _ = rustix::io::write(&streams.error, format!("lasthop: {note}\n").as_bytes());
    }
    let ends = [(near, far), (far, near)];
    let ends: Vec<Attachment> = ends
        .into_iter()
        .enumerate()
        .map(|(index, (node, peer))| {
            let framing = Framing::ToHost(address_of(index));
            Attachment { node, peer: Peer::Node(peer), framing }
        })
        .collect();
    let layout = Layout::new(1, &[0; 2], &[]);
    let kernel = kernel::of(Parts {
        kernel,
        program: guest,
        memory: MEMORY,
        seed,
        ends: layout.ends_of(0),
        radios: 0,
    });
    let between = Between { model: Stepped::new(world, &ends), radios: None, layout };
    let end = Instant::ZERO + programs.limit + MARGIN;
    let job = Job::Programs(programs);
    let task = Standard { streams, stop, has_waited: false };
    let wire = ModelWire::new(between, &[job], task, stop).map_err(TrialError::Control)?;
    let Over { reports, model, .. } = conduct::run(vec![kernel], &[], wire, end)?;
    let ended = reports.and_then(|reports| reports.into_iter().next());
    Ok((ended.unwrap_or(Ended::Interrupted), model.summary()))
}

/// The standard streams of a command.
struct Standard<'a> {
    streams: Streams,
    stop: &'a AtomicBool,
    has_waited: bool,
}

/// The longest time between two looks at whether the user has interrupted the run.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Looks at standard input before a word about it.
const LOOKS_IN_SILENCE: u32 = 10;

impl Task for Standard<'_> {
    type Report = Ended;

    fn print(&mut self, output: Output, octets: &[u8]) -> Option<Result<Ended, String>> {
        match (output, self.write(output, octets)) {
            // Output without a reader is lost, as with any program.
            (_, Ok(())) | (Output::Error, Err(_)) => None,
            (Output::Standard, Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Some(Ok(Ended::ReaderGone))
            }
            (Output::Standard, Err(error)) => Some(Err(format!("standard output: {error}"))),
        }
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        self.read().map_err(|error| format!("standard input: {error}"))
    }
}

impl Standard<'_> {
    /// Writes octets, unless the user interrupts the run meanwhile.
    fn write(&self, output: Output, mut octets: &[u8]) -> io::Result<()> {
        let file = match output {
            Output::Standard => &self.streams.output,
            Output::Error => &self.streams.error,
        };
        while !octets.is_empty() && !self.stop.load(Ordering::Relaxed) {
            if !is_ready(file, PollFlags::OUT)? {
                continue;
            }
            match rustix::io::write(file, octets) {
                Ok(written) => octets = &octets[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads the octets of a datagram; fewer only at the end. How many arrive at a time must not matter to the run.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut octets = vec![0; PIECE];
        let (mut len, mut looks) = (0, 0);
        while len < octets.len() && !self.stop.load(Ordering::Relaxed) {
            if !is_ready(&self.streams.input, PollFlags::IN)? {
                looks += 1;
                if looks == LOOKS_IN_SILENCE && !self.has_waited {
                    self.has_waited = true;
                    (self.streams.on_wait)();
                }
                continue;
            }
            match rustix::io::read(&self.streams.input, &mut octets[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        octets.truncate(len);
        Ok(octets)
    }
}

/// Waits a while until a file can be used without waiting.
fn is_ready(file: &OwnedFd, what: PollFlags) -> io::Result<bool> {
    match poll(&mut [PollFd::new(file, what)], Some(&LOOK)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, Read as _, Write as _, pipe};
    use std::thread;

    use super::*;

    /// The streams of a command, and their other ends: of input, output and error.
    fn streams(stop: &AtomicBool) -> (Standard<'_>, PipeWriter, PipeReader, PipeReader) {
        let [(input, to), (from, output), (from_error, error)] = [(); 3].map(|()| pipe().expect("a pipe"));
        let [output, error] = [output, error].map(OwnedFd::from);
        let streams = Streams { input: input.into(), output, error, on_wait: || () };
        (Standard { streams, stop, has_waited: false }, to, from, from_error)
    }

    #[test]
    fn how_input_arrives_does_not_show_in_what_the_guest_gets() {
        let stop = AtomicBool::new(false);
        let (mut standard, mut to, ..) = streams(&stop);
        let writer = thread::spawn(move || {
            for _ in 0..=PIECE {
                to.write_all(b"x").expect("a reader");
            }
        });
        let lengths = [(); 3].map(|()| standard.input().expect("it can be read").len());
        assert_eq!(lengths, [PIECE, 1, 0]);
        writer.join().expect("it ends");
    }

    #[test]
    fn output_goes_where_it_belongs_and_the_end_of_its_reader_ends_the_run() {
        let stop = AtomicBool::new(false);
        let (mut standard, _to, mut from, from_error) = streams(&stop);
        assert_eq!(standard.print(Output::Standard, b"result"), None);
        let mut result = [0; 6];
        from.read_exact(&mut result).expect("six octets");
        assert_eq!(&result, b"result");
        drop((from, from_error));
        assert_eq!(standard.print(Output::Error, b"lost"), None);
        assert_eq!(standard.print(Output::Standard, b"more"), Some(Ok(Ended::ReaderGone)));
    }

    #[test]
    fn an_interrupted_run_waits_neither_for_a_reader_nor_for_a_writer() {
        let stop = AtomicBool::new(true);
        let (mut standard, _to, _from, _from_error) = streams(&stop);
        assert_eq!(standard.input(), Ok(Vec::new()));
        assert_eq!(standard.print(Output::Standard, &[0; 1 << 10]), None);
    }
}
