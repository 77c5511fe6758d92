//! The process of a guest: its folder, its console, its end.

mod guard;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use lasthop_linux::addresses::without_randomization;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tempfile::TempDir;

use crate::kernel::{INIT_LINK, Kernel, MAX_DEVICES, TIME_SOCKET, device_socket};
use crate::processor::{self, ProcessorError};
use guard::Guard;

/// A kernel that runs. When it is dropped, all its processes are killed.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    group: Pid,
    pidfd: OwnedFd,
    guard: Guard,
    console: File,
    is_killed: bool,
    /// Removed after the processes have ended.
    _folder: TempDir,
}

/// The sockets to which a kernel connects.
#[derive(Debug)]
pub struct Listeners {
    /// Its time socket.
    pub time: UnixListener,
    /// Those of its devices.
    pub devices: Vec<UnixListener>,
}

/// Whether each run is the same. It may not be where this machine does not let programs start at fixed addresses, as in
/// containers that filter personality(2); the error is the system's.
pub fn repeats() -> io::Result<()> {
    without_randomization(|| ())
}

/// A kernel that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kernel's program does not run.
    #[error("the kernel {program:?} does not start: {cause}")]
    Program {
        /// The program.
        program: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// Too many devices.
    #[error("{0} devices; a guest has at most {MAX_DEVICES}")]
    Devices(usize),
    /// Its folder, or something in it, could not be made.
    #[error("{}: {cause}; a guest's files are there: expected a folder in TMPDIR where files can be made", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// Its folder has a longer path than sockets may have.
    #[error(
        "{}: the folder of a guest's sockets; expected a path of at most {LONGEST_PATH} octets: a shorter TMPDIR",
        .0.display()
    )]
    Path(PathBuf),
    /// The system does not say when its sockets have something.
    #[error("the sockets of a guest cannot be watched: {0}")]
    Watch(io::Error),
    /// There is no room for the memory of guests.
    #[error("{0}")]
    Memory(String),
    /// It may not run on the processor that was chosen.
    #[error(transparent)]
    Processor(#[from] ProcessorError),
    /// The process that kills the guest when this one dies could not be started.
    #[error("the shell that watches over a guest does not start: {0}")]
    Guard(io::Error),
}

/// The name of the file of a console.
const CONSOLE: &str = "console";
/// Octets of the path of a guest's folder: with the longest name, "/device15", it is that of a socket, which has at most 107.
const LONGEST_PATH: usize = 107 - 9;
/// Octets of the end of a console that are shown with an error.
const TAIL: u64 = 16_384;
/// Lines of it.
const TAIL_LINES: usize = 100;
/// Lines that healthy kernels print before their first program starts, and that lead readers of an error astray: of a disk that
/// no guest has, and, in Linux 6.1 of Debian, of rules for radio channels where this machine has no file of them.
const USUAL: [&str; 3] = [
    "Failed to initialize ubd device 0 :Couldn't determine size of device's file",
    "platform regulatory.0: firmware: failed to load regulatory.db (-2)",
    "firmware_class: See https://wiki.debian.org/Firmware for information about missing firmware",
];

impl Machine {
    /// Starts a kernel in a folder of its own, with the file of its memory in `of_memory`. It waits for an answer on its time
    /// socket.
    pub fn start(kernel: &Kernel, of_memory: &Path) -> Result<(Self, Listeners), StartError> {
        if kernel.devices.len() > MAX_DEVICES {
            return Err(StartError::Devices(kernel.devices.len()));
        }
        let folder = folder_in(&std::env::temp_dir())?;
        let failed = |name: &str| {
            let path = folder.path().join(name);
            move |cause| StartError::Folder { path, cause }
        };
        let listen = |name: &str| UnixListener::bind(folder.path().join(name)).map_err(failed(name));
        let time = listen(TIME_SOCKET)?;
        let devices = (0..kernel.devices.len()).map(|number| listen(&device_socket(number)));
        let listeners = Listeners { time, devices: devices.collect::<Result<_, _>>()? };
        std::path::absolute(&kernel.init)
            .and_then(|init| symlink(init, folder.path().join(INIT_LINK)))
            .map_err(failed(INIT_LINK))?;
        let console = File::options()
            .read(true)
            .append(true)
            .create_new(true)
            .open(folder.path().join(CONSOLE))
            .map_err(failed(CONSOLE))?;
        let output = || console.try_clone().map(Stdio::from).map_err(failed(CONSOLE));

        let refused = |cause| StartError::Program { program: kernel.program.clone(), cause };
        let program = std::fs::canonicalize(&kernel.program).map_err(refused)?;
        let mut command = Command::new(program);
        command
            .args(kernel.command_line())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(output()?)
            .stderr(output()?)
            // A kernel that panics sends signals to its group, which must not be this process's.
            .process_group(0)
            .env_clear()
            // Where it finds its helpers.
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            // Where it makes the file of its memory.
            .env("TMPDIR", of_memory)
            // Where it keeps a folder about itself.
            .env("HOME", folder.path())
            .envs(kernel.environment.iter().map(|(name, value)| (name, value)));
        // The guest's physical addresses follow from those of its process, and order some of what its kernel does.
        // Where that is refused, runs may differ, as `repeats` says.
        let fixed = without_randomization(|| command.spawn());
        let mut child = fixed.unwrap_or_else(|_| command.spawn()).map_err(refused)?;
        let group = Pid::from_child(&child);
        let guarded = pidfd_open(group, PidfdFlags::empty())
            .map_err(|error| refused(error.into()))
            .and_then(|pidfd| Ok((pidfd, Guard::start(group, folder.path()).map_err(StartError::Guard)?)));
        match guarded {
            Ok((pidfd, guard)) => Ok((
                Self { child, group, pidfd, guard, console, is_killed: false, _folder: folder },
                listeners,
            )),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Runs only on this processor from now on, with all processes that it will start.
    pub fn stay_on(&self, processor: usize) -> Result<(), ProcessorError> {
        processor::set(Some(self.group), processor)
    }

    /// The number of its process, which is also that of its process group.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Readable when the kernel's process has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The status of a process that has ended, or ends within `patience` of real time; `None` if it does not.
    pub fn status(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&patience))?;
        self.child.try_wait()
    }

