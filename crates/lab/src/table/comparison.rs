//! Schemes side by side, in tables.

use super::cells::{change, count, number, or_dash, plus_minus, scaled};
use super::flows::{self, FlowsShown};
use super::folded::Table;
use super::sessions;
use super::width::paragraph;
use crate::compare::{Comparison, ComparisonRow, DatagramEstimates, WorstFlow};

/// Maximum number of flows with columns of their own.
const MAX_FLOW_COLUMNS: usize = 4;

/// A column: its name, its cell of a row, whether this cell is of interest, and an explanation.
struct Column {
    name: &'static str,
    show: fn(&ComparisonRow) -> String,
    matters: fn(&ComparisonRow) -> bool,
    legend: Option<&'static str>,
}

impl Column {
    const fn new(
        name: &'static str,
        show: fn(&ComparisonRow) -> String,
        matters: fn(&ComparisonRow) -> bool,
    ) -> Self {
        Self { name, show, matters, legend: None }
    }

    const fn with_legend(self, legend: &'static str) -> Self {
        Self { legend: Some(legend), ..self }
    }
}

/// The columns before those of single flows.
const HEADLINE: [Column; 3] = [
    Column::new("completion s", completion, |row| row.completed.is_some()),
    Column::new("goodput Mbit/s", |row| plus_minus(&scaled(row.goodput_bps, 1e-6), 3), |_| true),
    Column::new(
        "improvement %",
        |row| or_dash(row.improvement_percent.map(|estimate| plus_minus(&estimate, 1))),
        |row| row.improvement_percent.is_some(),
    ),
];

/// The fairness of the goodputs.
const FAIRNESS: Column = Column::new(
    "Jain's index",
    |row| or_dash(row.jain_fairness.map(|index| number(index.mean, 3))),
    |row| row.jain_fairness.is_some_and(|index| index.mean < 0.9995),
)
.with_legend("Jain's index: fairness of the goodputs (those over TCP, if there are any), 1 if all are equal");

/// The flow with the largest loss. Its name and its numbers are in one cell, so that they are never
/// in two parts of a table.
const WORST_FLOW: Column = Column::new(
    "worst flow Mbit/s",
    |row| {
        or_dash(row.worst_flow.as_ref().map(|flow| {
            let goodput = number(flow.goodput_bps.mean * 1e-6, 3);
            format!("{}: {goodput} ({})", flow.name, change(flow.change_percent.mean))
        }))
    },
    |row| row.worst_flow.as_ref().is_some_and(WorstFlow::is_significant_loss),
)
.with_legend("worst flow: the flow whose goodput fell the most, or rose the least, against the baseline");

