//! Floor plans: CSV with a row per access point, and the columns name, x, y and channel in any order. Positions are in
//! metres.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, Trim};
use lasthop_wifi::Position;
use serde::Deserialize;

/// Access points by name.
pub(super) type FloorPlan = BTreeMap<String, PlannedAccessPoint>;

/// An access point of a floor plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedAccessPoint {
    pub(super) position: Position,
    pub(super) channel: u16,
}

/// The maximum number of rows.
const MAX_ROWS: usize = 10_000;
/// The largest coordinate, in metres.
const LARGEST: f64 = 1e6;

#[derive(Deserialize)]
struct Row {
    name: String,
    x: f64,
    y: f64,
    channel: u8,
}

/// Reads a floor plan. The error names the line.
pub(super) fn parse(text: &str) -> Result<FloorPlan, String> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| error.to_string())?.clone();
    let expected = "expected the columns name, x, y and channel";
    for column in ["name", "x", "y", "channel"] {
        if !headers.iter().any(|header| header == column) {
            return Err(format!("line 1: no column {column}; {expected}"));
        }
    }
    let mut plan = FloorPlan::new();
    let mut line = 1;
    for record in reader.records() {
        let record = record.map_err(|error| format!("after line {line}: {error}"))?;
        line = record.position().map_or(0, csv::Position::line);
        let row: Row = record.deserialize(Some(&headers)).map_err(|error| {
            format!("line {line}: {error}; expected a name, metres and a channel from 0 to 255")
        })?;
        if ![row.x, row.y].iter().all(|metres| metres.abs() <= LARGEST) {
            return Err(format!("line {line}: expected positions of at most 1000 km"));
        }
        if plan.len() == MAX_ROWS {
            return Err(format!("line {line}: expected at most {MAX_ROWS} access points"));
        }
        let planned =
            PlannedAccessPoint { position: Position::new(row.x, row.y), channel: u16::from(row.channel) };
        if plan.insert(row.name.clone(), planned).is_some() {
            return Err(format!(
                "line {line}: {:?} has a row already; expected one for each access point",
                row.name
            ));
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_place_and_the_channel_of_each_access_point() {
        let plan = parse("channel,name,x,y\n36, ap-1, 0, 2.5\n40,ap-2,30,2.5\n").expect("it is right");
        assert_eq!(plan["ap-1"], PlannedAccessPoint { position: Position::new(0.0, 2.5), channel: 36 });
        assert_eq!(plan.len(), 2);
    }

    #[test]
    fn an_error_names_the_line_and_what_was_expected() {
        let cases = [
            ("name,x,y\na,1,2\n", "line 1: no column channel"),
            ("name,x,y,channel\na,1,2,3\na,1,2,3\n", "line 3: \"a\" has a row already"),
            ("name,x,y,channel\na,1,2,3\nb,one,2,3\n", "line 3"),
            ("name,x,y,channel\na,nan,2,3\n", "line 2: expected positions"),
            ("name,x,y,channel\na,1,2\n", "after line 1"),
            ("name,x,y,channel\na,1,2,300\n", "channel from 0 to 255"),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err("it is wrong");
            assert!(error.contains(expected), "{error}");
        }
    }
}
