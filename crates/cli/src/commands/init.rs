//! `lasthop init`.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use lasthop_gateway::config::DEFAULT_FILE;
use lasthop_lab::table::Table;
use lasthop_linux::results::{Earlier, ResultFile};

use crate::failure::Failure;
use crate::output;
use crate::results::cannot_begin;

/// The arguments of `init`.
#[derive(Args)]
#[command(
    override_usage = "lasthop init [--template <TEMPLATE>] <FILE>\n       lasthop init --list",
    after_help = "Examples:\n  lasthop init my-link.toml\n  lasthop init my-cell.toml --template wifi\n  lasthop init wifi\n  lasthop init --list"
)]
pub struct Arguments {
    /// The file to write; "-" for standard output
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// What to start from [default: hop, or the template with the name of FILE, if that has no
    /// extension]
    #[arg(long, value_enum)]
    template: Option<Template>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["file", "template"])]
    list: bool,
}

/// A commented file to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Template {
    /// A download over a wired path and a wireless hop, for `lasthop compare`
    Hop,
    /// An 802.11 cell with downloads and uploads, for `lasthop compare`
    Wifi,
    /// An upload from behind a customer's router over a wireless hop, for `lasthop compare`
    Upload,
    /// A grid of values of a scenario, for `lasthop sweep`
    Sweep,
    /// A link for `lasthop emulate`
    Link,
    /// A configuration for `lasthop gateway`
    Gateway,
}

impl Template {
    const fn text(self) -> &'static str {
        match self {
            Self::Hop => include_str!("../../templates/hop.toml"),
            Self::Wifi => include_str!("../../templates/wifi.toml"),
            Self::Upload => include_str!("../../templates/upload.toml"),
            Self::Sweep => include_str!("../../templates/sweep.toml"),
            Self::Link => include_str!("../../templates/link.toml"),
            Self::Gateway => DEFAULT_FILE,
        }
    }

    /// The command to use with the file.
    const fn command(self) -> &'static str {
        match self {
            Self::Hop | Self::Wifi | Self::Upload => "lasthop compare",
            Self::Sweep => "lasthop sweep",
            Self::Link => "sudo lasthop emulate",
            Self::Gateway => "lasthop gateway --check",
        }
    }
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let Some(file) = &arguments.file else { return list() };
    let (template, file) = template_and_file(arguments.template, file);
    let text = template.text();
    if file.as_os_str() == "-" {
        return output::print(text.trim_end());
    }
    let Some(name) = in_a_shell(&file) else {
        return Err(Failure::usage(anyhow!("FILE: expected a file name without control characters")));
    };
    write_new(&file, &text.replace(" FILE", &format!(" {name}")))?;
    output::print(&format!("wrote {name}; next: {} {name}", template.command()))
}

/// The template, and the file to write. In `lasthop init wifi`, the word is the name of a template,
/// and the file is `wifi.toml`.
fn template_and_file(template: Option<Template>, file: &Path) -> (Template, Cow<'_, Path>) {
    let named = || Template::from_str(file.to_str()?, false).ok();
    match template.map_or_else(|| named().ok_or(Template::Hop), Err) {
        Ok(named) => (named, file.with_extension("toml").into()),
        Err(template) => (template, file.into()),
    }
}

/// A file's name in the form for a shell, quoted if necessary. `None` if it contains a line end.
fn in_a_shell(file: &Path) -> Option<String> {
    let name = file.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%".contains(letter);
    match name.chars().any(char::is_control) {
        true => None,
        false if name.chars().all(is_plain) => Some(name),
        false => Some(format!("'{}'", name.replace('\'', "'\\''"))),
    }
}

fn list() -> Result<(), Failure> {
    let mut table = Table::with_texts(&["template", "what it is"]);
    for template in Template::value_variants() {
        let Some(value) = template.to_possible_value() else { continue };
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        table.add_row([value.get_name(), &about]);
    }
    output::print(&table.to_string())
}

/// Writes a new file.
fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    // `exists` would follow links, and miss a dangling one.
    if let Ok(found) = file.symlink_metadata() {
        let what = if found.is_symlink() { "symbolic link" } else { "file" };
        return Err(Failure::usage(anyhow!("{}: this {what} exists; choose another name", file.display())));
    }
    let mut new = ResultFile::create(file, &[], Earlier::Stays).map_err(cannot_begin)?;
    new.write_all(text.as_bytes())?;
    Ok(new.finish()?)
}
