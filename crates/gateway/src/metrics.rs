//! Metrics for Prometheus, in its text format (version 0.0.4). There is no registry of shared
//! atomic counters: the engine has plain counters on the packet loop's own thread, so that packets
//! do not pay for values that are read every few seconds.

#[cfg(test)]
mod monitoring;
#[cfg(test)]
pub(super) mod tests;

use std::fmt::{self, Write as _};
use std::net::IpAddr;

use lasthop_agent::Counter;

use super::clients::{ClientCounters, ClientsReport};
use super::config::Backend;
use super::counters::{PacketCounters, RuleCounters};
use super::engine::{EngineReport, RuleReport};
use super::hop_rtt::HopRtts;
use super::hop_watch::HopCounters;
use super::packet_loop::LoopReport;
use super::pseudonyms::Pseudonyms;
use super::punctuality::PunctualityReport;
#[cfg(feature = "roaming")]
use super::roaming::RoamingReport;

/// The page for the report of a gateway that uses `backend`, and whose file sets `configured`. Clients have these
/// `names`, or their addresses. A table in `docs/src/gateway.md` documents each metric.
pub fn page(
    backend: Backend,
    configured: Backend,
    report: &LoopReport,
    names: Option<&Pseudonyms>,
) -> String {
    let mut page = Page(String::new());
    // Writing into a string cannot fail.
    let _ = write_build(&mut page, backend, configured).and_then(|()| write_page(&mut page, report, names));
    page.0
}

/// The metrics of clients that roam.
#[cfg(feature = "roaming")]
pub fn of_roaming(report: &RoamingReport) -> String {
    let mut page = Page(String::new());
    // Writing into a string cannot fail.
    let _ = write_roaming(&mut page, report);
    page.0
}

#[cfg(feature = "roaming")]
fn write_roaming(page: &mut Page, report: &RoamingReport) -> fmt::Result {
    let here = report.clients.iter().filter(|client| client.place.is_here);
    page.gauge("roaming_clients", "Clients that are known to roam.", report.clients.len())?;
    page.gauge("roaming_clients_here", "Of these, clients that are served here.", here.count())?;
    for (counter, count) in report.counters.iter().chain(report.engine.iter()).chain(report.channel.iter()) {
        page.counter(&format!("roaming_{}_total", counter.name), counter.about, count)?;
    }
    Ok(())
}

fn write_build(page: &mut Page, backend: Backend, configured: Backend) -> fmt::Result {
    page.gauge(
        "backend_fallback",
        "1 if auto chose tun, because tc-bpf cannot run here.",
        u8::from(configured == Backend::Auto && backend == Backend::Tun),
    )?;
    page.family("build_info", "gauge", "Always 1; the labels say which version runs with which backend.")?;
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("backend", backend.name())];
    page.sample("build_info", &labels, 1)
}

fn write_page(page: &mut Page, report: &LoopReport, names: Option<&Pseudonyms>) -> fmt::Result {
    let engine = &report.engine;
    let counters = &engine.counters;
    page.gauge("up_seconds", "Seconds since the packet loop started.", report.uptime_s)?;
    page.counter("cpu_seconds_total", "Processor time of all packet loops.", report.cpu_s)?;
    page.family("thread_cpu_seconds_total", "counter", "Processor time of a packet loop.")?;
    for (index, thread) in report.threads.iter().enumerate() {
        page.sample("thread_cpu_seconds_total", &[("thread", &index.to_string())], thread.cpu_s)?;
    }
    page.family("thread_connections", "gauge", "Connections of a packet loop.")?;
    for (index, thread) in report.threads.iter().enumerate() {
        page.sample("thread_connections", &[("thread", &index.to_string())], thread.connections)?;
    }
    page.gauge(
        "longest_turn_seconds",
        "Longest iteration of the packet loop, without waiting.",
        report.longest_turn_s,
    )?;
    write_punctuality(page, &report.punctuality)?;
    page.gauge("port_faults", "Things that are wrong with the ports now.", report.faults.len())?;
    page.counter("sent_frames_total", "Frames returned to the kernel.", report.sent)?;
    page.counter("lost_frames_total", "Frames that the kernel had no room for.", report.lost)?;
    page.family(
        "passed_frames_total",
        "counter",
        "Frames that passed without being seen by an agent, by reason.",
    )?;
    for (reason, count) in counters.passed.iter() {
        page.sample("passed_frames_total", &[("reason", reason.name)], count)?;
    }
    page.gauge("held_packets", "Packets that agents hold to send later.", engine.held)?;
    page.gauge(
        "owed_connections",
        "Connections to which agents owe something: they are not set aside, evicted or reloaded away.",
        engine.owed_connections,
    )?;
    page.gauge(
        "octets_at_risk",
        "Octets that agents have acknowledged but that are not known to be delivered.",
        engine.octets_at_risk,
    )?;
    page.gauge(
        "drained",
        "1 if the gateway drains and passes everything untouched.",
        u8::from(engine.drained),
    )?;
    page.gauge("connections", "Connections in the table.", engine.connections)?;
    page.gauge(
        "connections_limit",
        "The most connections that the table can hold.",
        engine.most_connections,
    )?;
    write_memory(page, engine)?;
    for (counter, count) in counters.counts.iter().filter(|(counter, _)| aside_reason(counter).is_none()) {
        page.counter(&format!("{}_total", counter.name), counter.about, count)?;
    }
    page.family("connections_aside_total", "counter", "Connections set aside, by reason.")?;
    for (counter, count) in counters.counts.iter() {
        if let Some(reason) = aside_reason(counter) {
            page.sample("connections_aside_total", &[("reason", &reason)], count)?;
        }
    }
    write_hop_rtts(page, &engine.hop_rtts)?;
    for (counter, count) in engine.hop.iter() {
        page.counter(&format!("{}_total", counter.name), counter.about, count)?;
    }
    if let Some(clients) = &engine.clients {
        write_clients(page, clients, names)?;
    }
    page.agents("agent", &[("", &engine.agents)])?;
    let rules: Vec<(&str, &RuleCounters)> =
        engine.rules.iter().map(|rule| (rule.name.as_str(), &rule.counters)).collect();
    page.agents("rule", &rules)?;
    write_rules(page, &engine.rules)
}

