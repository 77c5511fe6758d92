//! Split connections, of which the gateway owes something, when it is taken out of their path.

use std::thread;
use std::time::Duration;

use lasthop_gateway::control::Command;
use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Daemon, Site, echo, soon};

const CICADA: &str = "[[rule]]\nscheme = \"cicada\"\n";
const OTHER_CICADA: &str = "[[rule]]\nscheme = \"cicada\"\nsettings = { vcache = \"100 kB\" }\n";
// It serves a connection until its ends are no longer waited for.
const I_TCP: &str = "[[rule]]\nscheme = \"i-tcp\"\nsettings = { time-wait = \"1 s\" }\n";
const OTHER_I_TCP: &str =
    "[[rule]]\nscheme = \"i-tcp\"\nsettings = { time-wait = \"1 s\", buffer = \"100 kB\" }\n";
const NONE: &str = "[[rule]]\nscheme = \"none\"\n";

/// Each octet is looked at (`benches/drain-splits.sh` does the same with more).
const CONNECTIONS: u64 = 20;
const OCTETS: usize = 200_000;

/// Has something done to a daemon in the middle of transfers, and ends it once it owes nothing.
fn in_the_middle(file: &str, deed: impl Fn(&Daemon)) {
    let (site, hop) = Site::lossy(1995);
    let mut daemon = Daemon::start(&site.gateway, file);
    let owed = |daemon: &Daemon| daemon.count("/engine/owed_connections");
    thread::scope(|scope| {
        let transfers = scope.spawn(|| echo(&site, CONNECTIONS, OCTETS));
        soon(|| match owed(&daemon) {
            few if few < CONNECTIONS / 2 => Err(format!("it owes something of {few} connections only")),
            _ => Ok(()),
        });
        deed(&daemon);
        soon(|| match owed(&daemon) {
            0 => Ok(()),
            left => Err(format!("it still owes something of {left} connections: {}", daemon.status())),
        });
        assert_eq!(daemon.count("/engine/agents/panics"), 0);
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        transfers.join().expect("all of it arrives, as it was sent");
    });
    site.assert_no_traces();
    hop.stop().expect("it ran");
}

fn reload(daemon: &Daemon, file: &str) {
    daemon.write(file);
    daemon.ask(&Command::Reload).expect("it is right");
}

pub fn a_drained_stop_cuts_no_split_connection_off() {
    let _alone = alone();
    for file in [CICADA, I_TCP] {
        in_the_middle(file, |daemon| {
            daemon.ask(&Command::Drain).expect("it runs");
        });
    }
}

pub fn a_daemon_that_hangs_for_a_while_cuts_no_split_connection_off() {
    let _alone = alone();
    in_the_middle(CICADA, |daemon| {
        daemon.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(300));
        daemon.signal(Signal::CONT);
    });
}

pub fn a_reload_cuts_no_split_connection_off() {
    let _alone = alone();
    for (file, next) in [(CICADA, [OTHER_CICADA, I_TCP, NONE]), (I_TCP, [OTHER_I_TCP, CICADA, NONE])] {
        for next in next {
            in_the_middle(file, |daemon| reload(daemon, next));
        }
    }
}
