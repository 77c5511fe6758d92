//! The words and signs of Rust sources, for tests that look at how the code is laid out.

pub fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The tokens without items that are compiled for tests only.
pub fn without_tests<'a>(mut tokens: &[&'a str]) -> Vec<&'a str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    while let Some((first, rest)) = tokens.split_first() {
        if !tokens.starts_with(&MARK) {
            kept.push(*first);
            tokens = rest;
            continue;
        }
        let mut depth = 0;
        let end = tokens[MARK.len()..].iter().position(|token| {
            match *token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && ["}", ";"].contains(token)
        });
        tokens = &tokens[MARK.len() + end.expect("an item ends") + 1..];
    }
    kept
}

/// The words and signs of a Rust source, without comments, strings and characters.
pub fn tokens(mut source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    while let Some(first) = source.chars().next() {
        let word = source.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(source.len());
        let len = if source.starts_with("//") {
            source.find('\n').unwrap_or(source.len())
        } else if source.starts_with("/*") {
            source.find("*/").map_or(source.len(), |end| end + 2)
        } else if let Some(len) = literal(source) {
            len
        } else {
            let len = if source.starts_with("::") { 2 } else { word.max(first.len_utf8()) };
            tokens.extend(Some(&source[..len]).filter(|token| !token.trim().is_empty()));
            len
        };
        source = &source[len..];
    }
    tokens
}

/// The length of the string or character that a source begins with.
fn literal(source: &str) -> Option<usize> {
    let unprefixed = source.trim_start_matches(['b', 'c', 'r']);
    let is_raw = source[..source.len() - unprefixed.len()].contains('r');
    let quoted = if is_raw { unprefixed.trim_start_matches('#') } else { unprefixed };
    let (quote, inside) = (quoted.chars().next()?, quoted.get(1..)?);
    let start = source.len() - inside.len();
    let mut is_escaped = false;
    let mut ends = |c: char| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    match quote {
        '"' if is_raw => {
            let end = format!("\"{}", &unprefixed[..unprefixed.len() - quoted.len()]);
            Some(start + inside.find(&end)? + end.len())
        }
        '"' => Some(start + inside.find(ends)? + 1),
        // Else it is a lifetime.
        '\'' if inside.starts_with('\\') || inside.chars().nth(1) == Some('\'') => {
            // The character may itself be a quote: '"' needs no escape, and '\'' has one.
            Some(start + inside.find(&mut ends)? + 1)
        }
        _ => None,
    }
}