    /// Kills all its processes. Those of the guest's programs are in its group, too, and outlive a kernel that is
    /// killed alone.
    pub fn kill(&mut self) {
        if self.is_killed {
            return;
        }
        self.is_killed = true;
        let _ = kill_process_group(self.group, Signal::KILL);
        // Before the number of the group is free for another one.
        self.guard.stop();
        let _ = self.child.wait();
    }

    /// Octets of its console.
    pub fn console_length(&self) -> io::Result<u64> {
        Ok(self.console.metadata()?.len())
    }

    /// The last lines of its console, without the usual ones.
    pub fn console_tail(&mut self) -> String {
        let mut octets = Vec::new();
        let read = |console: &mut File, octets: &mut Vec<u8>| {
            let start = console.metadata()?.len().saturating_sub(TAIL);
            console.seek(SeekFrom::Start(start))?;
            console.take(TAIL).read_to_end(octets)
        };
        // What cannot be read is not shown.
        let _ = read(&mut self.console, &mut octets);
        let text = String::from_utf8_lossy(&octets).replace('\r', "");
        let lines: Vec<&str> = text.lines().filter(|line| !USUAL.contains(line)).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// All that its console has shown, as a file that is open for reading.
    pub fn console(&self) -> io::Result<File> {
        let mut console = self.console.try_clone()?;
        console.seek(SeekFrom::Start(0))?;
        Ok(console)
    }
}

/// A folder for a guest's files, where its sockets can be.
fn folder_in(parent: &Path) -> Result<TempDir, StartError> {
    let failed = |cause| StartError::Folder { path: parent.to_owned(), cause };
    // The error has no path of its own, as that of the next call has.
    access(parent, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| failed(error.into()))?;
    let folder = tempfile::Builder::new().prefix("lasthop-").tempdir_in(parent).map_err(failed)?;
    if folder.path().as_os_str().len() > LONGEST_PATH {
        return Err(StartError::Path(folder.path().to_owned()));
    }
    Ok(folder)
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that takes a kernel's place.
    fn kernel(text: &str) -> (Kernel, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("kernel");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a file");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("a file");
        (Kernel::new(program, "/init"), folder)
    }

    fn is_alive(process: Pid) -> bool {
        rustix::process::test_kill_process(process).is_ok()
            && std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()))
                .is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn all_processes_of_a_guest_end_with_it() {
        let (kernel, _folder) = kernel("sleep 1000 & echo $!; wait");
        let (mut machine, _listeners) = Machine::start(&kernel, &std::env::temp_dir()).expect("it starts");
        let stub = loop {
            let tail = machine.console_tail();
            if let Ok(number) = tail.trim().parse() {
                break Pid::from_raw(number).expect("a process");
            }
            assert_eq!(machine.status(Duration::from_millis(1)).expect("a status"), None);
        };
        assert!(is_alive(stub));
        drop(machine);
        while is_alive(stub) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_console_shows_its_last_lines_and_the_status_says_how_it_ended() {
        let (kernel, _folder) = kernel("seq 1000; pwd; exit 3");
        let (mut machine, _listeners) = Machine::start(&kernel, &std::env::temp_dir()).expect("it starts");
        let status = machine.status(Duration::from_secs(60)).expect("a status").expect("it has ended");
        assert_eq!(status.code(), Some(3));
        let tail = machine.console_tail();
        assert!(tail.starts_with("902\n") && tail.contains("\n1000\n/"), "{tail}");
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_named_with_where_it_comes_from() {
        let error = folder_in(Path::new("/no/such/folder")).expect_err("there is none").to_string();
        assert!(
            error.contains("/no/such/folder: No such file or directory") && error.contains("TMPDIR"),
            "{error}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let long = folder.path().join("x".repeat(LONGEST_PATH));
        std::fs::create_dir(&long).expect("a folder");
        let error = folder_in(&long).expect_err("it is too long").to_string();
        assert!(error.contains("at most 98 octets: a shorter TMPDIR"), "{error}");
        // The longest that is allowed.
        let at_most = LONGEST_PATH - folder.path().as_os_str().len() - "//lasthop-123456".len();
        let long = folder.path().join("x".repeat(at_most));
        std::fs::create_dir(&long).expect("a folder");
        let longest = folder_in(&long).expect("it is short enough");
        assert_eq!(longest.path().as_os_str().len(), LONGEST_PATH);
        UnixListener::bind(longest.path().join(device_socket(MAX_DEVICES - 1))).expect("a socket");
    }

    #[test]
    fn a_console_without_what_healthy_kernels_print() {
        let (kernel, _folder) = kernel(&format!("echo \"{}\"; echo program", USUAL.join("\n")));
        let (mut machine, _listeners) = Machine::start(&kernel, &std::env::temp_dir()).expect("it starts");
        machine.status(Duration::from_secs(60)).expect("a status").expect("it has ended");
        assert_eq!(machine.console_tail(), "program");
    }

    #[test]
    fn a_kernel_that_does_not_exist_is_named() {
        let error = Machine::start(&Kernel::new("/no/such/kernel", "/init"), &std::env::temp_dir())
            .expect_err("there is none");
        assert!(error.to_string().contains("/no/such/kernel"), "{error}");
    }
}
