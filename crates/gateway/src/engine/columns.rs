//! The columns of a list of connections.

use std::net::IpAddr;

use super::FlowReport;
use crate::connection::{Aside, State};
use crate::listing::{Column, Row};

impl Row for FlowReport {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::text("protocol", |flow| &flow.protocol),
        Column::end("core", |flow| Some(flow.core)),
        Column::end("radio", |flow| Some(flow.radio)),
        Column::text("state", |flow| &flow.state),
        Column::text("rule", |flow| &flow.rule),
        Column::text("aside", |flow| &flow.aside),
        Column::number("packets_from_core", "", |flow| Some(flow.packets_from_core as f64)),
        Column::number("octets_from_core", "down", |flow| Some(flow.octets_from_core as f64)),
        Column::number("packets_from_radio", "", |flow| Some(flow.packets_from_radio as f64)),
        Column::number("octets_from_radio", "up", |flow| Some(flow.octets_from_radio as f64)),
        Column::number("sent_by_agent", "generated", |flow| Some(flow.sent_by_agent.into())),
        Column::number("kept_by_agent", "withheld", |flow| Some(flow.kept_by_agent.into())),
        Column::number("age_s", "age", |flow| Some(flow.age_s)),
        Column::number("idle_s", "idle", |flow| Some(flow.idle_s)),
        Column::number("segments_down", "", |flow| Some(flow.hop.segments_down as f64)),
        Column::number("lost_down", "", |flow| Some(flow.hop.lost_down as f64)),
        Column::number("needless", "", |flow| Some(flow.hop.needless as f64)),
        Column::number("repairs", "", |flow| Some(flow.hop.repairs as f64)),
        Column::number("lost_before", "", |flow| Some(flow.hop.lost_before as f64)),
        Column::number("segments_up", "", |flow| Some(flow.hop.segments_up as f64)),
        Column::number("lost_up", "", |flow| Some(flow.hop.lost_up as f64)),
        Column::number("rtt_hop_s", "rtt", |flow| flow.rtt_hop_s),
        Column::number("rtt_min_hop_s", "", |flow| flow.rtt_min_hop_s),
        Column::number("rtt_wire_s", "rtt-wire", |flow| flow.rtt_wire_s),
        Column::number("lost_down_percent", "loss", |flow| flow.lost_down_percent),
        Column::number("lost_up_percent", "loss-up", |flow| flow.lost_up_percent),
    ];

    fn octets(&self) -> u64 {
        self.octets_from_core.saturating_add(self.octets_from_radio)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        [self.core.ip(), self.radio.ip()].into_iter()
    }

    fn has_port(&self, port: u16) -> bool {
        self.core.port() == port || self.radio.port() == port
    }

    fn is(&self, word: &str) -> bool {
        [&self.protocol, &self.state, &self.rule, &self.aside].iter().any(|known| *known == word)
            || (word == "aside" && !self.aside.is_empty())
    }

    fn words() -> Vec<&'static str> {
        let states = State::ALL.map(State::name);
        let reasons = Aside::ALL.map(Aside::name);
        ["tcp", "udp", "aside"].into_iter().chain(states).chain(reasons).collect()
    }

    fn ports_and_words() -> Option<String> {
        Some(format!(
            "a port (443), tcp, udp, a state ({}), the name of a rule, or a reason to be aside (aside for any, {})",
            State::ALL.map(State::name).join(", "),
            Aside::ALL.map(Aside::name).join(", ")
        ))
    }
}
