//! The results as JSON.

use std::fmt;
use std::io::{self, Read, Write};

use csv::StringRecord;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::columns::{Column, Kind};
use crate::rectangle::Table;

/// Writes results, one by one, as an array of objects with an object per line.
pub struct JsonArray<'a, W> {
    columns: &'a [Column],
    out: W,
    is_empty: bool,
}

impl<'a, W: Write> JsonArray<'a, W> {
    /// Writes results, CSV with its header, as a complete array.
    pub fn write(columns: &'a [Column], lines: impl Read, out: W) -> io::Result<()> {
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

/// Parses a complete array: its columns, and its lines as they are in CSV.
pub fn read_array(text: &str) -> serde_json::Result<(Vec<Column>, Table)> {
    let objects: Vec<Object> = serde_json::from_str(text)?;
    let first = objects.first().map_or(&[][..], |Object(cells)| cells);
    let columns: Vec<Column> = first.iter().map(|(name, value)| Column::new(name, value)).collect();
    let names = columns.iter().map(|column| column.name.as_str()).collect();
    let lines = objects.iter().map(|Object(cells)| {
        let cells = cells.iter().map(|(_, value)| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            number => number.to_string(),
        });
        cells.collect()
    });
    Ok((columns, Table::new(names, lines.collect())))
}

/// An object whose keys keep their order.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object, A::Error> {
                let mut cells = Vec::new();
                while let Some(cell) = entries.next_entry()? {
                    cells.push(cell);
                }
                Ok(Object(cells))
            }
        }
        deserializer.deserialize_map(Reading)
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

/// The number, with all digits of the text; null for an empty text.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    whole.unwrap_or_else(|_| text.parse::<f64>().map_or(Value::Null, Value::from))
}
