//! Values of a sweep or of the command line that replace those of the file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::{Document, Replaced, index};
use crate::error::FileError;

impl<'t> Document<'t> {
    /// Replaces the value at `path` by that of `source` at `place`, if it has one.
    pub fn replace_from(
        &mut self,
        source: &Document<'t>,
        place: &[&str],
        path: &[&str],
    ) -> Result<(), FileError> {
        let Some(value) = source.get(place) else { return Ok(()) };
        self.replace(path, value, source.place(place)).map_err(|problem| source.error(place, problem))
    }

    /// Puts `value`, which is from the file and line `from`, at `path`. Makes missing tables.
    fn replace(
        &mut self,
        path: &[&str],
        value: &Spanned<DeValue<'t>>,
        from: (&str, Option<usize>),
    ) -> Result<(), String> {
        let Some((last, tables)) = path.split_last() else { return Err("expected a key".to_owned()) };
        // The value keeps the distances between its keys, and each table that is made for it
        // encloses its contents, so that the place of an error leads to the innermost key.
        let start = self.replaced.last().map_or(self.text.len() + 1, |last| last.places.end);
        let value = moved(value, start);
        let enclosing = |depth: usize| start..value.span().end + path.len() - depth;
        let places = enclosing(0);
        let replaced = Replaced {
            path: path.iter().map(|step| (*step).to_owned()).collect(),
            file: from.0.to_owned(),
            line: from.1,
            places,
        };
        let mut table = self.root.get_mut();
        let mut steps = tables.iter().enumerate();
        while let Some((depth, step)) = steps.next() {
            let key = Spanned::new(enclosing(depth), (*step).to_owned().into());
            let empty = Spanned::new(enclosing(depth), DeValue::Table(DeTable::new()));
            let mut next = table.entry(key).or_insert(empty).get_mut();
            let mut named = (*step).to_owned();
            if let DeValue::Array(elements) = next {
                let inner = steps.next().map(|(_, inner)| *inner);
                let index = index(inner.unwrap_or(*last));
                let count = elements.iter().count();
                let element = index.and_then(|index| Some((index, elements.get_mut(index)?)));
                let (index, element) = element.ok_or_else(|| {
                    format!("{step:?} is a list of length {count}; expected the index of an element, from 0")
                })?;
                if inner.is_none() {
                    *element = value;
                    self.replaced.push(replaced);
                    return Ok(());
                }
                named = format!("{step}[{index}]");
                next = element.get_mut();
            }
            let DeValue::Table(inner) = next else { return Err(format!("{named:?} is not a table")) };
            table = inner;
        }
        table.insert(Spanned::new(value.span(), (*last).to_owned().into()), value);
        self.replaced.push(replaced);
        Ok(())
    }

    /// Replaces the table `kind.name` by copies with these names; `change` modifies each, by its
    /// index. Errors in a copy have the place of the table.
    pub fn replace_by_copies(
        &mut self,
        kind: &str,
        name: &str,
        copies: &[String],
        change: impl Fn(&mut DeValue<'t>, usize),
    ) {
        let Some(tables) = self.root.get_mut().get_mut(kind) else { return };
        let DeValue::Table(tables) = tables.get_mut() else { return };
        let Some((key, table)) = tables.remove_entry(name) else { return };
        for (index, copy) in copies.iter().enumerate() {
            let mut value = table.get_ref().clone();
            change(&mut value, index);
            tables.insert(Spanned::new(key.span(), copy.clone().into()), Spanned::new(table.span(), value));
        }
        let is_within = |replaced: &&Replaced| {
            replaced.path.len() > 2 && replaced.path[0] == kind && replaced.path[1] == name
        };
        let within: Vec<Replaced> = self.replaced.iter().filter(is_within).cloned().collect();
        for copy in copies {
            self.replaced.extend(within.iter().cloned().map(|mut replaced| {
                replaced.path[1].clone_from(copy);
                replaced
            }));
        }
    }
}

/// A value with all its places moved by an offset.
fn moved<'t>(value: &Spanned<DeValue<'t>>, offset: usize) -> Spanned<DeValue<'t>> {
    let place = |span: Range<usize>| span.start + offset..span.end + offset;
    let inner = match value.get_ref() {
        DeValue::Table(table) => DeValue::Table(
            table
                .iter()
                .map(|(key, value)| {
                    (Spanned::new(place(key.span()), key.get_ref().clone()), moved(value, offset))
                })
                .collect(),
        ),
        DeValue::Array(elements) => {
            let mut array = DeArray::new();
            for element in elements {
                array.push(moved(element, offset));
            }
            DeValue::Array(array)
        }
        other => other.clone(),
    };
    Spanned::new(place(value.span()), inner)
}
