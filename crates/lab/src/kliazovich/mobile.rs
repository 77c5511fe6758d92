//! Figure 3.12: thirty stations that walk, AODV, RTS/CTS, ends three hops apart at first.

use serde_json::json;

use super::experiment::{Acks, Effort, Experiment, Measured, run_all};
use super::row::{Head, LLE};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const FILE: &str = include_str!("../../../../scenarios/kliazovich/mobile.toml");
/// Octets of datagrams. Fewer than in other figures: a run of 1000 s among thirty stations takes
/// seconds.
const SIZES: [u32; 3] = [500, 1000, 1500];

/// The figure's rows. The text has no number: LLE-TCP is above TCP.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiments = SIZES.map(|octets| Experiment::new(FILE).datagram(octets));
    let measured = run_all(&experiments, effort, progress)?;
    let row = |(octets, measured): (&u32, &Measured)| {
        let parameters = json!({ "nodes": 30, "datagram_octets": octets, "acks": Acks::One.name() });
        let metric = "above TCP";
        let head = Head { item: "figure 3.12", parameters, scheme: LLE, metric, unit: "%" };
        head.above_zero(measured.improvement(), measured.lle.runs)
    };
    Ok(SIZES.iter().zip(&measured).map(row).collect())
}
