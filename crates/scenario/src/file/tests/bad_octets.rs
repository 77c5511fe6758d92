//! Files that are not scenarios.

use std::fs;

use lasthop_packet::Rng;

use super::{GOOD, error, read};
use crate::file::{Overrides, Sweep, read as read_file};

#[test]
fn an_empty_file_is_called_empty() {
    assert_eq!(
        error(""),
        "x.toml: the file is empty; expected a scenario, with nodes, links and flows, or a sweep"
    );
    assert!(error(" \n\n").contains("empty"));
}

#[test]
fn ten_megabytes_of_random_octets_are_refused_as_text() {
    let mut rng = Rng::named(1, "octets");
    let octets: Vec<u8> = (0..10_000_000 / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    let path = std::env::temp_dir().join(format!("lasthop-{}-octets.toml", std::process::id()));
    fs::write(&path, &octets).expect("a writable folder for temporary files");
    let error = read_file(&path, &Overrides::default()).expect_err("no scenario").to_string();
    assert!(error.contains("octets.toml:1: not valid UTF-8; expected a text file"), "{error}");
    assert!(Sweep::read(&path, &Overrides::default()).is_err());
    fs::remove_file(path).expect("we wrote it");
}

#[test]
fn ten_megabytes_of_random_text_are_refused_at_the_first_error() {
    let mut rng = Rng::named(2, "text");
    let text: String =
        (0..10_000_000).map(|_| char::from(b"[]{}=\"'.,#\n ab01"[(rng.next_u64() % 16) as usize])).collect();
    assert!(read(&text).is_err());
}

#[test]
fn a_file_that_is_absent_or_a_folder_is_named() {
    let error =
        read_file("/nowhere/x.toml".as_ref(), &Overrides::default()).expect_err("no file").to_string();
    assert!(error.starts_with("/nowhere/x.toml: cannot read the file"), "{error}");
    assert!(read_file("/".as_ref(), &Overrides::default()).is_err());
}

#[test]
fn nested_bombs_are_refused() {
    let brackets = format!("a = {}", "[".repeat(1_000_000));
    let closed = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let tables = format!("a = {}", "{a=".repeat(1_000_000));
    let dots = format!("{}a = 1", "a.".repeat(1_000_000));
    let header = format!("[{}a]", "a.".repeat(1_000_000));
    for bomb in [brackets, closed, tables, dots, header] {
        assert!(read(&bomb).is_err());
        assert!(read(&format!("{GOOD}{bomb}")).is_err());
    }
}

#[test]
fn absurd_sizes_are_refused() {
    let many = |count: usize, table: &str| {
        (0..count).map(|n| table.replace('#', &n.to_string())).collect::<String>()
    };
    let nodes = many(6_000, "[nodes.n#]\nkind = \"host\"\n");
    assert!(error(&format!("{GOOD}{nodes}")).contains("expected at most 5000"));
    let links = many(6_000, "[links.l#]\nbetween = [\"server\", \"ap\"]\nrate = \"1 Mbit/s\"\n");
    assert!(error(&format!("{GOOD}{links}")).contains("expected at most 5000"));
}
