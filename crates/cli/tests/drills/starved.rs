//! A daemon that gets hardly any processor time: it must not be worse than none.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, soon};

/// For how long a processor is kept busy. A loop ends by itself after this, whatever becomes of us.
const BUSY: Duration = Duration::from_secs(3);
/// Until the transfers run, and after the processors are free again.
const BESIDE: Duration = Duration::from_millis(300);
const TRANSFERS: usize = 4;

/// What arrives beside a starved daemon, as a share of what arrives without one. Without a rule for
/// it this was a twentieth. Chance and the machine's other work have a part in it, so it is asserted
/// on a quiet machine only, where the best of some attempts counts.
const SHARE: f64 = 0.25;
const ATTEMPTS: usize = 4;

/// Where real-time threads have no limit, a loop would stop the machine.
pub fn limited_real_time() -> Result<(), String> {
    lasthop_needs::program("chrt")?;
    lasthop_needs::program("taskset")?;
    let limit = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let is_limited = limit.trim().parse::<u64>().is_ok();
    if is_limited { Ok(()) } else { Err("needs a limit for real-time threads".to_owned()) }
}

/// Keeps every processor busy at the lowest real-time priority. The kernel leaves a twentieth to
/// the rest (`sched_rt_runtime_us`, or its server for ordinary threads).
fn keep_busy() -> Vec<Child> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let busy = |processor: usize| {
        let mut command = Command::new("chrt");
        command.args(["-f", "1", "taskset", "-c", &processor.to_string()]);
        command.arg(std::env::current_exe().expect("we run")).env(ASKED, "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("root may")
    };
    (0..processors).map(busy).collect()
}

const ASKED: &str = "LASTHOP_TEST_BUSY";

/// Whether this process is one that keeps a processor busy; then it has done so.
pub fn was_busy() -> bool {
    let is_asked = std::env::var_os(ASKED).is_some();
    let end = Instant::now() + BUSY;
    while is_asked && Instant::now() < end {
        std::hint::spin_loop();
    }
    is_asked
}

/// Who takes the processors from the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Loops that do nothing else; the transfers starve, too.
    Loops,
    /// The ends of the transfers themselves, in real time.
    Transfers,
}

/// Has the calling thread, and those that it starts, go before all ordinary ones.
fn go_first() {
    let thread = rustix::thread::gettid().to_string();
    let done = Command::new("chrt").args(["-f", "-p", "1", &thread]).status();
    assert!(done.is_ok_and(|status| status.success()), "root may");
}

/// Runs transfers under load; octets that arrived meanwhile.
fn transfer(site: &Site, load: Load) -> u64 {
    let run = || {
        if load == Load::Transfers {
            go_first();
        }
        let pulses: Vec<Pulse> =
            (0..TRANSFERS).map(|_| Pulse::at_pace(site, 128 * 1024, Duration::from_micros(200))).collect();
        let down = |pulses: &[Pulse]| pulses.iter().map(Pulse::down).sum::<u64>();
        thread::sleep(BESIDE);
        let before = down(&pulses);
        match load {
            Load::Loops => keep_busy().into_iter().for_each(|mut child| {
                child.wait().expect("it ends by itself");
            }),
            Load::Transfers => thread::sleep(BUSY),
        }
        let octets = down(&pulses) - before;
        let longest_gap = pulses.into_iter().map(|pulse| pulse.end().longest_gap).max();
        eprintln!("{load:?}: {} MB in {BUSY:?}, longest gap {longest_gap:?}", octets / 1_000_000);
        octets
    };
    thread::scope(|scope| scope.spawn(run).join().expect("the transfers are well"))
}

pub fn beside_a_starved_daemon_the_traffic_goes_on() {
    let _alone = alone();
    let is_quiet = lasthop_needs::quiet().is_ok();
    let attempts = if is_quiet { ATTEMPTS } else { 1 };
    let realtime = "[process]\nrealtime = true\n";
    for (load, rest) in
        [(Load::Transfers, ""), (Load::Transfers, realtime), (Load::Loops, ""), (Load::Loops, realtime)]
    {
        let site = Site::new(Kind::Routed);
        let mut shares = Vec::new();
        while shares.len() < attempts && shares.last().is_none_or(|last| *last < SHARE) {
            let without = transfer(&site, load);
            let daemon = Daemon::start(&site.gateway, rest);
            if rest.is_empty() {
                give_way(&daemon);
            }
            let with = transfer(&site, load);
            eprintln!("{rest:?}: {}", daemon.status()["report"]["punctuality"]);
            says_why_it_was_away(&daemon, load, rest.is_empty());
            shares.push(with as f64 / without.max(1) as f64);
        }
        eprintln!("{load:?}, {rest:?}: {shares:.2?} of what arrives without a daemon");
        assert!(
            !is_quiet || shares.last().is_some_and(|last| *last >= SHARE),
            "{load:?}, {rest:?}: {shares:.2?}"
        );
    }
}

/// Its log has when it stepped out, what an operator may do about it, and when it stepped in again. Among
/// loops that take all processors, a daemon without real-time scheduling steps out whatever else the machine does.
fn says_why_it_was_away(daemon: &Daemon, load: Load, is_ordinary: bool) {
    daemon.is_in_again();
    let steps_out = daemon.count("/punctuality/steps_out");
    assert!(steps_out > 0 || load != Load::Loops || !is_ordinary, "{}", daemon.status());
    // Of what comes and goes the log has the first time of each minute.
    if steps_out == 0 || daemon.count("/punctuality/steps_out_by_ports") > 0 {
        return;
    }
    soon(|| {
        let log = daemon.log();
        let left = log.lines().find(|line| line.contains("stepped out, because the packet loop "));
        let Some(left) = left else { return Err(format!("it does not say that it left: {log}")) };
        let has_advice = left.contains("[process] realtime = true lets the loop run first");
        if has_advice != is_ordinary {
            return Err(format!("the advice is for a daemon without it: {left}"));
        }
        let has_returned = log.contains("stepped in again");
        if has_returned { Ok(()) } else { Err(format!("it does not say that it is back: {log}")) }
    });
}

/// Makes a daemon one of nice 5, with all its threads.
fn give_way(daemon: &Daemon) {
    for task in std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("it runs").flatten() {
        let task = task.file_name().to_string_lossy().into_owned();
        let _ = Command::new("renice").args(["-n", "5", "-p", &task]).stdout(Stdio::null()).status();
    }
}
