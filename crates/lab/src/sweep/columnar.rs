//! The results as Parquet.

use std::io::{self, Read, Write};
use std::sync::Arc;

use csv::StringRecord;
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::columns::{Column, Kind};

/// Maximum number of lines in a row group, which is in memory as a unit.
const GROUP: usize = 1 << 16;

/// Writes results, CSV with its header, as Parquet: row groups of 65,536 lines, uncompressed.
pub fn write_parquet(columns: &[Column], lines: impl Read, out: impl Write + Send) -> io::Result<()> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let schema = Type::group_type_builder("sweep").with_fields(fields).build().map_err(failed)?;
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

/// The Parquet type of a column.
fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, repetition) = match column.kind {
        Kind::Text => (PhysicalType::BYTE_ARRAY, Repetition::REQUIRED),
        Kind::Count => (PhysicalType::INT64, Repetition::REQUIRED),
        Kind::OptionalCount => (PhysicalType::INT64, Repetition::OPTIONAL),
        Kind::Number => (PhysicalType::DOUBLE, Repetition::OPTIONAL),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(repetition);
    let field =
        if column.kind == Kind::Text { field.with_converted_type(ConvertedType::UTF8) } else { field };
    field.build().map(Arc::new)
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
            // The schema of `field` has no other types.
            _ => {}
        }
        open.close()?;
    }
    group.close()?;
    Ok(())
}

/// The values of the cells that are not empty.
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