/// The state of each rule.
fn write_rules(page: &mut Page, rules: &[RuleReport]) -> fmt::Result {
    type Family = (&'static str, &'static str, fn(&RuleReport) -> u64);
    let families: [Family; 3] = [
        (
            "rule_given_up",
            "1 if a rule's agent panicked too often and its traffic passes untouched.",
            |rule| rule.given_up.into(),
        ),
        ("rule_held_packets", "Packets that a rule's agent holds to send later.", |rule| rule.held),
        ("rule_memory_bytes", "Memory that a rule's agent uses for the packets that it keeps.", |rule| {
            rule.octets as u64
        }),
    ];
    for (name, help, value) in families {
        page.family(name, "gauge", help)?;
        for (index, rule) in rules.iter().enumerate() {
            page.sample(name, &[("rule", &rule.name), ("index", &index.to_string())], value(rule))?;
        }
    }
    Ok(())
}

fn write_hop_rtts(page: &mut Page, rtts: &HopRtts) -> fmt::Result {
    let name = "hop_rtt_seconds";
    page.family(name, "histogram", "Round-trip time over the hop, once per connection, from its handshake.")?;
    let mut connections = 0;
    for (end, count) in rtts.cumulative() {
        let end = if end.is_finite() { end.to_string() } else { "+Inf".to_owned() };
        page.sample("hop_rtt_seconds_bucket", &[("le", &end)], count)?;
        connections = count;
    }
    page.sample("hop_rtt_seconds_sum", &[], rtts.sum_us as f64 / 1e6)?;
    page.sample("hop_rtt_seconds_count", &[], connections)
}

