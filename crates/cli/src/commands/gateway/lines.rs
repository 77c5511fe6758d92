//! Lines of a label and a text.

use lasthop_lab::table::width;

/// A label and a text, in lines of at most `width` characters, if there is one: the text goes on
/// below itself.
pub fn within(width: Option<u16>, label: &str, text: &str) -> String {
    let Some(width) = width else { return format!("{label}{text}") };
    let indent = " ".repeat(label.chars().count());
    let options = textwrap::Options::new(width.into()).initial_indent(label).subsequent_indent(&indent);
    // Names and commands stay whole.
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options.word_separator(textwrap::WordSeparator::AsciiSpace))
}

/// The same, as wide as `COLUMNS` says or the terminal is.
pub fn line(label: &str, text: &str) -> String {
    within(width(), label, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_below_itself_in_a_terminal_and_is_one_line_elsewhere() {
        assert_eq!(within(None, "note  ", "one two three"), "note  one two three");
        assert_eq!(within(Some(14), "note  ", "one two three"), "note  one two\n      three");
    }
}
