//! A grid of scenarios into one file.

use std::io::{self, Write};
use std::sync::Arc;

use lasthop_agent::counter::{CONTROL_MESSAGES, LOCAL_RETRANSMITS};
use lasthop_scenario::Point;
use lasthop_sim::counters::{FRAMES_GIVEN_UP, FRAMES_SENT};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rayon::prelude::*;

use crate::progress::Progress;
use crate::run::{Datagrams, RunError, RunSummary, run};

/// What one run of the grid gave.
#[derive(Clone, Debug)]
pub struct SweepRow {
    /// The index of its point.
    pub point: usize,
    /// The run.
    pub summary: RunSummary,
}

/// Runs every point under every scheme and seed, in parallel. Rows come in the order of points,
/// schemes, seeds.
pub fn sweep(points: &[Point], progress: &dyn Progress) -> Result<Vec<SweepRow>, RunError> {
    let mut grid = Vec::new();
    for (index, point) in points.iter().enumerate() {
        // What cannot run is found before anything does.
        point.scenario.check_all()?;
        for scheme in &point.scenario.schemes {
            grid.extend(point.scenario.seeds.iter().map(|seed| (index, scheme, *seed)));
        }
    }
    progress.expect(grid.len() as u64);
    grid.par_iter()
        .map(|(point, scheme, seed)| {
            let summary = run(&points[*point].scenario, scheme, *seed)?;
            progress.advance();
            Ok(SweepRow { point: *point, summary })
        })
        .collect()
}

/// A cell of the result.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Text(String),
    Count(u64),
    /// What TCP or UDP has and the other has not is empty, too.
    OptionalCount(Option<u64>),
    /// What does not exist is empty in CSV and null in Parquet.
    Number(Option<f64>),
}

/// The columns behind those of what was varied. A row is one flow of one run; the counters are the
/// run's.
static COLUMNS: [&str; 27] = [
    "scheme",
    "seed",
    "flow",
    "from",
    "to",
    "goodput_bps",
    "bytes",
    "completion_s",
    "retransmits",
    "timeouts",
    "fast_retransmits",
    "duplicate_acks",
    "rtt_mean_s",
    FRAMES_SENT.name,
    FRAMES_GIVEN_UP.name,
    CONTROL_MESSAGES.name,
    LOCAL_RETRANSMITS.name,
    "transport",
    "datagrams_sent",
    "datagrams_received",
    "datagrams_lost",
    "datagrams_out_of_order",
    "delay_mean_s",
    "delay_p95_s",
    "jitter_s",
    "jain_fairness",
    "air_time_share",
];

fn header(points: &[Point]) -> Vec<String> {
    let varied = points.first().map(|point| point.assignments.iter().map(|(key, _)| key.clone()));
    varied.into_iter().flatten().chain(COLUMNS.map(str::to_owned)).collect()
}

/// The result, a line a flow of a run, with the varied keys in front.
fn lines<'a>(points: &'a [Point], rows: &'a [SweepRow]) -> impl Iterator<Item = Vec<Cell>> + 'a {
    rows.iter().flat_map(|row| row.summary.flows.iter().map(move |flow| (row, flow))).map(|(row, flow)| {
        let counter = |counter| Cell::Count(row.summary.count(counter));
        let datagrams = |of: fn(Datagrams) -> u64| Cell::OptionalCount(flow.datagrams.map(of));
        let assignments = &points[row.point].assignments;
        let mut line: Vec<Cell> = assignments.iter().map(|(_, value)| Cell::Text(value.clone())).collect();
        line.extend([
            Cell::Text(row.summary.scheme.clone()),
            Cell::Count(row.summary.seed),
            Cell::Text(flow.name.clone()),
            Cell::Text(flow.from.clone()),
            Cell::Text(flow.to.clone()),
            Cell::Number(Some(flow.goodput_bps)),
            Cell::Count(flow.bytes),
            Cell::Number(flow.completion_s),
            Cell::OptionalCount(flow.retransmits),
            Cell::OptionalCount(flow.timeouts),
            Cell::OptionalCount(flow.fast_retransmits),
            Cell::OptionalCount(flow.duplicate_acks),
            Cell::Number(flow.rtt_mean_s),
            counter(&FRAMES_SENT),
            counter(&FRAMES_GIVEN_UP),
            counter(&CONTROL_MESSAGES),
            counter(&LOCAL_RETRANSMITS),
            Cell::Text(flow.transport.to_owned()),
            datagrams(|datagrams| datagrams.sent),
            datagrams(|datagrams| datagrams.received),
            datagrams(|datagrams| datagrams.lost),
            datagrams(|datagrams| datagrams.out_of_order),
            Cell::Number(flow.datagrams.and_then(|datagrams| datagrams.delay_mean_s)),
            Cell::Number(flow.datagrams.and_then(|datagrams| datagrams.delay_p95_s)),
            Cell::Number(flow.datagrams.and_then(|datagrams| datagrams.jitter_s)),
            Cell::Number(Some(row.summary.aggregate.jain_fairness)),
            Cell::Number(row.summary.aggregate.air_time_share),
        ]);
        line
    })
}

