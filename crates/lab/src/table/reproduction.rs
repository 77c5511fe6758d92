//! Reproductions in tables: one for each item of a paper, so that its rows fit into a terminal of
//! 80 columns. A heading has the values that all rows of an item share.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cells::{or_dash, plus_minus};
use super::folded::Table;
use super::width::{filled, width};
use crate::reproduce::{AT_LEAST, ExplainedRow, Reference, Row};
use crate::stats::Estimate;

/// A column of numbers: its name, and its cell of a row. A column without cells is omitted.
type Column = (&'static str, fn(&Row) -> Option<String>);

const COLUMNS: [Column; 4] = [
    ("published", |row| row.published.shown()),
    ("measured", measured),
    ("tolerance", tolerance),
    ("no effect", |row| Reference::Number(row.no_effect?).shown()),
];

/// The verdict on a row that would also agree without an effect.
const MARK: &str = "yes*";
const FOOTNOTE: &str = "* It would agree without an agent, or with an effect of 0%, too.";

/// The rows in tables as wide as the terminal, if standard output is one. The reason of an
/// explained disagreement is below its table.
pub fn reproduction(rows: &[ExplainedRow]) -> String {
    within(rows, width())
}

fn within(rows: &[ExplainedRow], width: Option<u16>) -> String {
    let papers: BTreeSet<&str> = rows.iter().map(|row| row.row.paper.as_str()).collect();
    let mut items: Vec<(String, Vec<&ExplainedRow>)> = Vec::new();
    for row in rows {
        let Row { paper, item, .. } = &row.row;
        let name = if papers.len() > 1 { format!("{paper}, {item}") } else { item.clone() };
        match items.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => items.push((name, vec![row])),
        }
    }
    let items = items.iter().map(|(name, rows)| of_item(name, rows, width));
    items.collect::<Vec<_>>().join("\n\n")
}

/// The item's heading, with the values that all rows share, its table, and the reasons of
/// disagreements.
fn of_item(name: &str, rows: &[&ExplainedRow], width: Option<u16>) -> String {
    let said: Vec<Vec<String>> = rows.iter().map(|row| details(&row.row)).collect();
    let shared: Vec<&String> =
        said[0].iter().filter(|detail| said.iter().all(|of_row| of_row.contains(detail))).collect();
    let shown: Vec<&Column> =
        COLUMNS.iter().filter(|(_, show)| rows.iter().any(|row| show(&row.row).is_some())).collect();
    let names = shown.iter().map(|(name, _)| *name);
    let mut table =
        Table::with_numbers(&["scheme"].into_iter().chain(names).chain(["agrees"]).collect::<Vec<_>>());
    let mut reasons: Vec<&str> = Vec::new();
    for (row, details) in rows.iter().zip(&said) {
        let own = details.iter().filter(|detail| !shared.contains(detail)).map(String::as_str);
        let label = [row.row.scheme.as_str()].into_iter().chain(own).collect::<Vec<_>>().join(", ");
        let cells = shown.iter().map(|(_, show)| or_dash(show(&row.row)));
        table.add_row([label].into_iter().chain(cells).chain([verdict(row, &mut reasons)]));
    }
    let shared = shared.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let heading = [name, &shared].map(|text| filled(text, width));
    let reasons =
        reasons.iter().enumerate().map(|(place, why)| filled(&format!("[{}] {why}", place + 1), width));
    let footnote = rows.iter().any(|row| is_marked(&row.row)).then(|| filled(FOOTNOTE, width));
    let lines = heading
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain([table.within(width)])
        .chain(footnote)
        .chain(reasons);
    lines.collect::<Vec<_>>().join("\n")
}

/// The verdict on a row; an explained disagreement has the number of its reason.
fn verdict<'a>(row: &'a ExplainedRow, reasons: &mut Vec<&'a str>) -> String {
    match &row.explained {
        _ if is_marked(&row.row) => MARK.to_owned(),
        _ if row.row.agrees => "yes".to_owned(),
        None => "NO".to_owned(),
        Some(why) => {
            let place = reasons.iter().position(|known| known == why).unwrap_or_else(|| {
                reasons.push(why);
                reasons.len() - 1
            });
            format!("NO [{}]", place + 1)
        }
    }
}

/// Whether a row agrees, and would also agree without an effect.
fn is_marked(row: &Row) -> bool {
    row.agrees && row.no_effect_agrees == Some(true)
}

