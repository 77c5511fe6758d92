//! The manual page of the gateway's configuration, from its schema.

use clap_mangen::roff::{Roff, bold, roman};
use lasthop_gateway::config;
use serde_json::Value;

use super::page::{CONFIGURATION, Page, add_references, title};

const NAME: &str = "lasthop-gateway.toml";

/// The manual page.
pub fn page() -> Page {
    let schema = config::schema();
    let mut roff = Roff::new();
    roff.control("SH", ["NAME"]).text([roman(format!("{NAME} - configuration of the lasthop gateway"))]);
    roff.control("SH", ["SYNOPSIS"]).text([bold(CONFIGURATION)]);
    roff.control("SH", ["DESCRIPTION"]);
    paragraph(&mut roff, &description(&schema));
    roff.control("PP", []);
    paragraph(
        &mut roff,
        "The file is in TOML. `lasthop gateway --print-default-config` prints a commented file with all keys, \
         and `lasthop gateway --check FILE` checks a file.",
    );
    roff.control("SH", ["KEYS OF THE FILE"]);
    add_keys(&mut roff, &schema, "", &schema);
    add_references(&mut roff, &[("lasthop-gateway", "1"), ("lasthop-schemes", "1")]);
    Page { name: NAME.to_owned(), section: 5, text: (title(NAME, 5) + &roff.render()).into_bytes() }
}

/// Adds the keys of a table, and then each table below it with a heading of its own.
fn add_keys(roff: &mut Roff, schema: &Value, path: &str, table: &Value) {
    let (tables, keys): (Vec<_>, Vec<_>) =
        properties(table).partition(|(_, key)| table_of(schema, key).is_some());
    for (name, key) in keys {
        add_key(roff, schema, name, key);
    }
    for (name, key) in tables {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let heading = if key["type"] == "array" { format!("[[{path}]]") } else { format!("[{path}]") };
        roff.control("SH", [heading.as_str()]);
        paragraph(roff, &description(key));
        if let Some(table) = table_of(schema, key) {
            add_keys(roff, schema, &path, table);
        }
    }
}

/// The schema of the table, or of the tables, of a key.
fn table_of<'a>(schema: &'a Value, key: &'a Value) -> Option<&'a Value> {
    let table = resolved(schema, key.get("items").unwrap_or(key));
    table.get("properties").is_some().then_some(table)
}

fn properties(table: &Value) -> impl Iterator<Item = (&String, &Value)> {
    table["properties"].as_object().into_iter().flatten()
}

/// The schema to which a key refers, or the key itself. A key that may be absent refers to one of several.
fn resolved<'a>(schema: &'a Value, key: &'a Value) -> &'a Value {
    let choices = key["anyOf"].as_array().into_iter().flatten();
    let key = choices.into_iter().find(|choice| choice.get("$ref").is_some()).unwrap_or(key);
    let pointer = key["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| schema.pointer(pointer)).unwrap_or(key)
}

fn description(key: &Value) -> String {
    key["description"].as_str().unwrap_or_default().replace('\n', " ")
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.text([roman(text)]);
}

/// Adds a key, its description with the default, and the values of an enumeration.
fn add_key(roff: &mut Roff, schema: &Value, name: &str, key: &Value) {
    roff.control("TP", []).text([bold(name)]);
    paragraph(roff, &description(key));
    let choices = resolved(schema, key)["oneOf"].as_array().into_iter().flatten();
    for choice in choices.filter(|choice| choice["const"].is_string()) {
        let value = format!("\"{}\": ", choice["const"].as_str().unwrap_or_default());
        roff.control("br", []).text([bold(value), roman(description(choice))]);
    }
}
