//! Another file, while there is traffic.

use std::thread;
use std::time::Duration;

use lasthop_gateway::control::Command;
use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, soon};

const SNOOP: &str = "[[rule]]\nscheme = \"snoop\"\n";
const NONE: &str = "[[rule]]\nscheme = \"none\"\n";
const OTHER_SNOOP: &str =
    "[bounds]\nflows = 50\n[[rule]]\nscheme = \"snoop\"\nsettings = { minimum-timeout = \"50 ms\" }\n";
const BROKEN: &str = "[[rule]]\nscheme = \"snop\"\n";

pub fn under_load_a_reload_loses_and_corrupts_nothing() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let daemon = Daemon::start(&site.gateway, SNOOP);
    let pulses: Vec<Pulse> = (0..3).map(|_| Pulse::start(&site)).collect();
    let reload = |file: &str| {
        daemon.write(file);
        let answer = daemon.ask(&Command::Reload);
        thread::sleep(Duration::from_millis(30));
        answer
    };
    for _ in 0..4 {
        for file in [SNOOP, NONE, SNOOP, OTHER_SNOOP, SNOOP] {
            reload(file).expect("it is right");
        }
        let refused = reload(BROKEN).expect_err("there is no such scheme").to_string();
        assert!(
            refused.contains("snop") && refused.contains("the old configuration stays in force"),
            "{refused}"
        );
        let status = daemon.status();
        assert_eq!(status["report"]["engine"]["rules"][0]["name"], "snoop", "{status}");
    }
    // By signal, too.
    daemon.write(NONE);
    daemon.signal(Signal::HUP);
    let rule = |name: &'static str| {
        soon(|| {
            let status = daemon.status();
            let now = &status["report"]["engine"]["rules"][0]["name"];
            if now == name { Ok(()) } else { Err(format!("{status}")) }
        });
    };
    rule("none");
    let seen = daemon.count("/engine/agents/seen");
    pulses[0].assert_it_goes_on();
    assert_eq!(daemon.count("/engine/agents/seen"), seen, "the traffic is left alone");
    daemon.write(SNOOP);
    daemon.signal(Signal::HUP);
    rule("snoop");
    for pulse in pulses {
        pulse.assert_it_goes_on();
        let beats = pulse.end();
        eprintln!("reloaded under load: {beats:?}");
    }
    assert!(daemon.count("/engine/agents/seen") > seen, "an agent sees the connections that were left alone");
    let lost = ["/lost", "/engine/agents/panics", "/engine/counters/unaddressed", "/engine/held"];
    assert_eq!(lost.map(|what| daemon.count(what)), [0; 4], "{}", daemon.status());
}
