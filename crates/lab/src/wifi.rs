//! `lasthop reproduce wifi`: 802.11n, ac and ax beside what is known of them: closed forms for one sender, what ns-3's own
//! tests accept, and Bianchi's model with A-MPDUs; and the queues of an access point with Linux (`queues`).

mod queues;

use std::ops::Range;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_wifi::{Aggregation, Format, GuardInterval, Mcs, PhyConfig, Standard, WlanConfig};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::bianchi::{Freezing, Saturation, measure, measure_with_beacons};
use crate::progress::{Progress, check};
use crate::reproduce::{Reference, Row};
use crate::run::RunError;
use crate::stats::Estimate;

/// Octets of a datagram, and of the payload of UDP in it.
const DATAGRAM: u32 = 1500;
const PAYLOAD: f64 = 1472.0;
/// Simulated time of a run of one sender, and of a run of several.
const OF_ONE: Duration = Duration::from_secs(10);
const OF_SEVERAL: Duration = Duration::from_secs(60);
/// Numbers of stations that always have a frame to send.
const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];
/// The octets of a beacon of ns-3's access points, about, and their interval.
const BEACON: (u32, Duration) = (155, Duration::from_micros(102_400));

/// The tolerances, as fractions.
const OF_CLOSED_FORM: f64 = 0.005;
const OF_MODEL: f64 = 0.01;

/// What the packets of a sender are aggregated to.
#[derive(Clone, Copy)]
enum Aggregated {
    No,
    Amsdu,
    Ampdu,
    Both,
}

impl Aggregated {
    const ALL: [Self; 4] = [Self::No, Self::Amsdu, Self::Ampdu, Self::Both];

    const fn name(self) -> &'static str {
        match self {
            Self::No => "none",
            Self::Amsdu => "A-MSDU",
            Self::Ampdu => "A-MPDU",
            Self::Both => "both",
        }
    }

    /// The limits that ns-3's example has with HT.
    fn limits(self, format: Format) -> Option<Aggregation> {
        let most = Aggregation::new(format);
        match self {
            Self::No => None,
            Self::Amsdu => Some(Aggregation { amsdu: 7_935, ampdu: 0, ..most }),
            Self::Ampdu => Some(most),
            Self::Both => Some(Aggregation { amsdu: 3_839, ampdu: 32_768, ..most }),
        }
    }
}

/// What a row measures.
enum Kind {
    /// One sender, beside the closed form.
    ClosedForm,
    /// One sender whose station also sends beacons, beside what ns-3's test accepts.
    Ns3(Reference),
    /// Saturated stations, beside the model.
    Bianchi(u32),
}

struct Case {
    kind: Kind,
    config: WlanConfig,
    parameters: Map<String, Value>,
}

/// The rows, with `seeds` runs for each; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let seeds = seeds.max(2);
    let cases: Vec<Case> = closed_forms().chain(ns3()).chain(saturated()).collect();
    progress.expect(cases.len() as u64 * seeds);
    let row = |case: &Case| {
        let samples = (1..=seeds).map(|seed| {
            check(progress)?;
            let sample = case.measure(seed) / 1e6;
            progress.advance();
            Ok(sample)
        });
        Ok(case.row(&samples.collect::<Result<Vec<f64>, RunError>>()?))
    };
    let mut rows = cases.par_iter().map(row).collect::<Result<Vec<_>, RunError>>()?;
    rows.extend(queues::reproduce(seeds, progress)?);
    Ok(rows)
}

fn config(mcs: Mcs, aggregation: Option<Aggregation>) -> WlanConfig {
    let standard = match mcs.format() {
        Format::Ht => Standard::Ht,
        Format::Vht => Standard::Vht,
        Format::He => Standard::He,
    };
    let mut config = WlanConfig::new(standard);
    config.phy = PhyConfig { width: mcs.width(), rate: mcs.into(), ..config.phy };
    config.mac.aggregation = aggregation;
    config
}

/// The schemes of a standard for one stream with the width of the standard's cells and the guard interval of 800 ns.
fn schemes(standard: Standard) -> impl Iterator<Item = Mcs> {
    let format = standard.format().into_iter();
    let width = PhyConfig::new(standard).width;
    format.flat_map(move |format| {
        (0..format.indices()).filter_map(move |index| Mcs::new(format, index, 1, width, GuardInterval::Ns800))
    })
}

