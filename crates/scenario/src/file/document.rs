//! Where each key stands in its file: the one way from a key to its line, and back from what serde
//! points at to its key.

mod groups;
mod replaced;
mod search;

use std::collections::BTreeMap;
use std::ops::Range;

use lasthop_schemes::words::for_writers;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ScenarioError;
use super::text::{key_in_text, line_at};
use search::path_at;

/// A TOML file, parsed, with the place of every key and value.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    name: String,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    /// What a sweep or the command line has put in place of the file's values.
    replaced: Vec<Replaced>,
    /// Groups of nodes that were written out, with their numbers of members.
    groups: BTreeMap<String, usize>,
}

/// What stands in the place of a value of the file.
#[derive(Clone, Debug)]
struct Replaced {
    path: Vec<String>,
    /// Where it comes from.
    file: String,
    line: usize,
    /// Its places: behind the end of the text, and apart from those of any other.
    places: Range<usize>,
}

impl<'t> Document<'t> {
    /// Parses a scenario or a sweep, which is never empty.
    pub(super) fn parse(text: &'t str, name: String) -> Result<Self, ScenarioError> {
        if text.trim().is_empty() {
            return Err(ScenarioError::of_file(
                name,
                "the file is empty; expected a scenario, with nodes, links and flows, or a sweep",
            ));
        }
        Self::parse_toml(text, name)
    }

    /// Parses a TOML file; `name` is what errors call it.
    pub fn parse_toml(text: &'t str, name: String) -> Result<Self, ScenarioError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { name, text, root, replaced: Vec::new(), groups: BTreeMap::new() }),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                Err(ScenarioError {
                    line: Some(line_at(text.as_bytes(), offset)),
                    key: key_in_text(text, offset),
                    problem: error.message().lines().collect::<Vec<_>>().join("; "),
                    file: name,
                })
            }
        }
    }

    /// What errors call the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the whole file as `T`.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        self.read_as(self.root.clone())
    }

    /// Reads the table at this path as `T`.
    pub(super) fn deserialize_at<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, ScenarioError> {
        match self.get(path).map(|value| (value.span(), value.get_ref())) {
            Some((span, DeValue::Table(table))) => self.read_as(Spanned::new(span, table.clone())),
            _ => Err(self.error(path, "expected a table")),
        }
    }

    fn read_as<T: DeserializeOwned>(&self, table: Spanned<DeTable<'t>>) -> Result<T, ScenarioError> {
        T::deserialize(toml::de::Deserializer::from(table)).map_err(|error| {
            let path = error.span().map(|span| self.path_at(&span)).unwrap_or_default();
            let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
            let missing =
                error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            path.extend(missing);
            let problem = if missing.is_some() { "missing".to_owned() } else { for_writers(error.message()) };
            self.error(&path, problem)
        })
    }

    /// An error about the key at this path, or about the innermost table on the way to it that the
    /// file has.
    pub fn error(&self, path: &[&str], problem: impl Into<String>) -> ScenarioError {
        let (file, line) = self.place(path);
        ScenarioError {
            file: file.to_owned(),
            line: Some(line),
            key: self.display(path),
            problem: problem.into(),
        }
    }

    /// The value at this path.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Spanned<DeValue<'t>>> {
        let (first, rest) = path.split_first()?;
        let value = self.root.get_ref().get(*first)?;
        rest.iter().try_fold(value, |value, step| child(value.get_ref(), step).map(|(_, value)| value))
    }

    /// The keys of the table at this path; none where there is no table.
    pub(super) fn keys(&self, path: &[&str]) -> impl Iterator<Item = &str> {
        let table = self.get(path).and_then(|value| value.get_ref().as_table());
        table.into_iter().flatten().map(|(key, _)| key.get_ref().as_ref())
    }

    /// What is wrong with setting the key at this path from outside, if it is in a node, link, cell or
    /// flow that the file does not have. A session may be added.
    pub(super) fn names_nothing(&self, path: &[&str]) -> Option<String> {
        match *path {
            [kind @ ("nodes" | "links" | "wlans" | "flows"), name, ..]
                if self.get(&[kind, name]).is_none() =>
            {
                let known: Vec<&str> = self.keys(&[kind]).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Some(format!("unknown name {name:?} in {kind}; expected one of: {known}"))
            }
            _ => None,
        }
    }

    /// The text that stands at a value of this file.
    pub(super) fn source(&self, value: &Spanned<DeValue<'_>>) -> &str {
        self.text.get(value.span()).unwrap_or_default()
    }

    /// Where in the file a key begins: sorts keys in the order of the file.
    pub(super) fn position(&self, path: &[&str]) -> usize {
        self.span(path).map_or(usize::MAX, |span| span.start)
    }

    fn place(&self, path: &[&str]) -> (&str, usize) {
        let replaced = self.replaced.iter().rev().find(|replaced| path.starts_with_strings(&replaced.path));
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
        (&self.name, line_at(self.text.as_bytes(), start))
    }

    /// Where the key at this path stands, or the element if it is one of a list.
    fn span(&self, path: &[&str]) -> Option<Range<usize>> {
        let (last, tables) = path.split_last()?;
        if tables.is_empty() {
            return self.root.get_ref().get_key_value(*last).map(|(key, _)| key.span());
        }
        child(self.get(tables)?.get_ref(), last).map(|(span, _)| span)
    }

    /// `links.air.rate`, `schemes[2].label`.
    fn display(&self, path: &[&str]) -> String {
        let mut text = String::new();
        for (depth, step) in path.iter().enumerate() {
            let in_list = self.get(&path[..depth]).is_some_and(|value| value.get_ref().is_array());
            if in_list {
                text.extend(["[", step, "]"]);
            } else {
                if depth > 0 {
                    text.push('.');
                }
                text.extend(step.chars().take(80));
            }
        }
        text
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

/// The member or element of a value by this name, and where its key stands.
fn child<'a, 't>(value: &'a DeValue<'t>, step: &str) -> Option<(Range<usize>, &'a Spanned<DeValue<'t>>)> {
    match value {
        DeValue::Table(table) => table.get_key_value(step).map(|(key, value)| (key.span(), value)),
        DeValue::Array(elements) => {
            elements.get(step.parse::<usize>().ok()?).map(|value| (value.span(), value))
        }
        _ => None,
    }
}

trait StartsWith {
    fn starts_with_strings(&self, prefix: &[String]) -> bool;
}

impl StartsWith for [&str] {
    fn starts_with_strings(&self, prefix: &[String]) -> bool {
        prefix.len() <= self.len() && prefix.iter().zip(self).all(|(left, right)| left == right)
    }
}
