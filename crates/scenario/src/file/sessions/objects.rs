//! The number of objects that are embedded in a page.

use std::borrow::Cow;
use std::fmt;

use lasthop_apps::heavy_tails::Pareto;
use lasthop_apps::session::Objects;
use lasthop_config::FileError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::reading::Reading;
use crate::file::quantity::Whole;

/// The maximum number of objects of a page.
const MAX_OBJECTS: u32 = 1_000;

/// A number of objects, either fixed or random.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) enum ObjectsEntry {
    Fixed(i64),
    Drawn(ObjectsTable),
}

/// A number of objects: a Pareto-distributed number minus its `scale`, rounded down.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct ObjectsTable {
    /// The shape, above 0 and at most 100; default 1.1.
    shape: Option<f64>,
    /// The minimum of the drawn number, which is subtracted from it, 1 to 1000; default 2.
    scale: Option<Whole<1, 1_000>>,
    /// The largest number of objects, 0 to 1000; default 53.
    max: Option<Whole<0, 1_000>>,
}

impl<'de> Deserialize<'de> for ObjectsEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = ObjectsEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 1000, or a table with \"shape\", \"scale\" and \"max\"")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<ObjectsEntry, E> {
                Ok(ObjectsEntry::Fixed(number))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ObjectsEntry, A::Error> {
                ObjectsTable::deserialize(MapAccessDeserializer::new(entries)).map(ObjectsEntry::Drawn)
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

impl JsonSchema for ObjectsEntry {
    fn schema_name() -> Cow<'static, str> {
        "Objects".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ObjectsTable>();
        json_schema!({ "oneOf": [{ "type": "integer", "minimum": 0, "maximum": MAX_OBJECTS }, table] })
    }
}

/// The number of objects of a page, with a default.
pub(super) fn read(
    reading: &Reading<'_>,
    written: Option<ObjectsEntry>,
    default: Objects,
) -> Result<Objects, FileError> {
    let table = match written {
        None => return Ok(default),
        Some(ObjectsEntry::Fixed(number)) => {
            let objects = u32::try_from(number).ok().filter(|objects| *objects <= MAX_OBJECTS);
            let problem = format!("{number}; expected a whole number from 0 to {MAX_OBJECTS}");
            return objects.map(Objects::Fixed).ok_or_else(|| reading.fail(&["objects"], problem));
        }
        Some(ObjectsEntry::Drawn(table)) => table,
    };
    let shape = table.shape.unwrap_or(1.1);
    if !(shape > 0.0 && shape <= 100.0) {
        return Err(reading.fail(&["objects", "shape"], "expected a number above 0 and at most 100"));
    }
    let scale = table.scale.map_or(2, |Whole(scale)| scale);
    let max = table.max.map_or(53, |Whole(max)| max);
    Ok(Objects::Pareto(Pareto { shape, min: f64::from(scale), max: f64::from(scale + max) }))
}
