//! What serde says of a value, in the words of somebody who writes a file.

/// A message of serde's or toml's without Rust's names for types: what was found, and what was
/// expected.
pub fn for_writers(message: &str) -> String {
    let of_value = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = of_value.iter().find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("{}; expected {}", plain_found(found), plain_expected(expected)),
        None => message
            .replacen("unknown field ", "unknown key ", 1)
            .replacen("unknown variant ", "unknown value ", 1)
            .replacen("wanted string or table", "expected a string in quotes or a table", 1),
    }
}

/// `string "x"` is "x", and a number stands for itself.
fn plain_found(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        found if found.bytes().all(|octet| octet.is_ascii_digit()) => format!("a list of {found}"),
        found => {
            let value = found.find(['`', '"']).map_or(found, |start| &found[start..]);
            // A number of more than 64 bits comes with the type that it would need.
            let value =
                value.strip_suffix(" as i128").or_else(|| value.strip_suffix(" as u128")).unwrap_or(value);
            value.trim_matches('`').to_owned()
        }
    }
}

fn plain_expected(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a string in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        "an array of length 2" => "a list of 2",
        structure if structure.starts_with("struct ") => "a table",
        choice if choice.starts_with("enum ") => "a string in quotes",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::for_writers;

    #[test]
    fn no_type_of_rust_s_is_left() {
        for (message, expected) in [
            ("invalid type: integer `3`, expected a map", "3; expected a table"),
            ("invalid type: string \"many\", expected usize", "\"many\"; expected a whole number, 0 or more"),
            ("invalid value: integer `-1`, expected u32", "-1; expected a whole number, 0 or more"),
            (
                "invalid type: integer `99999999999999999999` as i128, expected usize",
                "99999999999999999999; expected a whole number, 0 or more",
            ),
            ("invalid type: floating point `1.5`, expected i64", "1.5; expected a whole number"),
            ("invalid type: sequence, expected a string", "a list; expected a string in quotes"),
            ("invalid type: map, expected a boolean", "a table; expected true or false"),
            ("invalid length 0, expected struct LinkTable with 16 elements", "a list of 0; expected a table"),
            (
                "invalid type: string \"a, expected b\", expected a sequence",
                "\"a, expected b\"; expected a list",
            ),
            ("invalid type: integer `3`, expected an array of length 2", "3; expected a list of 2"),
            ("wanted string or table", "expected a string in quotes or a table"),
            ("unknown field `x`, expected `y`", "unknown key `x`, expected `y`"),
            ("11 is out of range; expected 1 to 10", "11 is out of range; expected 1 to 10"),
        ] {
            assert_eq!(for_writers(message), expected);
        }
    }
}
