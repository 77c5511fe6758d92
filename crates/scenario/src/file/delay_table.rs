//! Tables of delays, as published with papers and measurements: CSV with a row per band.
//!
//! Three columns are read, in any order: `share_percent`, one whose name ends in `delay_ms_low`,
//! and one whose name ends in `delay_ms_high`.

use std::time::Duration;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use lasthop_sim::delay::{Band, Bands, BandsError};

use super::quantity::LONGEST_DELAY;

/// The maximum number of rows.
const MAX_BANDS: usize = 10_000;
const COLUMNS: &str = "expected columns share_percent, ...delay_ms_low and ...delay_ms_high";

/// Reads a table. The error names the line.
pub(super) fn parse(text: &str) -> Result<Bands, String> {
    let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| unreadable(&error))?.clone();
    let columns = [
        column(&header, "share_percent", |name| name == "share_percent")?,
        column(&header, "delay_ms_low", |name| name.ends_with("delay_ms_low"))?,
        column(&header, "delay_ms_high", |name| name.ends_with("delay_ms_high"))?,
    ];
    let (mut bands, mut lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|error| unreadable(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if bands.len() == MAX_BANDS {
            return Err(format!("line {line}: expected at most {MAX_BANDS} rows"));
        }
        let [share, min, max] = columns.map(|column| Cell { record: &record, header: &header, line, column });
        bands.push(Band { share: share.number(100.0)? / 100.0, min: min.millis()?, max: max.millis()? });
        lines.push(line);
    }
    Bands::new(bands).map_err(|error| match error {
        BandsError::Share { band } | BandsError::Range { band } => format!("line {}: {error}", lines[band]),
        BandsError::Sum { .. } => error.to_string(),
    })
}

/// The error for a row that the CSV reader refuses.
fn unreadable(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { pos: Some(at), expected_len, len } => {
            format!("line {}: {len} columns; expected {expected_len}, as in the first line", at.line())
        }
        _ => error.to_string(),
    }
}

/// The only column whose name matches; `name` stands for it in errors.
fn column(header: &StringRecord, name: &str, is_it: impl Fn(&str) -> bool) -> Result<usize, String> {
    let mut found = header.iter().enumerate().filter(|(_, name)| is_it(name));
    match (found.next(), found.next()) {
        (Some((column, _)), None) => Ok(column),
        (None, _) => Err(format!("line 1: no column {name}; {COLUMNS}")),
        (Some((_, one)), Some((_, other))) => {
            Err(format!("line 1: both {one} and {other} match {name}; {COLUMNS}"))
        }
    }
}

#[derive(Clone, Copy)]
struct Cell<'a> {
    record: &'a StringRecord,
    header: &'a StringRecord,
    line: u64,
    column: usize,
}

impl Cell<'_> {
    fn number(self, most: f64) -> Result<f64, String> {
        // Each row has as many columns as the header; the reader refuses others.
        let (text, name) = (&self.record[self.column], &self.header[self.column]);
        text.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number)).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            format!("line {}: {name}: {shown:?} is not a number from 0 to {most}", self.line)
        })
    }

    fn millis(self) -> Result<Duration, String> {
        self.number(LONGEST_DELAY.as_secs_f64() * 1e3).map(|millis| Duration::from_secs_f64(millis / 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_the_names_of_its_columns() {
        let text = "note,wireless_link_delay_ms_high,share_percent,wireless_link_delay_ms_low\n\
                    a,195, 80,153\nb,225.5,20,195\n";
        let ms = |millis| Duration::from_micros((millis * 1e3) as u64);
        let expected = [
            Band { share: 0.8, min: ms(153.0), max: ms(195.0) },
            Band { share: 0.2, min: ms(195.0), max: ms(225.5) },
        ];
        assert_eq!(parse(text).expect("a good table").bands(), expected);
    }

    #[test]
    fn a_bad_table_is_refused_with_its_line() {
        let head = "share_percent,delay_ms_low,delay_ms_high\n";
        for (text, says) in [
            ("", "line 1: no column share_percent"),
            ("share_percent,delay_ms_low\n", "line 1: no column delay_ms_high"),
            ("share_percent,a_delay_ms_low,b_delay_ms_low,delay_ms_high\n", "match delay_ms_low"),
            (head, "sum to 0.00%"),
            (&format!("{head}90,1,2\n"), "sum to 90.00%; expected 100%"),
            (
                &format!("{head}50,1,2\n50,x,2\n"),
                "line 3: delay_ms_low: \"x\" is not a number from 0 to 3600000",
            ),
            (&format!("{head}150,1,2\n"), "line 2: share_percent: \"150\" is not a number from 0 to 100"),
            (&format!("{head}50,1,2\n50,4,3\n"), "line 3: the longest delay is below the shortest"),
            (&format!("{head}50,1,2\n0,4,5\n"), "line 3: the share is out of range"),
            (&format!("{head}50,1\n"), "line 2: 2 columns; expected 3, as in the first line"),
            (&format!("{head}NaN,1,2\n"), "line 2: share_percent"),
        ] {
            let error = parse(text).expect_err("is not a table");
            assert!(error.contains(says), "{error}");
        }
    }
}
