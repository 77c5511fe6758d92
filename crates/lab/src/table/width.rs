//! How wide a result may be.

/// The width of what is printed on standard output, in columns: what the environment variable
/// `COLUMNS` says, as POSIX has it and as git does; else the width of the terminal. `None` where
/// standard output is none: a file has no width, and a table in it is in one part.
pub fn width() -> Option<u16> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let is_known = |columns: &u16| *columns > 0;
    // A terminal that does not know its size says 0.
    said.filter(is_known).or_else(|| comfy_table::Table::new().width().filter(is_known))
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
