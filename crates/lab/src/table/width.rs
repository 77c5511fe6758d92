//! The width of the output.

/// The width of standard output, in columns: the value of the environment variable `COLUMNS`
/// (POSIX; git uses it, too), else the width of the terminal. `None` if standard output is not a
/// terminal: a file has no width, and a table in it has one part.
pub fn width() -> Option<u16> {
    let configured = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let is_known = |columns: &u16| *columns > 0;
    // A terminal that does not know its size reports 0.
    configured.filter(is_known).or_else(|| comfy_table::Table::new().width().filter(is_known))
}

/// A text as wide as the terminal, broken between words.
pub fn paragraph(text: &str) -> String {
    filled(text, width())
}

/// A text in lines of at most this many columns, broken between words.
pub(super) fn filled(text: &str, width: Option<u16>) -> String {
    match width {
        Some(width) => textwrap::fill(text, textwrap::Options::new(width.into()).break_words(false)),
        None => text.to_owned(),
    }
}
