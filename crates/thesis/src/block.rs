//! Reads attributes as values with a range and a unit.

use std::ops::RangeInclusive;
use std::time::Duration;

use lasthop_config::words::did_you_mean;

use super::error::{Problem, quoted};
use super::syntax::{Attribute, Block};

/// The longest time, in milliseconds: 115 days.
const LONGEST_MS: u64 = 10_000_000_000;

/// A value with its line in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

impl<'a> Block<'a> {
    /// Refuses unknown attributes and duplicates.
    pub(super) fn has_only(&self, known: &[&str]) -> Result<(), Problem> {
        for (index, attribute) in self.attributes.iter().enumerate() {
            if !known.contains(&attribute.key) {
                let problem = format!(
                    "{}: unknown attribute{}; expected one of {}",
                    quoted(attribute.key),
                    did_you_mean(attribute.key, known),
                    known.join(", ")
                );
                return Err(Problem::new(attribute.line, self.component, problem));
            }
            let first = self.attributes[..index].iter().find(|earlier| earlier.key == attribute.key);
            if let Some(first) = first {
                let problem = format!("given twice, first in line {}", first.line);
                return Err(self.problem(attribute, problem));
            }
        }
        Ok(())
    }

    pub(super) fn problem(&self, attribute: &Attribute<'_>, problem: impl Into<String>) -> Problem {
        self.problem_at(attribute.line, attribute.key, problem)
    }

    pub(super) fn problem_at(&self, line: usize, key: &str, problem: impl Into<String>) -> Problem {
        Problem::new(line, format!("{}.{key}", self.component), problem)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.key == key)
    }

    /// A whole number.
    pub(super) fn whole(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        unit: &str,
    ) -> Result<Located<u64>, Problem> {
        let expected = format!("expected a whole number from {} to {}{unit}", range.start(), range.end());
        let attribute = self.get(key).ok_or_else(|| self.missing(key, &expected))?;
        self.whole_of(attribute, &range, &expected)
    }

    /// An id.
    pub(super) fn id(&self, key: &str) -> Result<Located<u64>, Problem> {
        self.whole(key, IDS, "")
    }

    /// An id in an attribute that may occur several times.
    pub(super) fn id_of(&self, attribute: &Attribute<'_>) -> Result<Located<u64>, Problem> {
        self.whole_of(
            attribute,
            &IDS,
            &format!("expected a whole number from {} to {}", IDS.start(), IDS.end()),
        )
    }

    fn whole_of(
        &self,
        attribute: &Attribute<'_>,
        range: &RangeInclusive<u64>,
        expected: &str,
    ) -> Result<Located<u64>, Problem> {
        let value = attribute.value.parse().ok().filter(|value| range.contains(value));
        let value = value
            .ok_or_else(|| self.problem(attribute, format!("{}: {expected}", quoted(attribute.value))))?;
        Ok(Located { value, line: attribute.line })
    }

    /// A number with or without a fraction.
    pub(super) fn number(
        &self,
        key: &str,
        range: RangeInclusive<f64>,
        unit: &str,
    ) -> Result<Located<f64>, Problem> {
        let expected = format!("expected a number from {} to {}{unit}", range.start(), range.end());
        let attribute = self.get(key).ok_or_else(|| self.missing(key, &expected))?;
        let value = attribute.value.parse().ok().filter(|value| range.contains(value));
        let value = value
            .ok_or_else(|| self.problem(attribute, format!("{}: {expected}", quoted(attribute.value))))?;
        Ok(Located { value, line: attribute.line })
    }

    /// A time of at least `least` milliseconds.
    pub(super) fn millis(&self, key: &str, least: u64) -> Result<Duration, Problem> {
        let millis = self.number(key, least as f64..=LONGEST_MS as f64, " milliseconds")?;
        Ok(Duration::from_nanos((millis.value * 1e6).round() as u64))
    }

    fn missing(&self, key: &str, expected: &str) -> Problem {
        self.problem_at(self.line, key, format!("missing; {expected}"))
    }
}

const IDS: RangeInclusive<u64> = 0..=u32::MAX as u64;
