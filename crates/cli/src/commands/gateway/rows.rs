//! Reports as CSV.

use anyhow::anyhow;
use lasthop_live::gateway::engine::FlowReport;
use serde_json::Value;

use crate::failure::Failure;

/// Each value of a JSON document in a row of its own: the path to it, such as
/// `report.engine.connections`, and the value.
pub fn of_document(document: &Value) -> Result<String, Failure> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(["key", "value"]).map_err(failed)?;
    write_values(&mut rows, "", document).map_err(failed)?;
    text(rows)
}

fn write_values(rows: &mut csv::Writer<Vec<u8>>, path: &str, value: &Value) -> csv::Result<()> {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(values) => {
            values.iter().try_for_each(|(key, value)| write_values(rows, &below(key), value))
        }
        Value::Array(values) => {
            let mut values = values.iter().enumerate();
            values.try_for_each(|(index, value)| write_values(rows, &below(&index.to_string()), value))
        }
        Value::String(text) => rows.write_record([path, text.as_str()]),
        Value::Null => rows.write_record([path, ""]),
        Value::Bool(_) | Value::Number(_) => rows.write_record([path, value.to_string().as_str()]),
    }
}

/// The columns of connections: the keys of `flows --json`.
const FLOW_COLUMNS: [&str; 14] = [
    "protocol",
    "core",
    "radio",
    "state",
    "rule",
    "aside",
    "packets_from_core",
    "octets_from_core",
    "packets_from_radio",
    "octets_from_radio",
    "sent_by_agent",
    "kept_by_agent",
    "age_s",
    "idle_s",
];

/// A row for each connection.
pub fn of_flows(flows: &[FlowReport]) -> Result<String, Failure> {
    // The header is there also if there are no connections.
    let mut rows = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    rows.write_record(FLOW_COLUMNS).map_err(failed)?;
    for flow in flows {
        rows.serialize(flow).map_err(failed)?;
    }
    text(rows)
}

/// The rows, without the last line end: printing adds it.
fn text(rows: csv::Writer<Vec<u8>>) -> Result<String, Failure> {
    let octets = rows.into_inner().map_err(|error| Failure::Run(anyhow!("{}", error.error())))?;
    let text = String::from_utf8(octets).map_err(|error| Failure::Run(error.into()))?;
    Ok(text.trim_end().to_owned())
}

fn failed(error: csv::Error) -> Failure {
    Failure::Run(error.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_of_a_document_has_a_row_with_its_path() {
        let document =
            json!({ "file": null, "ports": [{ "name": "a,b" }], "report": { "sent": 7, "ok": true } });
        let rows = of_document(&document).expect("it can be written");
        assert_eq!(rows, "key,value\nfile,\nports.0.name,\"a,b\"\nreport.ok,true\nreport.sent,7");
    }

    #[test]
    fn connections_have_the_columns_that_their_json_has() {
        let flow = FlowReport {
            protocol: "tcp".to_owned(),
            core: ([192, 0, 2, 1], 443).into(),
            radio: ([10, 0, 0, 7], 50_000).into(),
            state: "established".to_owned(),
            rule: "snoop".to_owned(),
            aside: String::new(),
            packets_from_core: 1,
            octets_from_core: 2,
            packets_from_radio: 3,
            octets_from_radio: 4,
            sent_by_agent: 5,
            kept_by_agent: 6,
            age_s: 7.5,
            idle_s: 0.5,
        };
        let mut with_header = csv::Writer::from_writer(Vec::new());
        with_header.serialize(&flow).expect("it is flat");
        assert_eq!(of_flows(std::slice::from_ref(&flow)).ok(), text(with_header).ok());
        assert_eq!(of_flows(&[]).ok(), Some(FLOW_COLUMNS.join(",")));
    }
}
