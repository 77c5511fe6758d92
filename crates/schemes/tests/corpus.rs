//! Replays the corpora of the fuzz targets of this crate.

#[path = "../../../fuzz/src/agents/mod.rs"]
mod agents;
#[path = "../../../fuzz/src/as_tcp.rs"]
mod as_tcp;
#[path = "../../../fuzz/src/datagrams.rs"]
mod datagrams;
#[path = "../../../fuzz/src/ends.rs"]
mod ends;
#[path = "../../../fuzz/src/octets.rs"]
mod octets;
#[path = "../../../fuzz/src/splits.rs"]
mod splits;

use std::fs;
use std::path::Path;

#[test]
fn no_file_of_the_corpus_breaks_a_law_of_agents() {
    replay("agents", agents::agents);
}

#[test]
fn no_file_of_the_corpus_breaks_a_rule_of_calls() {
    replay("datagrams", datagrams::datagrams);
}

#[test]
fn no_file_of_the_corpus_breaks_a_split() {
    replay("splits", splits::splits);
}

#[test]
fn no_file_of_the_corpus_breaks_a_stream_of_as_tcp() {
    replay("as_tcp", as_tcp::as_tcp);
}

#[allow(clippy::print_stdout, reason = "shown only where the test fails")]
fn replay(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable directory").path();
        println!("{}", path.display());
        body(&fs::read(path).expect("a readable file"));
        count += 1;
    }
    assert!(count >= 6, "{count} files");
}
