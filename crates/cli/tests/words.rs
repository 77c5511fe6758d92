//! Texts for users avoid the words of this list, and spell as in the United States.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that are not used, and what to write instead.
const REFUSED: &[(&str, &str)] = &[
    ("any good to", "useful to"),
    ("are not to be trusted", "are not trusted"),
    ("that is none", "that is not one, or that is malformed"),
    ("goes round", "runs"),
    ("go round", "run"),
    ("going round", "running"),
    ("is told", "receives, learns, or the active voice"),
    ("are told", "receive, learn, or the active voice"),
    ("be told", "receive, learn, or the active voice"),
    ("was told", "received, learned, or the active voice"),
    ("nobody", "no host, no process, or whoever is meant"),
    ("somebody", "a host, a process, or whoever is meant"),
    ("so many", "this number of, at most"),
    ("the ports broke", "packet I/O failed"),
    ("what wants", "what needs"),
    ("beside ours", "compared with ours"),
    // Spelling.
    ("analyse", "analyze"),
    ("artefact", "artifact"),
    ("artefacts", "artifacts"),
    ("behaviour", "behavior"),
    ("behaviours", "behaviors"),
    ("cancelled", "canceled"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("colour", "color"),
    ("colours", "colors"),
    ("defence", "defense"),
    ("favour", "favor"),
    ("favours", "favors"),
    ("flavour", "flavor"),
    ("flavours", "flavors"),
    ("fulfil", "fulfill"),
    ("grey", "gray"),
    ("honour", "honor"),
    ("honours", "honors"),
    ("initialise", "initialize"),
    ("initialised", "initialized"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("modelled", "modeled"),
    ("modelling", "modeling"),
    ("neighbour", "neighbor"),
    ("neighbours", "neighbors"),
    ("neighbouring", "neighboring"),
    ("normalise", "normalize"),
    ("normalised", "normalized"),
    ("optimise", "optimize"),
    ("organised", "organized"),
    ("per cent", "percent"),
    ("realise", "realize"),
    ("recognise", "recognize"),
    ("recognised", "recognized"),
    ("recognises", "recognizes"),
    ("serialise", "serialize"),
    ("serialised", "serialized"),
    ("signalled", "signaled"),
    ("signalling", "signaling"),
    ("summarise", "summarize"),
    ("synchronise", "synchronize"),
    ("synchronised", "synchronized"),
    ("travelled", "traveled"),
    ("unrecognised", "unrecognized"),
    ("whilst", "while"),
];

/// Parts of the names of files whose documentation becomes help texts or schemas.
const SHOWN_DOCUMENTATION: &[&str] =
    &["cli/src/commands", "scenario/src/file", "gateway/src/config", "/settings.rs"];

#[test]
fn texts_for_users_avoid_refused_words() {
    let mut found = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(repository()).expect("a file of it").display().to_string();
        let words = if file.extension().is_some_and(|extension| extension == "rs") {
            prose_of_code(&text, SHOWN_DOCUMENTATION.iter().any(|part| name.contains(part)))
        } else {
            prose(&text)
        };
        for (line, phrase, instead) in refused(&words) {
            found.push(format!("{name}:{line}: \"{phrase}\": write {instead}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_refused_phrase_is_found_over_the_end_of_a_line_but_not_in_code() {
    let text = prose("The sender\nis\ntold `so many`, at neighbouring nodes.");
    let found: Vec<_> = refused(&text).iter().map(|(line, phrase, _)| (*line, *phrase)).collect();
    assert_eq!(found, [(2, "is told"), (3, "neighbouring")]);
    let code = "/// Packets go\n/// round.\nlet colour = \"a colour\"; // grey\n";
    let found = |shown| {
        let found = refused(&prose_of_code(code, shown));
        found.into_iter().map(|(line, phrase, _)| (line, phrase)).collect::<Vec<_>>()
    };
    assert_eq!(found(true), [(1, "go round"), (3, "colour")]);
    assert_eq!(found(false), [(3, "colour")]);
}

/// The refused words in a text, with their lines.
fn refused(text: &[(usize, String)]) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (phrase, instead) in REFUSED {
        let phrase_words: Vec<&str> = phrase.split(' ').collect();
        for window in text.windows(phrase_words.len()) {
            if window.iter().map(|(_, word)| word.as_str()).eq(phrase_words.iter().copied()) {
                found.push((window[0].0, *phrase, *instead));
            }
        }
    }
    found.sort_unstable();
    found
}

/// The words of a text without its code spans, in lower case, with their lines.
fn prose(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate();
    lines.flat_map(|(index, line)| words(index + 1, line.split('`').step_by(2))).collect()
}

/// The words of text in quotes, and of documentation where it becomes help or a schema.
fn prose_of_code(text: &str, documentation_is_shown: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("//") {
            None => found.extend(words(index + 1, line.split('"').skip(1).step_by(2))),
            Some(comment) if documentation_is_shown && comment.starts_with('/') => {
                found.extend(words(index + 1, comment.split('`').step_by(2)));
            }
            Some(_) => {}
        }
    }
    found
}

fn words<'a>(line: usize, pieces: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let is_letter = |c: char| c.is_alphanumeric() || "-_'.".contains(c);
    let all = pieces.flat_map(|piece| piece.split(move |c| !is_letter(c)));
    let trimmed = all.map(|word| word.trim_matches(['.', '\'', '-']).to_lowercase());
    trimmed.filter(|word| !word.is_empty()).map(|word| (line, word)).collect()
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Documents, scenarios, configuration, and the code without its tests.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| repository().join(name))
        .into();
    for folder in ["docs/src", "scenarios", "packaging", "crates"] {
        files.extend(files_in(&repository().join(folder)));
    }
    files.sort();
    files
}

/// Texts in a folder; not the list above.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.ends_with("tests") || path.ends_with("tests.rs") || path.ends_with("benches") => {
                Vec::new()
            }
            _ if path.is_dir() => files_in(&path),
            Some("md" | "toml" | "rs") => vec![path],
            _ => Vec::new(),
        })
        .collect()
}
