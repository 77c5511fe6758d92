//! Private hosts: network namespaces without a name, which vanish with the last process and
//! descriptor in them, however this process ends.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use thiserror::Error;

/// A network namespace, open as long as this value lives.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: OwnedFd,
}

/// An error of `ip`.
#[derive(Debug, Error)]
pub enum IpError {
    /// It could not be started.
    #[error("cannot run `ip` (from the package iproute2): {0}")]
    Start(#[source] io::Error),
    /// It rejected a command.
    #[error("`ip` in {namespace}: {message}, in: {commands}")]
    Refused {
        /// The namespace.
        namespace: String,
        /// Its error message.
        message: String,
        /// The commands.
        commands: String,
    },
}

impl Namespace {
    /// A new, empty namespace with its loopback device up. Needs `CAP_SYS_ADMIN`.
    pub fn new(name: impl Into<String>) -> io::Result<Self> {
        let made = thread::spawn(|| {
            // SAFETY: only this thread's network namespace changes, and no file descriptor table is
            // unshared.
            #[expect(unsafe_code, reason = "rustix marks unshare unsafe because of UnshareFlags::FILES")]
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)?;
            current_file()
        });
        let file =
            made.join().map_err(|_| io::Error::other("a thread that created a namespace panicked"))??;
        let namespace = Self { name: name.into(), file };
        namespace.ip(&["link set lo up"]).map_err(io::Error::other)?;
        Ok(namespace)
    }

    /// The namespace of this thread.
    pub fn current(name: impl Into<String>) -> io::Result<Self> {
        Ok(Self { name: name.into(), file: current_file()? })
    }

    /// Another handle for the same namespace.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { name: self.name.clone(), file: self.file.try_clone()? })
    }

    /// The namespace in a file that another process has passed to us.
    pub fn handed_over(name: impl Into<String>, file: OwnedFd) -> Self {
        Self { name: name.into(), file }
    }

    /// The file, for another process.
    pub fn into_file(self) -> OwnedFd {
        self.file
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A path by which other programs can refer to it while this process lives, as in `ip link set
    /// eth0 netns PATH`.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs `work` in this namespace, on a thread of its own. Sockets, devices and processes
    /// created there stay there.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                self.move_into()?;
                Ok(work())
            });
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Permanently moves the calling thread into this namespace.
    pub fn move_into(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Runs these commands of `ip` in order, as with `ip -batch`; returns its output.
    pub fn ip(&self, commands: &[&str]) -> Result<String, IpError> {
        let refused = |message: String| IpError::Refused {
            namespace: self.name.clone(),
            message,
            commands: commands.join("; "),
        };
        let output = self
            .enter(|| {
                let mut child = Command::new("ip")
                    .args(["-batch", "-"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()?;
                if let Some(mut stdin) = child.stdin.take() {
                    // It may end at the first error without reading the rest; its status shows
                    // that.
                    let _ = stdin.write_all((commands.join("\n") + "\n").as_bytes());
                }
                child.wait_with_output()
            })
            .and_then(|output| output)
            .map_err(IpError::Start)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(refused(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")))
    }

    /// Writes a setting below `/proc/sys/net`, such as `ipv4/ip_forward`.
    pub fn sysctl(&self, key: &str, value: &str) -> io::Result<()> {
        self.enter(|| fs::write(format!("/proc/sys/net/{key}"), value))?
    }

    /// Sends a signal to all processes in the namespace. Returns their number.
    pub fn signal_processes(&self, signal: Signal) -> io::Result<usize> {
        // The inode number identifies the namespace as long as we keep it open.
        let link = format!("net:[{}]", rustix::fs::fstat(&self.file)?.st_ino);
        let is_in_it = |pid: &Pid| {
            let of_process = fs::read_link(format!("/proc/{}/ns/net", pid.as_raw_nonzero()));
            of_process.is_ok_and(|namespace| namespace.as_os_str() == link.as_str())
        };
        let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Pid::from_raw(pid)
        });
        let is_signaled = |pid: &Pid| match pidfd_open(*pid, PidfdFlags::empty()) {
            // If the process has ended meanwhile, its ID may belong to another process. The
            // descriptor does not.
            Ok(process) => is_in_it(pid) && pidfd_send_signal(process, signal).is_ok(),
            Err(Errno::SRCH) => false,
            // Before Linux 5.3, or without a free descriptor.
            Err(_) => kill_process(*pid, signal).is_ok(),
        };
        Ok(pids.filter(is_in_it).filter(is_signaled).count())
    }

    /// Kills all processes in the namespace.
    #[expect(clippy::disallowed_methods, reason = "no packet waits at this point")]
    pub fn kill_processes(&self) -> io::Result<()> {
        // A process may start another one while it is killed, and killed processes take a moment to
        // end.
        for _ in 0..100 {
            if self.signal_processes(Signal::KILL)? == 0 {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn current_file() -> io::Result<OwnedFd> {
    Ok(fs::File::open("/proc/thread-self/ns/net")?.into())
}
