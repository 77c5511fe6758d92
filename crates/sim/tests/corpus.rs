//! Replays the corpora of the fuzz targets of this crate.

#[path = "../../../fuzz/src/capacity.rs"]
mod targets;

use std::fs;
use std::path::Path;

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_capacity_traces() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capacity_trace");
    let mut count = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable directory").path();
        targets::capacity_trace(&fs::read(&path).expect("a readable file"));
        count += 1;
    }
    assert!(count >= 6, "{count} files");
}
