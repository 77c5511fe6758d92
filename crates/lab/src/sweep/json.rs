//! The results as JSON.

use std::io::{self, Read, Write};

use csv::StringRecord;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::columns::{Column, Kind};

/// Writes results as one array of objects, an object a line, while they come.
pub struct JsonArray<'a, W> {
    columns: &'a [Column],
    out: W,
    is_empty: bool,
}

impl<'a, W: Write> JsonArray<'a, W> {
    /// Writes results, CSV with its header, as a whole array.
    pub fn of(columns: &'a [Column], lines: impl Read, out: W) -> io::Result<()> {
        let mut array = Self::begin(columns, out)?;
        array.add(csv::Reader::from_reader(lines))?;
        array.end().map(drop)
    }

    /// Begins the array.
    pub fn begin(columns: &'a [Column], mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { columns, out, is_empty: true })
    }

    /// Adds lines of CSV, without a header.
    pub fn rows(&mut self, lines: impl Read) -> io::Result<()> {
        self.add(csv::ReaderBuilder::new().has_headers(false).from_reader(lines))?;
        self.out.flush()
    }

    fn add(&mut self, mut reader: csv::Reader<impl Read>) -> io::Result<()> {
        let mut record = StringRecord::new();
        while reader.read_record(&mut record)? {
            self.out.write_all(if self.is_empty { b"\n  " } else { b",\n  " })?;
            self.is_empty = false;
            serde_json::to_writer(&mut self.out, &Row { columns: self.columns, record: &record })?;
        }
        Ok(())
    }

    /// Ends the array.
    pub fn end(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

struct Row<'a> {
    columns: &'a [Column],
    record: &'a StringRecord,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |kind: Kind, text: &str| match kind {
            Kind::Text => Value::from(text),
            Kind::Count | Kind::OptionalCount | Kind::Number => number(text),
        };
        let cells = self.columns.iter().zip(self.record);
        serializer.collect_map(cells.map(|(column, text)| (&column.name, value(column.kind, text))))
    }
}

/// The number, read as exactly as it was written; null for none. (The own reading of `serde_json` may be
/// off by the last bit.)
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    whole.unwrap_or_else(|_| text.parse::<f64>().map_or(Value::Null, Value::from))
}
