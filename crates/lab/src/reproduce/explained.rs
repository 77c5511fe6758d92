//! The disagreements that docs/src/validation explains, from a list.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ExplainedRow, Row};

/// The list, for runs with 20 seeds.
const LIST: &str = include_str!("explained.toml");

/// The reasons of the rows that disagree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanations {
    disagreement: Vec<Disagreement>,
}

/// Rows that differ only in their parameters, and disagree for the same reason.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Disagreement {
    paper: String,
    item: String,
    scheme: String,
    metric: String,
    /// The reason, in one sentence.
    why: String,
    /// The parameters of each row.
    parameters: Vec<Map<String, Value>>,
}

impl Disagreement {
    fn is_about(&self, row: &Row) -> bool {
        (&self.paper, &self.item, &self.scheme, &self.metric)
            == (&row.paper, &row.item, &row.scheme, &row.metric)
            && self.parameters.contains(&row.parameters)
    }
}

impl Explanations {
    /// The list of this repository.
    pub fn ours() -> Self {
        toml::from_str(LIST).expect("the list is ours, and a test reads it")
    }

    /// The reason why a row is expected to disagree, whether it does or not.
    fn of(&self, row: &Row) -> Option<&str> {
        self.disagreement.iter().find(|entry| entry.is_about(row)).map(|entry| entry.why.as_str())
    }

    /// Rows with the reasons of those that disagree.
    pub fn explain(&self, rows: Vec<Row>) -> Vec<ExplainedRow> {
        let explain = |row: Row| {
            let explained = self.of(&row).filter(|_| !row.agrees).map(str::to_owned);
            ExplainedRow { row, explained }
        };
        rows.into_iter().map(explain).collect()
    }

    /// Rows that agree although the list says that they disagree.
    pub fn outdated<'a>(&self, rows: &'a [ExplainedRow]) -> Vec<&'a Row> {
        let rows = rows.iter().map(|row| &row.row);
        rows.filter(|row| row.agrees && self.of(row).is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Reference;
    use super::*;

    fn row(hosts: u64, agrees: bool) -> Row {
        Row {
            paper: "as-tcp".to_owned(),
            item: "figure 3".to_owned(),
            parameters: json!({ "hosts": hosts }).as_object().expect("an object").clone(),
            scheme: "i-tcp".to_owned(),
            metric: "more goodput".to_owned(),
            unit: "percent".to_owned(),
            published: Reference::None,
            measured: Some(1.0),
            ci95: None,
            runs: 20,
            tolerance: Reference::None,
            agrees,
            no_effect: None,
            no_effect_agrees: None,
            alternative: false,
        }
    }

    fn list() -> Explanations {
        let list = r#"
            [[disagreement]]
            paper = "as-tcp"
            item = "figure 3"
            scheme = "i-tcp"
            metric = "more goodput"
            why = "It acknowledges every second segment."
            parameters = [{ hosts = 5 }, { hosts = 10 }]
        "#;
        toml::from_str(list).expect("a list")
    }

    #[test]
    fn a_row_is_explained_if_it_is_on_the_list_and_disagrees() {
        let rows = list().explain(vec![row(5, false), row(10, true), row(20, false)]);
        let explained: Vec<bool> = rows.iter().map(|row| row.explained.is_some()).collect();
        assert_eq!(explained, [true, false, false]);
        let outdated: Vec<_> = list().outdated(&rows).iter().map(|row| &row.parameters["hosts"]).collect();
        assert_eq!(outdated, [&json!(10)]);
    }

    #[test]
    fn the_list_has_a_sentence_for_each_row_and_no_row_twice() {
        let list = Explanations::ours();
        let mut rows = Vec::new();
        for entry in &list.disagreement {
            assert!(entry.why.ends_with('.') && !entry.parameters.is_empty(), "{entry:?}");
            for parameters in &entry.parameters {
                let row = (&entry.paper, &entry.item, &entry.scheme, &entry.metric, parameters);
                assert!(!rows.contains(&row), "twice: {row:?}");
                rows.push(row);
            }
        }
        assert!(!rows.is_empty());
    }
}
