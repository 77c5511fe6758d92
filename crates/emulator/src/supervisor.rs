//! A process that clears up after an emulation that was killed. The emulation sends it a list of
//! what to clear up through a pipe, which closes however the emulation ends.
//!
//! The supervisor's standard output is the client's namespace. While it is open, the kernel gives
//! its number to no other namespace, whose processes would otherwise be killed.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::getppid;
use serde::{Deserialize, Serialize};

use super::client_side::ClientSide;
use super::control::socket_of;
use super::directory::Directory;
use super::masquerade::{Masquerade, Undo, undo_of_the_dead};
use super::names::files_of;
use lasthop_linux::namespace::Namespace;

/// A running supervisor; it ends when this value is dropped.
#[derive(Debug)]
pub struct Supervisor {
    process: Child,
    pipe: Option<ChildStdin>,
}

/// A message to a supervisor, a JSON document on one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Note {
    /// A hop exists; `pid` is the emulation's process ID.
    Hop { pid: u32, device: String, directory: Directory },
    /// Forwarding and address translation have been enabled for the client.
    Masquerade(Undo),
    /// The emulation has cleared up.
    Done,
}

impl Supervisor {
    /// Starts a supervisor for a hop; the client's processes end when this process ends. `program`
    /// is a command that calls [`keep`].
    pub fn start(mut program: Command, hop: &ClientSide) -> io::Result<Self> {
        let namespace = hop.inside.try_clone()?.into_file();
        // Signals from the terminal are for the emulation only.
        program.process_group(0).stdin(Stdio::piped()).stdout(namespace).stderr(Stdio::null());
        let mut process = program.spawn()?;
        let pipe = process.stdin.take();
        let mut supervisor = Self { process, pipe };
        let (device, directory) = (hop.device.clone(), hop.directory.clone());
        supervisor.send(&Note::Hop { pid: std::process::id(), device, directory })?;
        Ok(supervisor)
    }

    /// Sends the supervisor the changes to undo on this machine.
    pub fn watch_masquerade(&mut self, masquerade: &Masquerade<'_>) -> io::Result<()> {
        self.send(&Note::Masquerade(masquerade.undo().clone()))
    }

    fn send(&mut self, note: &Note) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        pipe.write_all(&line)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // Without this message, the supervisor clears up again, which has no effect.
        let _ = self.send(&Note::Done);
        drop(self.pipe.take());
        let _ = self.process.wait();
    }
}

/// The main function of a supervisor: reads messages until the other end is closed, and then clears
/// up unless the emulation has done so. `namespace` is the client's.
pub fn keep(notes: impl BufRead, namespace: OwnedFd) -> io::Result<()> {
    let mut hop = None;
    let mut undo = None;
    for line in notes.lines() {
        // The last line may be incomplete; it is ignored.
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Note::Hop { pid, device, directory }) => hop = Some((pid, device, directory)),
            Some(Note::Masquerade(note)) => undo = Some(note),
            Some(Note::Done) => return Ok(()),
            None => break,
        }
    }
    let Some((pid, device, directory)) = hop else { return Ok(()) };
    // If this fails, continue with the rest.
    let _ = Namespace::handed_over("behind the hop", namespace).kill_processes();
    wait_for_the_end_of(pid);
    let machine = Namespace::current("this machine")?;
    undo_of_the_dead(&machine, &directory, &device, undo.as_ref());
    for file in files_of(pid, &directory).into_iter().chain([socket_of(pid, &directory)]) {
        // Most files are gone already.
        let _ = fs::remove_file(file);
    }
    Ok(())
}

/// Waits, for at most a second, until the emulation that started this process has ended: when its
/// children have another parent, its devices are gone.
fn wait_for_the_end_of(pid: u32) {
    for _ in 0..200 {
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != pid) {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
