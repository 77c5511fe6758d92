//! Reports as CSV.

use anyhow::anyhow;
use lasthop_gateway::listing::{Of, Row};
use serde_json::Value;

use crate::failure::Failure;

/// A row for each value of a JSON document: its path, such as `report.engine.connections`, and the
/// value.
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

/// The rows of a list, with the same columns as in JSON.
pub fn of_list<'r, R: Row>(list: impl IntoIterator<Item = &'r R>) -> Result<String, Failure> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(R::COLUMNS.iter().map(|column| column.key)).map_err(failed)?;
    for row in list {
        rows.write_record(R::COLUMNS.iter().map(|column| cell(&column.of, row))).map_err(failed)?;
    }
    text(rows)
}

fn cell<R>(of: &Of<R>, row: &R) -> String {
    match of {
        Of::Number(of) => of(row).map(|number| number.to_string()).unwrap_or_default(),
        Of::Text(of) => of(row).to_owned(),
        // A client is an address without a port; `other` stands for the clients that have no own
        // counters.
        Of::End(of) => of(row).map_or_else(
            || "other".to_owned(),
            |end| if end.port() == 0 { end.ip().to_string() } else { end.to_string() },
        ),
    }
}

/// The text of the rows, without the last line end, which printing adds.
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
    use lasthop_gateway::clients::ClientReport;
    use lasthop_gateway::engine::FlowReport;
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
    fn connections_and_clients_have_a_row_each_with_the_columns_of_their_json() {
        let document = json!({
            "protocol": "tcp", "core": "192.0.2.1:443", "radio": "10.0.0.7:50000", "state": "established",
            "rule": "a, b", "aside": "", "packets_from_core": 1, "octets_from_core": 20_000_000_000_u64,
            "packets_from_radio": 3, "octets_from_radio": 4, "sent_by_agent": 5, "kept_by_agent": 6,
            "age_s": 7.5, "idle_s": 0.25, "segments_down": 8, "lost_down": 2, "rtt_hop_s": 0.025
        });
        let flow: FlowReport = serde_json::from_value(document).expect("it is one");
        let text = of_list([&flow]).expect("it can be written");
        let (header, row) = text.split_once('\n').expect("two lines");
        assert!(header.starts_with("protocol,core,radio,state,rule,aside,packets_from_core,"), "{header}");
        let expected =
            "tcp,192.0.2.1:443,10.0.0.7:50000,established,\"a, b\",,1,20000000000,3,4,5,6,7.5,0.25,8,2,0,";
        assert!(row.starts_with(expected), "{row}");
        assert_eq!(
            of_list::<FlowReport>([]).ok().as_deref(),
            Some(header),
            "the header is there all the same"
        );
        let client = |client: &str| ClientReport { client: client.to_owned(), ..ClientReport::default() };
        let clients = [client("2001:db8::7"), client("other")];
        let text = of_list(&clients).expect("it can be written");
        let first: Vec<&str> = text.lines().filter_map(|row| row.split(',').next()).collect();
        assert_eq!(first, ["client", "2001:db8::7", "other"]);
    }
}
