//! A grid of scenarios into one file.
//!
//! | module | what is in it |
//! |---|---|
//! | `grid` | [`Grid`]: every run of a sweep, in the order of the results |
//! | `columns` | [`Column`]: the columns of the results, and a run as lines of CSV |
//! | `in_order` | the lines of runs, which end in any order, are written in the order of the grid |
//! | `part` | [`Part`]: the results so far, in a file that a later sweep can resume |
//! | `json`, `columnar` | the results in other formats, from their CSV |

mod columnar;
mod columns;
mod grid;
mod in_order;
mod json;
mod part;

use std::io;

use rayon::prelude::*;

use crate::progress::Progress;
use crate::run::RunError;
use in_order::InOrder;

pub use columnar::write_parquet;
pub use columns::{COLUMNS, Column, Kind, columns, header};
pub use grid::Grid;
pub use json::{JsonArray, read_array};
pub use part::{Origin, Part};

/// Does work that [`Grid::check`] and [`sweep`] divide among this many threads; by default one per
/// processor. Fails if the threads cannot be started.
pub fn in_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let Some(threads) = threads else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    Ok(pool.install(work))
}

/// Runs every point under every scheme and seed, in parallel, except the first `done` runs. `write`
/// gets the lines of CSV of each run, in the order of the grid, as soon as all runs before it are
/// complete. The first error of a run or of `write` ends the sweep.
pub fn sweep<E: From<RunError> + Send>(
    grid: &Grid<'_, E>,
    done: usize,
    progress: &dyn Progress,
    write: impl FnMut(&[u8]) -> Result<(), E> + Send,
) -> Result<(), E> {
    progress.expect((grid.runs() - done) as u64);
    let lines = InOrder::new(done, write);
    let runs = grid.all().enumerate().skip(done);
    // `lines` stores the error; the threads need to know only that there is one.
    let _ = runs.par_bridge().try_for_each(|(index, run)| {
        let _stop = lines.stop_on_panic();
        let of_run = grid.lines(&run, progress);
        if of_run.is_ok() {
            progress.advance();
        }
        lines.put(index, of_run)
    });
    lines.end()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::Ordering;

    use lasthop_config::FileError;
    use lasthop_scenario::{Overrides, Scenario, Sweep};
    use portable_atomic::AtomicU64;
    use tempfile::TempDir;

    use super::*;
    use crate::progress::Silent;

    #[derive(Debug)]
    struct Failed(String);

    impl From<RunError> for Failed {
        fn from(error: RunError) -> Self {
            Self(error.to_string())
        }
    }

    impl From<io::Error> for Failed {
        fn from(error: io::Error) -> Self {
            Self(error.to_string())
        }
    }

    impl From<FileError> for Failed {
        fn from(error: FileError) -> Self {
            Self(error.to_string())
        }
    }

    const SMALL: &str = "scenario = \"small.toml\"\nseeds = 2\nschemes = [\"none\", \"snoop\"]\nbaseline = \"none\"\n\
                         [vary]\n\"tcp.window\" = [\"4 KiB\", \"8 KiB\"]\n\"links.air.delay\" = [\"1 ms\", \"9 ms\"]\n";

    /// 16 runs of two flows each, one of which completes.
    fn small() -> Sweep {
        let scenario = include_str!("../../../scenarios/first-look.toml");
        let endless = "[flows.endless]\nfrom = \"server\"\nto = \"laptop\"\n";
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join("small.toml"), format!("{scenario}\n{endless}")).expect("writable");
        let settings = ["flows.download.size=50 kB", "stop-when-done=false", "duration=5 s"];
        let overrides = Overrides { trace: None, settings: settings.map(str::to_owned).to_vec() };
        Sweep::parse(SMALL, "small.sweep.toml", directory.path(), &overrides).expect("a good sweep")
    }

    fn with_grid<T>(sweep: &Sweep, test: impl FnOnce(&Grid<'_, Failed>) -> T) -> T {
        let read = |index: usize| -> Result<Scenario, Failed> { Ok(sweep.point(index).expect("a point")?) };
        test(&Grid::check(sweep, &read, &Silent).expect("it can run"))
    }

    fn csv(grid: &Grid<'_, Failed>, threads: usize) -> String {
        let mut out = header(&grid.columns());
        let write = |lines: &[u8]| {
            out.extend_from_slice(lines);
            Ok(())
        };
        in_threads(Some(threads), || sweep(grid, 0, &Silent, write)).expect("threads").expect("it runs");
        String::from_utf8(out).expect("UTF-8")
    }

    #[derive(Default)]
    struct Counted(AtomicU64);

    impl Progress for Counted {
        fn expect(&self, runs: u64) {
            self.0.fetch_add(runs << 32, Ordering::Relaxed);
        }

        fn advance(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_line_a_flow_of_a_run_in_the_order_of_the_grid_whatever_the_number_of_threads() {
        with_grid(&small(), |grid| {
            let text = csv(grid, 1);
            let lines: Vec<&str> = text.lines().collect();
            assert!(
                lines[0].starts_with("tcp.window_octets,links.air.delay_s,scheme,seed,scope,flow,session,"),
                "{}",
                lines[0]
            );
            assert!(lines[0].ends_with(",roaming_hand_off_s,roaming_state_octets"), "{}", lines[0]);
            assert_eq!(lines.len(), 1 + 16 * 2);
            let key = |line: &str| line.split(',').take(6).collect::<Vec<_>>().join(" ");
            assert_eq!(key(lines[1]), "4096 0.001 none 1 flow download");
            assert_eq!(key(lines[2]), "4096 0.001 none 1 flow endless");
            assert_eq!(key(lines[15]), "4096 0.009 snoop 2 flow download");
            assert_eq!(key(lines[32]), "8192 0.009 snoop 2 flow endless");
            assert_eq!(csv(grid, 4), text);
        });
    }

    #[test]
    fn an_error_of_the_output_ends_the_sweep() {
        with_grid(&small(), |grid| {
            let mut left = 3;
            let write = |_: &[u8]| {
                left -= 1;
                if left == 0 { Err(Failed("full".to_owned())) } else { Ok(()) }
            };
            let ended = in_threads(Some(4), || sweep(grid, 0, &Silent, write)).expect("threads");
            assert_eq!(ended.map_err(|Failed(problem)| problem), Err("full".to_owned()));
            assert_eq!(left, 0, "nothing is written after it");
        });
    }

    fn origin(sweep: &Sweep) -> Origin {
        Origin { lasthop: "1".to_owned(), schemes: Vec::new(), seeds: None, inputs: sweep.inputs() }
    }

    fn whole(part: &Part) -> String {
        io::read_to_string(part.rows().expect("readable")).expect("UTF-8")
    }

    /// A sweep that was interrupted anywhere and resumed has the same results.
    #[test]
    fn a_truncated_part_is_resumed_after_its_last_complete_run() {
        let sweep = small();
        with_grid(&sweep, |grid| {
            let expected = csv(grid, 2);
            let directory = TempDir::new().expect("a directory");
            let path = directory.path().join("part");
            let mut part = Part::begin(&path, &origin(&sweep), grid).expect("writable");
            super::sweep(grid, 0, &Silent, |lines| Ok(part.append(lines)?)).expect("it runs");
            assert_eq!((whole(&part), part.runs()), (expected.clone(), 16));
            drop(part);
            let octets = fs::read(&path).expect("a part");
            let start = octets.len() - expected.len() + expected.find('\n').expect("lines") + 1;
            let last_line = expected.trim_end().rfind('\n').expect("lines") + 1;
            for (cut, runs) in [
                (start, 0),
                (start + 20, 0),
                (octets.len() - expected.len() + last_line, 15),
                (octets.len() - 1, 15),
                (octets.len() - 2, 15),
                (octets.len(), 16),
            ] {
                fs::write(&path, &octets[..cut]).expect("writable");
                let mut part = Part::resume(&path, &origin(&sweep), grid).expect("ours").expect("there");
                assert_eq!(part.runs(), runs, "of {cut} octets");
                let progress = Counted::default();
                super::sweep(grid, runs, &progress, |lines| Ok(part.append(lines)?)).expect("it runs");
                let missing = (16 - runs) as u64;
                assert_eq!(progress.0.into_inner(), (missing << 32) + missing, "only what is missing is run");
                assert_eq!(whole(&part), expected);
            }
        });
    }

    #[test]
    fn a_part_of_another_sweep_is_refused_with_what_differs() {
        let sweep = small();
        with_grid(&sweep, |grid| {
            let directory = TempDir::new().expect("a directory");
            let path = directory.path().join("part");
            let ours = origin(&sweep);
            let mut part = Part::begin(&path, &ours, grid).expect("writable");
            let mut left = 5;
            let write = |lines: &[u8]| {
                left -= 1;
                part.append(lines)?;
                if left == 0 { Err(Failed("enough".to_owned())) } else { Ok(()) }
            };
            super::sweep(grid, 0, &Silent, write).expect_err("not all of it");
            let refused =
                |origin: &Origin| Part::resume(&path, origin, grid).expect_err("another").to_string();
            assert!(refused(&ours).contains("another process"), "it is being written");
            drop(part);
            let begun_twice = Part::begin(&path, &ours, grid).expect_err("it is there").to_string();
            assert!(begun_twice.contains("--resume"), "{begun_twice}");
            for (other, differs) in [
                (Origin { lasthop: "2".to_owned(), ..ours.clone() }, "version"),
                (Origin { seeds: Some(2), ..ours.clone() }, "--seeds"),
                (Origin { schemes: vec!["none".to_owned()], ..ours.clone() }, "--schemes"),
            ] {
                assert!(refused(&other).contains(differs), "{}", refused(&other));
            }
            // A line that was deleted by hand.
            let text = fs::read_to_string(&path).expect("a part");
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            fs::write(&path, [&lines[..3], &lines[4..]].concat().concat()).expect("writable");
            let message = refused(&ours);
            assert!(
                message.contains("line 4") && message.contains("4096, 0.001, none, 1, flow, endless"),
                "{message}"
            );
            fs::write(&path, "precious\n").expect("writable");
            assert!(refused(&ours).contains("not the results of a sweep"));
            assert_eq!(fs::read_to_string(&path).expect("a file"), "precious\n");
        });
    }

    #[test]
    fn parquet_and_json_have_what_csv_has() {
        use parquet::file::reader::{FileReader as _, SerializedFileReader};
        use parquet::record::Field;

        with_grid(&small(), |grid| {
            let text = csv(grid, 2);
            let columns = grid.columns();
            let mut out = Vec::new();
            write_parquet(&columns, text.as_bytes(), &mut out).expect("to memory");
            let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a Parquet file");
            let mut json = Vec::new();
            JsonArray::write(&columns, text.as_bytes(), &mut json).expect("to memory");
            let json = String::from_utf8(json).expect("UTF-8");
            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
            let objects: Vec<&str> = json.lines().filter(|line| line.starts_with("  {")).collect();
            let records: Vec<csv::StringRecord> =
                csv::Reader::from_reader(text.as_bytes()).records().collect::<Result<_, _>>().expect("CSV");
            let rows: Vec<_> = reader.get_row_iter(None).expect("rows").collect();
            assert_eq!((rows.len(), objects.len()), (records.len(), records.len()));
            for ((row, object), record) in rows.into_iter().zip(objects).zip(&records) {
                let row = row.expect("a row");
                for (((name, field), column), text) in row.get_column_iter().zip(&columns).zip(record) {
                    assert_eq!(*name, column.name);
                    let (same, json) = match field {
                        Field::Null => (text.is_empty(), "null".to_owned()),
                        Field::Str(value) => (value == text, format!("{value:?}")),
                        Field::Long(value) => (value.to_string() == text, value.to_string()),
                        Field::Double(value) => {
                            let whole = text.bytes().all(|octet| octet.is_ascii_digit());
                            let json = if whole { text.to_owned() } else { format!("{value:?}") };
                            (text.parse() == Ok(*value), json)
                        }
                        other => panic!("{other:?}"),
                    };
                    assert!(same, "{}: {field:?} is not {text:?}", column.name);
                    assert!(
                        object.contains(&format!("{:?}:{json}", column.name)),
                        "{}: {object}",
                        column.name
                    );
                }
            }
            assert_eq!((columns[0].kind, columns[3].kind), (Kind::Number, Kind::Count));
        });
    }
}
