//! Labeled texts, wrapped to the width of the terminal.

use lasthop_lab::table::width;

/// A label and a text, in lines of at most `width` characters, if given. Further lines of the text
/// are indented by the width of the label.
pub fn within(width: Option<u16>, label: &str, text: &str) -> String {
    let Some(width) = width else { return format!("{label}{text}") };
    let indent = " ".repeat(label.chars().count());
    let options = textwrap::Options::new(width.into()).initial_indent(label).subsequent_indent(&indent);
    // Names and commands are not split.
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options.word_separator(textwrap::WordSeparator::AsciiSpace))
}

/// A label and a text, with the width of `COLUMNS` or of the terminal.
pub fn line(label: &str, text: &str) -> String {
    within(width(), label, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_and_indented_in_a_terminal_and_is_one_line_elsewhere() {
        assert_eq!(within(None, "note  ", "one two three"), "note  one two three");
        assert_eq!(within(Some(14), "note  ", "one two three"), "note  one two\n      three");
    }
}
