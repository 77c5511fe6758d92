//! A passive daemon: it measures the hop, and the traffic does not notice.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command as Process;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::control::Command;
use lasthop_gateway::engine::FlowReport;
use lasthop_gateway::hop_watch::HopCounters;
use lasthop_gateway::listing::Query;
use lasthop_needs::quiet;
use rustix::process::Signal;
use serde_json::Value;

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, check, fill, open, soon};

const PASSIVE: &str = "passive = true\n";
/// Beside snoop, to which all would go if it were not passive.
const RULES: &str = "[[rule]]\nscheme = \"snoop\"\n";
const OCTETS: usize = 6_000_000;
/// One after the other.
const TRANSFERS: usize = 6;
const STREAM: u64 = 36;

fn flows(daemon: &Daemon) -> Vec<FlowReport> {
    let flows = daemon.ask(&Command::Flows(Query::default())).expect("it runs");
    serde_json::from_value(flows).expect("connections")
}

/// Nothing came to the daemon, and nothing from it.
fn assert_untouched(daemon: &Daemon) {
    let counts = ["/engine/counters/received", "/sent", "/lost", "/engine/agents/seen"];
    assert_eq!(counts.map(|what| daemon.count(what)), [0; 4], "{}", daemon.status());
}

/// Sends octets from one end to the other, and looks at each.
fn transfer(mut from: TcpStream, mut to: TcpStream) {
    let mut sent = vec![0; OCTETS];
    fill(STREAM, 0, &mut sent);
    let sender = thread::spawn(move || {
        from.write_all(&sent).expect("the other end reads");
        from.shutdown(Shutdown::Write).expect("it is open");
        // Until the other end has closed, too.
        from.read_to_end(&mut Vec::new()).expect("it closes")
    });
    let mut came = Vec::new();
    to.read_to_end(&mut came).expect("all of it comes");
    assert!(came.len() == OCTETS && check(STREAM, 0, &came), "as it was sent");
    drop(to);
    sender.join().expect("it is well");
}

pub fn a_passive_daemon_measures_the_losses_of_a_hop_and_touches_nothing() {
    let _alone = alone();
    for is_upload in [false, true] {
        let (site, hop) = Site::lossy(36);
        let mut daemon = Daemon::start_with(&site.gateway, PASSIVE, RULES);
        let (client, server) = open(&site).expect("the server is reachable");
        let (from, to) = if is_upload { (client, server) } else { (server, client) };
        transfer(from, to);
        let flow = soon(|| match &flows(&daemon)[..] {
            [flow] if flow.state == "closing" => Ok(flow.clone()),
            flows => Err(format!("{flows:?}")),
        });
        assert_untouched(&daemon);
        assert!(daemon.count("/engine/counters/copies") > 100);
        assert_eq!(daemon.status()["report"]["engine"]["passive"], true);
        assert_eq!((flow.rule.as_str(), flow.aside.as_str()), ("", ""));
        let summary = hop.stop().expect("it ran");
        let dropped: u64 = summary.dropped.values().sum();
        let HopCounters { lost_down, needless, repairs, lost_before, lost_up, .. } = flow.hop;
        eprintln!(
            "upload {is_upload}: {:?}, {:?}; the hop dropped {dropped}, acknowledgments among them",
            flow.hop, flow.rtt_hop_s
        );
        assert_eq!((repairs, lost_before), (0, 0), "no agent, and no loss on the wire");
        let lost = if is_upload { lost_up } else { lost_down - needless };
        assert!(lost <= dropped, "{lost} of {dropped}");
        if !is_upload {
            // What went to the hop and did not come out of it: data, and one or two acknowledgments.
            let delivered = summary.delivered.iter().find(|host| host.node == "near").expect("the client");
            let missing = flow.packets_from_core.saturating_sub(delivered.packets);
            // On a busy machine there may be no room for headers, and TCP may send in vain.
            assert!(
                quiet().is_err() || lost.abs_diff(missing) <= 3,
                "{lost}, of {missing} that went missing"
            );
        }
        // The hop takes 3 ms each way, and 0.5 ms more or less.
        let rtt = flow.rtt_min_hop_s.expect("it is measured");
        assert!((0.005..1.0).contains(&rtt), "{rtt} s");
        assert!(flow.rtt_wire_s.is_some());
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        site.assert_no_traces();
    }
}

/// The rate of transfers to the client, one after the other, in bits per second.
fn download(site: &Site, transfers: usize) -> f64 {
    let began = Instant::now();
    for _ in 0..transfers {
        let (client, server) = open(site).expect("the server is reachable");
        transfer(server, client);
    }
    8.0 * (transfers * OCTETS) as f64 / began.elapsed().as_secs_f64()
}

