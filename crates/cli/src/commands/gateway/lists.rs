//! The tables of `lasthop gateway flows` and `clients`.

use lasthop_gateway::clients::ClientReport;
use lasthop_gateway::engine::FlowReport;
use lasthop_lab::table::{Table, number};

use super::lines::line;

/// The explanation of the columns of both tables.
const HOP_LEGEND: &str = "down: to the radio side. repairs: segments that an agent sent again on the hop. loss %: of the \
    segments to the radio side, those that were lost there: sent again, and not needless. loss up %: of the segments from the \
    radio side, those that were lost on the hop. lost before: segments that were lost before they came \
    here. hop RTT: from here to the client and back.";

/// The explanation of the additional columns in the table of connections.
const FLOW_LEGEND: &str = "generated: packets that an agent sent for the connection. withheld: packets that an \
    agent dropped or took over.";

/// The explanation of the additional columns in the table of clients.
const CLIENT_LEGEND: &str = "connections: since the gateway started or began to count clients; now: those that are in its \
    table.";

/// The table of connections. They are numbered, so that their rows can be matched in a folded
/// table.
pub fn flows(flows: &[FlowReport], shown: &str) -> String {
    let columns = [
        "no.",
        "core",
        "radio",
        "state",
        "rule",
        "down kB",
        "up kB",
        "repairs",
        "loss %",
        "loss up %",
        "lost before",
        "hop RTT ms",
        "generated",
        "withheld",
        "age s",
        "idle s",
    ];
    let mut table = Table::with_numbers(&columns);
    for (flow, number) in flows.iter().zip(1..) {
        let rule = if flow.aside.is_empty() { flow.rule.clone() } else { format!("aside: {}", flow.aside) };
        table.add_row([
            number.to_string(),
            flow.core.to_string(),
            flow.radio.to_string(),
            flow.state.clone(),
            rule,
            (flow.octets_from_core / 1000).to_string(),
            (flow.octets_from_radio / 1000).to_string(),
            flow.hop.repairs.to_string(),
            percent(flow.lost_down_percent),
            percent(flow.lost_up_percent),
            flow.hop.lost_before.to_string(),
            millis(flow.rtt_hop_s),
            flow.sent_by_agent.to_string(),
            flow.kept_by_agent.to_string(),
            format!("{:.0}", flow.age_s),
            format!("{:.0}", flow.idle_s),
        ]);
    }
    format!("{table}\n{shown}\n{}\n{}", line("", HOP_LEGEND), line("", FLOW_LEGEND))
}

/// The table of clients.
pub fn clients(clients: &[ClientReport], shown: &str) -> String {
    let columns = [
        "client",
        "connections",
        "now",
        "down kB",
        "up kB",
        "repairs",
        "loss %",
        "loss up %",
        "lost before",
        "hop RTT ms",
    ];
    let mut table = Table::with_numbers(&columns);
    for client in clients {
        let counters = &client.counters;
        table.add_row([
            client.client.clone(),
            counters.connections.to_string(),
            counters.connections_now.to_string(),
            (counters.carried.octets_down / 1000).to_string(),
            (counters.carried.octets_up / 1000).to_string(),
            counters.carried.hop.repairs.to_string(),
            percent(client.lost_down_percent),
            percent(client.lost_up_percent),
            counters.carried.hop.lost_before.to_string(),
            millis(counters.rtt_hop_s),
        ]);
    }
    format!("{table}\n{shown}\n{}\n{}", line("", HOP_LEGEND), line("", CLIENT_LEGEND))
}

/// The text of a percentage.
pub fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| number(percent, 2))
}

/// The text of a time, in milliseconds.
pub fn millis(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| number(1e3 * seconds, 1))
}
