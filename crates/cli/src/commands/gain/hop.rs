//! Combines the measurements of connections and clients into those of one hop.

use std::time::Duration;

use clap::ValueEnum;
use lasthop_config::words::counted;
use lasthop_gateway::clients::{Carried, ClientReport};
use lasthop_gateway::engine::FlowReport;
use serde::Serialize;

/// The minimum number of segments for an estimate of a hop's loss: at a loss of 1%, ten of them are
/// lost.
pub const MIN_SEGMENTS: u64 = 1000;

/// The minimum duration in seconds and the minimum octets of a connection whose rate counts as that
/// of a transfer.
const MIN_TRANSFER: (f64, u64) = (0.5, 100_000);

/// The standard normal distribution's 97.5% quantile.
const Z: f64 = 1.96;

/// The way of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To the clients
    Download,
    /// From the clients
    Upload,
}

/// A gateway's lists of its traffic.
#[derive(Debug, Default)]
pub struct Lists {
    pub flows: Vec<FlowReport>,
    /// Empty if clients are not counted or were not queried.
    pub clients: Vec<ClientReport>,
}

/// What was measured of a hop in the direction of the data.
#[derive(Clone, Debug, Serialize)]
pub struct Hop {
    /// "download" or "upload".
    direction: Direction,
    /// Clients whose counters these are; null if they are those of connections in the gateway's table.
    pub clients: Option<usize>,
    /// Connections that carried this.
    pub connections: u64,
    /// Octets of IP packets in this direction.
    pub octets: u64,
    /// Octets of IP packets in the other direction.
    pub octets_back: u64,
    /// Segments sent over the hop in this direction.
    pub segments: u64,
    /// Of these, segments that the hop lost.
    pub lost: u64,
    /// Segments that agents sent again.
    pub repairs: u64,
    /// Share of the segments that the hop lost.
    pub loss_percent: f64,
    /// The bounds of the 95% interval of that share (Wilson's), if losses are independent.
    pub loss_least_percent: f64,
    /// The upper bound.
    pub loss_most_percent: f64,
    /// Share of the segments that the hop lost in the other direction; null with fewer than 1000 segments.
    pub loss_back_percent: Option<f64>,
    /// Share of the segments of a download that were lost before the gateway; null of an upload.
    pub loss_before_percent: Option<f64>,
    /// The least round-trip time over the hop in seconds: the median, weighted by octets, over the rows.
    pub rtt_min_hop_s: f64,
    /// The smoothed round-trip time over the hop, in the same way.
    pub rtt_hop_s: f64,
    /// The round-trip time from the gateway to the servers, in the same way, or as given.
    pub rtt_wire_s: f64,
    /// Octets of a transfer, headers included: half of all octets belong to transfers of at least this size.
    pub transfer_octets: u64,
    /// The rate of the fastest connection over its life, in bits per second; null if none carried enough to
    /// tell.
    pub fastest_bps: Option<f64>,
}

impl Direction {
    /// The name in results and scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }

    const fn opposite(self) -> Self {
        match self {
            Self::Download => Self::Upload,
            Self::Upload => Self::Download,
        }
    }

    const fn octets(self, carried: &Carried) -> u64 {
        match self {
            Self::Download => carried.octets_down,
            Self::Upload => carried.octets_up,
        }
    }

    /// The numbers of segments sent in this direction, and of those lost.
    const fn segments(self, carried: &Carried) -> (u64, u64) {
        let hop = &carried.hop;
        match self {
            // A needless retransmission means that the segment was not lost.
            Self::Download => (hop.segments_down, hop.lost_down.saturating_sub(hop.needless)),
            // Lost segments did not arrive, so they are not in `segments_up`.
            Self::Upload => (hop.segments_up + hop.lost_up, hop.lost_up),
        }
    }

    /// The direction with more octets.
    fn with_most_octets(carried: &Carried) -> Self {
        if carried.octets_up > carried.octets_down { Self::Upload } else { Self::Download }
    }
}

