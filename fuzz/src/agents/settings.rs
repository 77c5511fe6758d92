//! A scheme of the catalog with settings drawn from its own schema.

use std::sync::OnceLock;

use lasthop_schemes::Placement;
use lasthop_schemes::catalog::CATALOG;
use serde_json::Value;

use crate::octets::Octets;

/// A setting and the values that are tried.
type Setting = (String, Vec<toml::Value>);

/// Draws a scheme and up to seven of its settings. One that the scheme refuses is left out. Also says
/// the scheme's name.
pub fn placement(octets: &mut Octets<'_>) -> (&'static str, Box<dyn Placement>) {
    static OF_EACH: OnceLock<Vec<Vec<Setting>>> = OnceLock::new();
    let of_each = OF_EACH
        .get_or_init(|| CATALOG.iter().map(|scheme| settings_of(&scheme.schema().to_value())).collect());
    let index = octets.below(CATALOG.len());
    let (scheme, known) = (&CATALOG[index], &of_each[index]);
    let mut settings = toml::Table::new();
    for _ in 0..octets.below(8) {
        let (setting, value) = (octets.octet(), octets.octet());
        if known.is_empty() {
            continue;
        }
        let (key, values) = &known[usize::from(setting) % known.len()];
        let mut with = settings.clone();
        with.insert(key.clone(), values[usize::from(value) % values.len()].clone());
        if scheme.configure(with.clone()).is_ok() {
            settings = with;
        }
    }
    (scheme.name, scheme.configure(settings).expect("each setting was tried"))
}

fn settings_of(schema: &Value) -> Vec<Setting> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(key, property)| (key.clone(), values(schema, property))).collect()
}

/// Values that are tried for a property: a few of each kind, at the ends of its range and small.
fn values(schema: &Value, property: &Value) -> Vec<toml::Value> {
    if let Some(name) = property["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return values(schema, &schema["$defs"][name]);
    }
    if let Some(kinds) = property["oneOf"].as_array() {
        return kinds.iter().flat_map(|kind| values(schema, kind)).collect();
    }
    match (property["type"].as_str(), property["pattern"].as_str()) {
        (Some("boolean"), _) => vec![false.into(), true.into()],
        (Some("integer"), _) => {
            let least = property["minimum"].as_i64().unwrap_or(0);
            let most = property["maximum"].as_i64().unwrap_or(64);
            [least, 1, 2, 5, most]
                .into_iter()
                .filter(|value| (least..=most).contains(value))
                .map(Into::into)
                .collect()
        }
        (_, Some(pattern)) => {
            let ends = ["x-least", "x-most"].iter().filter_map(|end| property[end].as_str());
            let between = if pattern.contains("ms") {
                ["20 ms", "500 ms", "1 min"]
            } else {
                ["700 B", "60 kB", "1 MiB"]
            };
            ends.chain(between).map(Into::into).collect()
        }
        _ => {
            let names = property["const"]
                .as_str()
                .into_iter()
                .chain(property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str));
            let names: Vec<toml::Value> = names.map(Into::into).collect();
            assert!(!names.is_empty(), "a kind of setting that is not known here: {property}");
            names
        }
    }
}
