//! What `lasthop gateway status` and `flows` print.

use std::cmp::Reverse;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use lasthop_agent::counter::{DUPLICATE_ACKS_SUPPRESSED, LOCAL_RETRANSMITS};
use lasthop_live::gateway::control::{Drained, PortStatus, Status};
use lasthop_live::gateway::counters::Passed;
use lasthop_live::gateway::engine::{FlowReport, RuleReport};
use lasthop_live::gateway::packet_loop::ThreadReport;

pub fn status(status: &Status) -> String {
    let Status { version, file, backend, ports, report } = status;
    let engine = &report.engine;
    let counts = &engine.counters.counts;
    let mebibytes = |octets: usize| octets as f64 / f64::from(1 << 20);
    let mode = if engine.drained && engine.owed_connections > 0 {
        "draining: everything passes untouched, except what is still owed"
    } else if engine.drained {
        "drained: everything passes untouched"
    } else if report.punctuality.is_out {
        "out, for lack of processor time: everything passes untouched"
    } else {
        "running"
    };
    let mut lines = vec![
        format!("lasthop gateway {version}, {mode}"),
        format!("file        {}", file.as_deref().unwrap_or("-")),
        format!("ports       {}, by {backend}", interfaces(ports)),
        format!(
            "up          {:.0} s, {:.2} s of processor time, longest turn {:.1} ms, longest absence {:.1} ms",
            report.uptime_s,
            report.cpu_s,
            1e3 * report.longest_turn_s,
            1e3 * report.punctuality.longest_absence_s
        ),
        format!("connections {} of at most {}", engine.connections, engine.most_connections),
        format!(
            "memory      {:.1} MiB of at most {:.1} MiB for packets that agents keep",
            mebibytes(engine.agent_octets),
            mebibytes(engine.most_agent_octets)
        ),
        format!(
            "frames      {} in ({:.0}/s since the start), {} out, {} lost, {} held",
            counts.received,
            counts.received as f64 / report.uptime_s.max(1.0),
            report.sent,
            report.lost,
            engine.held,
        ),
    ];
    if report.threads.len() > 1 {
        let of_thread = |thread: &ThreadReport| {
            format!("{:.2} s of processor time and {} connections", thread.cpu_s, thread.connections)
        };
        let threads: Vec<String> = report.threads.iter().map(of_thread).collect();
        lines.push(format!("threads     {}: {}", threads.len(), threads.join(", ")));
    }
    if engine.owed_connections > 0 {
        lines.push(format!("owed        {}", owed(engine.owed_connections, engine.octets_at_risk)));
    }
    lines.extend(report.notes.iter().map(|note| format!("note        {note}")));
    lines.push(format!("untouched   {}", untouched(&engine.counters.passed)));
    format!("{}\n{}", lines.join("\n"), rules(&engine.rules))
}

/// The interfaces, each once: with tc-bpf a radio interface is a port of either side, and more.
pub fn interfaces(ports: &[PortStatus]) -> String {
    let mut sides: Vec<(&str, &str)> = Vec::new();
    for PortStatus { name, side } in ports {
        match sides.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if side == "radio" => *known = side,
            Some(_) => {}
            None => sides.push((name, side)),
        }
    }
    let named: Vec<String> = sides.iter().map(|(name, side)| format!("{name} ({side})")).collect();
    named.join(", ")
}

/// What a draining gateway does from now on.
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
    format!("{}, {octets_at_risk} octets at risk", of_connections(connections))
}

fn of_connections(count: u64) -> String {
    if count == 1 { "1 connection".to_owned() } else { format!("{count} connections") }
}

/// Why frames passed untouched, and how many, in the order of the reasons' names.
fn untouched(passed: &Passed) -> String {
    let mut reasons: Vec<(&str, u64)> =
        passed.iter().map(|(reason, count)| (reason.name, count)).filter(|(_, count)| *count > 0).collect();
    reasons.sort_unstable();
    let reasons = reasons.iter().map(|(reason, count)| format!("{count} {}", reason.replace('-', " ")));
    let reasons: Vec<String> = reasons.collect();
    if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
}

fn rules(rules: &[RuleReport]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "rule",
        "seen",
        "local retransmits",
        "ACKs kept back",
        "absorbed",
        "made",
        "held",
        "panics",
        "",
    ]);
    for RuleReport { name, given_up, retiring, held, counters, .. } in rules {
        let state = match (given_up, retiring) {
            (true, _) => "given up: traffic passes",
            (false, true) => "retiring: serves what it still owes",
            (false, false) => "",
        };
        table.add_row([
            name.clone(),
            counters.packets.seen.to_string(),
            counters.of(&LOCAL_RETRANSMITS).to_string(),
            counters.of(&DUPLICATE_ACKS_SUPPRESSED).to_string(),
            counters.packets.absorbed.to_string(),
            counters.packets.sent.to_string(),
            held.to_string(),
            counters.packets.panics.to_string(),
            state.to_owned(),
        ]);
    }
    table
}

/// The connections that moved most come first.
pub fn flows(mut flows: Vec<FlowReport>) -> String {
    flows.sort_by_key(|flow| Reverse(flow.octets_from_core + flow.octets_from_radio));
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["core", "radio", "state", "rule", "kB down", "kB up", "made", "kept", "age", "idle"]);
    for flow in &flows {
        let rule = if flow.aside.is_empty() { flow.rule.clone() } else { format!("aside: {}", flow.aside) };
        table.add_row([
            flow.core.to_string(),
            flow.radio.to_string(),
            flow.state.clone(),
            rule,
            (flow.octets_from_core / 1000).to_string(),
            (flow.octets_from_radio / 1000).to_string(),
            flow.sent_by_agent.to_string(),
            flow.kept_by_agent.to_string(),
            format!("{:.0} s", flow.age_s),
            format!("{:.0} s", flow.idle_s),
        ]);
    }
    format!("{table}\n{}", of_connections(flows.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_is_named_once_with_the_side_that_it_is_on() {
        let port = |name: &str, side: &str| PortStatus { name: name.to_owned(), side: side.to_owned() };
        let by_bpf = [port("wlan0", "core"), port("wlan0", "radio"), port("wlan0", "core")];
        assert_eq!(interfaces(&by_bpf), "wlan0 (radio)");
        assert_eq!(interfaces(&[port("eth0", "core"), port("wlan0", "radio")]), "eth0 (core), wlan0 (radio)");
    }

    #[test]
    fn what_is_drained_says_whether_something_is_owed() {
        assert!(drained(Drained::default()).starts_with("drained: everything passes untouched until"));
        let said = drained(Drained { held: 0, owed_connections: 3, octets_at_risk: 1448 });
        assert!(said.starts_with("draining: ") && said.contains("3 connections, 1448 octets"), "{said}");
    }

    #[test]
    fn reasons_to_pass_frames_untouched_are_in_the_order_of_their_names() {
        assert_eq!(untouched(&Passed::default()), "none");
        let passed = Passed { wrong_checksum: 1, not_understood: 2, not_tcp: 3, ..Passed::default() };
        assert_eq!(untouched(&passed), "3 not tcp, 2 not understood, 1 wrong checksum");
    }
}
