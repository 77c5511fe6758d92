//! Figures 3.10 and 3.11: a string of stations that reach only their neighbors, RTS/CTS, LLE-TCP
//! at the last hop. Figure 3.12: thirty moving stations, AODV, RTS/CTS, hosts initially three hops
//! apart.

use serde_json::json;

use super::experiment::{Acks, DATAGRAM, Experiment, Measured, run_all};
use super::row::{Head, LLE, TCP};
use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::RunError;

pub(super) const FILE: &str = include_str!("../../../../scenarios/kliazovich/string.toml");
/// The text has an improvement of 10 to 20% up to this number of hops, and about none over more.
const FEW_HOPS: u32 = 7;
/// Octets of datagrams.
const SIZES: [u32; 6] = [100, 300, 500, 750, 1000, 1500];

const MOBILE: &str = include_str!("../../../../scenarios/kliazovich/mobile.toml");
/// Octets of datagrams. There are fewer sizes than in other figures: a run of 1000 s with thirty
/// stations takes seconds.
const SIZES_OF_MOBILE: [u32; 3] = [500, 1000, 1500];

/// The rows of figures 3.10 and 3.11.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let mut rows = hops(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], effort, progress)?;
    rows.extend(sizes(effort, progress)?);
    Ok(rows)
}

/// Figure 3.10, with these numbers of hops.
pub(super) fn hops(hops: &[u32], effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiment = |hops| Experiment::new(FILE).set(format!("flows.bulk.to=n{hops}"));
    let experiments: Vec<_> = hops.iter().map(experiment).collect();
    let measured = run_all(&experiments, effort, progress)?;
    let row = |(hops, measured): (&u32, &Measured)| {
        let head = Head {
            item: "figure 3.10",
            parameters: json!({ "hops": hops, "datagram_octets": DATAGRAM, "acks": Acks::One.name() }),
            scheme: LLE,
            metric: "improvement over TCP",
            unit: "%",
        };
        let published = if *hops <= FEW_HOPS { Reference::Range(10.0, 20.0) } else { Reference::Number(0.0) };
        head.per_cent(published, measured.improvement(), measured.lle.runs)
    };
    Ok(hops.iter().zip(&measured).map(row).collect())
}

/// Figure 3.11: three hops against the datagram's size. The text has no number.
fn sizes(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiments = SIZES.map(|octets| Experiment::new(FILE).datagram(octets));
    let measured = run_all(&experiments, effort, progress)?;
    let runs = measured.iter().map(|measured| measured.tcp.runs).sum();
    let rises = |of: fn(&Measured) -> f64| measured.windows(2).all(|pair| of(&pair[0]) < of(&pair[1]));
    let claim = |scheme, metric, holds| {
        let parameters = json!({ "hops": 3, "datagram_octets": SIZES, "acks": Acks::One.name() });
        Head { item: "figure 3.11", parameters, scheme, metric, unit: "-" }.claim(holds, runs)
    };
    let throughput = "throughput rises with the datagram";
    let of_tcp = rises(|measured| measured.tcp.goodput_bps.mean);
    let gains = |measured: &Measured| measured.improvement().is_some_and(|gain| gain.mean > 0.0);
    Ok(vec![
        claim(TCP, throughput, (of_tcp, of_tcp)),
        claim(LLE, throughput, (rises(|measured| measured.lle.goodput_bps.mean), of_tcp)),
        claim(LLE, "above TCP for every size", (measured.iter().all(gains), false)),
    ])
}

/// The rows of figure 3.12. The text has no number: it says that LLE-TCP is above TCP.
pub fn mobile(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiments = SIZES_OF_MOBILE.map(|octets| Experiment::new(MOBILE).datagram(octets));
    let measured = run_all(&experiments, effort, progress)?;
    let row = |(octets, measured): (&u32, &Measured)| {
        let parameters = json!({ "nodes": 30, "datagram_octets": octets, "acks": Acks::One.name() });
        let metric = "above TCP";
        let head = Head { item: "figure 3.12", parameters, scheme: LLE, metric, unit: "%" };
        head.above_zero(measured.improvement(), measured.lle.runs)
    };
    Ok(SIZES_OF_MOBILE.iter().zip(&measured).map(row).collect())
}