/// Prints what a scheme gains on real hosts beside the prediction from what a passive daemon measured
/// there before. Other work on the machine slows real hosts only, so that the two are not compared here.
pub fn the_gain_of_a_scheme_is_predicted_from_what_a_passive_daemon_measured() {
    let _alone = alone();
    for congestion in ["cubic", "bbr"] {
        let (site, _hop) = Site::lossy(36);
        if site.server.sysctl("ipv4/tcp_congestion_control", congestion).is_err() {
            eprintln!("{congestion}: this kernel does not have it");
            continue;
        }
        let mut daemon = Daemon::start_with(&site.gateway, PASSIVE, &format!("clients = 4\n{RULES}"));
        let without = download(&site, TRANSFERS);
        // The last one is in the table yet, and says where the server is.
        soon(|| match flows(&daemon).last() {
            Some(flow) if flow.state == "closing" => Ok(()),
            flow => Err(format!("{flow:?}")),
        });
        let gain = |rest: &[&str]| {
            let mut command = Process::new(env!("CARGO_BIN_EXE_lasthop"));
            command.args(["gateway", "gain", "--rate", "100 Mbit/s", "--schemes", "snoop,cicada"]).args(rest);
            let output = command.arg("--socket").arg(daemon.socket()).env("COLUMNS", "100").output();
            String::from_utf8(output.expect("it runs").stdout).expect("text")
        };
        let text = gain(&["--congestion", congestion]);
        let told: Value = serde_json::from_str(&gain(&["--json"])).expect("one document");
        let (segments, loss) = (&told["measured"]["segments"], &told["measured"]["loss_percent"]);
        assert!(
            segments.as_u64() > Some(20_000),
            "all that passed was measured, not the last one alone: {told}"
        );
        // The hop loses 1%.
        assert!(loss.as_f64().is_some_and(|loss| (0.7..1.4).contains(&loss)), "{told}");
        for row in told["predictions"][0]["rows"].as_array().expect("rows").iter().skip(1) {
            assert!(row["times_none"]["mean"].as_f64() > Some(1.0), "{told}");
        }
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        eprintln!("{congestion}\n{text}\nif CUBIC is assumed: {}", told["notes"]);
        eprintln!("measured without a scheme: {:.2} Mbit/s", 1e-6 * without);
        for scheme in ["snoop", "cicada"] {
            let mut daemon = Daemon::start(&site.gateway, &format!("[[rule]]\nscheme = \"{scheme}\"\n"));
            let with = download(&site, TRANSFERS);
            eprintln!("measured with {scheme}: {:.2} Mbit/s, {:.2} times none", 1e-6 * with, with / without);
            assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        }
    }
}

pub fn a_passive_daemon_that_is_killed_costs_nothing_and_the_next_one_goes_on_in_the_middle() {
    let _alone = alone();
    for kind in Kind::PLAIN {
        let site = Site::new(kind);
        let mut daemon = Daemon::start_with(&site.gateway, PASSIVE, RULES);
        let pulse = Pulse::start(&site);
        let sees = |daemon: &Daemon| {
            soon(|| match &flows(daemon)[..] {
                [flow] if flow.hop.segments_down > 50 && flow.hop.segments_up > 5 => Ok(()),
                flows => Err(format!("{flows:?}")),
            });
        };
        sees(&daemon);
        daemon.end(Signal::KILL);
        pulse.assert_it_goes_on();
        site.assert_no_traces();
        daemon.start_again(&site.gateway);
        sees(&daemon);
        thread::sleep(Duration::from_millis(200));
        for flow in flows(&daemon) {
            let lost = HopCounters { segments_down: 0, segments_up: 0, ..flow.hop };
            let is_none = lost == HopCounters::default();
            assert!(quiet().is_err() || is_none, "nothing is lost here: {flow:?}");
        }
        // It is passive until a restart, and says so.
        daemon.write(RULES);
        let reloaded = daemon.ask(&Command::Reload).expect("the file is right").to_string();
        assert!(reloaded.contains("the gateway is passive until it is restarted"), "{reloaded}");
        sees(&daemon);
        assert_untouched(&daemon);
        let mut status = Process::new(env!("CARGO_BIN_EXE_lasthop"));
        status.args(["gateway", "status", "--socket"]).arg(daemon.socket());
        let status = String::from_utf8(status.output().expect("it runs").stdout).expect("text");
        assert!(status.lines().next().is_some_and(|line| line.contains(", passive: ")), "{status}");
        pulse.assert_it_goes_on();
        pulse.end();
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    }
}

pub fn a_passive_gateway_is_refused_with_the_backend_tun() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("gateway.toml");
    std::fs::write(
        &file,
        "backend = \"tun\"\n[ports]\nradio = [\"radio\"]\ncore = [\"core\"]\n[control]\nsocket = \"off\"\n",
    )
    .expect("it is written");
    for check in [true, false] {
        let refused = site.gateway.enter(|| {
            let mut lasthop = Process::new(env!("CARGO_BIN_EXE_lasthop"));
            lasthop.args(["gateway", "--passive"]).arg(&file);
            if check {
                lasthop.arg("--check");
            }
            lasthop.output()
        });
        let refused = refused.expect("enter").expect("it runs");
        let said = [refused.stdout, refused.stderr].concat();
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("a passive gateway needs the backend tc-bpf"), "{said}");
    }
}
