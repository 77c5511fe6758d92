//! The settings of a scheme, from their JSON schema.

use serde_json::Value;

/// A setting of a scheme.
pub(super) struct Setting {
    /// The key.
    pub(super) name: String,
    /// The kind of value.
    pub(super) kind: &'static str,
    /// The default, in the syntax of a file; `None` without one.
    pub(super) default: Option<String>,
    /// The minimum and the maximum, each with its unit.
    pub(super) range: Option<(String, String)>,
    /// The allowed words, in the syntax of a file, and their meanings.
    pub(super) words: Vec<(String, String)>,
    /// The description.
    pub(super) about: String,
}

/// The settings in a schema, in the order of their names.
pub(super) fn of(schema: &Value) -> Vec<Setting> {
    let properties = schema["properties"].as_object();
    properties.into_iter().flatten().map(|(name, property)| Setting::new(name, property, schema)).collect()
}

impl Setting {
    fn new(name: &str, property: &Value, schema: &Value) -> Self {
        let resolved = resolved(property, schema);
        let words = words(resolved);
        let bound = |keys: [&str; 2]| {
            let bounds = keys.map(|key| &resolved[key]);
            bounds.into_iter().find(|bound| !bound.is_null()).map(shown)
        };
        let range = bound(["minimum", "x-least"]).zip(bound(["maximum", "x-most"]));
        let default = property.get("default").filter(|default| !default.is_null());
        let about = property["description"].as_str().or_else(|| resolved["description"].as_str());
        Self {
            name: name.to_owned(),
            kind: kind(resolved, &words),
            default: default.map(ToString::to_string),
            range,
            words,
            about: on_one_line(about.unwrap_or_default()),
        }
    }

    /// The text of the allowed values, such as `integer, 0 to 1000`.
    pub(super) fn allowed(&self) -> String {
        let range = self.range.as_ref().map(|(least, most)| format!(", {least} to {most}"));
        let words: Vec<&str> = self.words.iter().map(|(word, _)| word.as_str()).collect();
        let words = (!words.is_empty()).then(|| format!(": {}", words.join(", ")));
        format!("{}{}", self.kind, range.or(words).unwrap_or_default())
    }
}

/// The schema to which a property refers, or that of its value if it is not null, or the property
/// itself.
fn resolved<'a>(property: &'a Value, schema: &'a Value) -> &'a Value {
    let mut alternatives = property["anyOf"].as_array().into_iter().flatten();
    let some = alternatives.find(|alternative| alternative["type"] != "null");
    let target = some.unwrap_or(property);
    let reference = target["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(target)
}

fn words(resolved: &Value) -> Vec<(String, String)> {
    let constants = resolved["oneOf"].as_array().into_iter().flatten();
    let described = constants
        .filter(|one| !one["const"].is_null())
        .map(|one| (one["const"].to_string(), on_one_line(one["description"].as_str().unwrap_or_default())));
    let plain = resolved["enum"].as_array().into_iter().flatten().map(|one| (one.to_string(), String::new()));
    described.chain(plain).collect()
}

fn kind(resolved: &Value, words: &[(String, String)]) -> &'static str {
    let is = |name: &str| match &resolved["type"] {
        Value::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    };
    // Durations and amounts of data are strings with a unit, which is in the pattern.
    let units = resolved["pattern"].as_str().unwrap_or_default();
    match () {
        () if !words.is_empty() => "one of",
        () if is("boolean") => "true or false",
        () if is("integer") => "integer",
        () if is("number") => "number",
        () if units.contains("|ms|") => "duration",
        () if units.contains("|KiB|") => "amount of data",
        () if is("string") => "text",
        () if is("array") => "list",
        () => "table",
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use lasthop_schemes::catalog::CATALOG;

    use super::*;

    #[test]
    fn every_setting_of_every_scheme_has_what_a_user_has_to_know() {
        for scheme in CATALOG {
            for setting in of(scheme.schema().as_value()) {
                let name = format!("{}: {}", scheme.name, setting.name);
                assert!(!setting.about.is_empty() && setting.kind != "table", "{name}");
                assert!(
                    setting.default.is_some() || setting.about.contains("efault"),
                    "{name} has no default"
                );
                let is_bounded = ["integer", "number", "duration", "amount of data"].contains(&setting.kind);
                assert_eq!(is_bounded, setting.range.is_some(), "{name}: a number has a range");
                assert!(setting.words.iter().all(|(_, about)| !about.is_empty()), "{name}");
            }
        }
    }
}