const DETAILS: [Column; 18] = [
    Column::new("retransmits", |row| count(&row.retransmits), ComparisonRow::uses_tcp),
    Column::new("timeouts", |row| count(&row.timeouts), ComparisonRow::uses_tcp),
    Column::new("fast retransmits", |row| count(&row.fast_retransmits), ComparisonRow::uses_tcp),
    Column::new("control packets", |row| count(&row.control_messages), |row| row.control_messages.mean > 0.0),
    Column::new(
        "local retransmits",
        |row| count(&row.local_retransmits),
        |row| row.local_retransmits.mean > 0.0,
    )
    .with_legend("local retransmits: segments that agents retransmitted"),
    Column::new(
        "UDP Mbit/s",
        |row| datagrams(row, |all| Some(plus_minus(&scaled(all.goodput_bps, 1e-6), 3))),
        |row| row.datagrams.is_some(),
    ),
    Column::new(
        "UDP lost %",
        |row| datagrams(row, |all| Some(plus_minus(&all.lost_percent?, 2))),
        |row| row.datagrams.is_some(),
    ),
    Column::new(
        "UDP median delay ms",
        |row| datagrams(row, |all| Some(plus_minus(&scaled(all.delay_median_s?, 1e3), 1))),
        |row| row.datagrams.is_some(),
    ),
    Column::new(
        "UDP p95 delay ms",
        |row| datagrams(row, |all| Some(plus_minus(&scaled(all.delay_p95_s?, 1e3), 1))),
        |row| row.datagrams.is_some(),
    ),
    Column::new(
        "airtime %",
        |row| or_dash(row.air_time_share.map(|share| number(share.mean * 100.0, 1))),
        |row| row.air_time_share.is_some(),
    )
    .with_legend("airtime: part of the measured time in which stations sent data frames, RTS and CTS-to-self; with several \
         channels the mean over them"),
    Column::new(
        "airtime Jain's index",
        |row| or_dash(row.air_time_fairness.map(|index| number(index.mean, 3))),
        |row| row.air_time_fairness.is_some(),
    )
    .with_legend("airtime Jain's index: fairness of the air time of clients with flows, in both directions together"),
    Column::new(
        "awake %",
        |row| or_dash(row.awake_share.map(|share| plus_minus(&scaled(share, 100.0), 2))),
        |row| row.awake_share.is_some(),
    )
    .with_legend("awake: mean over the stations in power-save mode"),
    Column::new(
        "hand-offs",
        |row| or_dash(row.roaming.map(|roaming| number(roaming.hand_offs.mean, 1))),
        |row| row.roaming.is_some(),
    ),
    Column::new(
        "radio gap ms",
        |row| or_dash(row.roaming.and_then(|roaming| Some(number(roaming.radio_gap_s?.mean * 1e3, 1)))),
        |row| row.roaming.is_some_and(|roaming| roaming.radio_gap_s.is_some()),
    )
    .with_legend("radio gap: the time for which a client had no access point at a hand-off, median"),
    Column::new(
        "agent gap ms",
        |row| or_dash(row.roaming.and_then(|roaming| Some(number(roaming.agent_gap_s?.mean * 1e3, 1)))),
        |row| row.roaming.is_some_and(|roaming| roaming.agent_gap_s.is_some()),
    )
    .with_legend(
        "agent gap: the time from there until the agent of the new access point had the state of the client's \
         connections, median",
    ),
    Column::new(
        "end-to-end",
        |row| if row.agents.end_to_end { "kept" } else { "broken" }.to_owned(),
        |row| !row.agents.end_to_end,
    )
    .with_legend(
        "end-to-end: broken if an agent owed something: it had acknowledged data to the sender and could still \
         lose it, or had split a connection in two. An agent that keeps nothing of what it acknowledges owes \
         nothing",
    ),
    Column::new(
        "data at risk kB",
        |row| number(row.agents.octets_at_risk.mean / 1e3, 1),
        |row| row.agents.octets_at_risk.mean > 0.0,
    )
    .with_legend(
        "data at risk: the most data that agents had acknowledged before they knew of its delivery; lost \
         if the agent fails",
    ),
    Column::new(
        "agent buffer kB",
        |row| number(row.agents.memory_octets.mean / 1e3, 1),
        |row| row.agents.memory_octets.mean > 0.0,
    )
    .with_legend("agent buffer: peak memory of the agents, for packets and tables"),
];

/// The table of a comparison, the tables of its flows and of its sessions, and explanations of
/// their columns. A column of no interest in any row (no completion, no local retransmission, equal
/// shares) is omitted.
pub fn comparison(comparison: &Comparison, shown: FlowsShown) -> String {
    let rows = &comparison.rows;
    let flows = rows.first().map_or(0, |row| row.single_flows.len());
    let in_columns = (2..=MAX_FLOW_COLUMNS).contains(&flows) && shown == FlowsShown::Screenful;
    let in_table = flows > 1 && !in_columns;
    let matters = |column: &&Column| rows.iter().any(column.matters);
    let fairness = (in_table || matters(&&FAIRNESS)).then_some(&FAIRNESS);
    // Columns of flows show the goodput of each, but not whether a loss is significant.
    let worst_flow = (rows.len() > 1 && (in_table || matters(&&WORST_FLOW))).then_some(&WORST_FLOW);
    let shares = fairness.into_iter().chain(worst_flow);
    let headline: Vec<&Column> = HEADLINE.iter().filter(matters).chain(shares).collect();
    let details: Vec<&Column> = DETAILS.iter().filter(matters).collect();
    let flow_names: Vec<String> = rows.first().filter(|_| in_columns).map_or_else(Vec::new, |row| {
        row.single_flows.iter().map(|flow| format!("{} Mbit/s", flow.name)).collect()
    });
    let name = |column: &&Column| column.name.to_owned();
    let header: Vec<String> = ["scheme".to_owned()]
        .into_iter()
        .chain(headline.iter().map(name))
        .chain(flow_names)
        .chain(details.iter().map(name))
        .collect();
    let mut table = Table::with_numbers(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        let flows = row.single_flows.iter().filter(|_| in_columns);
        let flows = flows.map(|flow| number(flow.goodput_bps.mean * 1e-6, 3));
        let cells = headline.iter().map(|column| (column.show)(row)).chain(flows);
        let cells = cells.chain(details.iter().map(|column| (column.show)(row)));
        table.add_row([row.scheme.clone()].into_iter().chain(cells));
    }
    let of_flows = in_table.then(|| flows::goodputs(comparison, shown));
    let of_datagrams = flows::datagrams(rows, shown);
    let legend = headline.iter().chain(&details).filter_map(|column| column.legend);
    let legend = legend.map(paragraph);
    [table.to_string()]
        .into_iter()
        .chain(of_flows)
        .chain(of_datagrams)
        .chain(sessions::comparison_rows(rows))
        .chain(legend)
        .collect::<Vec<_>>()
        .join("\n")
}

