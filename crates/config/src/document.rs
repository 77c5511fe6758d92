//! The place of each key in its file: from a key to its line, and from the position of a serde
//! error to its key.

mod format;
mod replaced;
mod search;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::error::FileError;
use crate::strict;
use crate::text::{key_in_text, line_at};
use crate::words::{cut, for_writers};
use format::other_format;
use search::path_at;

const TOO_DEEP: &str =
    "lists and tables are nested too deeply; a file of this kind needs fewer than ten levels";
/// The longest problem of an error, in characters, so that a problem that quotes the file does not
/// fill the terminal.
const LONGEST_PROBLEM: usize = 1_500;

/// A parsed TOML file with the place of every key and value.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    name: String,
    /// Whether errors include a line. A setting of the command line has only one line.
    has_lines: bool,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    /// The values of a sweep or of the command line that replace those of the file.
    replaced: Vec<Replaced>,
}

/// A value that replaces one of the file.
#[derive(Clone, Debug)]
struct Replaced {
    path: Vec<String>,
    /// The file and line of its source.
    file: String,
    line: Option<usize>,
    /// Its places: beyond the end of the text, and disjoint from those of others.
    places: Range<usize>,
}

impl<'t> Document<'t> {
    /// Parses a TOML file. `name` is its name in errors, and `expected` the expected contents in
    /// the error about a file of another format.
    pub fn parse(text: &'t str, name: String, expected: &str) -> Result<Self, FileError> {
        Self::parse_lines(text, name).map_err(|error| match other_format(text) {
            Some(format) => {
                let problem = format!("this is a {format} file, such as results; expected {expected}");
                FileError { problem, ..error }
            }
            None => error,
        })
    }

