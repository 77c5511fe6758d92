//! Files of a crate do not use each other in a circle: each can be read, tested and moved with what
//! it uses alone.
//!
//! A file uses another if it names an item that is defined there, by a `use` or by a path; a
//! re-export is followed to the file that defines the item. `mod` and `pub use` alone are no use,
//! and code for tests does not count.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::slice::Iter;

use source::{is_word, tokens, without_tests};

/// Crate, user, used: what is not counted, and why.
const EXCEPTIONS: [(&str, &str, &str); 1] = [
    // Methods of `Engine` in a file of their own, beside the lists that only they use.
    ("gateway", "engine::prefetch", "engine"),
];

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    for name in crates() {
        let mut uses = Source::read(&name).uses();
        for (_, user, used) in EXCEPTIONS.into_iter().filter(|(of, ..)| *of == name) {
            let is_there = uses.get_mut(user).is_some_and(|uses| uses.remove(used));
            assert!(is_there, "crates/{name}: {user} no longer uses {used}: delete the exception");
        }
        let circle = circle(&uses).map(|files| files.join(" -> "));
        assert_eq!(circle, None, "crates/{name}: move what two files share to a third");
    }
}

#[test]
fn what_a_file_uses_is_found_in_imports_paths_and_re_exports() {
    let uses = Source::read("gateway").uses();
    let is_used = |user: &str, used: &str| uses[user].contains(used);
    assert!(is_used("check", "config"), "a `use`");
    assert!(is_used("io::divert", "io::divert::attach"), "a path that begins with a module below the file");
    assert!(is_used("daemon", "engine::report"), "a re-export, followed");
    assert!(!is_used("", "daemon"), "a re-export of a name that the file does not say itself");
    assert!(!is_used("listing", "engine::report"), "in a test");
    let uses_of_scenario = Source::read("scenario").uses();
    assert!(!uses_of_scenario["file::wlan::table"].contains("file"), "a visibility");
    let found: usize = uses.values().map(BTreeSet::len).sum();
    assert!(found > 200, "{found} uses");
}

/// The crates of the workspace.
fn crates() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(folder).expect("the crates' folder").map(|entry| entry.expect("an entry"));
    let names = folders.map(|entry| entry.file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() > 8, "{names:?}");
    names
}

/// Which files each file uses, by module path; the crate's root is empty.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The files of a crate, as far as they say what they use.
struct Source(BTreeMap<Vec<String>, Mentioned>);

/// The paths in a file, as they are written.
#[derive(Default)]
struct Mentioned {
    used: Vec<Vec<String>>,
    /// What is imported under which name for others.
    exported: Vec<(String, Vec<String>)>,
}

impl Source {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let root = ["lib.rs", "main.rs"].map(|file| folder.join(file)).into_iter().find(|file| file.exists());
        let mut source = Self(BTreeMap::new());
        source.read_file(Vec::new(), &root.expect("a crate has a root"), &folder);
        source
    }

    /// Reads a module's file and those below it, which are in `folder`.
    fn read_file(&mut self, module: Vec<String>, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).expect("UTF-8");
        let tokens = without_tests(&tokens(&text));
        let below = tokens.windows(3).filter(|words| words[0] == "mod" && words[2] == ";");
        let below: Vec<String> = below.map(|words| words[1].to_owned()).collect();
        let mentioned = mentioned(&tokens, &below);
        for name in below {
            let folder = folder.join(&name);
            let file: PathBuf = Some(folder.with_extension("rs"))
                .filter(|file| file.exists())
                .unwrap_or(folder.join("mod.rs"));
            self.read_file([&module[..], &[name]].concat(), &file, &folder);
        }
        self.0.insert(module, mentioned);
    }

    fn uses(&self) -> Uses {
        let used_by = |module: &Vec<String>, mentioned: &Mentioned| {
            let paths = mentioned.used.iter().filter_map(|path| self.absolute(module, path));
            let files = paths.map(|path| self.definition(&path)).filter(|file| file != module);
            files.map(|file| file.join("::")).collect()
        };
        self.0.iter().map(|(module, mentioned)| (module.join("::"), used_by(module, mentioned))).collect()
    }

    /// A path from the crate's root, for one that is written in a module; `None` for what is of
    /// another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|step| *step == "super").count();
        let above = |ups: usize| module.len().checked_sub(ups).map(|len| &module[..len]);
        match path[0].as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => Some([above(ups)?, &path[ups..]].concat()),
            _ => {
                let below = [module, &path[..1]].concat();
                self.0.contains_key(&below).then(|| [module, path].concat())
            }
        }
    }

    /// The module in whose file an item is defined.
    fn definition(&self, path: &[String]) -> Vec<String> {
        let is_module = |len: &usize| self.0.contains_key(&path[..*len]);
        let len = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let (module, item) = path.split_at(len);
        let exported = self.0[module].exported.iter();
        let mut here = exported.filter(|(name, _)| item.first() == Some(name));
        match here.find_map(|(_, path)| self.absolute(module, path)) {
            Some(elsewhere) => self.definition(&[&elsewhere[..], &item[1..]].concat()),
            None => module.to_vec(),
        }
    }
}

