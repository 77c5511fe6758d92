//! Programs at both ends of a link, inside the guest. Its processes are all of these two hosts.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_emulator::client_side::{DEVICE, Subnet};
use lasthop_emulator::command::{end_the_rest, exit_code};
use lasthop_emulator::names::hosts_with;
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::super::control::{FromGuest, Output, PIECE};
use super::super::job::Programs;
use super::super::kernel::address_of;
use super::super::programs::Ended;
use super::outside::Outside;
use super::{Guest, device_with, files, limits};
use crate::wait::pause;

/// How long the programs at the far end have, before the command starts and the link is there.
const HEAD_START: Duration = Duration::from_secs(1);

/// Runs the programs until the command ends, and reports how.
pub fn run(guest: &Guest, programs: &Programs) -> io::Result<()> {
    let outside = &guest.outside;
    let report = match run_at_both_ends(outside, programs) {
        Ok(ended) => FromGuest::Done(Box::new(ended)),
        Err(error) => FromGuest::Failed(error.to_string()),
    };
    outside.say(&report)
}

fn run_at_both_ends(outside: &Arc<Outside>, programs: &Programs) -> io::Result<Ended> {
    files::complete_devices();
    files::make_writable(&programs.writable)?;
    let [near, far] = hosts()?;
    let mut printers = Printers::new(Arc::clone(outside));
    let servers = start_far(programs, &far, &mut printers)?;
    outside.say::<Ended>(&FromGuest::Ready)?;
    let began = clock::now();
    let mut command = started(&near, programs, &programs.command, Stdio::piped())
        .map_err(|error| io::Error::other(format!("cannot run {}: {error}", name_of(&programs.command))))?;
    printers.add(command.stdout.take(), Output::Standard);
    printers.add(command.stderr.take(), Output::Error);
    if let Some(input) = command.stdin.take() {
        let outside = Arc::clone(outside);
        // It may wait for a program that does not read. The end of the guest ends it.
        thread::spawn(move || feed(&outside, input));
    }
    let status = wait_for(&command, programs.limit, |process, status| {
        let failed = servers.iter().find(|(_, server)| server.id() == process).filter(|_| !status.success());
        if let Some((line, _)) = failed {
            let word = format!("lasthop: --far {line:?} has ended before the command: {status}\n");
            // Whoever is to read it may have gone.
            let _ = outside.print(Output::Error, word.as_bytes());
        }
    });
    let took = clock::now().since(began);
    end_the_rest(&near);
    end_the_rest(&far);
    kill_the_others()?;
    printers.finish();
    Ok(status.map_or(Ended::TooLong, |status| Ended::Exited { code: exit_code(status), took }))
}

/// The hosts at the near and the far end, which know each other by name.
fn hosts() -> io::Result<[Namespace; 2]> {
    let here = Namespace::current("the guest")?;
    let hosts = [Namespace::new("near")?, Namespace::new("far")?];
    for (end, host) in hosts.iter().enumerate() {
        let device = device_with(address_of(end))?;
        let moved = format!("link set {device} netns {} name {DEVICE}", host.path());
        here.ip(&[&moved]).map_err(io::Error::other)?;
        // Router solicitations would use the link's capacity and its random draws.
        host.sysctl(&format!("ipv6/conf/{DEVICE}/router_solicitations"), "0")?;
        let number = [2, 1][end];
        let mut commands = vec![
            format!("link set {DEVICE} arp off addrgenmode none"),
            format!("address add {}/30 dev {DEVICE}", Subnet::FIRST.v4(number)),
            format!("address add {}/64 dev {DEVICE} nodad", Subnet::FIRST.v6(number.into())),
            format!("link set {DEVICE} up"),
        ];
        if end == 0 {
            commands.push(format!("route add default via {} dev {DEVICE}", Subnet::FIRST.v4(1)));
        }
        host.ip(&commands.iter().map(String::as_str).collect::<Vec<_>>()).map_err(io::Error::other)?;
    }
    limits::set(&hosts)?;
    let lines = [(1, "host.lasthop server"), (2, "near.lasthop")].map(|(host, names)| {
        let (v4, v6) = (Subnet::FIRST.v4(host), Subnet::FIRST.v6(host.into()));
        format!("{v4} {names}\n{v6} {names}\n")
    });
    files::replace("/etc/hosts", &hosts_with(&lines.concat()))?;
    // No resolver answers: what is not in the hosts file is unknown at once.
    files::replace("/etc/resolv.conf", b"")?;
    Ok(hosts)
}