    fn parse_lines(text: &'t str, name: String) -> Result<Self, FileError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { name, has_lines: true, text, root, replaced: Vec::new() }),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let message = error.message().lines().collect::<Vec<_>>().join("; ");
                let is_deep = message.contains("recurs");
                Err(FileError {
                    line: Some(line_at(text.as_bytes(), offset)),
                    key: key_in_text(text, offset),
                    problem: if is_deep { TOO_DEEP.to_owned() } else { message },
                    file: name,
                })
            }
        }
    }

    /// Parses a setting of the command line, a line of TOML; `name` is its name in errors.
    pub fn parse_setting(text: &'t str, name: String) -> Result<Self, FileError> {
        match Self::parse_lines(text, name) {
            Ok(document) => Ok(Self { has_lines: false, ..document }),
            Err(error) => Err(FileError { line: None, key: String::new(), ..error }),
        }
    }

    /// The name of the file in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the whole file as `T`.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        self.read_as(&[], &self.root)
    }

    /// Reads the table at this path as `T`.
    pub fn deserialize_at<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, FileError> {
        match self.get(path).map(|value| (value.span(), value.get_ref())) {
            Some((span, DeValue::Table(table))) => self.read_as(path, &Spanned::new(span, table.clone())),
            _ => Err(self.error(path, "expected a table")),
        }
    }

    /// Reads a table, whose path is `place`, as `T`.
    fn read_as<T: DeserializeOwned>(
        &self,
        place: &[&str],
        table: &Spanned<DeTable<'t>>,
    ) -> Result<T, FileError> {
        read_strictly(table.clone()).map_err(|error| {
            let path = error.span().map(|span| self.path_at(&span)).unwrap_or_default();
            let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
            let missing =
                error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            path.extend(missing);
            let problem = match missing {
                Some(_) => about_missing::<T>(table, path.get(place.len()..).unwrap_or_default()),
                None => for_writers(error.message()),
            };
            // Serde reads a date as a table of its own.
            let problem = match self.get(&path).map(Spanned::get_ref) {
                Some(DeValue::Datetime(date)) => problem.replacen("a table", &date.to_string(), 1),
                _ => problem,
            };
            self.error(&path, problem)
        })
    }

    /// An error about the key at this path or, if the file does not have it, about the innermost
    /// table of the path that the file has.
    pub fn error(&self, path: &[&str], problem: impl Into<String>) -> FileError {
        let (file, line) = self.place(path);
        let mut problem = problem.into();
        if let Some((end, _)) = problem.char_indices().nth(LONGEST_PROBLEM) {
            problem.truncate(end);
            problem.push_str("...");
        }
        FileError { file: file.to_owned(), line, key: self.display(path), problem }
    }

    /// Whether the file has a value at this path.
    pub fn has(&self, path: &[&str]) -> bool {
        self.get(path).is_some()
    }

    /// Whether the file has a key that is neither on this path nor within its value.
    pub fn has_more_than(&self, path: &[&str]) -> bool {
        let tables = (1..path.len()).filter_map(|depth| self.get(&path[..depth])?.get_ref().as_table());
        std::iter::once(self.root.get_ref()).chain(tables).any(|table| table.len() > 1)
    }

    /// The value at this path.
    pub fn get(&self, path: &[&str]) -> Option<&Spanned<DeValue<'t>>> {
        let (first, rest) = path.split_first()?;
        let value = self.root.get_ref().get(*first)?;
        rest.iter().try_fold(value, |value, step| child(value.get_ref(), step).map(|(_, value)| value))
    }

    /// The root table, for callers that know its meaning. An inserted value keeps its place.
    pub fn root_mut(&mut self) -> &mut DeTable<'t> {
        self.root.get_mut()
    }

    /// The keys of the table at this path; none if it is not a table.
    pub fn keys(&self, path: &[&str]) -> impl Iterator<Item = &str> {
        let table = self.get(path).and_then(|value| value.get_ref().as_table());
        table.into_iter().flatten().map(|(key, _)| key.get_ref().as_ref())
    }

    /// The text of a value in this file.
    pub fn source(&self, value: &Spanned<DeValue<'_>>) -> &str {
        self.text.get(value.span()).unwrap_or_default()
    }

    /// The offset at which a key begins, by which keys can be sorted in the order of the file.
    pub fn position(&self, path: &[&str]) -> usize {
        self.span(path).map_or(usize::MAX, |span| span.start)
    }

    /// Whether the value at this path replaces that of the file.
    pub fn is_replaced(&self, path: &[&str]) -> bool {
        self.replaced.iter().any(|replaced| starts_with(path, &replaced.path))
    }

    fn place(&self, path: &[&str]) -> (&str, Option<usize>) {
        let replaced = self.replaced.iter().rev().find(|replaced| starts_with(path, &replaced.path));
        if let Some(Replaced { file, line, .. }) = replaced {
            return (file, *line);
        }
        let start =
            (0..=path.len()).rev().find_map(|len| self.span(&path[..len])).map_or(0, |span| span.start);
        // A table that was made for a key within it.
        let made = self.replaced.iter().find(|replaced| replaced.places.contains(&start));
        if let Some(Replaced { file, line, .. }) = made {
            return (file, *line);
        }
        (&self.name, self.has_lines.then(|| line_at(self.text.as_bytes(), start)))
    }

    /// The span of the key at this path, or of an element of a list.
    fn span(&self, path: &[&str]) -> Option<Range<usize>> {
        let (last, tables) = path.split_last()?;
        if tables.is_empty() {
            return self.root.get_ref().get_key_value(*last).map(|(key, _)| key.span());
        }
        child(self.get(tables)?.get_ref(), last).map(|(span, _)| span)
    }

    /// A path as the file writes it, such as `links.air.rate` or `schemes[2].label`: with groups
    /// instead of their members, and with quotes where TOML requires them.
    pub fn display(&self, path: &[&str]) -> String {
        let mut text = String::new();
        for (depth, step) in path.iter().enumerate() {
            if let Some(DeValue::Array(elements)) = self.get(&path[..depth]).map(Spanned::get_ref) {
                let index = step.parse().map_or_else(|_| (*step).to_owned(), |at| index_in(elements, at));
                text.extend(["[", &index, "]"]);
                continue;
            }
            if depth > 0 {
                text.push('.');
            }
            let step = self.group_in_text(&path[..=depth]).unwrap_or(step);
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !step.is_empty() && step.chars().all(is_bare) {
                text.push_str(&cut(step));
            } else {
                // Writing into a string cannot fail.
                let _ = write!(text, "{:?}", cut(step));
            }
        }
        text
    }

    /// The group in the file whose member this path names.
    fn group_in_text(&self, path: &[&str]) -> Option<&str> {
        let written = self.text.get(self.span(path)?)?.trim_matches('"');
        let number = path.last()?.strip_prefix(written)?.strip_prefix('-')?;
        number.parse::<u32>().is_ok().then_some(written)
    }

    /// The key whose name or value is the smallest that encloses a place in the text.
    fn path_at(&self, place: &Range<usize>) -> Vec<String> {
        if place.is_empty() {
            // The file as a whole.
            return Vec::new();
        }
        path_at(self.root.get_ref(), place)
    }
}

