//! A scheme with its settings, as written in scenarios and gateway configurations.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::catalog::CATALOG;

/// `"snoop"` or `{ scheme = "snoop", setting = ... }`. Deserialized by hand: serde's untagged enums
/// lose the position of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerEntry {
    /// The scheme's name.
    pub scheme: String,
    /// Its settings.
    pub settings: toml::Table,
}

impl LayerEntry {
    /// A scheme without settings.
    pub fn named(scheme: &str) -> Self {
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

impl JsonSchema for LayerEntry {
    fn schema_name() -> Cow<'static, str> {
        "Layer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut alternatives = vec![scheme_name_schema(generator).to_value()];
        alternatives.extend(layer_schemas(generator));
        json_schema!({ "oneOf": alternatives })
    }
}

/// The schema of a scheme's name.
pub fn scheme_name_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = CATALOG.iter().map(|scheme| scheme.name).collect();
    json_schema!({ "enum": names })
}

/// A schema for each scheme: its settings and its name.
pub fn layer_schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut schemas = Vec::new();
    for scheme in CATALOG {
        let mut schema = scheme.schema().to_value();
        let Some(table) = schema.as_object_mut() else { continue };
        // Definitions belong at the root of the complete schema.
        if let Some(Value::Object(definitions)) = table.remove("$defs") {
            let all = generator.definitions_mut();
            for (name, definition) in definitions {
                debug_assert!(all.get(&name).is_none_or(|own| *own == definition), "two types named {name}");
                all.insert(name, definition);
            }
        }
        table.remove("$schema");
        table.insert("title".to_owned(), json!(scheme.name));
        table.insert("description".to_owned(), json!(scheme.title));
        table.insert("additionalProperties".to_owned(), json!(false));
        table.insert("required".to_owned(), json!(["scheme"]));
        let properties = table.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("scheme".to_owned(), json!({ "const": scheme.name }));
        }
        schemas.push(schema);
    }
    schemas
}
