//! The output of a prediction.

use anyhow::anyhow;
use lasthop_config::words::counted;
use lasthop_lab::table::{Table, number};
use lasthop_lab::{Comparison, Estimate};
use lasthop_packet::units::Bitrate;
use serde::Serialize;
use serde_json::{Value, json};

use super::hop::{Direction, Hop};
use super::world;
use crate::commands::gateway::lines::line;
use crate::failure::Failure;

/// With fewer losses the loss rate is uncertain, which a note says.
const FEW_LOSSES: u64 = 20;
/// The simulator and the gateway agree on a rate if neither exceeds the other by more than this
/// factor.
const AGREEMENT: f64 = 1.5;

/// The document that `lasthop gateway gain --json` prints.
#[derive(Serialize)]
pub struct Report {
    /// What the gateway measured.
    measured: Hop,
    /// Whether the hop lost nothing that was measured. Nothing is predicted then.
    nothing_to_gain: bool,
    /// Octets of the simulated transfer.
    simulated_octets: u64,
    /// Each scheme has a run with each of this number of seeds.
    seeds: u64,
    /// A prediction for each rate of the hop.
    predictions: Vec<Prediction>,
    /// What the prediction takes for granted.
    assumed: Vec<String>,
    /// What the gateway cannot know, and what depends on it.
    not_known: Vec<String>,
    /// Reasons to trust the prediction less.
    notes: Vec<String>,
}

/// A prediction for a hop of a rate.
#[derive(Serialize)]
pub struct Prediction {
    /// The rate of the hop, in bits per second.
    rate_bps: u64,
    /// The schemes, none first.
    rows: Vec<Row>,
}

/// A scheme's prediction.
#[derive(Serialize)]
struct Row {
    scheme: String,
    /// Goodput of the transfer, in bits per second.
    goodput_bps: Estimate,
    /// This goodput divided by that without a scheme; null for none itself.
    times_none: Option<Estimate>,
    /// This goodput divided by the rate of the fastest connection that the gateway saw; null if that is
    /// not known.
    times_fastest: Option<f64>,
}

impl Prediction {
    /// The simulator's results for a hop with this rate, with the transfer as the only flow.
    pub fn new(hop: &Hop, rate: Bitrate, comparison: &Comparison) -> Self {
        let rows = comparison.rows.iter().filter_map(|row| {
            let flow = row.single_flows.first()?;
            let times = |percent: Estimate| Estimate {
                mean: 1.0 + percent.mean / 100.0,
                ci95: percent.ci95.map(|ci95| ci95 / 100.0),
            };
            Some(Row {
                scheme: row.scheme.clone(),
                goodput_bps: flow.goodput_bps,
                times_none: flow.change_percent.map(times),
                times_fastest: hop.fastest_bps.map(|fastest| flow.goodput_bps.mean / fastest),
            })
        });
        Self { rate_bps: rate.as_bps(), rows: rows.collect() }
    }
}

impl Report {
    pub fn new(
        hop: Hop,
        seeds: u64,
        congestion: &str,
        rate_is_given: bool,
        predictions: Vec<Prediction>,
    ) -> Self {
        let nothing_to_gain = hop.lost == 0;
        let mut notes = notes(&hop);
        notes.extend(disagreement(&hop, &predictions));
        Self {
            nothing_to_gain,
            simulated_octets: world::transfer(&hop),
            seeds,
            assumed: if nothing_to_gain { Vec::new() } else { assumed(&hop, congestion, rate_is_given) },
            not_known: if nothing_to_gain { Vec::new() } else { not_known(&hop, rate_is_given) },
            notes,
            predictions,
            measured: hop,
        }
    }

    pub fn title(&self) -> String {
        let Self { measured: hop, simulated_octets, seeds, .. } = self;
        if self.nothing_to_gain {
            return format!(
                "nothing to gain: of {} in the direction of the {}, the hop lost none (with 95% confidence, less than {}%)",
                counted(hop.segments, "segment"),
                hop.direction().name(),
                number(hop.loss_most_percent, 3)
            );
        }
        let runs = match seeds {
            1 => "one run each".to_owned(),
            _ => format!("mean of {seeds} runs each, ± half-width of the 95% confidence interval"),
        };
        format!(
            "one {} of {} kB on the measured hop, predicted by the simulator: {runs}",
            hop.direction().name(),
            simulated_octets / 1000
        )
    }