/// Reads a table as `T`.
fn read_strictly<T: DeserializeOwned>(table: Spanned<DeTable<'_>>) -> Result<T, toml::de::Error> {
    strict::read(toml::de::Deserializer::from(table))
}

/// The problem of a missing key at this path. The expected value is taken from the error about a
/// wrong value in its place.
fn about_missing<T: DeserializeOwned>(table: &Spanned<DeTable<'_>>, path: &[&str]) -> String {
    let mut filled = DeValue::Table(table.get_ref().clone());
    put_wrong_value(&mut filled, path);
    let DeValue::Table(filled) = filled else { return "missing".to_owned() };
    let wrong = read_strictly::<T>(Spanned::new(table.span(), filled));
    let wrong = wrong.map_or_else(|error| for_writers(error.message()), |_| String::new());
    match wrong.split_once("; expected ") {
        Some((_, expected)) => format!("missing; expected {expected}"),
        None => "missing".to_owned(),
    }
}

/// Inserts a value that is wrong for each key without a default.
fn put_wrong_value(value: &mut DeValue<'_>, path: &[&str]) {
    let Some((step, rest)) = path.split_first() else { return };
    let inner = match value {
        DeValue::Table(table) if rest.is_empty() => {
            let wrong = Spanned::new(0..0, DeValue::Boolean(false));
            table.insert(Spanned::new(0..0, (*step).to_owned().into()), wrong);
            return;
        }
        DeValue::Table(table) => table.get_mut(*step),
        DeValue::Array(list) => step.parse().ok().and_then(|index: usize| list.get_mut(index)),
        _ => None,
    };
    if let Some(inner) = inner {
        put_wrong_value(inner.get_mut(), rest);
    }
}

/// The index of an element in the file, where one name may stand for the members of a group.
fn index_in(elements: &DeArray<'_>, index: usize) -> String {
    let places: BTreeSet<usize> =
        elements.iter().take(index + 1).map(|element| element.span().start).collect();
    places.len().saturating_sub(1).to_string()
}

/// The member or element of a value with this name, and the span of its key.
fn child<'a, 't>(value: &'a DeValue<'t>, step: &str) -> Option<(Range<usize>, &'a Spanned<DeValue<'t>>)> {
    match value {
        DeValue::Table(table) => table.get_key_value(step).map(|(key, value)| (key.span(), value)),
        DeValue::Array(elements) => elements.get(index(step)?).map(|value| (value.span(), value)),
        _ => None,
    }
}

/// The index in a step of a path. Only its canonical form is allowed: a sweep over both "1" and
/// "01" would not use the values that it reports.
fn index(step: &str) -> Option<usize> {
    step.parse().ok().filter(|index: &usize| index.to_string() == step)
}

fn starts_with(path: &[&str], prefix: &[String]) -> bool {
    prefix.len() <= path.len() && prefix.iter().zip(path).all(|(left, right)| left == right)
}