/// Writes the result as CSV.
pub fn write_csv(points: &[Point], rows: &[SweepRow], out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(header(points))?;
    for line in lines(points, rows) {
        writer.write_record(line.into_iter().map(|cell| match cell {
            Cell::Text(text) => text,
            Cell::Count(count) => count.to_string(),
            Cell::OptionalCount(count) => count.map_or_else(String::new, |count| count.to_string()),
            Cell::Number(number) => number.map_or_else(String::new, |number| number.to_string()),
        }))?;
    }
    writer.flush()
}

/// Writes the result as Parquet: one row group, uncompressed.
pub fn write_parquet(points: &[Point], rows: &[SweepRow], out: impl Write + Send) -> io::Result<()> {
    let lines: Vec<Vec<Cell>> = lines(points, rows).collect();
    let failed = |error: parquet::errors::ParquetError| match error {
        parquet::errors::ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    };
    let fields: String = header(points)
        .iter()
        .enumerate()
        .map(|(column, name)| match lines.first().map(|line| &line[column]) {
            Some(Cell::Count(_)) => format!("REQUIRED INT64 {};", parquet_name(name)),
            Some(Cell::OptionalCount(_)) => format!("OPTIONAL INT64 {};", parquet_name(name)),
            Some(Cell::Number(_)) => format!("OPTIONAL DOUBLE {};", parquet_name(name)),
            Some(Cell::Text(_)) | None => format!("REQUIRED BYTE_ARRAY {} (UTF8);", parquet_name(name)),
        })
        .collect();
    let schema = parse_message_type(&format!("message sweep {{ {fields} }}")).map_err(failed)?;
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::default()).map_err(failed)?;
    let mut group = writer.next_row_group().map_err(failed)?;
    let mut column = 0;
    while let Some(mut open) = group.next_column().map_err(failed)? {
        let cells = lines.iter().map(|line| &line[column]);
        match open.untyped() {
            ColumnWriter::Int64ColumnWriter(typed) => {
                let is_optional = lines.iter().any(|line| matches!(line[column], Cell::OptionalCount(_)));
                let counts: Vec<Option<i64>> = cells
                    .map(|cell| match cell {
                        Cell::Count(count) | Cell::OptionalCount(Some(count)) => Some(count.cast_signed()),
                        _ => None,
                    })
                    .collect();
                let defined: Vec<i16> = counts.iter().map(|count| i16::from(count.is_some())).collect();
                let values: Vec<i64> = counts.into_iter().flatten().collect();
                let defined = is_optional.then_some(defined.as_slice());
                typed.write_batch(&values, defined, None).map_err(failed)?;
            }
            ColumnWriter::DoubleColumnWriter(typed) => {
                let numbers: Vec<Option<f64>> =
                    cells.map(|cell| if let Cell::Number(number) = cell { *number } else { None }).collect();
                let defined: Vec<i16> = numbers.iter().map(|number| i16::from(number.is_some())).collect();
                let values: Vec<f64> = numbers.into_iter().flatten().collect();
                typed.write_batch(&values, Some(&defined), None).map_err(failed)?;
            }
            ColumnWriter::ByteArrayColumnWriter(typed) => {
                let texts: Vec<ByteArray> =
                    cells
                        .map(|cell| {
                            if let Cell::Text(text) = cell {
                                text.as_str().into()
                            } else {
                                ByteArray::from("")
                            }
                        })
                        .collect();
                typed.write_batch(&texts, None, None).map_err(failed)?;
            }
            // The schema above has no other types.
            _ => {}
        }
        open.close().map_err(failed)?;
        column += 1;
    }
    group.close().map_err(failed)?;
    writer.close().map_err(failed)?;
    Ok(())
}

