//! Keys that take a string or a table, a number or a list. Read by hand: serde's untagged enums
//! lose the place of an error.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use lasthop_schemes::catalogue::CATALOGUE;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::named::Named;
use super::quantity::{Octets, Text};
use super::schema::{layer_schemas, row_schemas};
use super::tables::TcpTable;
use crate::model::SchemeChoice;

/// `seeds = 10` or `seeds = [3, 1, 4]`.
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
                f.write_str("a number of seeds, such as 10, or a list of seeds, such as [1, 2, 3]")
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Seeds, E> {
                u64::try_from(count)
                    .map(Seeds::Count)
                    .map_err(|_| E::custom(format_args!("{count} seeds; expected 1 or more")))
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

/// `"snoop"` or `{ scheme = "snoop", setting = ... }`.
#[derive(Debug)]
pub(super) struct LayerEntry {
    pub(super) scheme: String,
    pub(super) settings: toml::Table,
}

impl LayerEntry {
    fn named(scheme: &str) -> Self {
        Self { scheme: scheme.to_owned(), settings: toml::Table::new() }
    }
}

impl<'de> Deserialize<'de> for LayerEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = LayerEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a scheme's name, or a table with the key \"scheme\" and settings")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<LayerEntry, E> {
                Ok(LayerEntry::named(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<LayerEntry, A::Error> {
                let (mut scheme, mut settings) = (None, toml::Table::new());
                while let Some(key) = entries.next_key::<String>()? {
                    if key == "scheme" {
                        scheme = Some(entries.next_value()?);
                    } else {
                        settings.insert(key, entries.next_value()?);
                    }
                }
                let scheme = scheme.ok_or_else(|| A::Error::missing_field("scheme"))?;
                Ok(LayerEntry { scheme, settings })
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

/// `"snoop"`, `{ scheme = "snoop", label = "...", tcp = { ... }, setting = ... }`, or `{ stack =
/// [...], label = "...", tcp = { ... } }`; a table with `tcp` alone means "none".
#[derive(Debug)]
pub(super) struct SchemeEntry {
    pub(super) layers: Vec<LayerEntry>,
    /// Whether the layers are written as a stack.
    pub(super) is_stack: bool,
    pub(super) label: Option<String>,
    /// What of TCP is different in this row.
    pub(super) tcp: Option<TcpTable>,
}

impl SchemeEntry {
    /// A scheme with its default settings.
    pub(super) fn named(scheme: &str) -> Self {
        Self { layers: vec![LayerEntry::named(scheme)], is_stack: false, label: None, tcp: None }
    }
}

impl<'de> Deserialize<'de> for SchemeEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = SchemeEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a scheme's name, or a table with the key \"scheme\", \"stack\" or \"tcp\"")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<SchemeEntry, E> {
                Ok(SchemeEntry::named(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SchemeEntry, A::Error> {
                let (mut scheme, mut stack, mut label, mut tcp) = (None, None, None, None);
                let mut settings = toml::Table::new();
                while let Some(key) = entries.next_key::<String>()? {
                    match key.as_str() {
                        "scheme" => scheme = Some(entries.next_value()?),
                        "stack" => stack = Some(entries.next_value::<Vec<LayerEntry>>()?),
                        "label" => label = Some(entries.next_value()?),
                        "tcp" => tcp = Some(entries.next_value()?),
                        _ => {
                            settings.insert(key, entries.next_value()?);
                        }
                    }
                }
                let is_stack = stack.is_some();
                let layers = match (scheme, stack, &tcp) {
                    (Some(scheme), None, _) => vec![LayerEntry { scheme, settings }],
                    (None, Some(stack), _) if settings.is_empty() && !stack.is_empty() => stack,
                    (None, None, Some(_)) => vec![LayerEntry { scheme: "none".to_owned(), settings }],
                    (None, None, None) => return Err(A::Error::missing_field("scheme")),
                    _ => {
                        return Err(A::Error::custom(
                            "expected either a scheme with its settings or a stack of one or more with their own",
                        ));
                    }
                };
                Ok(SchemeEntry { layers, is_stack, label, tcp })
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

impl JsonSchema for LayerEntry {
    fn schema_name() -> Cow<'static, str> {
        "Layer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = CATALOGUE.iter().map(|scheme| scheme.name).collect();
        let mut alternatives = vec![json_schema!({ "enum": names }).to_value()];
        alternatives.extend(layer_schemas(generator));
        json_schema!({ "oneOf": alternatives })
    }
}

impl JsonSchema for SchemeEntry {
    fn schema_name() -> Cow<'static, str> {
        "Scheme".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> =
            CATALOGUE.iter().map(|scheme| scheme.name).chain([SchemeChoice::NO_LOSS]).collect();
        let mut alternatives = vec![json_schema!({ "enum": names }).to_value()];
        let tcp = generator.subschema_for::<TcpTable>();
        alternatives.push(
            json_schema!({
                "title": "tcp",
                "type": "object",
                "description": "No scheme, and TCP otherwise than in the rest of the scenario.",
                "additionalProperties": false,
                "required": ["tcp"],
                "properties": { "label": { "type": "string" }, "tcp": tcp },
            })
            .to_value(),
        );
        alternatives.extend(row_schemas(generator));
        json_schema!({ "oneOf": alternatives })
    }
}

/// A link layer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkLayerTable {
    /// What kind.
    pub(super) kind: LinkLayerKind,
    /// How often a frame is transmitted again before it is given up, 0 to 1,000; default 8.
    pub(super) retransmission_attempts: Option<u32>,
    /// With "stop-and-wait": from the end of a transmission until the sender stops waiting for the
    /// acknowledgment, "1 us" to "10 s". Default: twice the propagation delay, plus the
    /// acknowledgment's transmission time, plus 1 ms.
    pub(super) ack_timeout: Option<Text<Duration>>,
    /// With "stop-and-wait": length of an acknowledgment, at most "1500 B"; default "14 B".
    pub(super) ack_size: Option<Text<Octets>>,
}

/// What kind of link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LinkLayerKind {
    /// What is lost is lost, and nobody knows.
    #[default]
    None,
    /// Each frame is acknowledged over the air before the next is sent.
    StopAndWait,
    /// The sender knows each frame's fate at the end of its transmission, at no cost.
    Immediate,
}

impl Named for LinkLayerTable {
    type Name = LinkLayerKind;
    const SCHEMA: &'static str = "LinkLayer";
    const EXPECTED: &'static str =
        "\"none\", \"stop-and-wait\", \"immediate\", or a table with one of them as \"kind\"";

    fn named(kind: LinkLayerKind) -> Self {
        Self { kind, ..Self::default() }
    }
}