impl Lists {
    /// The total of all rows, and the number of connections.
    fn total(&self) -> (Carried, u64) {
        let of_clients =
            self.clients.iter().map(|client| (client.counters.carried, client.counters.connections));
        let of_flows = self.flows.iter().map(|flow| (flow.carried(), 1));
        let add = |(total, number): (Carried, u64), (carried, more): (Carried, u64)| {
            (total.plus(carried), number + more)
        };
        if self.clients.is_empty() {
            of_flows.fold(Default::default(), add)
        } else {
            of_clients.fold(Default::default(), add)
        }
    }

    /// The connections of the listed clients, for values that the counters of clients do not have.
    fn connections(&self) -> Vec<&FlowReport> {
        let has_others = self.clients.iter().any(|client| client.client == "other");
        let is_of_one = |flow: &&FlowReport| {
            let client = flow.radio.ip().to_string();
            self.clients.is_empty() || has_others || self.clients.iter().any(|row| row.client == client)
        };
        self.flows.iter().filter(is_of_one).collect()
    }
}

impl Hop {
    /// Combines the rows in this direction, by default that of most octets. The error names the
    /// missing measurement.
    pub fn from_lists(
        lists: &Lists,
        direction: Option<Direction>,
        rtt_wire: Option<Duration>,
    ) -> Result<Self, String> {
        let (carried, connections) = lists.total();
        let direction = direction.unwrap_or_else(|| Direction::with_most_octets(&carried));
        let (segments, lost) = direction.segments(&carried);
        if segments < MIN_SEGMENTS {
            return Err(format!(
                "{} in the direction of the {} {} measured, on {}; {MIN_SEGMENTS} are needed: let the gateway measure for longer",
                counted(segments, "segment"),
                direction.name(),
                if segments == 1 { "was" } else { "were" },
                counted(connections, "connection")
            ));
        }
        let flows = lists.connections();
        let of_flows = |value: fn(&FlowReport) -> Option<f64>| {
            let values =
                flows.iter().filter_map(|flow| Some((value(flow)?, direction.octets(&flow.carried()))));
            weighted_median(values.collect())
        };
        let of_clients = |value: fn(&ClientReport) -> Option<f64>| {
            let values = lists.clients.iter();
            let values =
                values.filter_map(|row| Some((value(row)?, direction.octets(&row.counters.carried))));
            weighted_median(values.collect())
        };
        let rtt_min_hop =
            of_clients(|row| row.counters.rtt_min_hop_s).or(of_flows(|flow| flow.rtt_min_hop_s));
        let rtt_hop = of_clients(|row| row.counters.rtt_hop_s).or(of_flows(|flow| flow.rtt_hop_s));
        let (Some(rtt_min_hop_s), Some(rtt_hop_s)) = (rtt_min_hop, rtt_hop) else {
            return Err("no round-trip time over the hop was measured".to_owned());
        };
        let rtt_wire = rtt_wire.map(|rtt| rtt.as_secs_f64()).or(of_flows(|flow| flow.rtt_wire_s));
        let Some(rtt_wire_s) = rtt_wire else {
            return Err("no connection tells the round-trip time from the gateway to its server; give it, such as `--wire-rtt '30 ms'`, or the list of connections (`lasthop gateway flows --json`), too".to_owned());
        };
        let back = Some(direction.opposite().segments(&carried)).filter(|(sent, _)| *sent >= MIN_SEGMENTS);
        let (least, most) = interval(lost, segments);
        let lost_before = carried.hop.lost_before;
        let octets = direction.octets(&carried);
        let transfers = flows.iter().map(|flow| direction.octets(&flow.carried()));
        let transfer = weighted_median(transfers.map(|octets| (octets as f64, octets)).collect());
        // Without connections, the mean of a connection.
        let transfer = transfer.unwrap_or(octets as f64 / connections.max(1) as f64);
        Ok(Self {
            direction,
            clients: (!lists.clients.is_empty()).then_some(lists.clients.len()),
            connections,
            octets,
            octets_back: direction.opposite().octets(&carried),
            segments,
            lost,
            repairs: carried.hop.repairs,
            loss_percent: percent(lost, segments),
            loss_least_percent: least,
            loss_most_percent: most,
            loss_back_percent: back.map(|(sent, lost)| percent(lost, sent)),
            loss_before_percent: (direction == Direction::Download)
                .then(|| percent(lost_before, segments.saturating_add(lost_before))),
            rtt_min_hop_s,
            rtt_hop_s: rtt_hop_s.max(rtt_min_hop_s),
            rtt_wire_s,
            transfer_octets: transfer as u64,
            fastest_bps: flows.iter().filter_map(|flow| rate(flow, direction)).max_by(f64::total_cmp),
        })
    }

