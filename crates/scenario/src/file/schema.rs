//! The JSON schema of the format, made from the code: what `scenarios/scenario.schema.json` holds.

use lasthop_schemes::catalogue::CATALOGUE;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::choice::LayerEntry;
use super::tables::{ScenarioFile, TcpTable};

/// The JSON schema of a scenario file, for editors: keys, units, the schemes and their settings.
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// A schema for each scheme: its settings and its name.
pub(super) fn layer_schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut schemas = Vec::new();
    for scheme in CATALOGUE {
        let mut schema = scheme.schema().to_value();
        let Some(table) = schema.as_object_mut() else { continue };
        // What the settings refer to has its place at the root of the whole.
        if let Some(Value::Object(definitions)) = table.remove("$defs") {
            generator.definitions_mut().extend(definitions);
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

/// A schema for each way to write a row: a scheme, the reference without loss, a stack; with the
/// label and the TCP that every row may have.
pub(super) fn row_schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut rows = layer_schemas(generator);
    rows.push(json!({
        "title": "no-loss",
        "type": "object",
        "description": "No scheme, and no loss on any link.",
        "additionalProperties": false,
        "required": ["scheme"],
        "properties": { "scheme": { "const": "no-loss" } },
    }));
    rows.push(json!({
        "title": "stack",
        "type": "object",
        "description": "Schemes on top of each other, the one nearest to the wired network first.",
        "additionalProperties": false,
        "required": ["stack"],
        "properties": { "stack": { "type": "array", "minItems": 1, "items": generator.subschema_for::<LayerEntry>() } },
    }));
    let tcp = generator.subschema_for::<TcpTable>().to_value();
    for properties in rows.iter_mut().filter_map(|row| row.get_mut("properties")?.as_object_mut()) {
        properties.insert(
            "label".to_owned(),
            json!({ "type": "string", "description": "The row's name; default: the scheme's, and TCP's flavour." }),
        );
        properties.insert("tcp".to_owned(), tcp.clone());
    }
    rows
}