    /// The table, and its assumptions.
    pub fn text(&self) -> String {
        let table = (!self.predictions.is_empty()).then(|| self.table().to_string());
        let texts = [("assumed   ", &self.assumed), ("not known ", &self.not_known)];
        let texts = texts.into_iter().filter(|(_, texts)| !texts.is_empty());
        let texts = texts.map(|(label, texts)| line(label, &texts.join("; ")));
        let notes = self.notes.iter().map(|note| line("note      ", note));
        let measured = line("measured  ", &measured(&self.measured));
        table.into_iter().chain([measured]).chain(texts).chain(notes).collect::<Vec<_>>().join("\n")
    }

    fn table(&self) -> Table {
        let columns = self.predictions.iter().flat_map(|prediction| {
            let of = match self.predictions.len() {
                1 => String::new(),
                _ => format!(" on {} Mbit/s", mbps(prediction.rate_bps as f64)),
            };
            let fastest = self.measured.fastest_bps.map(|_| format!("times fastest{of}"));
            [format!("goodput Mbit/s{of}"), format!("times none{of}")].into_iter().chain(fastest)
        });
        let columns: Vec<String> = ["scheme".to_owned()].into_iter().chain(columns).collect();
        let mut table = Table::with_numbers(&columns.iter().map(String::as_str).collect::<Vec<_>>());
        let schemes = self.predictions.first().map_or(0, |prediction| prediction.rows.len());
        for place in 0..schemes {
            let rows = self.predictions.iter().filter_map(|prediction| prediction.rows.get(place));
            let label = rows.clone().next().map(|row| row.scheme.clone());
            let cells = rows.flat_map(|row| {
                let times = row.times_none.map_or_else(|| "-".to_owned(), |times| spread(times, 1.0, 2));
                let fastest = row.times_fastest.map(|times| number(times, 2));
                [spread(row.goodput_bps, 1e-6, 2), times].into_iter().chain(fastest)
            });
            table.add_row(label.into_iter().chain(cells));
        }
        table
    }

    /// The lines of the CSV table.
    pub fn lines(&self) -> Result<Vec<Value>, Failure> {
        let rows = self.predictions.iter().flat_map(|prediction| {
            prediction.rows.iter().map(|row| {
                let mut line = serde_json::to_value(row)?;
                line["rate_bps"] = json!(prediction.rate_bps);
                Ok(line)
            })
        });
        rows.collect::<Result<_, serde_json::Error>>().map_err(|error| Failure::Run(anyhow!(error)))
    }
}

fn measured(hop: &Hop) -> String {
    let of = match hop.clients {
        Some(clients) => {
            format!("{} of {}", counted(hop.connections, "connection"), counted(clients as u64, "client"))
        }
        None => counted(hop.connections, "connection"),
    };
    let mut texts = vec![
        of,
        format!(
            "{}, of which the hop lost {}: {}% (with 95% confidence, {} to {}%)",
            counted(hop.segments, "segment"),
            hop.lost,
            number(hop.loss_percent, 2),
            number(hop.loss_least_percent, 2),
            number(hop.loss_most_percent, 2)
        ),
    ];
    texts.extend(hop.loss_back_percent.map(|loss| format!("{}% in the other direction", number(loss, 2))));
    texts.extend(hop.loss_before_percent.map(|loss| format!("{}% before the gateway", number(loss, 2))));
    texts.push(format!(
        "round trips: {} ms over the hop ({} ms with its queue), {} ms to the servers",
        number(1e3 * hop.rtt_min_hop_s, 1),
        number(1e3 * hop.rtt_hop_s, 1),
        number(1e3 * hop.rtt_wire_s, 1)
    ));
    texts.extend(hop.fastest_bps.map(|bps| format!("the fastest connection had {} Mbit/s", mbps(bps))));
    texts.push(format!("{} kB in a transfer", hop.transfer_octets / 1000));
    texts.join("; ")
}

