//! `lasthop reproduce bianchi`: the model beside the simulator, for the physical layers and the
//! numbers of stations in the literature.
//!
//! 802.11g has two cases: with EIFS for an ACK at 6 Mbit/s, which a network without 802.11b may
//! use, and, by the letter of the standard, at 1 Mbit/s. By the letter the stations of a collision
//! are 30 slots ahead of all others and contend among themselves, while the model has equal
//! stations: these rows show the size of the difference, and disagree from two stations on.

use std::time::Duration;

use lasthop_wifi::{Rate, Standard, WlanConfig};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::{Freezing, Saturation, measure};
use crate::progress::{Progress, check};
use crate::reproduce::{Reference, Row};
use crate::run::RunError;
use crate::stats::Estimate;

/// Numbers of stations that always have a frame to send.
const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];
/// Octets of a datagram.
const DATAGRAM: u32 = 1500;
/// Simulated time of a run; the first twentieth does not count.
const TIME: Duration = Duration::from_secs(20);
/// Tolerance around the model's value, as a fraction of it; ns-3's own test has the same.
const TOLERANCE: f64 = 0.015;

/// A physical layer with its name and its parameters.
struct Case {
    standard: &'static str,
    config: WlanConfig,
}

fn cases() -> Vec<Case> {
    let case = |standard, config| Case { standard, config };
    let mut pure_g = WlanConfig::new(Standard::Erp);
    pure_g.phy.eifs_rate = Rate::OFDM_6;
    vec![
        case("802.11b", WlanConfig::new(Standard::HrDsss)),
        case("802.11a", WlanConfig::new(Standard::Ofdm)),
        case("802.11g", pure_g),
        // By the letter of the standard.
        case("802.11g", WlanConfig::new(Standard::Erp)),
    ]
}

/// The rows, with `seeds` runs for each; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let seeds = seeds.max(2);
    let mut points = Vec::new();
    for Case { standard, config } in cases() {
        for has_rts in [false, true] {
            let mut config = config.clone();
            if has_rts {
                config.mac.rts_threshold = 0;
            }
            points.extend(STATIONS.map(|stations| (standard, config.clone(), has_rts, stations)));
        }
    }
    progress.expect(points.len() as u64 * seeds);
    points
        .par_iter()
        .map(|(standard, config, has_rts, stations)| {
            let samples = (1..=seeds).map(|seed| {
                check(progress)?;
                let throughput = measure(config, *stations, DATAGRAM, TIME, seed);
                progress.advance();
                Ok(throughput / 1e6)
            });
            let samples: Vec<f64> = samples.collect::<Result<_, RunError>>()?;
            Ok(row(standard, config, *has_rts, *stations, &samples))
        })
        .collect()
}

fn row(standard: &str, config: &WlanConfig, has_rts: bool, stations: u32, samples: &[f64]) -> Row {
    let model = Saturation::new(config, stations, DATAGRAM);
    let published = model.throughput(Freezing::Stops) / 1e6;
    let tolerance = Reference::Range(published * (1.0 - TOLERANCE), published * (1.0 + TOLERANCE));
    let eifs = config.phy.eifs_rate.kbps() as f64 / 1000.0;
    let parameters: Map<String, Value> = [
        ("standard", json!(standard)),
        ("rate_mbps", json!(super::megabits(config.phy.rate))),
        ("eifs_rate_mbps", json!(eifs)),
        ("access", json!(if has_rts { "RTS/CTS" } else { "basic" })),
        ("stations", json!(stations)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    let by_the_letter = config.phy.standard == Standard::Erp && config.phy.eifs_rate == Rate::DSSS_1;
    Row {
        paper: "bianchi".to_owned(),
        item: if by_the_letter {
            "saturation throughput, colliders ahead".to_owned()
        } else {
            "saturation throughput".to_owned()
        },
        parameters,
        scheme: "dcf".to_owned(),
        metric: "throughput".to_owned(),
        unit: "Mbit/s".to_owned(),
        // The simulator's interval is wider than the last of these digits.
        published: Reference::Number((published * 1e4).round() / 1e4),
        alternative: by_the_letter,
        ..Row::within(tolerance, Estimate::from_samples(samples), samples.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn a_row_for_every_case_and_802_11b_agrees() {
        let rows = reproduce(2, &Silent).expect("it runs");
        assert_eq!(rows.len(), 4 * 2 * STATIONS.len());
        let of_b = rows.iter().filter(|row| row.parameters["standard"] == "802.11b");
        for row in of_b {
            assert!(row.agrees, "{row:?}");
        }
    }
}