/// The traffic of the clients; the clients without counters of their own are `other`.
fn write_clients(page: &mut Page, clients: &ClientsReport, names: Option<&Pseudonyms>) -> fmt::Result {
    type Count = fn(&ClientCounters) -> u64;
    type Time = fn(&ClientCounters) -> Option<f64>;
    type Family<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, Count)]);
    let families: [Family<'_>; 4] = [
        (
            "client_connections_total",
            "counter",
            "Connections of a client, those that ended included.",
            &[("", |client| client.connections)],
        ),
        (
            "client_connections",
            "gauge",
            "Connections of a client that are in the table.",
            &[("", |client| client.connections_now)],
        ),
        (
            "client_packets_total",
            "counter",
            "Packets of its connections, to the client (down) and from it (up).",
            &[("down", |client| client.carried.packets_down), ("up", |client| client.carried.packets_up)],
        ),
        (
            "client_octets_total",
            "counter",
            "Octets of IP packets of its connections.",
            &[("down", |client| client.carried.octets_down), ("up", |client| client.carried.octets_up)],
        ),
    ];
    let name = |address: &IpAddr| match names {
        Some(names) => names.of(address).to_string(),
        None => address.to_string(),
    };
    let named = clients.by_address.iter().map(|(address, counters)| (name(address), counters));
    let all: Vec<(String, &ClientCounters)> = named.chain([("other".to_owned(), &clients.other)]).collect();
    for (name, kind, help, counts) in families {
        page.family(name, kind, help)?;
        for (client, counters) in &all {
            for (direction, count) in counts {
                let labels = [("client", client.as_str()), ("direction", *direction)];
                let labels = if direction.is_empty() { &labels[..1] } else { &labels[..] };
                page.sample(name, labels, count(counters))?;
            }
        }
    }
    for counter in HopCounters::COUNTERS {
        let name = format!("client_{}_total", counter.name);
        page.family(&name, "counter", counter.about)?;
        for (client, counters) in &all {
            let count = counters.carried.hop.iter().find(|(known, _)| known.name == counter.name);
            page.sample(&name, &[("client", client)], count.map_or(0, |(_, count)| count))?;
        }
    }
    let times: [(&str, &str, Time); 2] = [
        (
            "client_hop_rtt_seconds",
            "Round-trip time over the hop, smoothed over a client's connections.",
            |client| client.rtt_hop_s,
        ),
        (
            "client_hop_rtt_least_seconds",
            "Least round-trip time over the hop of a client's connections.",
            |client| client.rtt_min_hop_s,
        ),
    ];
    for (name, help, time) in times {
        page.family(name, "gauge", help)?;
        for (client, counters) in &all {
            if let Some(seconds) = time(counters) {
                page.sample(name, &[("client", client)], seconds)?;
            }
        }
    }
    Ok(())
}

fn write_memory(page: &mut Page, engine: &EngineReport) -> fmt::Result {
    page.gauge(
        "agent_memory_bytes",
        "Memory that agents use for the packets that they keep.",
        engine.agent_octets,
    )?;
    page.gauge("agent_memory_limit_bytes", "Upper limit of that memory.", engine.most_agent_octets)
}

fn write_punctuality(page: &mut Page, punctuality: &PunctualityReport) -> fmt::Result {
    page.counter(
        "stalls_total",
        "Times that the packet loop was away for 10 ms or more.",
        punctuality.stalls,
    )?;
    page.counter("stalled_seconds_total", "Total duration of those times.", punctuality.stalled_s)?;
    page.gauge(
        "longest_absence_seconds",
        "Longest time that the packet loop was away.",
        punctuality.longest_absence_s,
    )?;
    page.gauge(
        "stepped_out",
        "1 if the packet loop has stepped out, because it did not run in time or its ports lose frames, and everything passes.",
        u8::from(punctuality.is_out),
    )?;
    page.counter("steps_out_total", "Times that the packet loop stepped out.", punctuality.steps_out)?;
    page.counter("out_seconds_total", "Time that the packet loop was out.", punctuality.out_s)?;
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

    /// The counters of agents; `of` contains the rules, or a single entry with an empty name for
    /// the sum. Writes a family for each counter that any of them has.
    fn agents(&mut self, prefix: &str, of: &[(&str, &RuleCounters)]) -> fmt::Result {
        let mut families: Vec<&Counter> = PacketCounters::COUNTERS.to_vec();
        families.push(&DROPPED);
        for (counter, _) in of.iter().flat_map(|(_, counters)| counters.reported.iter()) {
            if !families.iter().any(|known| known.name == counter.name) {
                families.push(counter);
            }
        }
        for family in families {
            let name = format!("{prefix}_{}_total", family.name);
            self.family(&name, "counter", family.about)?;
            for (index, (rule, counters)) in of.iter().enumerate() {
                let index = index.to_string();
                let labels = [("rule", *rule), ("index", index.as_str())];
                let labels = if rule.is_empty() { &labels[..0] } else { &labels[..] };
                if family.name != DROPPED.name {
                    self.sample(&name, labels, counters.of(family))?;
                    continue;
                }
                for (reason, count) in counters.dropped.iter() {
                    let name_of_reason = reason.name.trim_start_matches("dropped_").replace('_', "-");
                    self.sample(&name, &[labels, &[("reason", &name_of_reason)]].concat(), count)?;
                }
            }
        }
        Ok(())
    }
}

/// The packets that agents drop, which are counted by reason.
static DROPPED: Counter =
    Counter::new("dropped_packets", "Of those, packets that agents dropped, by reason.");

/// The reason for setting connections aside that a counter counts, if it does.
fn aside_reason(counter: &Counter) -> Option<String> {
    counter.name.strip_prefix("connections_aside_").map(|reason| reason.replace('_', "-"))
}