/// A circle, its first file once more at its end; `None` if there is none.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn follow(
        uses: &Uses,
        file: &str,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let met = way.iter().position(|before| before == file);
        way.push(file.to_owned());
        if let Some(first) = met {
            return Some(way[first..].to_vec());
        }
        if !done.contains(file) {
            for used in &uses[file] {
                if let found @ Some(_) = follow(uses, used, way, done) {
                    return found;
                }
            }
            done.insert(file.to_owned());
        }
        way.pop();
        None
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|file| follow(uses, file, &mut Vec::new(), &mut done))
}

/// The paths in a file that has these modules below it.
fn mentioned(tokens: &[&str], below: &[String]) -> Mentioned {
    let mut found = Mentioned::default();
    let mut said = BTreeSet::new();
    let mut before = "";
    let mut tokens = tokens.iter().peekable();
    while let Some(&token) = tokens.next() {
        // `use<>` is a bound, and `pub(in path)` says who may use this, not what it uses.
        if token == "pub" && tokens.clone().take(2).eq(&["(", "in"]) {
            before = tokens.by_ref().find(|token| **token == ")").copied().unwrap_or_default();
            continue;
        } else if token == "use" && tokens.peek() != Some(&&"<") {
            let mut imported = Vec::new();
            use_tree(&mut tokens, &[], &mut imported);
            if before == "pub" || before == ")" {
                found.exported.extend(imported);
            } else {
                found.used.extend(imported.into_iter().map(|(_, path)| path));
            }
        } else if is_word(token) {
            let mut path = vec![token.to_owned()];
            while tokens.next_if(|next| **next == "::").is_some() {
                path.extend(tokens.next_if(|next| is_word(next)).map(|&word| word.to_owned()));
            }
            if before != "mod" {
                said.insert(path[0].clone());
            }
            let is_ours = ["crate", "self", "super"].contains(&token) || below.contains(&path[0]);
            if is_ours && path.len() > 1 && before != "::" {
                found.used.push(path);
            }
        }
        before = token;
    }
    // A name that the file says itself is used here, too.
    let said = found.exported.iter().filter(|(name, _)| said.contains(name));
    found.used.extend(said.map(|(_, path)| path.clone()).collect::<Vec<_>>());
    found
}

/// Reads what follows `use`, or a part of it: the names that it brings, and their paths.
fn use_tree(tokens: &mut Peekable<Iter<'_, &str>>, prefix: &[String], into: &mut Vec<(String, Vec<String>)>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    while let Some(&token) = tokens.next_if(|next| ![",", "}", ";"].contains(next)) {
        match token {
            "::" => {}
            "as" => name = tokens.next().map(|&name| name.to_owned()),
            "{" => {
                while tokens.peek().is_some_and(|next| **next != "}") {
                    use_tree(tokens, &path, into);
                    tokens.next_if(|next| **next == ",");
                }
                tokens.next();
                return;
            }
            // `use a::{self}` brings `a`, and a glob what is in it.
            "self" | "*" if !path.is_empty() => {}
            _ => path.push(token.to_owned()),
        }
    }
    let last = path.last().cloned().unwrap_or_default();
    into.push((name.unwrap_or(last), path));
}
