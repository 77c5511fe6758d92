//! The rows about hand-offs: each hand-off time of the tables beside ours, and the paper's claims about them.

use serde_json::json;

use crate::claim::{Claim, Runs};
use crate::reproduce::{Reference, Row};
use crate::run::RunSummary;
use crate::stats::Estimate;

use super::claims::{Column, ITEMS, PAIRS, Pair, number};
use super::published::{Figures, Setting};

/// The column of the tables. The paper does not say what the time includes: within a quarter of it our number agrees.
const TIME: Column = Column {
    metric: "hand-off time",
    unit: "ms",
    of: hand_off_ms,
    published: |figures| Some(figures.hand_off_ms),
    factors: (0.75, 1.25),
};

/// The rows of all settings, with the runs of each: numbers of the tables, then claims.
pub fn rows(settings: &[(Setting, Runs)]) -> Vec<Row> {
    let numbers = settings.iter().flat_map(|(setting, runs)| PAIRS.map(|pair| numbers(setting, runs, pair)));
    let shorter = settings.iter().flat_map(|(setting, runs)| {
        PAIRS.map(|pair| {
            let metric = "shorter hand-off time";
            let claim = Claim::less(ITEMS[setting.table - 1], pair.schemes, metric, hand_off_ms);
            vec![form(pair, runs.row(&claim))]
        })
    });
    let growth = growth(settings);
    numbers.chain(shorter).flatten().chain(growth).collect()
}

fn numbers(setting: &Setting, runs: &Runs, pair: Pair) -> Vec<Row> {
    let (cicada, itcp) = pair.schemes;
    let item = ITEMS[setting.table - 1];
    let row = |(scheme, figures): (&str, &Figures)| {
        form(pair, number(item, scheme, &TIME, figures.hand_off_ms, runs))
    };
    [(itcp, &setting.itcp), (cicada, &setting.cicada)].map(row).to_vec()
}

/// How much longer a hand-off takes at the highest load than at the lowest, for each number of calls.
fn growth(settings: &[(Setting, Runs)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in 1..=ITEMS.len() {
        let mut of_table = settings.iter().filter(|(setting, _)| setting.table == table);
        let (Some((least, low)), Some((most, high))) = (of_table.next(), of_table.next_back()) else {
            continue;
        };
        for pair in PAIRS {
            let of = |scheme: &str, figures: fn(&Setting) -> &Figures| {
                let measured = Estimate::percent_above(
                    &high.samples(scheme, hand_off_ms),
                    &low.samples(scheme, hand_off_ms),
                );
                let published = (figures(most).hand_off_ms / figures(least).hand_off_ms - 1.0) * 100.0;
                form(pair, growth_row((least, most), scheme, published, measured, high))
            };
            rows.push(of(pair.schemes.1, |setting| &setting.itcp));
            rows.push(of(pair.schemes.0, |setting| &setting.cicada));
        }
    }
    rows
}

fn growth_row(
    (least, most): (&Setting, &Setting),
    scheme: &str,
    published: f64,
    measured: Option<Estimate>,
    runs: &Runs,
) -> Row {
    let mut parameters = runs.parameters().clone();
    parameters.insert("than_load_kbps".to_owned(), json!(least.load_kbps));
    let tolerance = Reference::Range(0.75 * published, 1.25 * published);
    let row = Row {
        paper: "cicada".to_owned(),
        item: ITEMS[most.table - 1].to_owned(),
        parameters,
        scheme: scheme.to_owned(),
        metric: "longer hand-off time at more load".to_owned(),
        unit: "percent".to_owned(),
        published: Reference::Number(published),
        ..Row::within(tolerance, measured, runs.samples(scheme, hand_off_ms).len())
    };
    row.without_effect(Some(0.0))
}

fn form(pair: Pair, row: Row) -> Row {
    if pair.is_alternative { row.as_alternative() } else { row }
}

/// The mean time of a hand-off.
fn hand_off_ms(run: &RunSummary) -> f64 {
    run.roaming.and_then(|roaming| roaming.hand_off_s).map_or(f64::NAN, |seconds| seconds * 1e3)
}