/// Starts the programs at the far end, and gives them their head start.
fn start_far<'a>(
    programs: &'a Programs,
    far: &Namespace,
    printers: &mut Printers,
) -> io::Result<Vec<(&'a str, Child)>> {
    let mut started_there = Vec::new();
    for line in &programs.far {
        let words = ["sh".into(), "-c".into(), OsString::from(line)];
        let mut program = started(far, programs, &words, Stdio::null())
            .map_err(|error| io::Error::other(format!("--far {line:?}: {error}")))?;
        printers.add(program.stdout.take(), Output::Error);
        printers.add(program.stderr.take(), Output::Error);
        started_there.push((line.as_str(), program));
    }
    if programs.far.is_empty() {
        return Ok(started_there);
    }
    pause(HEAD_START);
    for (line, program) in &mut started_there {
        // One that has put itself into the background has ended with success.
        if let Some(status) = program.try_wait()?.filter(|status| !status.success()) {
            // What it has said comes first.
            far.kill_processes()?;
            printers.finish();
            let problem = format!("--far {line:?} has ended before the command started: {status}");
            return Err(io::Error::other(problem));
        }
    }
    Ok(started_there)
}

/// Kills the programs that have left their host's namespace. All processes of the guest but the first one are programs.
fn kill_the_others() -> io::Result<()> {
    for entry in fs::read_dir("/proc")?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| *pid != Pid::INIT) {
            // Threads of the kernel do not mind.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Starts a program on a host. Its output is piped; its input is `input` if there is standard input at all.
fn started(host: &Namespace, programs: &Programs, words: &[OsString], input: Stdio) -> io::Result<Child> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&programs.directory);
    command.env_clear().envs(programs.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(if programs.has_input { input } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    host.enter(|| command.spawn())?
}

fn name_of(words: &[OsString]) -> impl Display {
    words.first().map(|program| program.to_string_lossy()).unwrap_or_default()
}

/// Waits until the command has ended, as the first program must for all processes without a parent; `None` if it takes
/// longer than the limit. Calls `on_other` with the ID and the status of each other process that ends until then.
fn wait_for(
    command: &Child,
    limit: Duration,
    mut on_other: impl FnMut(u32, ExitStatus),
) -> Option<ExitStatus> {
    let (to, ended) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(found) = wait(WaitOptions::empty()) {
            let Some((process, status)) = found else { continue };
            // Whoever waited may have lost patience.
            let _ = to.send((process.as_raw_pid().cast_unsigned(), ExitStatus::from_raw(status.as_raw())));
        }
    });
    let end = clock::now() + limit;
    loop {
        match ended.recv_timeout(end.since(clock::now())).ok()? {
            (process, status) if process == command.id() => return Some(status),
            (process, status) => on_other(process, status),
        }
    }
}

/// Copies standard input to the command, until one of the two ends.
fn feed(outside: &Outside, mut input: ChildStdin) {
    while let Ok(octets) = outside.input() {
        move_clock();
        if octets.is_empty() || input.write_all(&octets).is_err() {
            return;
        }
    }
}

/// Looks at the clock, which moves it on. Otherwise a program that prints or reads without an end would stop the time.
fn move_clock() {
    let _ = clock::now();
}

/// What programs print, on its way outside.
struct Printers {
    outside: Arc<Outside>,
    threads: Vec<JoinHandle<()>>,
}

impl Printers {
    const fn new(outside: Arc<Outside>) -> Self {
        Self { outside, threads: Vec::new() }
    }

    /// Prints what comes out of a pipe, until all its writers have ended.
    fn add(&mut self, pipe: Option<impl Read + Send + 'static>, output: Output) {
        let Some(mut pipe) = pipe else { return };
        let outside = Arc::clone(&self.outside);
        self.threads.push(thread::spawn(move || {
            let mut octets = [0; PIECE];
            while let Ok(len @ 1..) = pipe.read(&mut octets) {
                move_clock();
                if outside.print(output, &octets[..len]).is_err() {
                    return;
                }
            }
        }));
    }

    /// Waits until all is printed. The programs have ended.
    fn finish(&mut self) {
        for thread in self.threads.drain(..) {
            // One that has panicked has printed what it could.
            let _ = thread.join();
        }
    }
}
