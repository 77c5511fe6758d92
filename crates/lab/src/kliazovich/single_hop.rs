//! Figure 3.7: two stations of 802.11b, datagrams of 100 to 1500 octets.
//!
//! The text does not give the receiver's ACK policy. The throughputs, and the improvement at 1500
//! octets, are those of an ACK for every second segment; the improvements for small datagrams are
//! those of an ACK for every segment.

use serde_json::json;

use super::experiment::{Acks, Experiment, Measured, in_datagrams, run_all};
use super::row::{Head, LLE, TCP};
use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::RunError;

pub(super) const FILE: &str = include_str!("../../../../scenarios/kliazovich/single-hop.toml");
/// An RTS threshold above a TCP ACK with MAC header and FCS, and below the smallest datagram with
/// data.
const RTS_BEFORE_DATA: &str = "wlans.adhoc.rts-threshold=400 B";

/// With RTS/CTS or without: TCP's throughput and LLE-TCP's, in Mbit/s.
const THROUGHPUTS: [(bool, f64, f64); 2] = [(false, 5.08, 6.09), (true, 4.10, 4.71)];
/// Octets of datagrams.
const SIZES: [u32; 8] = [100, 200, 300, 500, 700, 1000, 1250, 1500];

/// The figure's rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiment = |octets, acks| Experiment::new(FILE).datagram(octets).acks(acks);
    let mut experiments = vec![experiment(1500, Acks::Del)];
    experiments.push(experiment(1500, Acks::Del).set(RTS_BEFORE_DATA));
    experiments.push(experiment(500, Acks::Del));
    experiments.extend(SIZES.map(|octets| experiment(octets, Acks::One)));
    let measured = run_all(&experiments, effort, progress)?;
    let (delayed, by_size) = measured.split_at(3);
    let mut rows = throughputs(delayed);
    rows.extend(improvements(delayed, by_size));
    rows.extend(shape("figure 3.7", by_size));
    Ok(rows)
}

fn throughputs(delayed: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for ((has_rts, tcp, lle), measured) in THROUGHPUTS.into_iter().zip(delayed) {
        for (scheme, published, row) in [(TCP, tcp, &measured.tcp), (LLE, lle, &measured.lle)] {
            let head = Head {
                item: "figure 3.7a",
                parameters: json!({ "datagram_octets": 1500, "rts_cts": has_rts, "acks": Acks::Del.name() }),
                scheme,
                metric: "throughput",
                unit: "Mbit/s",
            };
            let row = head.amount(published, Some(in_datagrams(row.goodput_bps, 1500)), row.runs);
            rows.push(row.without_effect(Some(in_datagrams(measured.tcp.goodput_bps, 1500).mean)));
        }
    }
    rows
}

/// The improvements: 20% for the largest datagrams, 50 to 70% for smaller ones. The text also has
/// it approach 100% as datagrams shrink to the size of an ACK, without a number.
fn improvements(delayed: &[Measured], by_size: &[Measured]) -> Vec<Row> {
    let of_size = |octets| SIZES.iter().position(|size| *size == octets).map(|index| &by_size[index]);
    let (every, second) =
        ("figure 3.7b, an ACK for every segment", "figure 3.7b, an ACK for every second segment");
    let (largest, smaller) = (Reference::Number(20.0), Reference::Range(50.0, 70.0));
    let numbers = [
        ("figure 3.7b", 1500, Acks::Del, largest, Some(&delayed[0])),
        ("figure 3.7b", 500, Acks::One, smaller, of_size(500)),
        ("figure 3.7b", 200, Acks::One, smaller, of_size(200)),
        (every, 1500, Acks::One, largest, of_size(1500)),
        (second, 500, Acks::Del, smaller, Some(&delayed[2])),
    ];
    let row = |(item, octets, acks, published, measured): (_, _, _, _, Option<&Measured>)| {
        let measured = measured?;
        let head = improvement(item, octets, acks);
        Some(head.per_cent(published, measured.improvement(), measured.lle.runs))
    };
    let mut rows: Vec<Row> = numbers.into_iter().filter_map(row).collect();
    rows.extend(of_size(100).map(|measured| {
        let towards = Reference::Range(50.0, 100.0);
        let head = improvement("figure 3.7b", 100, Acks::One);
        head.row(Reference::None, towards, measured.improvement(), measured.lle.runs)
            .without_effect(Some(0.0))
    }));
    rows
}

fn improvement(item: &str, octets: u32, acks: Acks) -> Head<'_> {
    Head {
        item,
        parameters: json!({ "datagram_octets": octets, "acks": acks.name() }),
        scheme: LLE,
        metric: "improvement over TCP",
        unit: "%",
    }
}

/// Claims about the sizes.
fn shape(item: &str, by_size: &[Measured]) -> Vec<Row> {
    let parameters = || json!({ "datagram_octets": SIZES, "acks": Acks::One.name() });
    let runs = by_size.iter().map(|measured| measured.tcp.runs).sum();
    let rises = |of: fn(&Measured) -> f64| by_size.windows(2).all(|pair| of(&pair[0]) < of(&pair[1]));
    let falls = by_size.windows(2).all(|pair| {
        matches!((pair[0].improvement(), pair[1].improvement()), (Some(small), Some(large)) if small.mean > large.mean)
    });
    let claim = |scheme, metric, holds| {
        Head { item, parameters: parameters(), scheme, metric, unit: "-" }.claim(holds, runs)
    };
    let throughput = "throughput rises with the datagram";
    let of_tcp = rises(|measured| measured.tcp.goodput_bps.mean);
    vec![
        claim(TCP, throughput, (of_tcp, of_tcp)),
        claim(LLE, throughput, (rises(|measured| measured.lle.goodput_bps.mean), of_tcp)),
        claim(LLE, "improvement falls as the datagram grows", (falls, false)),
    ]
}