/// Parquet's schema language knows letters, digits and underscores.
fn parquet_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use lasthop_scenario::SchemeChoice;
    use lasthop_sim::Application;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::*;
    use crate::goel::network::{Parameters, experiment};
    use crate::progress::Silent;

    fn small_sweep() -> (Vec<Point>, Vec<SweepRow>) {
        let points: Vec<Point> = [4, 8]
            .map(|window_kb| {
                let mut scenario = experiment(Parameters {
                    wired_delay: Duration::from_millis(50),
                    mean_bad: Duration::from_millis(300),
                    window_kb,
                });
                scenario.flows[0].application = Application::transfer(Some(100_000));
                // One flow that ends and one that does not: a completion, and none.
                let mut endless = scenario.flows[0].clone();
                endless.application = Application::transfer(None);
                endless.name = "endless".to_owned();
                scenario.flows.push(endless);
                scenario.stop_when_done = false;
                scenario.duration = Duration::from_secs(20);
                scenario.schemes = vec![SchemeChoice::no_loss()];
                scenario.seeds = vec![1, 2];
                Point { assignments: vec![("flows.a.window".to_owned(), window_kb.to_string())], scenario }
            })
            .to_vec();
        let rows = sweep(&points, &Silent).expect("it runs");
        (points, rows)
    }

    #[test]
    fn a_line_a_flow_of_a_run_in_the_order_of_the_grid() {
        let (points, rows) = small_sweep();
        let mut out = Vec::new();
        write_csv(&points, &rows, &mut out).expect("to memory");
        let text = String::from_utf8(out).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("flows.a.window,scheme,seed,flow,"));
        assert_eq!(lines.len(), 1 + 2 * 2 * 2);
        let keys: Vec<String> =
            lines[1..].iter().map(|line| line.split(',').take(4).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(keys[0], "4 no-loss 1 transfer");
        assert_eq!(keys[7], "8 no-loss 2 endless");
    }

    #[test]
    fn parquet_reads_back_what_csv_has() {
        let (points, rows) = small_sweep();
        let mut out = Vec::new();
        write_parquet(&points, &rows, &mut out).expect("to memory");
        let reader = SerializedFileReader::new(Bytes::from(out)).expect("a Parquet file");
        let mut csv = Vec::new();
        write_csv(&points, &rows, &mut csv).expect("to memory");
        let mut csv = csv::Reader::from_reader(csv.as_slice());
        let records: Vec<csv::StringRecord> = csv.records().collect::<Result<_, _>>().expect("CSV");
        let mut count = 0;
        for (row, record) in reader.get_row_iter(None).expect("rows").zip(&records) {
            let row = row.expect("a row");
            for ((_, field), text) in row.get_column_iter().zip(record) {
                let same = match field {
                    parquet::record::Field::Null => text.is_empty(),
                    parquet::record::Field::Str(value) => value == text,
                    parquet::record::Field::Long(value) => value.to_string() == text,
                    parquet::record::Field::Double(value) => text.parse() == Ok(*value),
                    other => panic!("{other:?}"),
                };
                assert!(same, "{field:?} is not {text:?}");
            }
            count += 1;
        }
        assert_eq!(count, records.len());
    }
}
