//! The fields of a struct are its file's own.
//!
//! - What others may see of a struct's fields is a value: nothing changes it in place (no method takes `&mut
//!   self`), and where the fields are visible to a part of the crate only, it is `Copy`. A `pub` field is as
//!   visible as its struct.
//! - The methods of a struct stand in its file. Files of modules below it see its fields as well, and use them by
//!   its methods only.
//!
//! Code for tests does not count.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use source::{is_word, tokens, without_tests};

/// The crates that are held to this, each with a number of structs that is surely found in it.
const HELD: [(&str, usize); 4] = [("link", 6), ("sim", 100), ("tcp", 80), ("wifi", 30)];

/// Crate, struct: those whose methods are in several files, and why.
const SPREAD: [(&str, &str); 6] = [
    // Its fields are the parts, which own theirs: it only leads from one to another, a file for each way.
    ("sim", "World"),
    // It takes each input from one part to the next, in the order of RFC 9293: a file for each input.
    ("tcp", "Connection"),
    // An ACK, a timer and a segment that leaves each change several of its parts: a file for each.
    ("tcp", "SendSide"),
    // The same: a segment that arrives, an ACK that leaves, the window.
    ("tcp", "ReceiveSide"),
    // As `World`: it leads a frame from part to part, a file for each stage of its way.
    ("wifi", "Wlan"),
    // Its domains own their state. What leads to several of them has a file by its cause: frames in the air, access,
    // stations that move.
    ("wifi", "Medium"),
];

/// Crate, struct: those that show their parts, and why.
const OPEN: [(&str, &str); 2] = [
    // It has no state: the file that asks for it takes it apart, and its data goes into the packet.
    ("tcp", "Segment"),
    // Its three parts own their fields, and a step of the MAC often changes two of them.
    ("wifi", "Contender"),
];

#[test]
fn fields_that_others_see_belong_to_values() {
    for (name, least) in HELD {
        let structs = structs(name);
        assert!(structs.len() >= least, "crates/{name}: {} structs", structs.len());
        let is_state = |it: &Struct| it.is_changed || (it.shows_crate && !it.is_copy);
        let is_open = |place: &(PathBuf, String)| OPEN.contains(&(name, &place.1));
        let states = structs.into_iter().filter(|(place, it)| it.shows && is_state(it) && !is_open(place));
        let states: Vec<_> = states.map(|(place, _)| place).collect();
        assert_eq!(states, [], "crates/{name}: their fields are for their own methods");
    }
}

#[test]
fn the_methods_of_a_struct_stand_in_its_file() {
    for (name, _) in HELD {
        let structs = structs(name);
        let is_elsewhere = |file: &Path, of: &str| {
            let defined = || structs.keys().filter(|(_, name)| *name == of);
            defined().next().is_some() && defined().all(|(its, _)| its != file)
        };
        let methods = files(name).into_iter().flat_map(|file| {
            let inherent = impls(&file).into_iter().filter(|of| !of.is_of_trait);
            inherent.map(|of| (file.clone(), of.name)).collect::<BTreeSet<_>>()
        });
        let apart: Vec<_> = methods.filter(|(file, of)| is_elsewhere(file, of)).collect();
        let apart = apart.iter().filter(|(_, of)| !SPREAD.contains(&(name, of))).collect::<Vec<_>>();
        assert!(apart.is_empty(), "crates/{name}: {apart:?}");
    }
}

#[test]
fn what_a_struct_shows_is_found() {
    let text = "
        #[derive(Clone, Copy)]
        pub(crate) struct Value<'a, T: Into<u8>> { pub(crate) a: &'a T, b: [u8; 2] }
        struct State { pub(super) a: u8 }
        pub struct Config { pub a: u8 }
        struct Hidden(u8);
        struct Shown(pub(crate) u8);
        pub(crate) struct Near { pub a: u8 }
        impl<'a, T: Into<u8>> Value<'a, T> { fn get(&self) -> u8 { let mut it = self.a; it } }
        impl Iterator for Config { fn next(&'_ mut self) -> Option<u8> { None } }
    ";
    let found = structs_in(&tokens(text));
    let of = |name: &str| found[name];
    let value = Struct { is_copy: true, shows: true, shows_crate: true, is_changed: false };
    assert_eq!(of("Value"), value);
    assert_eq!(of("State"), Struct { is_copy: false, ..value });
    assert_eq!(of("Config"), Struct { is_copy: false, shows: true, shows_crate: false, is_changed: true });
    assert_eq!(of("Hidden"), Struct::default());
    assert_eq!(of("Shown"), of("State"));
    assert_eq!(of("Near"), of("State"));
}

/// What others see of a struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Struct {
    is_copy: bool,
    /// Whether a field is visible outside of its file.
    shows: bool,
    /// Whether one is to a part of the crate only.
    shows_crate: bool,
    /// Whether a method takes `&mut self`.
    is_changed: bool,
}

/// A block of methods.
struct Impl {
    name: String,
    is_of_trait: bool,
    /// Whether one of them takes `&mut self`.
    changes: bool,
}

