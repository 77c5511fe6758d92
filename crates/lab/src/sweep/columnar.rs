//! The results as Parquet.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::Arc;

use csv::StringRecord;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::columns::{Column, Kind};

/// The lines of a row group: they are in memory together.
const GROUP: usize = 1 << 16;

/// Writes results, CSV with its header, as Parquet: row groups of 65,536 lines, uncompressed.
pub fn write_parquet(columns: &[Column], lines: impl Read, out: impl Write + Send) -> io::Result<()> {
    let names = parquet_names(columns);
    let fields: String = columns.iter().zip(&names).map(|(column, name)| field(column.kind, name)).collect();
    let schema = parse_message_type(&format!("message sweep {{ {fields} }}")).map_err(failed)?;
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::default()).map_err(failed)?;
    let mut reader = csv::Reader::from_reader(lines);
    let mut records = reader.records();
    loop {
        let group: Vec<StringRecord> = records.by_ref().take(GROUP).collect::<Result<_, _>>()?;
        if group.is_empty() {
            break;
        }
        write_group(columns, &group, &mut writer).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

fn field(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Text => format!("REQUIRED BYTE_ARRAY {name} (UTF8);"),
        Kind::Count => format!("REQUIRED INT64 {name};"),
        Kind::OptionalCount => format!("OPTIONAL INT64 {name};"),
        Kind::Number => format!("OPTIONAL DOUBLE {name};"),
    }
}

/// The columns' names in Parquet's schema language, which knows letters, digits and underscores.
/// Those that would be the same there are told apart by a number behind them.
fn parquet_names(columns: &[Column]) -> Vec<String> {
    let plain = |column: &Column| -> String {
        column.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    };
    let all: BTreeSet<String> = columns.iter().map(plain).collect();
    let mut taken = BTreeSet::new();
    let name = |column: &Column| {
        let plain = plain(column);
        let numbered = (2u64..).map(|number| format!("{plain}_{number}"));
        let mut free = numbered.filter(|name| !all.contains(name) && !taken.contains(name));
        let name = if taken.contains(&plain) { free.next() } else { None };
        let name = name.unwrap_or(plain);
        taken.insert(name.clone());
        name
    };
    columns.iter().map(name).collect()
}

fn write_group<W: Write + Send>(
    columns: &[Column],
    records: &[StringRecord],
    writer: &mut SerializedFileWriter<W>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (index, column) in columns.iter().enumerate() {
        let Some(mut open) = group.next_column()? else { break };
        let cells = || records.iter().map(|record| &record[index]);
        let defined: Vec<i16> = cells().map(|cell| i16::from(!cell.is_empty())).collect();
        let defined = matches!(column.kind, Kind::OptionalCount | Kind::Number).then_some(defined.as_slice());
        match open.untyped() {
            ColumnWriter::Int64ColumnWriter(typed) => {
                let counts: Result<Vec<i64>, _> =
                    present(cells(), |cell| Some(cell.parse::<u64>().ok()?.cast_signed()));
                typed.write_batch(&counts?, defined, None)?;
            }
            ColumnWriter::DoubleColumnWriter(typed) => {
                typed.write_batch(&present(cells(), |cell| cell.parse::<f64>().ok())?, defined, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(typed) => {
                let texts: Vec<ByteArray> = cells().map(ByteArray::from).collect();
                typed.write_batch(&texts, None, None)?;
            }
            // The schema above has no other types.
            _ => {}
        }
        open.close()?;
    }
    group.close()?;
    Ok(())
}

/// The values of the cells that have one.
fn present<'a, T>(
    cells: impl Iterator<Item = &'a str>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ParquetError> {
    let read =
        |cell: &str| read(cell).ok_or_else(|| ParquetError::General(format!("{cell:?} is not a number")));
    cells.filter(|cell| !cell.is_empty()).map(read).collect()
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_whose_names_differ_only_in_signs_stay_apart() {
        let columns = ["links.a-r.delay_s", "links.a_r.delay_s", "links.a_r.delay_s.2", "seed"];
        let columns = columns.map(|name| Column { name: name.to_owned(), kind: Kind::Text });
        let names = parquet_names(&columns);
        assert_eq!(names, ["links_a_r_delay_s", "links_a_r_delay_s_3", "links_a_r_delay_s_2", "seed"]);
    }
}
