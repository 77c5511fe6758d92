//! A row of the comparison, as written in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::layer_entry::{LayerEntry, layer_schemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::file::tcp::TcpTable;
use crate::file::wlan::queues::RowTable;
use crate::model::SchemeChoice;

/// `"snoop"`, `{ scheme = "snoop", label = "...", tcp = { ... }, setting = ... }`, or `{ stack =
/// [...], label = "...", tcp = { ... } }`; each may have `wlans`, too; a table with `tcp` or `wlans` alone means "none".
#[derive(Debug)]
pub(in crate::file) struct SchemeEntry {
    pub(super) layers: Vec<LayerEntry>,
    /// Whether the layers are written as a stack.
    pub(super) is_stack: bool,
    pub(super) label: Option<String>,
    /// The TCP settings that differ in this row.
    pub(super) tcp: Option<TcpTable>,
    /// By cell: the keys of its stations that differ in this row.
    pub(super) wlans: BTreeMap<String, RowTable>,
}

impl SchemeEntry {
    /// A scheme with its default settings.
    pub(super) fn named(scheme: &str) -> Self {
        let layers = vec![LayerEntry::named(scheme)];
        Self { layers, is_stack: false, label: None, tcp: None, wlans: BTreeMap::new() }
    }
}

impl<'de> Deserialize<'de> for SchemeEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = SchemeEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a scheme's name, or a table with the key \"scheme\", \"stack\", \"tcp\" or \"wlans\"",
                )
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<SchemeEntry, E> {
                Ok(SchemeEntry::named(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SchemeEntry, A::Error> {
                let (mut scheme, mut stack, mut label, mut tcp, mut wlans) = (None, None, None, None, None);
                let mut settings = toml::Table::new();
                while let Some(key) = entries.next_key::<String>()? {
                    match key.as_str() {
                        "scheme" => scheme = Some(entries.next_value()?),
                        "stack" => stack = Some(entries.next_value::<Vec<LayerEntry>>()?),
                        "label" => label = Some(entries.next_value()?),
                        "tcp" => tcp = Some(entries.next_value()?),
                        "wlans" => wlans = Some(entries.next_value()?),
                        _ => {
                            settings.insert(key, entries.next_value()?);
                        }
                    }
                }
                let is_stack = stack.is_some();
                let layers = match (scheme, stack, tcp.is_some() || wlans.is_some()) {
                    (Some(scheme), None, _) => vec![LayerEntry { scheme, settings }],
                    (None, Some(stack), _) if settings.is_empty() && !stack.is_empty() => stack,
                    (None, None, true) => vec![LayerEntry { scheme: "none".to_owned(), settings }],
                    (None, None, false) => return Err(A::Error::missing_field("scheme")),
                    _ => {
                        return Err(A::Error::custom(
                            "expected either a scheme with its settings or a stack of one or more schemes, each with its own settings",
                        ));
                    }
                };
                Ok(SchemeEntry { layers, is_stack, label, tcp, wlans: wlans.unwrap_or_default() })
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

impl JsonSchema for SchemeEntry {
    fn schema_name() -> Cow<'static, str> {
        "Scheme".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> =
            CATALOG.iter().map(|scheme| scheme.name).chain([SchemeChoice::NO_LOSS]).collect();
        let mut alternatives = vec![json_schema!({ "enum": names }).to_value()];
        let tcp = generator.subschema_for::<TcpTable>();
        let wlans = generator.subschema_for::<BTreeMap<String, RowTable>>();
        alternatives.push(
            json_schema!({
                "title": "settings",
                "type": "object",
                "description": "No scheme, with settings that differ from the rest of the scenario.",
                "additionalProperties": false,
                "anyOf": [{ "required": ["tcp"] }, { "required": ["wlans"] }],
                "properties": { "label": { "type": "string" }, "tcp": tcp, "wlans": wlans },
            })
            .to_value(),
        );
        alternatives.extend(row_schemas(generator));
        json_schema!({ "oneOf": alternatives })
    }
}

/// The schemas of the forms of a row: a scheme, the reference without loss, a stack; each with the
/// label and the settings that every row may have.
fn row_schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut rows = layer_schemas(generator);
    rows.push(json!({
        "title": "no-loss",
        "type": "object",
        "description": "No scheme and no loss on any link.",
        "additionalProperties": false,
        "required": ["scheme"],
        "properties": { "scheme": { "const": "no-loss" } },
    }));
    rows.push(json!({
        "title": "stack",
        "type": "object",
        "description": "A stack of schemes, the one nearest to the wired network first.",
        "additionalProperties": false,
        "required": ["stack"],
        "properties": { "stack": { "type": "array", "minItems": 1, "items": generator.subschema_for::<LayerEntry>() } },
    }));
    let tcp = generator.subschema_for::<TcpTable>().to_value();
    let wlans = generator.subschema_for::<BTreeMap<String, RowTable>>().to_value();
    for properties in rows.iter_mut().filter_map(|row| row.get_mut("properties")?.as_object_mut()) {
        properties.insert(
            "label".to_owned(),
            json!({ "type": "string", "description": "The row's name; default: the names of the scheme and of the TCP flavor." }),
        );
        properties.insert("tcp".to_owned(), tcp.clone());
        properties.insert("wlans".to_owned(), wlans.clone());
    }
    rows
}
