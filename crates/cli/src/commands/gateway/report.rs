//! The text of `lasthop gateway status`.

use lasthop_agent::counter::{DUPLICATE_ACKS_SUPPRESSED, LOCAL_RETRANSMITS};
use lasthop_config::words::counted;
use lasthop_gateway::clients::Lost;
use lasthop_gateway::control::{Drained, PortStatus, Status};
use lasthop_gateway::counters::Passed;
use lasthop_gateway::engine::RuleReport;
use lasthop_gateway::hop_watch::HopCounters;
use lasthop_gateway::packet_loop::{LoopReport, ThreadReport};
use lasthop_gateway::punctuality::PunctualityReport;
use lasthop_lab::table::Table;

use super::lines::line;
use super::lists::percent;

pub fn status(status: &Status) -> String {
    let Status { version, file, backend, ports, report } = status;
    let engine = &report.engine;
    let counts = &engine.counters.counts;
    let mebibytes = |octets: usize| octets as f64 / f64::from(1 << 20);
    let mode = mode(report);
    let up = format!(
        "{:.0} s, {:.2} s of processor time, longest turn {:.1} ms, longest absence {:.1} ms",
        report.uptime_s,
        report.cpu_s,
        1e3 * report.longest_turn_s,
        1e3 * report.punctuality.longest_absence_s
    );
    let memory = format!(
        "{:.1} MiB of at most {:.1} MiB for packets that agents keep",
        mebibytes(engine.agent_octets),
        mebibytes(engine.most_agent_octets)
    );
    let frames = format!(
        "{} in ({:.0}/s since the start), {} out, {} lost, {} held",
        counts.received,
        counts.received as f64 / report.uptime_s.max(1.0),
        report.sent,
        report.lost,
        engine.held,
    );
    let mut lines = vec![
        line("", &format!("lasthop gateway {version}, {mode}")),
        line("file        ", file.as_deref().unwrap_or("-")),
        line("backend     ", backend),
        line("ports       ", &interfaces(ports)),
        line("up          ", &up),
        line("connections ", &format!("{} of at most {}", engine.connections, engine.most_connections)),
        line("memory      ", &memory),
        line("frames      ", &frames),
    ];
    if engine.passive {
        lines.push(line("measured    ", &measured(&engine.hop)));
    }
    if engine.owed_connections > 0 {
        lines.push(line("owed        ", &owed(engine.owed_connections, engine.octets_at_risk)));
    }
    lines.extend(report.faults.iter().map(|fault| line("fault       ", fault)));
    lines.extend(outs(report).map(|outs| line("stepped out ", &outs)));
    lines.extend(report.notes.iter().map(|note| line("note        ", note)));
    lines.push(line("untouched   ", &untouched(&engine.counters.passed)));
    if report.threads.len() > 1 {
        lines.push(threads(&report.threads).to_string());
    }
    if !engine.passive {
        lines.push(rules(&engine.rules).to_string());
        lines.push(line("", RULE_LEGEND));
    }
    lines.join("\n")
}

/// The measurements of the hop since the start, for a passive gateway, which has no table of rules.
fn measured(hop: &HopCounters) -> String {
    let Lost { down, up } = Lost::from_counters(hop);
    format!(
        "{} segments to the radio side, {} % of them lost; {} from it, {} % lost",
        hop.segments_down,
        percent(down),
        hop.segments_up,
        percent(up)
    )
}

/// The gateway's mode: whether it serves traffic, and if not, why.
pub fn mode(report: &LoopReport) -> String {
    let engine = &report.engine;
    if engine.drained && engine.owed_connections > 0 {
        "draining: everything passes untouched, except what is still owed".to_owned()
    } else if engine.drained {
        "drained: everything passes untouched".to_owned()
    } else if engine.passive {
        "passive: measures the hop, changes nothing".to_owned()
    } else if report.punctuality.is_out {
        format!("out, because {}: everything passes untouched", why_out(report))
    } else {
        "running".to_owned()
    }
}

/// The known reason why the packet loop has stepped out. If it did not run, it cannot know why: it
/// may have been stopped.
fn why_out(report: &LoopReport) -> String {
    match report.punctuality.away_s {
        _ if !report.faults.is_empty() => report.faults.join("; "),
        Some(away) => format!("it did not run for {away:.2} s"),
        None => "it waited for a processor most of the time".to_owned(),
    }
}

