//! Figures for Prometheus, in its text format (version 0.0.4). Written by hand: the engine keeps plain counters on the packet
//! loop's own thread, and a registry of shared atomic ones would make each packet pay for what is read every few seconds.

use std::fmt::{self, Write as _};

use super::engine::EngineReport;
use super::packet_loop::LoopReport;
use super::punctuality::PunctualityReport;
use super::rule::RuleCounters;

/// The page for these figures.
pub fn page(report: &LoopReport) -> String {
    let mut page = Page(String::new());
    // Writing into a string cannot fail.
    let _ = write_page(&mut page, report);
    page.0
}

fn write_page(page: &mut Page, report: &LoopReport) -> fmt::Result {
    let engine = &report.engine;
    let counters = &engine.counters;
    page.gauge("up_seconds", "Seconds since the packet loop started.", report.uptime_s)?;
    page.counter("cpu_seconds_total", "Processor time of the packet loop.", report.cpu_s)?;
    page.gauge(
        "longest_turn_seconds",
        "Longest turn of the packet loop but for waiting.",
        report.longest_turn_s,
    )?;
    write_punctuality(page, &report.punctuality)?;
    page.counter("received_frames_total", "Frames that came in by a port.", counters.received)?;
    page.counter("received_octets_total", "Octets of those frames.", counters.received_octets)?;
    page.counter("sent_frames_total", "Frames given back to the kernel.", report.sent)?;
    page.counter("lost_frames_total", "Frames that the kernel had no room for.", report.lost)?;
    page.family(
        "passed_frames_total",
        "counter",
        "Frames that passed without an agent seeing them, by reason.",
    )?;
    let passed = &counters.passed;
    for (reason, count) in [
        ("not-understood", passed.not_understood),
        ("wrong-checksum", passed.wrong_checksum),
        ("not-tcp", passed.not_tcp),
        ("unwanted", passed.unwanted),
        ("table-full", passed.table_full),
        ("aside", passed.aside),
        ("one-way", passed.one_way),
        ("drained", passed.drained),
        ("broken-agent", passed.broken_agent),
    ] {
        page.sample("passed_frames_total", &[("reason", reason)], count)?;
    }
    page.gauge("held_packets", "Packets that agents hold to send on.", engine.held)?;
    page.gauge(
        "drained",
        "1 if the gateway was told to drain and passes everything on.",
        u8::from(engine.drained),
    )?;
    page.gauge("connections", "Connections in the table.", engine.connections)?;
    page.gauge("connections_limit", "The most connections that fit.", engine.most_connections)?;
    write_memory(page, engine)?;
    page.counter("connections_total", "Connections seen.", counters.connections)?;
    page.counter(
        "connections_expired_total",
        "Connections forgotten because they were idle.",
        counters.expired,
    )?;
    page.counter("connections_evicted_total", "Connections forgotten to make room.", counters.evicted)?;
    page.family("connections_aside_total", "counter", "Connections set aside, by reason.")?;
    for (reason, count) in [
        ("one-way", counters.aside_one_way),
        ("unresponsive", counters.aside_unresponsive),
        ("asked", counters.aside_asked),
    ] {
        page.sample("connections_aside_total", &[("reason", reason)], count)?;
    }
    page.counter(
        "copied_frames_total",
        "Copies of frames that passed in the kernel as agents let them.",
        counters.copies,
    )?;
    page.counter(
        "unaddressed_packets_total",
        "Packets of agents for connections that are gone.",
        counters.unaddressed,
    )?;
    page.counter("too_large_packets_total", "Packets that agents made too large.", counters.too_large)?;
    page.agents("agent", "all rules'", &[("", engine.agents)])?;
    let rules: Vec<(&str, RuleCounters)> =
        engine.rules.iter().map(|rule| (rule.name.as_str(), rule.counters)).collect();
    page.agents("rule", "a rule's", &rules)?;
    page.family("rule_given_up", "gauge", "1 if a rule's agent panicked too often and its traffic passes.")?;
    for (index, rule) in engine.rules.iter().enumerate() {
        let labels = [("rule", rule.name.as_str()), ("index", &index.to_string())];
        page.sample("rule_given_up", &labels, u8::from(rule.given_up))?;
    }
    Ok(())
}

