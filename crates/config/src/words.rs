//! The words of messages: serde's errors in terms of the file format, and untrusted texts.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The longest quotation of a value or a key in a message, in characters.
const LONGEST_QUOTE: usize = 80;

/// A message of serde or toml without Rust's names for types: the value found, and the expected
/// value.
pub fn for_writers(message: &str) -> String {
    let of_value = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = of_value.iter().find_map(|start| message.strip_prefix(start));
    if let Some((found, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("{}; expected {}", plain_found(found), plain_expected(expected));
    }
    match message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((key, rest)) => unknown_key(key, rest),
        None => message.to_owned(),
    }
}

/// The message about an unknown key; `expected` lists the known keys, each between backticks.
fn unknown_key(key: &str, expected: &str) -> String {
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let meant = similar(key, &known).map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let expected = match &names[..] {
        [] => "no keys".to_owned(),
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        _ => format!("one of {}", names.join(", ")),
    };
    format!("unknown key `{}`{meant}; expected {expected}", cut(&key.escape_debug().to_string()))
}

/// An untrusted text, such as the name of a process, an interface or a file, without characters
/// that affect a terminal or a log: control characters, ends of lines, and those that change the
/// direction of writing (Unicode Standard Annex 9) are escaped as `\u001b` and the like, as in
/// JSON.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, affects_terminal)
}

/// The same for a text of several lines, which may have tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| affects_terminal(letter) && letter != '\n' && letter != '\t')
}

fn affects_terminal(letter: char) -> bool {
    let changes_direction = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || changes_direction || matches!(letter, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_escaped(letter) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// A number of things: `1 point`, `2 points`.
pub fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("{count} {thing}") } else { format!("{count} {thing}s") }
}

/// The addition to an error about an unknown name, such as ` (did you mean "snoop"?)`; empty if no
/// known name is similar.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    similar(name, known).map(|meant| format!(" (did you mean {meant:?}?)")).unwrap_or_default()
}

/// The known name that was probably meant.
pub fn similar<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.get(..LONGEST_QUOTE).unwrap_or(name).to_lowercase();
    let distance = |other: &str| strsim::osa_distance(&name, other);
    // One or two typing errors; in a short word, one. A letter is similar to every other one.
    let most = match name.chars().count() {
        0 | 1 => 0,
        2..5 => 1,
        _ => 2,
    };
    known
        .iter()
        .copied()
        .map(|other| (distance(other), other))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, it)| it)
}

/// A message without the numbers that the standard library appends to the kernel's messages:
/// "Permission denied (os error 13)".
pub fn without_error_numbers(message: &str) -> String {
    let mut pieces = message.split(" (os error ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str(piece.split_once(')').map_or(piece, |(_, rest)| rest));
    }
    text
}

/// The beginning of a text that would fill a screen.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The value that serde found, in terms of TOML: `string "x"` becomes "x".
fn plain_found(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        found if found.bytes().all(|octet| octet.is_ascii_digit()) => format!("a list of {found}"),
        found => {
            let value = found.find(['`', '"']).map_or(found, |start| &found[start..]);
            // The message about a number of more than 64 bits ends with the type that it would
            // need.
            let value =
                value.strip_suffix(" as i128").or_else(|| value.strip_suffix(" as u128")).unwrap_or(value);
            cut(value.trim_matches('`'))
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
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, for_writers, printable, printable_lines, similar};

    #[test]
    fn characters_that_affect_a_terminal_are_escaped() {
        assert_eq!(printable("eth0 Größe 漢字"), "eth0 Größe 漢字");
        let hostile = "a\u{1b}]0;title\u{7}\n2026 INFO forged\u{9b}2J\u{202e}gnp.exe\u{7f}\t";
        let shown = r"a\u001b]0;title\u0007\u000a2026 INFO forged\u009b2J\u202egnp.exe\u007f\u0009";
        assert_eq!(printable(hostile), shown);
        assert_eq!(printable_lines("a\n\tb\r\u{1b}[2J"), "a\n\tb\\u000d\\u001b[2J");
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn long_values_and_keys_are_cut() {
        let long = "x".repeat(10_000);
        for message in [
            format!("invalid type: string \"{long}\", expected a boolean"),
            format!("unknown field `{long}`, expected `y`"),
        ] {
            assert!(for_writers(&message).len() < 200, "{}", for_writers(&message));
        }
    }

    #[test]
    fn only_a_similar_key_is_suggested() {
        assert_eq!(similar("Loss", &["loss", "boss"]), Some("loss"));
        assert_eq!(similar("link_layer", &["link-layer"]), Some("link-layer"));
        assert_eq!(similar("x", &["loss", "y"]), None);
    }

    #[test]
    fn messages_have_no_names_of_rust_types() {
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
            ("unknown field `x`, expected `length`", "unknown key `x`; expected `length`"),
            ("unknown field `x`, there are no fields", "unknown key `x`; expected no keys"),
            (
                "unknown field `dely`, expected one of `rate`, `delay`, `loss`",
                "unknown key `dely` (did you mean `delay`?); expected one of `rate`, `delay`, `loss`",
            ),
            ("11 is out of range; expected 1 to 10", "11 is out of range; expected 1 to 10"),
        ] {
            assert_eq!(for_writers(message), expected);
        }
    }
}