/// How often and for how long the packet loop has stepped out, with advice; `None` if it never has.
fn outs(report: &LoopReport) -> Option<String> {
    let PunctualityReport { steps_out, steps_out_by_ports, out_s, .. } = report.punctuality;
    let late = steps_out.saturating_sub(steps_out_by_ports);
    let reasons =
        [(late, "was late or waited for a processor"), (steps_out_by_ports, "had ports that lose frames")];
    let reasons = reasons.iter().filter(|(times, _)| *times > 0);
    let reasons: Vec<String> =
        reasons.map(|(times, reason)| format!("{} because it {reason}", counted(*times, "time"))).collect();
    let advice = if late > 0 && !report.realtime {
        "; [process] realtime = true has the kernel run it first"
    } else {
        ""
    };
    (steps_out > 0).then(|| format!("for {out_s:.1} s in all: {}{advice}", reasons.join(", ")))
}

/// The explanation of the columns in the table of rules.
const RULE_LEGEND: &str = "packets: seen by the rule's agent. local retransmits: packets that it sent \
    again, a super-packet as one. ACKs suppressed: duplicate ACKs withheld from senders. generated: packets that the agent sent of its \
    own. absorbed: packets that it took over. held: packets that it has yet to send. panics: restarts of the \
    agent.";

/// The table with a row for each packet loop.
fn threads(threads: &[ThreadReport]) -> Table {
    let mut table = Table::with_numbers(&["thread", "processor time s", "connections"]);
    for (index, ThreadReport { cpu_s, connections }) in threads.iter().enumerate() {
        table.add_row([index.to_string(), format!("{cpu_s:.2}"), connections.to_string()]);
    }
    table
}

/// The interfaces with their sides.
pub fn interfaces(ports: &[PortStatus]) -> String {
    let named: Vec<String> =
        ports.iter().map(|PortStatus { name, side }| format!("{name} ({side})")).collect();
    named.join(", ")
}

/// The behavior of a draining gateway from now on.
pub fn drained(Drained { owed_connections, octets_at_risk, .. }: Drained) -> String {
    let passes = "everything passes untouched until the next `lasthop gateway reload`";
    if owed_connections == 0 {
        return format!("drained: {passes}");
    }
    let owed = owed(owed_connections, octets_at_risk);
    format!(
        "draining: {passes}, except for {owed}; `lasthop gateway status` shows when nothing is owed any more"
    )
}

fn owed(connections: u64, octets_at_risk: u64) -> String {
    format!("{}, {} at risk", counted(connections, "connection"), counted(octets_at_risk, "octet"))
}

/// The numbers of frames that passed untouched, by reason, in the order of the reasons' names.
fn untouched(passed: &Passed) -> String {
    let mut reasons: Vec<(&str, u64)> =
        passed.iter().map(|(reason, count)| (reason.name, count)).filter(|(_, count)| *count > 0).collect();
    reasons.sort_unstable();
    let reasons = reasons.iter().map(|(reason, count)| format!("{count} {}", reason.replace('-', " ")));
    let reasons: Vec<String> = reasons.collect();
    if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
}

