//! Results as one rectangular table of CSV: a line for each result, a column for each number. The
//! columns of all CSV and Parquet files get their names here, from the keys of JSON.

use std::collections::{BTreeMap, BTreeSet};

use csv::StringRecord;
use serde_json::{Map, Value};

/// A table of CSV: what `lasthop compare`, `reproduce` and `sweep` write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: StringRecord,
    lines: Vec<StringRecord>,
}

impl Table {
    /// The table of results, which are objects as in JSON. The columns `first` come first, all
    /// others in the order of their names. A number has the unit in its column's name; a missing
    /// value is empty.
    pub fn from_results(first: &[&str], results: &[Value]) -> Self {
        let lines: Vec<Line> = results.iter().map(Line::from_result).collect();
        let mut named: BTreeSet<&str> =
            lines.iter().flat_map(|line| line.cells.keys()).map(String::as_str).collect();
        // A value that is null in one result has columns for its parts from other results.
        for name in lines.iter().flat_map(|line| &line.wholes) {
            if lines.iter().all(|line| line.cell(name).is_empty()) {
                named.remove(name.as_str());
            }
        }
        let rest = named.iter().filter(|name| !first.contains(name));
        let columns: Vec<&str> = first.iter().chain(rest).copied().collect();
        let lines = lines.iter().map(|line| columns.iter().map(|column| line.cell(column)).collect());
        Self { lines: lines.collect(), columns: columns.iter().collect() }
    }

    pub(crate) const fn new(columns: StringRecord, lines: Vec<StringRecord>) -> Self {
        Self { columns, lines }
    }

    /// Parses a table. An error names the first line that does not have a cell for each column.
    pub fn read(text: &str) -> Result<Self, csv::Error> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers()?.clone();
        Ok(Self { columns, lines: reader.records().collect::<Result<_, _>>()? })
    }

    /// The table as text.
    pub fn text(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for record in std::iter::once(&self.columns).chain(&self.lines) {
            writer.write_record(record)?;
        }
        let octets = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter()
    }

    /// The lines, each with a cell for each column; a missing value is empty.
    pub fn lines(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        self.lines.iter().map(StringRecord::iter)
    }

    /// The cells of a column, line by line; `None` without such a column.
    pub fn column(&self, name: &str) -> Option<impl Iterator<Item = &str>> {
        let index = self.columns().position(|column| column == name)?;
        Some(self.lines.iter().filter_map(move |line| line.get(index)))
    }
}

/// A result as columns, which have the names of its keys: `a.b` is `a_b`, an estimate `x` is `x`
/// and `x_ci95`, and a range `x` is `x_from` and `x_to`.
#[derive(Default)]
pub struct Line {
    cells: BTreeMap<String, String>,
    /// The names of values that have columns for their parts instead of one of their own.
    wholes: BTreeSet<String>,
}

impl Line {
    /// The columns of a result.
    pub fn from_result(result: &Value) -> Self {
        let mut line = Self::default();
        line.flatten("", result);
        line
    }

    /// The cell of a column; empty without such a column.
    pub fn cell(&self, column: &str) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cells.keys().map(String::as_str)
    }

    /// Adds the columns of a value.
    fn flatten(&mut self, name: &str, value: &Value) {
        let within = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}_{key}") };
        match value {
            Value::Null => self.add(name, String::new()),
            Value::Object(fields) if is_estimate(fields) => {
                self.flatten(name, &fields["mean"]);
                self.flatten(&within("ci95"), &fields["ci95"]);
            }
            Value::Object(fields) => {
                self.wholes.insert(name.to_owned());
                for (key, value) in fields {
                    self.flatten(&within(key), value);
                }
            }
            Value::Array(ends) if is_range(ends) => {
                self.wholes.insert(name.to_owned());
                self.flatten(&within("from"), &ends[0]);
                self.flatten(&within("to"), &ends[1]);
            }
            Value::Array(values) => {
                let values = values
                    .iter()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                self.add(name, values.collect::<Vec<_>>().join("; "));
            }
            Value::String(text) => self.add(name, text.clone()),
            other @ (Value::Bool(_) | Value::Number(_)) => self.add(name, other.to_string()),
        }
    }

    fn add(&mut self, name: &str, cell: String) {
        self.cells.insert(name.to_owned(), cell);
    }
}

fn is_estimate(fields: &Map<String, Value>) -> bool {
    fields.len() == 2 && fields.contains_key("mean") && fields.contains_key("ci95")
}

fn is_range(ends: &[Value]) -> bool {
    ends.len() == 2 && ends.iter().all(|end| end.is_number() || end.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_line_has_every_column_and_missing_values_are_empty() {
        let results = [
            json!({ "scheme": "none", "goodput_bps": { "mean": 1.5, "ci95": null }, "udp": { "lost_percent": null } }),
            json!({ "scheme": "a, b", "range": [1, null], "set": ["x=1", "y=2"], "agrees": true }),
        ];
        let table = Table::from_results(&["scheme"], &results);
        let text = table.text().expect("CSV");
        assert_eq!(
            text,
            "scheme,agrees,goodput_bps,goodput_bps_ci95,range_from,range_to,set,udp_lost_percent\n\
             none,,1.5,,,,,\n\
             \"a, b\",true,,,1,,x=1; y=2,\n"
        );
        assert_eq!(Table::read(&text).expect("CSV"), table);
        let schemes: Vec<&str> = table.column("scheme").expect("a column").collect();
        assert_eq!(schemes, ["none", "a, b"]);
    }

    #[test]
    fn a_value_missing_in_one_line_has_columns_only_for_its_parts() {
        let results = [
            json!({ "all": { "voice": null, "range": null }, "count": null }),
            json!({ "all": { "voice": { "mos": 4, "lost": null }, "range": [1, 2] }, "count": 3 }),
            json!({ "all": null, "count": null }),
        ];
        let text = Table::from_results(&[], &results).text().expect("CSV");
        assert_eq!(
            text,
            "all_range_from,all_range_to,all_voice_lost,all_voice_mos,count\n\
             ,,,,\n1,2,,4,3\n,,,,\n"
        );
        let with_a_number = [json!({ "range": 5 }), json!({ "range": [1, 2] })];
        assert_eq!(
            Table::from_results(&[], &with_a_number).text().expect("CSV"),
            "range,range_from,range_to\n5,,\n,1,2\n"
        );
    }
}
