//! A process that clears up after an emulation that was killed. The emulation tells it through a
//! pipe what there is to clear up. Whatever ends the emulation closes the pipe.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::getppid;
use serde::{Deserialize, Serialize};

use super::behind::BehindHop;
use super::control::socket_of;
use super::masquerade::{Masquerade, Undo, undo_of_the_dead};
use super::names::files_of;
use crate::namespace::{Namespace, kill_processes};

/// A keeper at work; it ends with this value.
#[derive(Debug)]
pub struct Keeper {
    process: Child,
    pipe: Option<ChildStdin>,
}

/// What a keeper is told, a JSON document a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Note {
    /// A host behind a hop is there.
    Hop { pid: u32, namespace: u64, device: String },
    /// It has been given the way to what this machine reaches.
    Masquerade(Undo),
    /// Everything has been cleared up.
    Done,
}

impl Keeper {
    /// Starts a keeper: `program` is a command that calls [`keep`].
    pub fn start(mut program: Command) -> io::Result<Self> {
        // Signals of the terminal are for the emulation.
        program.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = program.spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Tells it of the host behind a hop, all whose processes are to end with this process.
    pub fn watch(&mut self, hop: &BehindHop) -> io::Result<()> {
        let (pid, namespace) = (std::process::id(), hop.inside.inode()?);
        self.tell(&Note::Hop { pid, namespace, device: hop.device.clone() })
    }

    /// Tells it what there is to undo on this machine.
    pub fn watch_masquerade(&mut self, masquerade: &Masquerade<'_>) -> io::Result<()> {
        self.tell(&Note::Masquerade(masquerade.undo().clone()))
    }

    fn tell(&mut self, note: &Note) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        pipe.write_all(&line)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Not told, it clears up where nothing is left.
        let _ = self.tell(&Note::Done);
        drop(self.pipe.take());
        let _ = self.process.wait();
    }
}

/// The work of a keeper: reads what there is to clear up until the other end is closed, and clears
/// it up unless that has been done.
pub fn keep(notes: impl BufRead) -> io::Result<()> {
    let mut hop = None;
    let mut undo = None;
    for line in notes.lines() {
        // A line that was cut short by the end is none.
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Note::Hop { pid, namespace, device }) => hop = Some((pid, namespace, device)),
            Some(Note::Masquerade(note)) => undo = Some(note),
            Some(Note::Done) => return Ok(()),
            None => break,
        }
    }
    let Some((pid, namespace, device)) = hop else { return Ok(()) };
    kill_processes(namespace);
    wait_for_the_end_of(pid);
    let machine = Namespace::current("this machine")?;
    undo_of_the_dead(&machine, &device, undo.as_ref());
    for file in files_of(pid).into_iter().chain([socket_of(pid)]) {
        // Most are gone.
        let _ = fs::remove_file(file);
    }
    Ok(())
}

/// Waits until the emulation that started this process has ended: by the time its children have
/// another parent, its devices are gone.
fn wait_for_the_end_of(pid: u32) {
    for _ in 0..200 {
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != pid) {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
