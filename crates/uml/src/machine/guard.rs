//! A process that kills a guest when this process dies, however it dies, and removes its folder.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// A shell that waits for the end of a pipe, whose other end only this process has.
#[derive(Debug)]
pub struct Guard(Child);

const SCRIPT: &str = "read _; kill -KILL -- \"-$1\"; rm -rf -- \"$2\"";

impl Guard {
    /// Watches over a process group and a folder.
    pub fn start(group: Pid, folder: &Path) -> io::Result<Self> {
        Command::new("sh")
            .args(["-c", SCRIPT, "guard", &group.as_raw_nonzero().to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // A signal from the terminal ends this process first.
            .process_group(0)
            .spawn()
            .map(Self)
    }

    /// Ends it; group and folder stay as they are.
    pub fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
