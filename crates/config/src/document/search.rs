//! Finds the key at the position of a serde error.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The path of the key whose name or value is the smallest that encloses a place in the text.
pub(super) fn path_at(root: &DeTable<'_>, place: &Range<usize>) -> Vec<String> {
    let mut search = Search { place, path: Vec::new(), best: (usize::MAX, Vec::new()) };
    search.table(root);
    search.best.1
}

struct Search<'a> {
    place: &'a Range<usize>,
    path: Vec<String>,
    best: (usize, Vec<String>),
}

impl Search<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.path.push(key.get_ref().to_string());
            self.consider(&key.span());
            self.value(value);
            self.path.pop();
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) {
        self.consider(&value.span());
        match value.get_ref() {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.path.push(index.to_string());
                    // The span of a list of tables with their own headers is that of its first
                    // table.
                    if element.span() == value.span() && self.encloses(&element.span()) {
                        self.best = (element.span().len(), self.path.clone());
                    }
                    self.value(element);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn consider(&mut self, span: &Range<usize>) {
        // The span of a key in a header is also that of its table. Of two equal spans the outer is
        // the more general, and comes first.
        if self.encloses(span) && span.len() < self.best.0 {
            self.best = (span.len(), self.path.clone());
        }
    }

    const fn encloses(&self, span: &Range<usize>) -> bool {
        span.start <= self.place.start && self.place.end <= span.end
    }
}
