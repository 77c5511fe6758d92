//! Figures 3.14 to 3.17: a server over 100 Mbit/s and 2 ms, an access point, mobile hosts.

use rayon::prelude::*;
use serde_json::{Value, json};

use super::experiment::{Acks, DATAGRAM, Experiment, Measured, in_datagrams, run_all};
use super::row::{Head, LLE, TCP, TOLERANCE};
use super::single_hop;
use crate::claim::Effort;
use crate::compare::ComparisonRow;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::{RunError, run};
use crate::stats::{Estimate, jain_fairness};

const ONE: &str = include_str!("../../../../scenarios/kliazovich/infrastructure.toml");
const TEN: &str = include_str!("../../../../scenarios/kliazovich/ten-flows.toml");
const SETS: &str = include_str!("../../../../scenarios/kliazovich/two-sets.toml");

/// The four figures' rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let mut rows = beside_single_hop(&[100, 300, 500, 1000, 1500], &[0, 2, 4, 6, 8, 10], effort, progress)?;
    rows.extend(ten_flows(effort, progress)?);
    rows.extend(two_sets(effort, progress)?);
    Ok(rows)
}

/// Figures 3.14 and 3.15: throughputs are close to those of a single hop, for these sizes of
/// datagrams in octets, and for these packet error rates in percent.
pub(super) fn beside_single_hop(
    sizes: &[u32],
    rates: &[u32],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<Row>, RunError> {
    let files = [(single_hop::FILE, "adhoc"), (ONE, "cell")];
    let [by_size, by_size_behind] = files.map(|(file, _)| {
        let experiments = sizes.iter().map(|size| Experiment::new(file).datagram(*size).acks(Acks::One));
        run_all(&experiments.collect::<Vec<_>>(), effort, progress)
    });
    let [by_rate, by_rate_behind] = files.map(|(file, cell)| {
        let experiment =
            |rate: &u32| Experiment::new(file).datagram(DATAGRAM).acks(Acks::One).errors(cell, *rate);
        run_all(&rates.iter().map(experiment).collect::<Vec<_>>(), effort, progress)
    });
    let sizes = json!({ "datagram_octets": sizes, "acks": Acks::One.name() });
    let rates = json!({ "datagram_octets": DATAGRAM, "per_percent": rates, "acks": Acks::One.name() });
    let mut rows = distances("figure 3.14", &sizes, &by_size?, &by_size_behind?);
    rows.extend(distances("figure 3.15", &rates, &by_rate?, &by_rate_behind?));
    Ok(rows)
}

/// The largest distance between two curves, in percent of the first.
fn distances(item: &str, parameters: &Value, single: &[Measured], behind: &[Measured]) -> Vec<Row> {
    let runs = behind.iter().map(|measured| measured.tcp.runs).sum();
    let largest = |of: fn(&Measured) -> &ComparisonRow| {
        let mean = |measured| of(measured).goodput_bps.mean;
        let distance = |(single, behind)| (mean(behind) / mean(single) - 1.0).abs() * 100.0;
        single.iter().zip(behind).map(distance).fold(0.0, f64::max)
    };
    let of_tcp = largest(|measured| &measured.tcp);
    let row = |scheme, largest| {
        let metric = "largest distance of a throughput from a single hop's";
        let head = Head { item, parameters: parameters.clone(), scheme, metric, unit: "%" };
        let measured = Some(Estimate { mean: largest, ci95: None });
        head.row(Reference::None, Reference::Range(0.0, TOLERANCE * 100.0), measured, runs)
            .without_effect(Some(of_tcp))
    };
    vec![row(TCP, of_tcp), row(LLE, largest(|measured| &measured.lle))]
}

/// Figure 3.16.
fn ten_flows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let experiments = [Experiment::new(TEN), beside_one(), beside_one().set("tcp.rto-min=1 s")];
    let measured = run_all(&experiments, effort, progress)?;
    let [all, one, patient] = &measured[..] else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    let head = |item, under, scheme, metric, unit| Head {
        item,
        parameters: json!({ "flows_under_lle_tcp": under, "flows": 10 }),
        scheme,
        metric,
        unit,
    };
    let (figure, throughput, fairness) = ("figure 3.16", "mean throughput of a flow", "fairness");
    let mean = scaled(all.lle.goodput_bps, 0.1);
    let runs = all.lle.runs;
    let row = head(figure, 10, LLE, throughput, "Mbit/s");
    let row = row.amount(0.47, Some(in_datagrams(mean, DATAGRAM)), runs);
    rows.push(row.without_effect(Some(share(all))));
    let [jain, without] = [&all.lle, &all.tcp].map(|of| of.jain_fairness.map(|index| scaled(index, 100.0)));
    let without = without.map(|index| index.mean);
    let row = head(figure, 10, LLE, fairness, "%").per_cent(Reference::Number(95.0), jain, runs);
    rows.push(row.without_effect(without));
    for (item, measured) in [(figure, one), ("figure 3.16, time-outs of 1 s or more", patient)] {
        let of = |name| goodput(&measured.lle, name).map(|goodput| in_datagrams(goodput, DATAGRAM));
        let (nine, one) =
            (head(item, 1, TCP, throughput, "Mbit/s"), head(item, 1, LLE, throughput, "Mbit/s"));
        rows.push(nine.amount(0.30, of("nine"), runs).without_effect(Some(share(measured))));
        rows.push(one.amount(0.54, of("one"), runs).without_effect(Some(share(measured))));
    }
    let nine = fairness_of_nine(&beside_one(), effort, progress)?;
    let row = head(figure, 1, TCP, fairness, "%").per_cent(Reference::Number(93.0), nine, runs);
    rows.push(row.without_effect(without));
    Ok(rows)
}

