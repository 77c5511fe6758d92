//! Figure 4.21: twenty stations in a grid, a flow over four hops and one over two, and datagrams on
//! the path of the long one from 30 s to 70 s.

use serde_json::{Value, json};

use super::periods::{Period, Runs};
use super::row::{head, throughput, within};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::RunError;
use crate::stats::Estimate;

const FILE: &str = include_str!("../../../../../scenarios/multi-hop-grid.toml");
const FIGURE: &str = "figure 4.21";
const SMOOTHED: &str = "figure 4.21, with smoothing";
const CUTS: [u64; 3] = [30, 70, 100];
const CROSS: usize = 1;
const LONG: usize = 0;
const SHORT: usize = 1;
/// All periods, and those without datagrams.
const ALL: &[usize] = &[0, 1, 2];
const ALONE: &[usize] = &[0, 2];

/// All rows.
pub fn rows(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let runs = Runs::run(FILE, &[], &CUTS, "n11", seeds, progress)?;
    let parameters = |flow: &str, periods: &str| -> Value { json!({ "flow": flow, "periods": periods }) };
    let row = |item, scheme, flow, periods: &[usize], named: &str, published| {
        let name = if flow == LONG { "long" } else { "short" };
        let head = head(item, parameters(name, named), scheme, "throughput", "Mbit/s");
        let [samples, of_tcp] =
            [scheme, "tcp"].map(|scheme| runs.samples(scheme, |run| mean(run, flow, periods)));
        throughput(head, published, &samples)
            .without_effect(Estimate::from_samples(&of_tcp).map(|mean| mean.mean))
    };
    let vegas = head(FIGURE, parameters("long", "with datagrams"), "vegas", "throughput", "Mbit/s");
    let about_nothing = Reference::Range(0.0, 0.05);
    let long = |scheme| runs.samples(scheme, |run| mean(run, LONG, &[CROSS]));
    let of_tcp = Estimate::from_samples(&long("tcp")).map(|mean| mean.mean);
    Ok(vec![
        row(FIGURE, "tcp", SHORT, ALL, "all", 0.40),
        row(FIGURE, "tcp", LONG, ALL, "all", 0.33),
        row(FIGURE, "westwood", SHORT, ALL, "all", 0.40),
        row(FIGURE, "westwood", LONG, ALL, "all", 0.40),
        within(vegas, Reference::Number(0.0), about_nothing, &long("vegas")).without_effect(of_tcp),
        row(FIGURE, "c3tcp as published", SHORT, ALONE, "without datagrams", 0.45),
        row(FIGURE, "c3tcp as published", LONG, ALONE, "without datagrams", 0.45),
        row(SMOOTHED, "c3tcp", SHORT, ALONE, "without datagrams", 0.45),
        row(SMOOTHED, "c3tcp", LONG, ALONE, "without datagrams", 0.45),
    ])
}

/// The mean throughput over several periods, in Mbit/s.
fn mean(run: &[Period], flow: usize, periods: &[usize]) -> f64 {
    let seconds = |at: usize| (CUTS[at] - if at == 0 { 0 } else { CUTS[at - 1] }) as f64;
    let carried: f64 = periods.iter().map(|at| run[*at].throughput[flow] * seconds(*at)).sum();
    carried / periods.iter().map(|at| seconds(*at)).sum::<f64>()
}
