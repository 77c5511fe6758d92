//! The JSON schema of the format, made from the code: what `scenarios/scenario.schema.json` holds.

use lasthop_schemes::catalogue::CATALOGUE;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::tables::{ScenarioFile, TcpTable};

/// The JSON schema of a scenario file, for editors: keys, units, the schemes and their settings.
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// A schema a scheme: its settings, its name, and the label that every scheme may be given.
pub(super) fn scheme_schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
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
            properties.insert(
                "label".to_owned(),
                json!({ "type": "string", "description": "The row's name; default: the scheme's, and TCP's flavour." }),
            );
            properties.insert("tcp".to_owned(), generator.subschema_for::<TcpTable>().to_value());
        }
        schemas.push(schema);
    }
    schemas.push(json!({
        "title": "no-loss",
        "type": "object",
        "description": "No scheme, and no loss on any link.",
        "additionalProperties": false,
        "required": ["scheme"],
        "properties": {
            "scheme": { "const": "no-loss" },
            "label": { "type": "string" },
            "tcp": generator.subschema_for::<TcpTable>(),
        },
    }));
    schemas
}