    /// The direction of the data.
    pub const fn direction(&self) -> Direction {
        self.direction
    }
}

/// The rate of a connection from its first packet to its last; `None` below [`MIN_TRANSFER`].
fn rate(flow: &FlowReport, direction: Direction) -> Option<f64> {
    let (time, octets) = (flow.age_s - flow.idle_s, direction.octets(&flow.carried()));
    let (min_time, min_octets) = MIN_TRANSFER;
    (time >= min_time && octets >= min_octets).then(|| 8.0 * octets as f64 / time)
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

/// The 95% confidence interval of a proportion, in percent (E. B. Wilson, Journal of the American
/// Statistical Association 22, 1927).
fn interval(part: u64, of: u64) -> (f64, f64) {
    let (n, share) = (of.max(1) as f64, part as f64 / of.max(1) as f64);
    let (middle, scale) = (share + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let bound = |value: f64| 100.0 * (value / scale).clamp(0.0, 1.0);
    (if part == 0 { 0.0 } else { bound(middle - half) }, bound(middle + half))
}

/// The value at which half of the total weight is reached; `None` without weights.
fn weighted_median(mut values: Vec<(f64, u64)>) -> Option<f64> {
    values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let all: u128 = values.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let mut below = 0;
    values.into_iter().find_map(|(value, weight)| {
        below += u128::from(weight);
        (weight > 0 && 2 * below >= all).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use lasthop_gateway::clients::ClientCounters;
    use lasthop_gateway::hop_watch::HopCounters;
    use serde_json::json;

    use super::*;

    fn flow(client: &str, octets: u64, hop: HopCounters) -> FlowReport {
        let document = json!({
            "protocol": "tcp", "core": "192.0.2.1:443", "radio": format!("{client}:50000"),
            "state": "established", "rule": "", "aside": "", "packets_from_core": 1,
            "octets_from_core": octets, "packets_from_radio": 1, "octets_from_radio": 100,
            "sent_by_agent": 0, "kept_by_agent": 0, "age_s": 5.0, "idle_s": 1.0,
            "rtt_hop_s": 0.03, "rtt_min_hop_s": 0.01, "rtt_wire_s": 0.05
        });
        FlowReport { hop, ..serde_json::from_value(document).expect("it is one") }
    }

    fn lossy() -> HopCounters {
        HopCounters {
            segments_down: 2000,
            lost_down: 30,
            needless: 10,
            lost_before: 5,
            segments_up: 40,
            ..HopCounters::default()
        }
    }

    fn of(lists: &Lists) -> Result<Hop, String> {
        Hop::from_lists(lists, None, None)
    }

    #[test]
    fn measurements_of_connections_are_combined_into_those_of_a_hop() {
        let lists = Lists { flows: vec![flow("10.0.0.7", 2_500_000, lossy())], clients: Vec::new() };
        let hop = of(&lists).expect("there is enough");
        assert_eq!((hop.direction, hop.segments, hop.lost), (Direction::Download, 2000, 20));
        assert_eq!((hop.loss_percent, hop.loss_back_percent), (1.0, None));
        assert_eq!((hop.rtt_min_hop_s, hop.rtt_hop_s, hop.rtt_wire_s), (0.01, 0.03, 0.05));
        assert_eq!((hop.transfer_octets, hop.fastest_bps), (2_500_000, Some(5e6)));
        assert!(hop.loss_least_percent > 0.6 && hop.loss_most_percent < 1.6, "{hop:?}");
    }

    #[test]
    fn the_error_for_too_few_segments_has_their_number_and_the_minimum() {
        let few = HopCounters { segments_down: 12, ..HopCounters::default() };
        let lists = Lists { flows: vec![flow("10.0.0.7", 9000, few)], clients: Vec::new() };
        let why = of(&lists).expect_err("12 segments say nothing");
        assert!(
            why.starts_with("12 segments in the direction of the download") && why.contains("1000"),
            "{why}"
        );
        assert!(of(&Lists::default()).is_err());
        let why = Hop::from_lists(&lists, Some(Direction::Upload), None).expect_err("even less");
        assert!(why.starts_with("0 segments in the direction of the upload"), "{why}");
    }

    #[test]
    fn counters_of_clients_take_precedence_over_those_of_connections() {
        let carried = Carried { octets_down: 9_000_000, hop: lossy(), ..Carried::default() };
        let counters = ClientCounters {
            connections: 9,
            carried,
            rtt_hop_s: Some(0.02),
            rtt_min_hop_s: Some(0.015),
            ..ClientCounters::default()
        };
        let client = ClientReport { client: "10.0.0.7".to_owned(), counters, ..ClientReport::default() };
        let flows = [("10.0.0.7", 400_000), ("10.0.0.8", 90_000_000)];
        let flows = flows.map(|(client, octets)| flow(client, octets, HopCounters::default()));
        let mut lists = Lists { flows: flows.into(), clients: vec![client] };
        let hop = of(&lists).expect("there is enough");
        assert_eq!((hop.connections, hop.lost, hop.rtt_min_hop_s), (9, 20, 0.015));
        assert_eq!((hop.transfer_octets, hop.rtt_wire_s), (400_000, 0.05), "not those of another client");
        lists.flows.clear();
        assert!(of(&lists).expect_err("no server is known").contains("--wire-rtt"));
        let hop = Hop::from_lists(&lists, None, Some(Duration::from_millis(30))).expect("it is given");
        assert_eq!((hop.transfer_octets, hop.fastest_bps), (1_000_000, None));
    }

    #[test]
    fn the_largest_counts_of_a_file_do_not_overflow() {
        let most = HopCounters { segments_down: u64::MAX, lost_before: u64::MAX, ..lossy() };
        let flows = [7, 8].map(|host| flow(&format!("10.0.0.{host}"), u64::MAX, most));
        let hop = of(&Lists { flows: flows.into(), clients: Vec::new() }).expect("there is enough");
        assert_eq!((hop.octets, hop.segments), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_weighted_median_is_the_value_that_reaches_half_of_the_weight() {
        assert_eq!(weighted_median(vec![(3.0, 10), (1.0, 1), (2.0, 2)]), Some(3.0));
        assert_eq!(weighted_median(vec![(3.0, 3), (1.0, 3), (2.0, 0)]), Some(1.0));
        assert_eq!(weighted_median(vec![(3.0, 0)]), None);
    }

    #[test]
    fn an_interval_includes_its_proportion_and_narrows_with_more_samples() {
        let (least, most) = interval(0, 3000);
        assert!(least == 0.0 && (0.1..0.15).contains(&most), "the rule of three: {most}");
        let wide = interval(10, 1000);
        let narrow = interval(1000, 100_000);
        assert!(wide.0 < narrow.0 && narrow.0 < 1.0 && 1.0 < narrow.1 && narrow.1 < wide.1);
    }
}
