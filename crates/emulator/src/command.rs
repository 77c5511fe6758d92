//! A command on the client side of an emulated hop. For its terminal and its caller, it stands in
//! for this process.

#![expect(
    unsafe_code,
    reason = "waiting for a signal takes libc: rustix and the standard library have nothing for it"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal};
use rustix::time::Timespec;

use super::client_side::ClientSide;
use super::names::Names;
use super::open_files::OpenFiles;
use super::user::User;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::unprivileged::Caller;

/// Signals that this process waits for, instead of being terminated by them. They are blocked
/// during the lifetime of this value, also in threads started meanwhile; children start with the
/// mask from before.
#[derive(Debug)]
pub struct Signals {
    waited_for: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals. Must be called before threads are started.
    pub fn hold() -> Self {
        let mut waited_for = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` and `pthread_sigmask` initialize the sets before they are read, and
        // all numbers are valid signals, so none of these calls can fail.
        unsafe {
            libc::sigemptyset(waited_for.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
                libc::sigaddset(waited_for.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, waited_for.as_ptr(), before.as_mut_ptr());
            Self { waited_for: waited_for.assume_init(), before: before.assume_init() }
        }
    }

    /// Waits for the next signal. Returns its number, and whether a process sent it, not the
    /// terminal or the kernel.
    fn next(&self) -> (i32, bool) {
        let mut info: MaybeUninit<libc::siginfo_t> = MaybeUninit::zeroed();
        // SAFETY: `sigwaitinfo` reads an initialized set and writes `info`, for which all zeros is
        // a valid value.
        unsafe {
            let signal = libc::sigwaitinfo(&raw const self.waited_for, info.as_mut_ptr());
            (signal, info.assume_init().si_code <= 0)
        }
    }

    /// Waits until a child ends. Signals that a process sent to this one are forwarded to the
    /// child; the terminal has sent its own to the child already.
    pub fn wait_for(&self, child: &mut Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let (signal, sent) = self.next();
            if signal == libc::SIGCHLD || (!sent && signal != libc::SIGHUP) {
                continue;
            }
            if let (Some(pid), Some(signal)) =
                (Pid::from_raw(child.id().cast_signed()), Signal::from_named_raw(signal))
            {
                // The child may have ended just now.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `waited_for` is initialized, and `before` is the mask that was set before.
        unsafe {
            // Signals that came too late for the command would terminate this process now.
            while libc::sigtimedwait(&raw const self.waited_for, std::ptr::null_mut(), &raw const at_once) > 0
            {
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// The time for which a hop outlives its command.
const LINGER: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// Terminates the processes that a command has left running on its side of a hop, and waits until
/// their last packets have crossed most hops: their peers would otherwise wait for these in vain.
pub fn end_the_rest(inside: &Namespace) {
    // The supervisor kills the processes that are not found here.
    let _ = inside.signal_processes(Signal::TERM);
    // A signal that interrupts the sleep is a request to end.
    let _ = rustix::thread::nanosleep(&LINGER);
    let _ = inside.kill_processes();
}

/// The exit code that a shell would report for this status.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// The user as whom a command runs.
#[derive(Clone, Debug)]
pub enum RunAs {
    /// The user of this process.
    ThisProcess,
    /// Another user of this machine; this process is root.
    User(User),
    /// The user who started this process, which has entered a user namespace since.
    Caller(Caller),
}

/// Starts a command on the client side of the hop. The kernel kills it when the calling thread ends
/// for any reason.
pub fn start(
    hop: &ClientSide,
    names: &Names,
    run_as: &RunAs,
    command: &mut Command,
    signals: &Signals,
    files: OpenFiles,
) -> io::Result<Child> {
    command.env("LASTHOP_GATEWAY", hop.gateway.to_string());
    if let Some(gateway_v6) = hop.gateway_v6 {
        command.env("LASTHOP_GATEWAY_V6", gateway_v6.to_string());
    }
    if let RunAs::User(user) = run_as {
        user.set_environment(command);
    }
    let before = signals.before;
    let namespace = hop.inside.try_clone()?;
    let mounts = names.mounts()?;
    let run_as = run_as.clone();
    let parent = getpid();
    // SAFETY: the closure does not allocate, and makes only calls that are safe between fork and
    // exec.
    unsafe {
        command.pre_exec(move || {
            namespace.move_into()?;
            if mounts.mount().is_err() {
                // The command starts even if the names do not resolve.
                let _ = libc::write(libc::STDERR_FILENO, NOT_MOUNTED.as_ptr().cast(), NOT_MOUNTED.len());
            }
            match &run_as {
                RunAs::ThisProcess => {}
                RunAs::User(user) => user.become_it()?,
                RunAs::Caller(caller) => caller.become_it()?,
            }
            files.restore();
            // After the change of user, which would clear it.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent ended before the kernel was asked to report its death.
                return Err(io::ErrorKind::Interrupted.into());
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            Ok(())
        });
    }
    command.spawn()
}

const NOT_MOUNTED: &[u8] =
    b"lasthop: the names `server` and `host.lasthop` do not resolve behind the hop: mounting files failed\n";