fn datagrams(row: &ComparisonRow, show: fn(&DatagramEstimates) -> Option<String>) -> String {
    or_dash(row.datagrams.as_ref().and_then(show))
}

fn completion(row: &ComparisonRow) -> String {
    match &row.completion_s {
        Some(estimate) => plus_minus(estimate, 2),
        None => or_dash(row.completed.map(|completed| format!("{completed} of {} done", row.runs))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_scenario::{Overrides, file};

    use super::*;
    use crate::compare::compare;
    use crate::progress::Silent;

    /// A lossy hop between a server and a phone, without flows.
    const NETWORK: &str = r#"
name = "shares"
duration = "4 s"
seeds = 2
schemes = ["none", "snoop"]

[nodes.server]
kind = "host"
[nodes.base]
kind = "router"
[nodes.phone]
kind = "host"

[links.wire]
between = ["server", "base"]
rate = "10 Mbit/s"
delay = "5 ms"
[links.air]
between = ["base", "phone"]
kind = "wireless"
rate = "2 Mbit/s"
delay = "2 ms"
loss = "2%"
"#;

    fn compared(flows: &str, shown: FlowsShown) -> String {
        let text = format!("{NETWORK}\n[flows]\n{flows}");
        let scenario = file::parse(&text, "shares.toml", Path::new("."), &Overrides::default());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        comparison(&compare(&scenario, &Silent).expect("it runs"), shown)
    }

    fn downloads(flows: usize) -> String {
        let flow = |flow| format!("flow{flow} = {{ from = \"server\", to = \"phone\" }}\n");
        (0..flows).map(flow).collect::<Vec<String>>().concat()
    }

    #[test]
    fn any_number_of_flows_is_shown_with_more_than_the_sum() {
        assert!(!compared(&downloads(1), FlowsShown::Screenful).contains("flow0"), "one flow is the sum");
        let columns = compared(&downloads(4), FlowsShown::Screenful);
        assert!(columns.contains("flow3 Mbit/s") && columns.contains("Jain's index"), "{columns}");
        let table = compared(&downloads(5), FlowsShown::Screenful);
        assert!(table.contains("worst flow Mbit/s") && table.contains("│ flow4"), "{table}");
    }

    #[test]
    fn flows_after_a_screenful_are_counted_and_shown_on_request() {
        let listed = |text: &str| text.lines().filter(|line| line.starts_with("│ flow")).count();
        let some = compared(&downloads(20), FlowsShown::Screenful);
        assert!(some.contains("--all-flows lists 4 more, which changed by"), "{some}");
        let all = compared(&downloads(20), FlowsShown::All);
        assert!(!all.contains("--all-flows"), "{all}");
        // The header counts as a line of a flow.
        assert_eq!([listed(&some), listed(&all)], [17, 21], "{some}{all}");
    }

    #[test]
    fn several_flows_over_udp_have_rows_of_their_own() {
        let udp = |name| {
            format!(
                "{name} = {{ from = \"server\", to = \"phone\", transport = \"udp\", \
             application = {{ kind = \"cbr\", rate = \"100 kbit/s\", message = \"200 B\" }} }}\n"
            )
        };
        let text = compared(&(udp("voice") + &udp("meter")), FlowsShown::Screenful);
        let rows = text.lines().filter(|line| line.starts_with("│ voice") || line.starts_with("│ meter"));
        assert!(text.contains("│ UDP flow ┆ scheme") && rows.count() == 4, "{text}");
        assert!(!compared(&udp("voice"), FlowsShown::Screenful).contains("UDP flow"));
    }

    #[test]
    fn columns_about_tcp_are_shown_only_with_tcp() {
        let udp = "voice = { from = \"server\", to = \"phone\", transport = \"udp\", \
                   application = { kind = \"cbr\", rate = \"100 kbit/s\", message = \"200 B\" } }\n";
        let page = "[sessions.page]\nkind = \"web\"\nclient = \"phone\"\nserver = \"server\"\n";
        for (traffic, has_tcp) in [
            (udp.to_owned(), false),
            (format!("{udp}{}", downloads(1)), true),
            (format!("{udp}{page}"), true),
        ] {
            let text = compared(&traffic, FlowsShown::Screenful);
            for name in ["timeouts", "fast retransmits"] {
                assert_eq!(text.contains(name), has_tcp, "{name} in {text}");
            }
            assert!(text.contains("UDP lost %"), "{text}");
        }
    }
}
