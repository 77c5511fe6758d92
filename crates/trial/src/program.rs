//! Another program instead of the gateway, such as a proxy, with which the schemes are compared.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use lasthop_linux::namespace::Namespace;

/// A program that runs at the edge instead of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The label of its row.
    pub label: String,
    /// The executable, which is run without arguments.
    pub path: PathBuf,
}

/// A running program. When this value is dropped, the program is killed with its process group.
#[derive(Debug)]
pub(super) struct Running(Child);

impl Program {
    /// Starts the program on a host. The environment variables `LASTHOP_CORE` and `LASTHOP_RADIO`
    /// list the host's interfaces, with spaces between them. Waits for a line on standard output,
    /// by which the program reports that it is ready.
    pub(super) fn start(&self, host: &Namespace, core: &[String], radio: &[String]) -> io::Result<Running> {
        let mut command = Command::new(&self.path);
        command
            .env("LASTHOP_CORE", core.join(" "))
            .env("LASTHOP_RADIO", radio.join(" "))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        // A child process is in the namespace of the thread that starts it.
        let mut child = host.enter(move || command.spawn())??;
        let out = child.stdout.take();
        let running = Running(child);
        let mut line = String::new();
        let read = out.map_or(Ok(0), |out| BufReader::new(out).read_line(&mut line))?;
        if read == 0 {
            return Err(io::Error::other(
                "it exited without printing the line on standard output that says it is ready",
            ));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The signal fails if the program has already ended.
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.0.wait();
    }
}
