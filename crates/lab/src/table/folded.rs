//! Tables that never break words and numbers, however narrow the terminal is: columns that do not
//! fit continue below, beside the same labels, or become rows.

use std::fmt;
use std::ops::Range;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};

use super::width::width;

/// A table with a header. If it is wider than the terminal, texts are broken between words, and
/// columns that do not fit continue below. A table of numbers with more than two parts is
/// transposed if it then has one part.
#[derive(Clone, Debug)]
pub struct Table {
    /// The header, then the lines.
    rows: Vec<Vec<String>>,
    /// Number of label columns at the left, which are repeated in each part.
    labels: usize,
    /// The alignment of all columns but the first.
    alignment: CellAlignment,
}

/// Maximum number of parts; a reader cannot follow the rows of more. A wider table is transposed.
const MAX_PARTS: usize = 2;

/// Width of a column without its contents, in characters: a border, and a space on each side.
const BESIDE: usize = 3;

impl Table {
    /// A table of numbers, which are aligned to the right except in the first column.
    pub fn with_numbers(header: &[&str]) -> Self {
        Self::new(header, CellAlignment::Right)
    }

    /// A table of texts.
    pub fn with_texts(header: &[&str]) -> Self {
        Self::new(header, CellAlignment::Left)
    }

    fn new(header: &[&str], alignment: CellAlignment) -> Self {
        Self { rows: vec![header.iter().map(|name| (*name).to_owned()).collect()], labels: 1, alignment }
    }

    /// The table with `labels` label columns instead of one.
    #[must_use]
    pub fn with_labels(self, labels: usize) -> Self {
        Self { labels, ..self }
    }

    /// Adds a line with a cell for each column.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table in lines of at most `width` characters: transposed, or in several parts one below
    /// the other, if it is wider. Without a width it has one part.
    pub fn within(&self, width: Option<u16>) -> String {
        let parts = self.parts(width);
        if parts.len() > MAX_PARTS && self.alignment == CellAlignment::Right {
            let transposed = self.transposed();
            if let [all] = &transposed.parts(width)[..] {
                return transposed.part(all.clone(), width);
            }
        }
        let parts = parts.into_iter().map(|columns| self.part(columns, width));
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The table with a row for each column, and a column for each row.
    fn transposed(&self) -> Self {
        let names = self.rows.iter().map(|row| row[..self.labels].join("\n")).collect();
        let rows = (self.labels..self.rows[0].len())
            .map(|column| self.rows.iter().map(|row| row.get(column).cloned().unwrap_or_default()).collect());
        Self { rows: [names].into_iter().chain(rows).collect(), labels: 1, alignment: self.alignment }
    }

    /// The columns of each part, without the labels.
    fn parts(&self, width: Option<u16>) -> Vec<Range<usize>> {
        let width = width.map_or(usize::MAX, usize::from);
        let mut parts: Vec<Range<usize>> = Vec::new();
        let labels = 1 + (0..self.labels).map(|column| self.min_width(column) + BESIDE).sum::<usize>();
        let mut taken = labels;
        for column in self.labels..self.rows[0].len() {
            taken += self.min_width(column) + BESIDE;
            match parts.last_mut() {
                Some(part) if taken <= width => part.end = column + 1,
                _ => {
                    parts.push(column..column + 1);
                    taken = labels + self.min_width(column) + BESIDE;
                }
            }
        }
        parts
    }

    /// The part with the labels and these columns.
    fn part(&self, columns: Range<usize>, width: Option<u16>) -> String {
        let of_part = |row: &[String]| [&row[..self.labels], &row[columns.clone()]].concat();
        let mut table = comfy_table::Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_header(of_part(&self.rows[0]));
        if let Some(width) = width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        for row in &self.rows[1..] {
            table.add_row(of_part(row));
        }
        for (column, place) in table.column_iter_mut().zip((0..self.labels).chain(columns.clone())) {
            let min = self.min_width(place) + BESIDE - 1;
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(min as u16)));
            if place > 0 {
                column.set_cell_alignment(self.alignment);
            }
        }
        table.to_string()
    }

    /// The width of the longest unbreakable text in a column.
    fn min_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.flat_map(|cell| unbreakable(cell)).map(|part| part.chars().count()).max().unwrap_or(0)
    }
}

/// The unbreakable parts of a cell: each word of a text, or a number with its interval or unit. A
/// text starts with a letter, a quotation mark or a parenthesis.
fn unbreakable(cell: &str) -> Vec<&str> {
    if cell.starts_with(|first: char| first.is_alphabetic() || "\"'(`".contains(first)) {
        cell.split_whitespace().collect()
    } else {
        cell.lines().collect()
    }
}

impl fmt::Display for Table {
    /// Writes the table as wide as the terminal, if standard output is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.within(width()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Table {
        let mut table = Table::with_numbers(&["scheme", "goodput Mbit/s", "local retransmits", "files"]);
        table.add_row(["packet-control", "6.340 ± 1.004", "1733.4", "98.4"]);
        table.add_row(["cubic + snoop", "12.001 ± 0.012", "-", "-"]);
        table
    }

    fn texts() -> Table {
        let mut table = Table::with_texts(&["scheme", "what it does", "source"]);
        table.add_row(["no-loss", "acknowledges and retransmits at the access point", "MobiCom 1995"]);
        table
    }

    /// The cells of a table's columns, without their distribution over lines.
    fn cells(text: &str) -> String {
        text.replace(['│', '┆', '\n'], " ")
    }

    #[test]
    fn words_and_numbers_stay_whole_at_any_width() {
        for (table, min) in [(numbers(), 36), (texts(), 30)] {
            for width in min..=120 {
                let text = table.within(Some(width));
                assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{width}:\n{text}");
                let cells = cells(&text);
                for whole in table.rows.iter().flatten().flat_map(|cell| unbreakable(cell)) {
                    assert!(cells.contains(&format!(" {whole} ")), "{whole:?} at {width}:\n{text}");
                }
            }
        }
    }

    #[test]
    fn columns_that_do_not_fit_continue_below_beside_the_same_labels() {
        let headers = |width| {
            let text = numbers().within(width);
            text.lines().filter(|line| line.contains("scheme")).count()
        };
        assert_eq!([None, Some(80), Some(50), Some(36)].map(headers), [1, 1, 2, 3]);
        let wide = numbers().within(None);
        assert!(wide.contains("┆ goodput Mbit/s ┆ local retransmits ┆ files │"), "{wide}");
        assert!(wide.contains("│ cubic + snoop  ┆ 12.001 ± 0.012 ┆                 - ┆     - │"), "{wide}");
    }

    #[test]
    fn one_column_alone_may_be_wider_than_the_terminal() {
        let text = numbers().within(Some(5));
        assert!(text.contains("packet-control") && text.contains("12.001 ± 0.012"), "{text}");
    }
}
