//! Keys, types and texts of JSON objects, read from the sources of the structures that are printed.

/// A key of a JSON object.
pub struct Key {
    pub name: String,
    pub kind: String,
    pub about: String,
    /// Whether it stands for the keys of its value.
    pub is_flat: bool,
}

/// The fields of a structure as they are printed.
pub fn keys(source: &str, structure: &str) -> Vec<Key> {
    let opening = format!("struct {structure} {{");
    let (_, rest) = source.split_once(&opening).unwrap_or_else(|| panic!("there is no {structure}"));
    let (body, _) = rest.split_once("\n}").expect("it ends");
    let mut keys = Vec::new();
    let (mut about, mut attributes) = (String::new(), String::new());
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            format!("{about} {}", text.trim()).trim().clone_into(&mut about);
        } else if line.starts_with("#[") {
            attributes += line;
        } else if let Some((name, kind)) = line.trim_end_matches(',').split_once(": ") {
            let name = name.rsplit(' ').next().expect("a name");
            if !attributes.contains("serde(skip)") {
                let renamed = attributes.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
                keys.push(Key {
                    name: renamed.map_or(name, |(name, _)| name).to_owned(),
                    kind: kind_of(kind),
                    about: in_json(&about),
                    is_flat: attributes.contains("flatten"),
                });
            }
            about.clear();
            attributes.clear();
        }
    }
    keys
}

/// A type of Rust, as JSON has it.
fn kind_of(kind: &str) -> String {
    let inner = |prefix: &str| kind.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inner("Option<") {
        return format!("{} or null", kind_of(inner));
    }
    if let Some(inner) = inner("Vec<") {
        return format!("list of {}", kind_of(inner));
    }
    match kind {
        "String" | "&'static str" | "SocketAddr" | "Direction" => "text".to_owned(),
        "u32" | "u64" | "usize" | "f64" | "Tally" => "number".to_owned(),
        "bool" => "true or false".to_owned(),
        "Reference" => "number, pair of numbers, or null".to_owned(),
        _ if kind.contains("Map<") => "table".to_owned(),
        _ if kind.starts_with("[u64; ") => "list of number".to_owned(),
        // A line of `counters!`, which makes fields of its own.
        _ if kind.contains(" = ") => "number".to_owned(),
        structure => structure.rsplit("::").next().expect("a name").to_owned(),
    }
}

/// A text without links to code, and with JSON's word for nothing.
fn in_json(text: &str) -> String {
    text.replace("`None`", "null").replace(" ([`crate::run::Aggregate::air_time_share`])", "")
}