fn write_memory(page: &mut Page, engine: &EngineReport) -> fmt::Result {
    page.gauge(
        "agent_memory_bytes",
        "Memory that agents take for what they keep of packets.",
        engine.agent_octets,
    )?;
    page.gauge("agent_memory_limit_bytes", "The most that it may be.", engine.most_agent_octets)
}

fn write_punctuality(page: &mut Page, punctuality: &PunctualityReport) -> fmt::Result {
    page.counter(
        "stalls_total",
        "Times that the packet loop was away for 10 ms or more.",
        punctuality.stalls,
    )?;
    page.counter("stalled_seconds_total", "Time that those took.", punctuality.stalled_s)?;
    page.gauge(
        "longest_absence_seconds",
        "Longest time that the packet loop was away.",
        punctuality.longest_absence_s,
    )?;
    page.gauge(
        "stepped_out",
        "1 if the packet loop is out, for want of processor time, and everything passes.",
        u8::from(punctuality.is_out),
    )?;
    page.counter("steps_out_total", "Times that the packet loop stepped out.", punctuality.steps_out)?;
    if let Some(waited) = punctuality.kept_waiting {
        page.counter(
            "kept_waiting_seconds_total",
            "Time that the packet loop had to wait for a processor.",
            waited.total_s,
        )?;
    }
    Ok(())
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        writeln!(self.0, "# HELP lasthop_{name} {help}\n# TYPE lasthop_{name} {kind}")
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) -> fmt::Result {
        write!(self.0, "lasthop_{name}")?;
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' })?;
        }
        writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" })
    }

    fn counter(&mut self, name: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
        self.family(name, "counter", help)?;
        self.sample(name, &[], value)
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
        self.family(name, "gauge", help)?;
        self.sample(name, &[], value)
    }

    /// What agents did; `of` names rules, or is empty for all together.
    fn agents(&mut self, prefix: &str, whose: &str, of: &[(&str, RuleCounters)]) -> fmt::Result {
        type Figure = fn(&RuleCounters) -> u64;
        let figures: [(&str, &str, Figure); 14] = [
            ("seen_packets_total", "Packets seen by %'s agent.", |c| c.seen),
            ("forwarded_packets_total", "Packets forwarded by %'s agent.", |c| c.forwarded),
            ("dropped_packets_total", "Packets dropped by %'s agent.", |c| {
                c.dropped_duplicate_ack + c.dropped_full + c.dropped_acknowledged
            }),
            (
                "dropped_later_total",
                "Times that %'s agent dropped data it had kept, or a super-packet's tail.",
                |c| c.dropped_held,
            ),
            ("absorbed_packets_total", "Packets taken over by %'s agent.", |c| c.absorbed),
            ("shown_packets_total", "Packets that %'s agent let pass unasked, and saw a copy of.", |c| {
                c.shown
            }),
            ("made_packets_total", "Packets made by %'s agent.", |c| c.sent),
            ("local_retransmits_total", "Segments sent again by %'s agent.", |c| c.local_retransmits),
            ("duplicate_acks_suppressed_total", "Duplicate ACKs kept back by %'s agent.", |c| {
                c.duplicate_acks_suppressed
            }),
            ("acks_generated_total", "ACKs that %'s agent sent in receivers' names.", |c| c.acks_generated),
            ("acks_suppressed_total", "ACKs kept back by %'s agent that an agent makes.", |c| {
                c.acks_suppressed
            }),
            ("acknowledged_and_lost_total", "Losses of data that %'s agent had acknowledged.", |c| {
                c.acknowledged_and_lost
            }),
            ("at_bound_total", "Times that %'s agent was at a bound.", |c| c.at_bound),
            ("panics_total", "Panics of %'s agent.", |c| c.panics),
        ];
        for (name, help, figure) in figures {
            let name = format!("{prefix}_{name}");
            self.family(&name, "counter", &help.replace("%'s", whose))?;
            for (index, (rule, counters)) in of.iter().enumerate() {
                let index = index.to_string();
                let labels = [("rule", *rule), ("index", index.as_str())];
                let labels = if rule.is_empty() { &labels[..0] } else { &labels[..] };
                self.sample(&name, labels, figure(counters))?;
            }
        }
        Ok(())
    }
}
