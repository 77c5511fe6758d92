//! Results that are read and written again have the same octets.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use lasthop_lab::progress::Silent;
use lasthop_lab::rectangle::Table;
use lasthop_lab::reproduce::{ExplainedRow, Explanations};
use lasthop_lab::run::RunError;
use lasthop_lab::sweep::{Grid, JsonArray, columns, header, read_array, sweep};
use lasthop_lab::{Comparison, RunSummary, compare, packet_control, run};
use lasthop_scenario::{Overrides, Scenario, Sweep, file};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// A scenario of this repository, with few and short runs.
fn scenario(name: &str, settings: &[&str]) -> Scenario {
    let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    file::read(&scenarios().join(name), &Overrides { settings, ..Overrides::default() }).expect("ours")
}

/// Writes a result, reads it, and writes it again.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(result: &T) {
    let written = serde_json::to_string_pretty(result).expect("JSON");
    let read: T = serde_json::from_str(&written).expect("it was written");
    assert_eq!(read, *result);
    assert_eq!(serde_json::to_string_pretty(&read).expect("JSON"), written);
}

#[test]
fn runs_and_comparisons_are_read_back() {
    let with_all = [
        // A flow that ends, UDP beside TCP.
        ("cross-traffic.toml", &["seeds=2", "duration=20 s"][..]),
        // Sessions of every kind; an 802.11 cell.
        ("try-sessions.toml", &["seeds=2", "duration=20 s"]),
        ("power-save-web.toml", &["seeds=2", "duration=20 s"]),
    ];
    for (name, settings) in with_all {
        let scenario = scenario(name, settings);
        let summary: RunSummary = run(&scenario, &scenario.schemes[0], 1, &Silent).expect("it runs");
        check(&summary);
        let comparison: Comparison = compare(&scenario, &Silent).expect("it runs");
        check(&comparison);
    }
}

#[test]
fn rows_of_reproductions_are_read_back() {
    let rows = packet_control::reproduce(2, &Silent).expect("it runs");
    let rows: Vec<ExplainedRow> = Explanations::ours().explain(rows);
    check(&rows);
    let values: Vec<_> = rows.iter().map(|row| serde_json::to_value(row).expect("JSON")).collect();
    let table = Table::from_results(&["paper"], &values);
    assert_eq!(Table::read(&table.text().expect("CSV")).expect("it was written"), table);
}

#[test]
fn lines_of_sweeps_are_read_back_from_csv_and_from_json() {
    let text = "scenario = 'try-sessions.toml'\nseeds = 2\nduration = '10 s'\n\
                [vary]\n'tcp.window' = ['64 KiB', '0.1 MB']\n'tcp.congestion' = ['reno', 'cubic']\n";
    let sweep_file = Sweep::parse(text, "x.sweep.toml", &scenarios(), &Overrides::default()).expect("good");
    let read = |index: usize| -> Result<Scenario, RunError> {
        Ok(sweep_file.point(index).expect("a point").expect("good"))
    };
    let grid = Grid::check(&sweep_file, &read, &Silent).expect("it can run");
    let columns = columns(&sweep_file);
    let mut csv = header(&columns);
    let write = |lines: &[u8]| -> Result<(), RunError> {
        csv.extend_from_slice(lines);
        Ok(())
    };
    sweep(&grid, 0, &Silent, write).expect("it runs");
    let csv = String::from_utf8(csv).expect("UTF-8");
    let table = Table::read(&csv).expect("it was written");
    assert_eq!(table.text().expect("CSV"), csv);

    let mut json = Vec::new();
    JsonArray::write(&columns, csv.as_bytes(), &mut json).expect("memory");
    let (columns, from_json) = read_array(str::from_utf8(&json).expect("UTF-8")).expect("it was written");
    let mut again = Vec::new();
    JsonArray::write(&columns, from_json.text().expect("CSV").as_bytes(), &mut again).expect("memory");
    assert_eq!(String::from_utf8(again), String::from_utf8(json));
    assert_eq!(from_json.column("scheme").expect("a column").count(), table.lines().count());
}