fn parameters(config: &WlanConfig, more: &[(&str, Value)]) -> Map<String, Value> {
    let rate = config.phy.rate;
    let mcs = rate.mcs().map(Mcs::index);
    let standard = match config.phy.standard {
        Standard::Ht => "802.11n",
        Standard::Vht => "802.11ac",
        _ => "802.11ax",
    };
    let of_cell = [("standard", json!(standard)), ("mcs", json!(mcs))];
    of_cell.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn closed_forms() -> impl Iterator<Item = Case> {
    let standards = [Standard::Ht, Standard::Vht, Standard::He].into_iter();
    standards.flat_map(schemes).flat_map(|mcs| {
        // The number of packets in an A-MPDU of A-MSDUs has no short form.
        let kinds = Aggregated::ALL.into_iter().filter(|kind| !matches!(kind, Aggregated::Both));
        kinds.map(move |kind| {
            let config = config(mcs, kind.limits(mcs.format()));
            let parameters = parameters(&config, &[("aggregation", json!(kind.name()))]);
            Case { kind: Kind::ClosedForm, config, parameters }
        })
    })
}

/// `wifi-aggregation`, `wifi-txop-aggregation` and `ht-wifi-network`: UDP payload from an access point to a station.
fn ns3() -> impl Iterator<Item = Case> {
    let width = PhyConfig::new(Standard::Ht).width;
    let scheme = move |index| Mcs::new(Format::Ht, index, 1, width, GuardInterval::Ns800);
    let plain: [Range<f64>; 4] = [30.0..31.0, 51.0..52.0, 59.0..60.0, 58.0..59.0];
    let with_txop: [Range<f64>; 4] = [38.0..39.0, 52.0..53.0, 57.5..58.5, 58.0..59.0];
    let ranges = [(0, plain), (3_520, with_txop)].into_iter().flat_map(|(micros, ranges)| {
        let each = Aggregated::ALL.into_iter().zip(ranges);
        each.map(move |(kind, range)| (7, kind, Reference::Range(range.start, range.end), micros))
    });
    let numbers = [5.81, 11.83, 17.79, 23.80, 35.73, 47.62, 53.61, 59.55];
    let numbers = (0_u8..).zip(numbers);
    let numbers = numbers.map(|(index, number)| (index, Aggregated::Ampdu, Reference::Number(number), 0));
    ranges.chain(numbers).filter_map(move |(index, kind, reference, micros)| {
        let mut config = config(scheme(index)?, kind.limits(Format::Ht));
        config.mac.txop_limit = Duration::from_micros(micros);
        let more = [("aggregation", json!(kind.name())), ("txop_limit_us", json!(micros))];
        let parameters = parameters(&config, &more);
        Some(Case { kind: Kind::Ns3(reference), config, parameters })
    })
}

fn saturated() -> impl Iterator<Item = Case> {
    let standards = [Standard::Ht, Standard::He].into_iter();
    let each = standards.flat_map(|standard| [1_u16, 2, 8, 24].map(|packets| (standard, packets)));
    each.flat_map(|(standard, packets)| {
        STATIONS.map(|stations| {
            let mut config = WlanConfig::new(standard);
            config.mac.aggregation = config.mac.aggregation.filter(|_| packets > 1);
            if let Some(aggregation) = &mut config.mac.aggregation {
                aggregation.window = packets;
            }
            let more = [("packets_in_ampdu", json!(packets)), ("stations", json!(stations))];
            let parameters = parameters(&config, &more);
            Case { kind: Kind::Bianchi(stations), config, parameters }
        })
    })
}

impl Case {
    /// Bits per second: UDP payload of one sender, IP packets of several.
    fn measure(&self, seed: u64) -> f64 {
        let share = PAYLOAD / f64::from(DATAGRAM);
        match self.kind {
            Kind::ClosedForm => measure(&self.config, 1, DATAGRAM, OF_ONE, seed) * share,
            Kind::Ns3(_) => {
                let during = (Instant::ZERO, Instant::ZERO + OF_ONE);
                measure_with_beacons(&self.config, (1, DATAGRAM), during, seed, Some(BEACON)) * share
            }
            Kind::Bianchi(stations) => measure(&self.config, stations, DATAGRAM, OF_SEVERAL, seed),
        }
    }

    fn row(&self, samples: &[f64]) -> Row {
        let around =
            |number: f64, share: f64| Reference::Range(number * (1.0 - share), number * (1.0 + share));
        let (item, published, tolerance) = match self.kind {
            Kind::ClosedForm => {
                let number = self.closed_form() / 1e6;
                ("one sender, closed form", Reference::Number(number), around(number, OF_CLOSED_FORM))
            }
            Kind::Ns3(Reference::Number(number)) => {
                ("one sender, ns-3's example", Reference::Number(number), around(number, OF_CLOSED_FORM))
            }
            Kind::Ns3(range) => ("one sender, range of ns-3's test", range, range),
            Kind::Bianchi(stations) => {
                let model = Saturation::new(&self.config, stations, DATAGRAM);
                let number = model.throughput(Freezing::Stops) / 1e6;
                ("saturation throughput, A-MPDUs", Reference::Number(number), around(number, OF_MODEL))
            }
        };
        let published = match published {
            Reference::Number(number) => Reference::Number((number * 1e4).round() / 1e4),
            range => range,
        };
        Row {
            paper: "wifi".to_owned(),
            item: item.to_owned(),
            parameters: self.parameters.clone(),
            scheme: "dcf".to_owned(),
            metric: "throughput".to_owned(),
            unit: "Mbit/s".to_owned(),
            published,
            ..Row::within(tolerance, Estimate::from_samples(samples), samples.len())
        }
    }

    /// The UDP payload of an exchange over its duration with the mean backoff.
    fn closed_form(&self) -> f64 {
        let exchange = Saturation::new(&self.config, 1, DATAGRAM);
        let packets = exchange.payload / f64::from(DATAGRAM);
        packets * PAYLOAD / (exchange.success + f64::from(self.config.phy.cw_min) / 2.0 * exchange.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn each_row_agrees() {
        let rows = reproduce(2, &Silent).expect("it runs");
        let disagree: Vec<_> =
            rows.iter().filter(|row| !row.agrees || row.no_effect_agrees == Some(true)).collect();
        assert!(disagree.is_empty(), "{disagree:#?}");
    }
}