/// The parameters and the metric of a row, as texts.
fn details(row: &Row) -> Vec<String> {
    let unit = if row.unit.chars().any(|c| c != '-') { format!(" [{}]", row.unit) } else { String::new() };
    let set = row.parameters.iter().filter(|(name, _)| *name != AT_LEAST);
    let set = set.map(|(name, value)| match name.as_str() {
        "set" => format!("with {}", in_words(value)),
        "set_before" => format!("compared with {}", in_words(value)),
        "hosts_before" => format!("compared with {} hosts", in_words(value)),
        name => format!("{} {}", name.replace('_', " "), in_words(value)),
    });
    [format!("{}{unit}", row.metric)].into_iter().chain(set).collect()
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(elements) => elements.iter().map(in_words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn measured(row: &Row) -> Option<String> {
    row.measured.map(|mean| plus_minus(&Estimate { mean, ci95: row.ci95 }, 2))
}

/// The range for our value, or the number above which its confidence interval must lie.
fn tolerance(row: &Row) -> Option<String> {
    let min = row.parameters.get(AT_LEAST).and_then(Value::as_f64);
    row.tolerance.shown().or_else(|| Some(format!("above {}", Reference::Number(min?).shown()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(item: &str, scheme: &str, parameters: &Value, tolerance: Reference) -> Row {
        Row {
            paper: "as-tcp".to_owned(),
            item: item.to_owned(),
            parameters: parameters.as_object().expect("parameters are an object").clone(),
            scheme: scheme.to_owned(),
            metric: "more goodput".to_owned(),
            unit: "percent".to_owned(),
            published: Reference::None,
            measured: Some(1234.5),
            ci95: Some(12.25),
            runs: 20,
            tolerance,
            agrees: false,
            no_effect: None,
            no_effect_agrees: None,
            alternative: false,
        }
    }

    const CELL: &str = "wlans.cell.power-save={ beacon-interval = \"200 ms\" }";
    const RANGES: [&str; 2] = ["wlans.string.routing=aodv", "wlans.string.propagation.carrier-sense=49.5 m"];

    fn unexplained(rows: Vec<Row>) -> Vec<ExplainedRow> {
        rows.into_iter().map(|row| ExplainedRow { row, explained: None }).collect()
    }

    /// The rows with the longest texts.
    fn rows() -> Vec<Row> {
        let (few, many) = (json!({ "hosts": 5, "set": CELL }), json!({ "hosts": 80, "set": CELL }));
        let ranges = json!({ "set": RANGES, "than": "vegas" });
        let long =
            "figure 6: takes longer the longer the beacon interval is, and as long whatever power save is";
        vec![
            row(long, "as-tcp as published", &few, Reference::None),
            row(long, "none", &many, Reference::Range(-2000.0, 2000.0)),
            row("figure 4.16", "c3tcp", &ranges, Reference::Range(-2000.25, 2000.25)),
        ]
    }

    #[test]
    fn at_eighty_columns_each_row_is_in_one_table_and_names_and_numbers_are_whole() {
        let text = within(&unexplained(rows()), Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("agrees").count(), 2, "a table for each item, in one part:\n{text}");
        for whole in
            ["1234.50 ± 12.25", "-2000.25 to 2000.25", "figure 6:", RANGES[0], "wlans.cell.power-save={"]
        {
            assert!(text.contains(whole), "{whole:?} in:\n{text}");
        }
    }

    #[test]
    fn values_that_all_rows_share_are_in_the_heading_and_empty_columns_are_omitted() {
        let text = within(&unexplained(rows()[..2].to_vec()), None);
        assert_eq!(text.matches("more goodput [percent]").count(), 1, "{text}");
        assert_eq!((text.matches(CELL).count(), text.matches("┆ published").count()), (1, 0), "{text}");
        assert!(text.contains("│ as-tcp as published, hosts 5 ┆"), "{text}");
    }

    #[test]
    fn a_claim_shows_the_minimum_of_its_interval() {
        let claim = row("a", "b", &json!({ "at_least_percent": 5.0, "than": "none" }), Reference::None);
        let text = within(&unexplained(vec![claim]), None);
        assert!(text.contains(" above 5 ┆") && !text.contains("at_least_percent"), "{text}");
    }

    #[test]
    fn the_reason_of_explained_disagreements_is_below_the_table_once() {
        let why = Some("The paper's channel loses more.".to_owned());
        let rows = rows().into_iter().take(2).map(|row| ExplainedRow { row, explained: why.clone() });
        let text = within(&rows.collect::<Vec<_>>(), None);
        assert_eq!(text.matches("NO [1]").count(), 2, "{text}");
        assert!(text.ends_with("│\n└") || text.ends_with("[1] The paper's channel loses more."), "{text}");
        assert_eq!(text.matches("loses more").count(), 1, "{text}");
    }

    #[test]
    fn a_row_that_would_agree_without_an_effect_is_marked_and_the_mark_explained_once() {
        let tolerance = Reference::Range(-10.0, 2000.0);
        let of = |agrees, effect| {
            let row = row("a", "b", &json!({}), tolerance).without_effect(Some(effect));
            Row { agrees, ..row }
        };
        let text = within(&unexplained(vec![of(true, 0.0), of(true, -20.0), of(false, 0.0)]), None);
        assert_eq!(text.matches("yes*").count(), 1, "{text}");
        assert_eq!((text.matches(FOOTNOTE).count(), text.matches("no effect").count()), (1, 1), "{text}");
    }

    #[test]
    fn rows_of_several_papers_have_the_papers_names() {
        let other = Row { paper: "c3tcp".to_owned(), ..rows()[2].clone() };
        let text = within(&unexplained(vec![rows()[2].clone(), other]), None);
        assert!(text.contains("as-tcp, figure 4.16") && text.contains("c3tcp, figure 4.16"), "{text}");
    }
}
