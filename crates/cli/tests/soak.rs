//! A thousand connections for a long time, while the daemon between them is killed, stopped,
//! continued, restarted and reloaded.
//!
//! `LASTHOP_SOAK_SECONDS` (10), `LASTHOP_SOAK_CONNECTIONS` (300; 1,000 from a minute on) and
//! `LASTHOP_SOAK_SEED` say how long, how many, and which. `make soak` takes ten minutes, `make
//! soak-brief` one.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stderr, reason = "what was measured is said")]

mod hosts;
#[path = "soak/load.rs"]
mod load;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_needs::{namespaces, tests};

use lasthop_gateway::control::Command;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use hosts::{Daemon, Site};
use load::{Draw, Load};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            connections_outlive_whatever_happens_to_the_daemon;
    })
}

const SNOOP: &str = "[[rule]]\nscheme = \"snoop\"\n";
const OTHER_SNOOP: &str = "[[rule]]\nscheme = \"snoop\"\nsettings = { minimum-timeout = \"50 ms\" }\n";
const NONE: &str = "[[rule]]\nscheme = \"none\"\n";
const BROKEN: &str = "[[rule]]\nscheme = \"snop\"\n";

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// What is not to grow.
#[derive(Clone, Debug)]
struct Figures {
    resident: u64,
    descriptors: usize,
    traces: usize,
}

fn figures(daemon: &Daemon, site: &Site) -> Figures {
    Figures {
        resident: daemon.resident(),
        descriptors: daemon.descriptors(),
        traces: site.traces().lines().count(),
    }
}

/// Something that happens to the daemon.
fn mishap(daemon: &mut Daemon, site: &Site, draw: &mut Draw, may_end: bool) -> &'static str {
    let pause = |draw: &mut Draw, most: u64| thread::sleep(Duration::from_millis(draw.below(most)));
    match draw.below(if may_end { 8 } else { 5 }) {
        0 | 1 => {
            daemon.signal(Signal::STOP);
            pause(draw, 600);
            daemon.signal(Signal::CONT);
            "stopped and continued"
        }
        2 => {
            let file = [SNOOP, OTHER_SNOOP, NONE][draw.below(3) as usize];
            daemon.write(file);
            daemon.ask(&Command::Reload).expect("it is right");
            "reloaded"
        }
        3 => {
            daemon.write(SNOOP);
            daemon.signal(Signal::HUP);
            "reloaded by signal"
        }
        4 => {
            daemon.write(BROKEN);
            daemon.ask(&Command::Reload).expect_err("it is wrong");
            daemon.write(SNOOP);
            daemon.ask(&Command::Reload).expect("it is right");
            "asked to read a broken file"
        }
        5 => {
            assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
            pause(draw, 300);
            daemon.start_again(&site.gateway);
            "ended and started"
        }
        _ => {
            daemon.end(Signal::KILL);
            pause(draw, 500);
            daemon.start_again(&site.gateway);
            "killed and started"
        }
    }
}

fn connections_outlive_whatever_happens_to_the_daemon() {
    let seconds = setting("LASTHOP_SOAK_SECONDS").unwrap_or(10);
    let connections = setting("LASTHOP_SOAK_CONNECTIONS").unwrap_or(if seconds < 60 { 300 } else { 1_000 });
    let seed = setting("LASTHOP_SOAK_SEED").unwrap_or(1997);
    eprintln!(
        "LASTHOP_SOAK_SECONDS={seconds} LASTHOP_SOAK_CONNECTIONS={connections} LASTHOP_SOAK_SEED={seed}"
    );
    let (site, hop) = Site::lossy(seed);
    let limit = getrlimit(Resource::Nofile);
    let wanted = 3 * connections + 1_000;
    if limit.current.is_some_and(|current| current < wanted) {
        let maximum = limit.maximum.map(|maximum| maximum.max(wanted));
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).expect("root may");
    }
    let untouched = site.traces();
    let mut daemon = Daemon::start(&site.gateway, SNOOP);
    let (mut draw, mut happened) = (Draw::new(seed), std::collections::BTreeMap::<_, u64>::new());
    let over = AtomicBool::new(false);
    let (report, warm, end) = thread::scope(|scope| {
        let load = scope.spawn(|| Load::new(connections, seconds, seed).run(&site, &over));
        let began = Instant::now();
        let share = |part: u64| Duration::from_millis(seconds * 1_000 * part / 10);
        thread::sleep(share(1).min(Duration::from_secs(5)));
        let mut calm = |until: Duration, may_end: bool, daemon: &mut Daemon| {
            while began.elapsed() < until && !load.is_finished() {
                *happened.entry(mishap(daemon, &site, &mut draw, may_end)).or_default() += 1;
                thread::sleep(Duration::from_millis(200 + draw.below(1_800)));
            }
        };
        // The last daemon lives long enough to show whether it grows.
        calm(share(5), true, &mut daemon);
        calm(share(7), false, &mut daemon);
        let warm = figures(&daemon, &site);
        calm(share(10), false, &mut daemon);
        let end = figures(&daemon, &site);
        over.store(true, Relaxed);
        (load.join().expect("the load is well"), warm, end)
    });
    eprintln!("{report}\nwarm {warm:?}\nend  {end:?}\n{happened:?}");
    let status = daemon.status();
    eprintln!("the last daemon: {}", status["report"]);
    eprintln!("the server's TCP: {}", load::refusals(&site.server));
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert!(report.completed >= connections, "{report}");
    assert_eq!((daemon.count("/engine/agents/panics"), daemon.count("/engine/counters/unaddressed")), (0, 0));
    assert!(end.resident <= warm.resident + warm.resident / 5 + 4_000, "resident: {warm:?}, {end:?}");
    // What docs/src/gateway.md states, in kB: the budget, the table, everything else.
    assert!(end.resident <= (64 << 10) + 2 * 10_000 + (32 << 10), "resident: {end:?}");
    assert_eq!((end.descriptors, end.traces), (warm.descriptors, warm.traces));
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    site.assert_no_traces();
    assert_eq!(site.traces(), untouched, "devices and filters are as they were");
    eprintln!("the hop: {}", hop.stop().expect("it ran"));
}
