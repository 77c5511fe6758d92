//! Results as one rectangular table of CSV: a line for each result, a column for each number.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output;

/// Prints the results, which are objects as in JSON. The columns `first` come first, all others in
/// the order of their names. A number has the unit that is in its name; what is missing is empty.
pub fn print(first: &[&str], results: &[Value]) -> Result<(), Failure> {
    let text = text(first, results).map_err(|error| Failure::Run(anyhow!("cannot write CSV: {error}")))?;
    output::print(text.trim_end())
}

fn text(first: &[&str], results: &[Value]) -> Result<String, csv::Error> {
    let lines: Vec<BTreeMap<String, String>> = results
        .iter()
        .map(|result| {
            let mut line = BTreeMap::new();
            flatten("", result, &mut line);
            line
        })
        .collect();
    let mut named: BTreeSet<&str> = lines.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    // An object that is missing in one result has columns for its fields from others.
    let objects =
        results.iter().filter_map(Value::as_object).flatten().filter(|(_, value)| value.is_object());
    for (key, value) in objects {
        if !value.as_object().is_some_and(is_estimate) {
            named.remove(key.as_str());
        }
    }
    let rest = named.iter().filter(|name| !first.contains(name));
    let columns: Vec<&str> = first.iter().chain(rest).copied().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns)?;
    for line in &lines {
        writer.write_record(columns.iter().map(|column| line.get(*column).map_or("", String::as_str)))?;
    }
    let octets = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// What an object has, as columns: `a.b` is `a_b`, an estimate `x` is `x` and `x_ci95`, and a range
/// `x` is `x_from` and `x_to`.
fn flatten(name: &str, value: &Value, line: &mut BTreeMap<String, String>) {
    let within = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}_{key}") };
    match value {
        Value::Null => {
            line.insert(name.to_owned(), String::new());
        }
        Value::Object(fields) if is_estimate(fields) => {
            flatten(name, &fields["mean"], line);
            flatten(&within("ci95"), &fields["ci95"], line);
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&within(key), value, line);
            }
        }
        Value::Array(ends) if is_range(ends) => {
            flatten(&within("from"), &ends[0], line);
            flatten(&within("to"), &ends[1], line);
        }
        Value::Array(values) => {
            let values =
                values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            line.insert(name.to_owned(), values.collect::<Vec<_>>().join("; "));
        }
        Value::String(text) => {
            line.insert(name.to_owned(), text.clone());
        }
        other @ (Value::Bool(_) | Value::Number(_)) => {
            line.insert(name.to_owned(), other.to_string());
        }
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
    fn each_line_has_every_column_and_what_is_missing_is_empty() {
        let results = [
            json!({ "scheme": "none", "goodput_bps": { "mean": 1.5, "ci95": null }, "udp": { "lost_percent": null } }),
            json!({ "scheme": "a, b", "range": [1, null], "set": ["x=1", "y=2"], "agrees": true }),
        ];
        let text = text(&["scheme"], &results).expect("CSV");
        assert_eq!(
            text,
            "scheme,agrees,goodput_bps,goodput_bps_ci95,range_from,range_to,set,udp_lost_percent\n\
             none,,1.5,,,,,\n\
             \"a, b\",true,,,1,,x=1; y=2,\n"
        );
    }
}
