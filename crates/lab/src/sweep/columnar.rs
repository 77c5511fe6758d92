//! The results as Parquet.

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
    let fields: String = columns.iter().map(field).collect();
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

fn field(column: &Column) -> String {
    let name = parquet_name(&column.name);
    match column.kind {
        Kind::Text => format!("REQUIRED BYTE_ARRAY {name} (UTF8);"),
        Kind::Count => format!("REQUIRED INT64 {name};"),
        Kind::OptionalCount => format!("OPTIONAL INT64 {name};"),
        Kind::Number => format!("OPTIONAL DOUBLE {name};"),
    }
}

/// Parquet's schema language knows letters, digits and underscores.
fn parquet_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
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