fn assumed(hop: &Hop, congestion: &str, rate_is_given: bool) -> Vec<String> {
    let mut texts = Vec::new();
    if !rate_is_given {
        texts.push("a hop of the fastest connection's rate, and of twice and four times it (`--rate` says which it has)".to_owned());
    }
    texts.extend([
        "losses that do not depend on each other".to_owned(),
        format!("hosts with Linux's TCP and `--congestion {congestion}`"),
        "one transfer at a time".to_owned(),
        "100 ms of queue before the hop".to_owned(),
    ]);
    if hop.loss_back_percent.is_none() {
        texts.push("as much loss in the other direction".to_owned());
    }
    if hop.transfer_octets > world::LARGEST_TRANSFER {
        texts.push(format!("the first {} MB of a transfer", world::LARGEST_TRANSFER / 1_000_000));
    }
    texts
}

fn not_known(hop: &Hop, rate_is_given: bool) -> Vec<String> {
    let mut texts =
        vec!["whether losses come in bursts".to_owned(), "the congestion control of the senders".to_owned()];
    if !rate_is_given {
        texts.push("the rate of the hop".to_owned());
    }
    if hop.direction() == Direction::Upload {
        texts.push("losses behind which nothing came: there are more than were counted".to_owned());
    }
    texts.push("`--out FILE` writes the scenario, for `lasthop compare FILE --set 'links.air.loss=1% in bursts of 4'` and the like".to_owned());
    texts
}

fn notes(hop: &Hop) -> Vec<String> {
    let mut notes = Vec::new();
    if (1..FEW_LOSSES).contains(&hop.lost) {
        notes.push(format!(
            "the hop lost only {}, so its loss may be {} to {}%; {FEW_LOSSES} are needed for bounds of which one is 2.4 times the other",
            counted(hop.lost, "segment"),
            number(hop.loss_least_percent, 2),
            number(hop.loss_most_percent, 2)
        ));
    }
    if hop.lost > 0 && hop.rtt_hop_s > 1.5 * hop.rtt_min_hop_s + 0.005 {
        notes.push("the hop's round trip grows under load: a queue builds there, and some of the losses may be those of a full queue, which no scheme gains from".to_owned());
    }
    if hop.repairs > 0 {
        notes.push(format!("measured with a scheme: agents sent {} again", counted(hop.repairs, "segment")));
    }
    notes
}

/// A note if the simulator's rate without a scheme differs from the one that the gateway measured
/// without one.
fn disagreement(hop: &Hop, predictions: &[Prediction]) -> Option<String> {
    let fastest = hop.fastest_bps.filter(|_| hop.repairs == 0)?;
    // The highest of several rates, since no connection is faster than the hop.
    let none = predictions.last()?.rows.first()?.goodput_bps.mean;
    let difference = format!(
        "the fastest connection had {} Mbit/s here, and the simulator has {} without a scheme",
        mbps(fastest),
        mbps(none)
    );
    if fastest > AGREEMENT * none {
        Some(format!(
            "{difference}: losses come in bursts here, or the senders have another congestion control (`--congestion bbr`). Each of them leaves less to gain; go by \"times fastest\""
        ))
    } else if none > AGREEMENT * fastest {
        Some(format!(
            "{difference}: applications may have had less to send. The gain is that of transfers which the network limits"
        ))
    } else {
        None
    }
}

fn mbps(bps: f64) -> String {
    number(1e-6 * bps, if bps < 1e6 { 3 } else { 1 })
}

/// The text of a mean with its confidence interval.
fn spread(estimate: Estimate, scale: f64, decimals: usize) -> String {
    let mean = number(scale * estimate.mean, decimals);
    match estimate.ci95 {
        Some(ci95) => format!("{mean} ± {}", number(scale * ci95, decimals)),
        None => mean,
    }
}
