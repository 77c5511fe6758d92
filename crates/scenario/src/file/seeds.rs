//! The seeds of the runs of each scheme.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::reader::Reader;
use lasthop_config::FileError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};

const MAX_SEEDS: usize = 10_000;

/// `seeds = 10` or `seeds = [3, 1, 4]`. Read by hand: serde's untagged enums lose the place of an
/// error.
#[derive(Debug)]
pub(super) enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number of seeds from 1 to 10000, such as 10, or a list of seeds, such as [1, 2, 3]",
                )
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Seeds, E> {
                u64::try_from(count)
                    .map(Seeds::Count)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(count), &self))
            }
            fn visit_u64<E: Error>(self, count: u64) -> Result<Seeds, E> {
                Ok(Seeds::Count(count))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seeds: A) -> Result<Seeds, A::Error> {
                let mut list = Vec::new();
                while let Some(seed) = seeds.next_element()? {
                    list.push(seed);
                }
                Ok(Seeds::List(list))
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

impl JsonSchema for Seeds {
    fn schema_name() -> Cow<'static, str> {
        "Seeds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 1, "maximum": 10_000 },
            { "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "integer", "minimum": 0 } },
        ] })
    }
}

pub(super) fn read(reader: &Reader<'_>, seeds: Option<Seeds>) -> Result<Vec<u64>, FileError> {
    let seeds = match seeds.unwrap_or(Seeds::Count(10)) {
        Seeds::Count(count) => (1..=count.min(MAX_SEEDS as u64 + 1)).collect(),
        Seeds::List(list) => list,
    };
    if !(1..=MAX_SEEDS).contains(&seeds.len()) {
        let found = if seeds.is_empty() { "no seeds" } else { "too many seeds" };
        let problem = format!("{found}; expected 1 to {MAX_SEEDS}");
        return Err(reader.fail(&["seeds"], problem));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = seeds.iter().find(|seed| !seen.insert(**seed)) {
        return Err(reader.fail(&["seeds"], format!("seed {twice} is listed twice; expected each seed once")));
    }
    Ok(seeds)
}
