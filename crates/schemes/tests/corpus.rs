//! Replays the corpus of the fuzz target of this crate.

#[path = "../../../fuzz/src/agents/mod.rs"]
mod agents;
#[path = "../../../fuzz/src/octets.rs"]
mod octets;

use std::fs;
use std::path::Path;

#[test]
#[allow(clippy::print_stdout, reason = "shown only where the test fails")]
fn no_file_of_the_corpus_breaks_a_law_of_agents() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/agents");
    let mut count = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable directory").path();
        println!("{}", path.display());
        agents::agents(&fs::read(path).expect("a readable file"));
        count += 1;
    }
    assert!(count >= 20, "{count} files");
}