/// All structs of a crate, by file and name. Methods in other files count where the name is the only one.
fn structs(name: &str) -> BTreeMap<(PathBuf, String), Struct> {
    let in_file = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let found = structs_in(&without_tests(&tokens(&text)));
        found.into_iter().map(move |(name, it)| ((file.clone(), name), it))
    };
    let mut structs: BTreeMap<(PathBuf, String), Struct> =
        files(name).into_iter().flat_map(in_file).collect();
    for of in files(name).iter().flat_map(|file| impls(file)).filter(|of| of.changes) {
        let mut named = structs.iter_mut().filter(|((_, name), _)| *name == of.name);
        if let (Some((_, it)), None) = (named.next(), named.next()) {
            it.is_changed = true;
        }
    }
    structs
}

fn impls(file: &Path) -> Vec<Impl> {
    let text = fs::read_to_string(file).expect("UTF-8");
    impls_in(&without_tests(&tokens(&text)))
}

/// The files of a crate, without those of tests alone.
fn files(name: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut found);
    found.retain(|file| {
        !file.components().any(|part| ["tests", "tests.rs"].map(AsRef::as_ref).contains(&part.as_os_str()))
    });
    found.sort();
    found
}

fn structs_in(tokens: &[&str]) -> BTreeMap<String, Struct> {
    let mut found: BTreeMap<String, Struct> = BTreeMap::new();
    let mut is_copy = false;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "derive" => is_copy = block(&tokens[at + 1..], ["(", ")"]).contains(&"Copy"),
            "struct" if tokens.get(at + 1).is_some_and(|name| is_word(name)) => {
                let (shows, restricted) = shown(fields(&tokens[at + 2..]));
                // A field is seen no further than its struct.
                let shows_crate = restricted || (shows && tokens[..at].last() != Some(&"pub"));
                let it = Struct { is_copy, shows, shows_crate, is_changed: false };
                found.insert(tokens[at + 1].to_owned(), it);
                is_copy = false;
            }
            "enum" | "fn" | "impl" => is_copy = false,
            _ => {}
        }
    }
    for of in impls_in(tokens).into_iter().filter(|of| of.changes) {
        if let Some(it) = found.get_mut(&of.name) {
            it.is_changed = true;
        }
    }
    found
}

/// The tokens of a struct's fields, from those behind its name.
fn fields<'a>(tokens: &'a [&'a str]) -> &'a [&'a str] {
    let tokens = behind_generics(tokens);
    let begin = tokens.iter().position(|token| ["{", "(", ";"].contains(token)).unwrap_or(0);
    match tokens.get(begin) {
        Some(&"{") => block(&tokens[begin..], ["{", "}"]),
        Some(&"(") => block(&tokens[begin..], ["(", ")"]),
        _ => &[],
    }
}

/// Whether one of these fields is visible to others, and whether one is to a part of the crate only.
fn shown(fields: &[&str]) -> (bool, bool) {
    let visible = fields.iter().enumerate().filter(|(_, token)| **token == "pub");
    let is_restricted = |at: usize| {
        fields.get(at + 1) == Some(&"(")
            && fields.get(at + 2).is_some_and(|to| ["crate", "super", "in"].contains(to))
    };
    visible.fold((false, false), |(_, restricted), (at, _)| (true, restricted || is_restricted(at)))
}

fn impls_in(tokens: &[&str]) -> Vec<Impl> {
    let mut found = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "impl") {
        // Not `-> impl Trait` and the like.
        let is_item = at == 0 || ["}", ";", "]", "unsafe"].contains(&tokens[at - 1]);
        let rest = behind_generics(&tokens[at + 1..]);
        let Some(begin) = rest.iter().position(|token| *token == "{").filter(|_| is_item) else { continue };
        let head = rest[..begin].split(|token| *token == "where").next().unwrap_or_default();
        let of = head.iter().rposition(|token| *token == "for").map_or(head, |at| &head[at + 1..]);
        let name = of.split(|token| *token == "<").next().and_then(<[&str]>::last).copied();
        let body = block(&rest[begin..], ["{", "}"]);
        found.push(Impl {
            name: name.unwrap_or_default().to_owned(),
            is_of_trait: of.len() < head.len(),
            changes: body.windows(3).any(|words| words[0] != "(" && words[1..] == ["mut", "self"]),
        });
    }
    found
}

/// What follows `<...>`, if that is there.
fn behind_generics<'a>(tokens: &'a [&'a str]) -> &'a [&'a str] {
    if tokens.first() != Some(&"<") {
        return tokens;
    }
    // An arrow closes nothing.
    let mut depth = 0;
    let end = tokens.iter().enumerate().position(|(at, token)| {
        match *token {
            "<" => depth += 1,
            ">" if at > 0 && tokens[at - 1] != "-" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &tokens[end.map_or(tokens.len(), |end| end + 1)..]
}

/// What is between a bracket, which is the first token, and the one that closes it.
fn block<'a>(tokens: &'a [&'a str], [open, close]: [&str; 2]) -> &'a [&'a str] {
    let mut depth = 0;
    let end = tokens.iter().position(|token| {
        depth += i32::from(*token == open) - i32::from(*token == close);
        depth == 0
    });
    &tokens[1..end.unwrap_or(1)]
}
