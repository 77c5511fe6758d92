//! Replays the corpora of the fuzz targets of this crate.

#[path = "../../../fuzz/src/datafile.rs"]
mod datafile;
#[path = "../../../fuzz/src/scenario.rs"]
mod scenario;

use std::fs;
use std::path::Path;

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_scenarios() {
    replay("scenario", scenario::scenario);
}

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_sweeps() {
    replay("sweep", scenario::sweep);
}

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_data_files() {
    replay("datafile", datafile::datafile);
}

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_link_states() {
    replay("state_trace", datafile::state_trace);
}

fn replay(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable directory").path();
        name_in_case_of_failure(&path);
        body(&fs::read(path).expect("a readable file"));
        count += 1;
    }
    assert!(count >= 6, "{count} files in the corpus of {target}");
}

/// Names the file at hand; the test harness shows it if the test fails.
#[allow(clippy::print_stdout, reason = "shown only where the test fails")]
fn name_in_case_of_failure(path: &Path) {
    println!("{}", path.display());
}