/// The mean throughput of a flow of ten without an agent, in Mbit/s.
fn share(measured: &Measured) -> f64 {
    in_datagrams(scaled(measured.tcp.goodput_bps, 0.1), DATAGRAM).mean
}

/// One flow under LLE-TCP and nine without: flows are plain TCP if the mobile host has no agent
/// (section 3.3). The access point's queue does not limit windows: TCP fills the queue, and the one
/// flow would starve.
fn beside_one() -> Experiment {
    Experiment::new(TEN).set("nodes.nine.role=fixed-host").set("schemes.1.queue=0 B")
}

/// Jain's fairness index of the nine, in percent.
fn fairness_of_nine(
    experiment: &Experiment,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Option<Estimate>, RunError> {
    let scenario = experiment.scenario(effort);
    let Some(scheme) = scenario.schemes.last() else { return Ok(None) };
    progress.expect(scenario.seeds.len() as u64);
    let indices: Result<Option<Vec<f64>>, RunError> = scenario
        .seeds
        .par_iter()
        .map(|seed| {
            let summary = run(&scenario, scheme, *seed, progress)?;
            progress.advance();
            let nine = summary.flows.iter().filter(|flow| flow.name.starts_with("nine"));
            let index = jain_fairness(&nine.map(|flow| flow.goodput_bps).collect::<Vec<_>>());
            Ok(index.map(|index| index * 100.0))
        })
        .collect();
    Ok(indices?.and_then(|indices| Estimate::from_samples(&indices)))
}

fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    Estimate { mean: estimate.mean * factor, ci95: estimate.ci95.map(|half| half * factor) }
}

/// The mean goodput of the flows of a name, in bits per second.
fn goodput(row: &ComparisonRow, name: &str) -> Option<Estimate> {
    row.flows.iter().find(|flow| flow.name == name).map(|flow| flow.goodput_bps)
}

/// Figure 3.17: set 1's completion time in seconds, and the amount that set 2 received, in MB.
fn two_sets(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let has_rts = Experiment::new(SETS).set("wlans.cell.rts-threshold=0 B");
    // The figure depends on the scenario's duration of 100 s.
    let effort = Effort { duration: None, ..effort };
    let measured = run_all(&[Experiment::new(SETS), has_rts], effort, progress)?;
    let items = ["figure 3.17", "figure 3.17, RTS/CTS"];
    let mut rows = Vec::new();
    for (item, measured) in items.into_iter().zip(&measured) {
        let sides = [("reno", &measured.tcp, 87.0, 19.5), ("lle-tcp", &measured.lle, 55.0, 25.0)];
        for (first, row, completion, amount) in sides {
            let head = |scheme, metric, unit| Head {
                item,
                parameters: json!({ "set_1": first, "set_2": "reno" }),
                scheme,
                metric,
                unit,
            };
            let scheme = if first == "reno" { TCP } else { LLE };
            let without = measured.tcp.completion_s.map(|completion| completion.mean);
            let set_1 = head(scheme, "completion of set 1", "s");
            rows.push(set_1.amount(completion, row.completion_s, row.runs).without_effect(without));
            let received = |row| {
                goodput(row, "second").map(|one| scaled(in_datagrams(one, DATAGRAM), 5.0 * 100.0 / 8.0))
            };
            let without = received(&measured.tcp).map(|amount| amount.mean);
            let set_2 = head(TCP, "received by set 2", "MB");
            rows.push(set_2.amount(amount, received(row), row.runs).without_effect(without));
        }
    }
    Ok(rows)
}
