//! Reads the text of a data file, and splits it into blocks (appendix B.2).

use std::io::{self, Read as _};
use std::path::Path;

use lasthop_config::{FileError, Files};

use super::error::{Problem, quoted};

/// The largest size of a data file and of each file beside it, in octets.
const LONGEST_FILE: u64 = 64 << 20;

/// A component with its attributes as written in the file.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) component: &'a str,
    /// The line of its name.
    pub(super) line: usize,
    pub(super) attributes: Vec<Attribute<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

/// Every component of the manual (appendix B.3).
pub(super) const COMPONENTS: [&str; 10] = [
    "simulator",
    "wired_source_node",
    "wireless_source_node",
    "normal_router_node",
    "base_station",
    "wired_sink_node",
    "wireless_sink_node",
    "wired_link",
    "wireless_link",
    "shared_links",
];

pub(super) fn read_octets(files: &dyn Files, path: &Path) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    files.open(path)?.take(LONGEST_FILE + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > LONGEST_FILE {
        return Err(io::Error::other(format!("longer than {LONGEST_FILE} octets")));
    }
    Ok(octets)
}

pub(super) fn as_text<'a>(octets: &'a [u8], name: &str) -> Result<&'a str, FileError> {
    str::from_utf8(octets).map_err(|error| {
        let line = octets[..error.valid_up_to()].split(|octet| *octet == b'\n').count();
        Problem::new(line, "", "not valid UTF-8; expected a text file").in_file(name)
    })
}

/// The number of the last line, at least 1.
pub(super) fn line_count(text: &str) -> usize {
    text.lines().count().max(1)
}

pub(super) fn blocks(text: &str) -> Result<Vec<Block<'_>>, Problem> {
    let mut blocks = Vec::new();
    let mut state = ParseState::Outside;
    for (index, row) in text.lines().enumerate() {
        let row = row.split('#').next().unwrap_or_default().trim();
        // The manual's examples have a `;` after some values.
        let row = row.trim_end_matches(';').trim_end();
        if !row.is_empty() {
            state = state.after(row, index + 1, &mut blocks)?;
        }
    }
    match state {
        ParseState::Outside => Ok(blocks),
        ParseState::BeforeBrace(block) | ParseState::Inside(block) => Err(Problem::new(
            line_count(text),
            block.component,
            format!(
                "the file ends inside this component, which begins in line {}; expected its {{ attributes }}",
                block.line
            ),
        )),
    }
}

/// The place of a line relative to blocks.
enum ParseState<'a> {
    Outside,
    BeforeBrace(Block<'a>),
    Inside(Block<'a>),
}

impl<'a> ParseState<'a> {
    fn after(self, row: &'a str, line: usize, blocks: &mut Vec<Block<'a>>) -> Result<Self, Problem> {
        match self {
            ParseState::Outside => begin(row, line),
            ParseState::BeforeBrace(block) if row == "{" => Ok(ParseState::Inside(block)),
            ParseState::BeforeBrace(block) => {
                Err(Problem::new(line, block.component, format!("{}: expected {{", quoted(row))))
            }
            ParseState::Inside(block) if row == "}" => {
                blocks.push(block);
                Ok(ParseState::Outside)
            }
            ParseState::Inside(mut block) => {
                block.attributes.push(attribute(row, line, &block)?);
                Ok(ParseState::Inside(block))
            }
        }
    }
}

fn begin(row: &str, line: usize) -> Result<ParseState<'_>, Problem> {
    let (component, has_brace) = match row.strip_suffix('{') {
        Some(component) => (component.trim_end(), true),
        None => (row, false),
    };
    if !COMPONENTS.contains(&component) {
        let problem = format!("{}: expected a component: {}", quoted(row), COMPONENTS.join(", "));
        return Err(Problem::new(line, "", problem));
    }
    let block = Block { component, line, attributes: Vec::new() };
    Ok(if has_brace { ParseState::Inside(block) } else { ParseState::BeforeBrace(block) })
}

fn attribute<'a>(row: &'a str, line: usize, block: &Block<'_>) -> Result<Attribute<'a>, Problem> {
    let expected = || {
        let problem = format!("{}: expected an attribute as `name = value`, or }}", quoted(row));
        Problem::new(line, block.component, problem)
    };
    let (key, value) = row.split_once('=').ok_or_else(expected)?;
    let (key, value) = (key.trim(), value.trim());
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(expected());
    }
    if value.is_empty() {
        let key: String = key.chars().take(40).collect();
        return Err(Problem::new(line, format!("{}.{key}", block.component), "expected a value after ="));
    }
    Ok(Attribute { key, value, line })
}