fn rules(rules: &[RuleReport]) -> Table {
    let columns = [
        "rule",
        "packets",
        "local retransmits",
        "ACKs suppressed",
        "generated",
        "absorbed",
        "held",
        "panics",
    ];
    // The column is omitted if no rule has a special state.
    let has_state = rules.iter().any(|rule| rule.given_up || rule.retiring);
    let columns: Vec<&str> = columns.into_iter().chain(has_state.then_some("state")).collect();
    let mut table = Table::with_numbers(&columns);
    for RuleReport { name, given_up, retiring, held, counters, .. } in rules {
        let state = match (given_up, retiring) {
            (true, _) => "given up: traffic passes",
            (false, true) => "retiring: serves what it still owes",
            (false, false) => "-",
        };
        let cells = [
            name.clone(),
            counters.packets.seen.to_string(),
            counters.of(&LOCAL_RETRANSMITS).to_string(),
            counters.of(&DUPLICATE_ACKS_SUPPRESSED).to_string(),
            counters.packets.sent.to_string(),
            counters.packets.absorbed.to_string(),
            held.to_string(),
            counters.packets.panics.to_string(),
        ];
        table.add_row(cells.into_iter().chain(has_state.then(|| state.to_owned())));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest line of a text, in characters.
    fn width(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn sixteen_threads_have_a_row_each_and_rules_fit_a_terminal() {
        let thread = ThreadReport { cpu_s: 12_345.67, connections: 100_000 };
        let table = threads(&[thread; 16]).within(Some(60));
        assert_eq!(table.lines().filter(|line| line.contains("12345.67")).count(), 16);
        assert!(width(&table) <= 60, "{table}");
        let rule = RuleReport { name: "snoop".to_owned(), retiring: true, ..RuleReport::default() };
        for columns in [60, 80] {
            let table = rules(std::slice::from_ref(&rule)).within(Some(columns));
            assert!(width(&table) <= columns.into() && table.contains("retiring"), "{table}");
        }
        let normal = RuleReport { retiring: false, ..rule };
        assert!(!rules(&[normal]).within(None).contains("state"));
    }

    #[test]
    fn a_loop_that_has_stepped_out_reports_only_known_reasons() {
        let punctuality =
            PunctualityReport { is_out: true, away_s: Some(3.4567), ..PunctualityReport::default() };
        let out = LoopReport { punctuality, ..LoopReport::default() };
        assert_eq!(why_out(&out), "it did not run for 3.46 s");
        let starved = PunctualityReport { away_s: None, ..punctuality };
        assert_eq!(
            why_out(&LoopReport { punctuality: starved, ..out.clone() }),
            "it waited for a processor most of the time"
        );
        let broken = LoopReport { faults: vec!["the device lasthop0 is down".to_owned()], ..out };
        assert_eq!(why_out(&broken), "the device lasthop0 is down");
    }

    #[test]
    fn a_gateway_that_stepped_out_reports_how_often_and_advice() {
        assert_eq!(outs(&LoopReport::default()), None);
        let punctuality = PunctualityReport {
            steps_out: 12,
            steps_out_by_ports: 1,
            out_s: 404.04,
            ..PunctualityReport::default()
        };
        let report = LoopReport { punctuality, ..LoopReport::default() };
        let text = outs(&report).expect("it did");
        assert!(text.starts_with("for 404.0 s in all: 11 times because it was late"), "{text}");
        assert!(text.contains("1 time because it had ports") && text.contains("realtime = true"), "{text}");
        let text = outs(&LoopReport { realtime: true, ..report }).expect("it did");
        assert!(!text.contains("realtime"), "{text}");
    }

    #[test]
    fn a_drain_reports_whether_something_is_owed() {
        assert!(drained(Drained::default()).starts_with("drained: everything passes untouched until"));
        let text = drained(Drained { held: 0, owed_connections: 3, octets_at_risk: 1448 });
        assert!(text.starts_with("draining: ") && text.contains("3 connections, 1448 octets"), "{text}");
    }

    #[test]
    fn reasons_to_pass_frames_untouched_are_in_the_order_of_their_names() {
        assert_eq!(untouched(&Passed::default()), "none");
        let passed = Passed { wrong_checksum: 1, not_understood: 2, not_tcp: 3, ..Passed::default() };
        assert_eq!(untouched(&passed), "3 not tcp, 2 not understood, 1 wrong checksum");
    }

    /// The words of a text, separated by single spaces.
    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_excerpts_of_the_document_are_what_is_printed() {
        let document = include_str!("../../../../../docs/src/gateway.md");
        let (_, rest) = document.split_once("Excerpts of unhealthy ones.").expect("they are there");
        let (excerpts, _) = rest.split_once("If no gateway runs,").expect("their end");
        let excerpts: Vec<&str> = excerpts.split("```text\n").skip(1).collect();

        let stopped = PunctualityReport {
            is_out: true,
            away_s: Some(0.49),
            longest_absence_s: 0.4919,
            ..PunctualityReport::default()
        };
        let stopped = LoopReport {
            uptime_s: 45.0,
            cpu_s: 3.72,
            longest_turn_s: 0.0123,
            punctuality: stopped,
            ..LoopReport::default()
        };
        let broken = PunctualityReport {
            is_out: true,
            steps_out: 1,
            steps_out_by_ports: 1,
            out_s: 0.1,
            ..PunctualityReport::default()
        };
        let broken = LoopReport {
            faults: vec!["the device lasthop0 is down".to_owned()],
            punctuality: broken,
            ..LoopReport::default()
        };
        let passed = |passed: Passed| {
            let mut report = LoopReport::default();
            report.engine.counters.passed = passed;
            report
        };
        let mut drained = passed(Passed { drained: 2255, ..Passed::default() });
        drained.engine.drained = true;
        let beside_nat = passed(Passed { aside: 1, one_way: 364, ..Passed::default() });
        let reports = [("tc-bpf", stopped), ("tc-bpf", broken), ("tc-bpf", drained), ("tun", beside_nat)];

        assert_eq!(excerpts.len(), reports.len());
        for (excerpt, (backend, report)) in excerpts.iter().zip(reports) {
            let status = Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                file: None,
                backend: backend.to_owned(),
                ports: Vec::new(),
                report,
            };
            let printed = words(&super::status(&status));
            let (excerpt, _) = excerpt.split_once("```").expect("its end");
            // A note depends on the machine, and has several lines.
            let is_note = |line: &&str| line.starts_with("note") || line.starts_with("     ");
            for line in excerpt.lines().filter(|line| !is_note(line)) {
                assert!(printed.contains(&words(line)), "{line:?} is not in {printed}");
            }
        }
    }
}
