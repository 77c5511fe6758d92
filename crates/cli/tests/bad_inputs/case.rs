//! A case: a command line, files, a message.
//!
//! ```text
//! $ lasthop compare x.toml --set 'links.air.loss=3 %'
//! --- x.toml = hop.toml
//! - seeds = 2
//! + seeds = 0
//! + [nodes.spare]
//! --- message
//! lasthop: x.toml:2: seeds: ...
//! ```
//!
//! | section | what it makes |
//! |---|---|
//! | `--- x.toml` | a file with the text that follows |
//! | `--- x.toml = hop.toml` | `base/hop.toml` with changes: the lines behind `+` take the place of the line behind `-`, or come at the end |
//! | `--- x.toml escaped` | octets: `\xNN`, `\n`, `\r`, `\\`; `\{ab*3}` is `ababab`; there is no other line end |
//! | `--- x.toml -> /dev/zero` | a symbolic link |
//! | `--- x.toml directory` | a directory |
//! | `--- standard input` | what the command reads there; otherwise nothing |
//! | `--- message` | what the command prints on standard error |

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

const STANDARD_INPUT: &str = "standard input";
const MESSAGE: &str = "--- message\n";

/// A command line, what it reads, and what it is to print.
pub struct Case {
    pub arguments: Vec<String>,
    files: Vec<(String, Content)>,
    /// Without the last line end.
    pub message: String,
    /// Everything before the message.
    head: String,
}

enum Content {
    Octets(Vec<u8>),
    LinkTo(String),
    Directory,
}

impl Case {
    /// Reads a case. The error is a sentence.
    pub fn parse(text: &str, base: &Path) -> Result<Self, String> {
        let (head, message) = text.split_once(MESSAGE).ok_or("no section `--- message`")?;
        let mut sections = head.split("--- ");
        let command = sections.next().unwrap_or_default().trim();
        let command = command.strip_prefix("$ lasthop").ok_or("no line `$ lasthop ...`")?;
        let files = sections.map(|section| {
            let (title, body) = section.split_once('\n').unwrap_or((section, ""));
            file(title, body, base)
        });
        Ok(Self {
            arguments: words(command),
            files: files.collect::<Result<_, _>>()?,
            message: message.trim_end().to_owned(),
            head: head.to_owned(),
        })
    }

    /// The case as a file, with another message.
    pub fn with_message(&self, message: &str) -> String {
        format!("{}{MESSAGE}{message}\n", self.head)
    }

    pub fn write_files(&self, directory: &Path) {
        for (name, content) in &self.files {
            let path = directory.join(name);
            match content {
                Content::Octets(octets) => fs::write(path, octets),
                Content::LinkTo(target) => std::os::unix::fs::symlink(target, path),
                Content::Directory => fs::create_dir(path),
            }
            .expect("a writable directory");
        }
    }
}

/// What a case reads as standard input, once its files are in the directory.
pub fn standard_input(directory: &Path) -> Stdio {
    File::open(directory.join(STANDARD_INPUT)).map_or_else(|_| Stdio::null(), Stdio::from)
}

/// Words between spaces; one in single quotes may have spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn file(title: &str, body: &str, base: &Path) -> Result<(String, Content), String> {
    let (name, content) = if let Some((name, target)) = title.split_once(" -> ") {
        (name, Content::LinkTo(target.to_owned()))
    } else if let Some((name, of)) = title.split_once(" = ") {
        let text = fs::read_to_string(base.join(of)).map_err(|error| format!("{of}: {error}"))?;
        (name, Content::Octets(changed(&text, body)?.into_bytes()))
    } else if let Some(name) = title.strip_suffix(" escaped") {
        (name, Content::Octets(unescaped(body.trim_end_matches('\n'))?))
    } else if let Some(name) = title.strip_suffix(" directory") {
        (name, Content::Directory)
    } else {
        (title, Content::Octets(body.as_bytes().to_vec()))
    };
    Ok((name.to_owned(), content))
}

/// A text with changes of lines.
fn changed(text: &str, changes: &str) -> Result<String, String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut place = lines.len();
    for change in changes.lines() {
        match change.split_at_checked(2) {
            Some(("- ", old)) => {
                place = lines
                    .iter()
                    .position(|line| line.trim() == old.trim())
                    .ok_or_else(|| format!("the base has no line {old:?}"))?;
                lines.remove(place);
            }
            Some(("+ ", new)) => {
                lines.insert(place, new);
                place += 1;
            }
            _ => return Err(format!("{change:?}: expected a line that begins with `- ` or `+ `")),
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        octets.extend(before.replace('\n', "").bytes());
        let kind = escape.chars().next().ok_or("a single \\ at the end")?;
        rest = &escape[kind.len_utf8()..];
        match kind {
            'n' => octets.push(b'\n'),
            'r' => octets.push(b'\r'),
            '\\' => octets.push(b'\\'),
            'x' => {
                let digits = rest.get(..2).ok_or("expected \\xNN")?;
                octets.push(u8::from_str_radix(digits, 16).map_err(|_| format!("\\x{digits}"))?);
                rest = &rest[2..];
            }
            '{' => {
                let (repeated, after) = rest.split_once('}').ok_or("expected \\{text*times}")?;
                let (what, times) = repeated.rsplit_once('*').ok_or("expected \\{text*times}")?;
                octets.extend(what.repeat(times.parse().map_err(|_| times.to_owned())?).bytes());
                rest = after;
            }
            other => return Err(format!("\\{other}")),
        }
    }
    octets.extend(rest.replace('\n', "").bytes());
    Ok(octets)
}
