//! Recognizes results, which are easily mistaken for the file from which they were made.

/// The format of a text that is not TOML, if results have this format.
pub(super) fn other_format(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    if is_json(text) {
        Some("JSON")
    } else if is_csv(text) {
        Some("CSV")
    } else {
        None
    }
}

/// Whether a text begins with an object or a list of objects, as no line of TOML does.
fn is_json(text: &str) -> bool {
    let object = text.strip_prefix('[').map_or(text, str::trim_start);
    object.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

/// Whether the first line is a header: names with commas between them. Assignments, tables and
/// comments of TOML have other characters.
fn is_csv(text: &str) -> bool {
    let mut names = text.lines().next().unwrap_or_default().split(',');
    let is_name = |name: &str| {
        let name = name.trim_matches('"');
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.- %/".contains(c))
    };
    names.clone().nth(1).is_some() && names.all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_recognized_and_broken_toml_is_not_mistaken_for_them() {
        assert_eq!(other_format("{\n  \"scenario\": \"hop\"\n}"), Some("JSON"));
        assert_eq!(other_format("[\n  { \"paper\": 1 }\n]"), Some("JSON"));
        assert_eq!(other_format("links.air.loss_percent,scheme,seed\n1,none,1\n"), Some("CSV"));
        assert_eq!(other_format("scheme,scope,\"flow\"\r\n"), Some("CSV"));
        for broken in ["seeds = 1, 2", "[links.air", "[[changes]", "# a, b", "a\nb, c", "{ a = 1 }", "a,"] {
            assert_eq!(other_format(broken), None, "{broken}");
        }
    }
}
