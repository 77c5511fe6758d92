//! A process that kills a guest when this process dies, however it dies.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// A shell that waits for the end of a pipe, whose other end only this process has.
#[derive(Debug)]
pub struct Guard(Child);

const SCRIPT: &str = "read _; kill -KILL -- \"-$1\"";

impl Guard {
    /// Watches over a process group.
    pub fn start(group: Pid) -> io::Result<Self> {
        Command::new("sh")
            .args(["-c", SCRIPT, "guard", &group.as_raw_nonzero().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // A signal from the terminal ends this process first.
            .process_group(0)
            .spawn()
            .map(Self)
    }

    /// Ends it; the group stays as it is.
    pub fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
