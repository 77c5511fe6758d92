//! Ports and prefixes as entries of lists.

use std::borrow::Cow;
use std::fmt;

use lasthop_packet::Prefix;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::selector::PortRange;

/// `443` or `"8000-8099"`.
#[derive(Clone, Debug, PartialEq)]
pub struct PortEntry(pub PortRange);

impl<'de> Deserialize<'de> for PortEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl Visitor<'_> for Reading {
            type Value = PortEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port such as 443, or a range such as \"8000-8099\"")
            }
            fn visit_i64<E: Error>(self, port: i64) -> Result<PortEntry, E> {
                self.visit_str(&port.to_string())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<PortEntry, E> {
                text.parse().map(PortEntry).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

impl JsonSchema for PortEntry {
    fn schema_name() -> Cow<'static, str> {
        "Port".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 1, "maximum": 65535 },
            { "type": "string", "pattern": r"^\s*[0-9]+\s*(-\s*[0-9]+\s*)?$" },
        ] })
    }
}

/// Parses prefixes; the error has the index of the invalid one, and a message.
pub(super) fn prefixes(texts: &[String]) -> Result<Vec<Prefix>, (usize, String)> {
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| text.parse::<Prefix>().map_err(|problem| (index, problem.to_string())))
        .collect()
}
