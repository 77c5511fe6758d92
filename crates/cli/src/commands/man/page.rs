//! The manual page of a command, from its definition.

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use lasthop_gateway::config::DEFAULT_SOCKET;

/// A manual page.
pub struct Page {
    /// The name, such as `lasthop-compare`.
    pub name: String,
    /// The section of the manual.
    pub section: u8,
    /// The text in roff.
    pub text: Vec<u8>,
}

/// The path of the configuration in the package.
pub const CONFIGURATION: &str = "/etc/lasthop/gateway.toml";

/// The page of a command. `parent` is the page of the command to which a subcommand belongs.
pub fn of_command(command: &clap::Command, parent: Option<&str>) -> Page {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let man = Man::new(command.clone());
    let mut text = title(&name, 1).into_bytes();
    // Writing to a vector cannot fail.
    let _ = man.render_name_section(&mut text);
    let _ = man.render_synopsis_section(&mut text);
    let _ = man.render_description_section(&mut text);
    let _ = man.render_options_section(&mut text);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut text);
    }
    let mut rest = Roff::new();
    if let Some(notes) = command.get_after_help() {
        add_notes(&mut rest, &notes.to_string());
    }
    add_exit_status(&mut rest, &name);
    if name == "lasthop-gateway" {
        add_files(&mut rest);
    }
    let configuration = (name == "lasthop-gateway").then_some(("lasthop-gateway.toml", "5"));
    let related: Vec<_> = parent.map(|parent| (parent, "1")).into_iter().chain(configuration).collect();
    add_references(&mut rest, &related);
    let _ = rest.to_writer(&mut text);
    Page { name, section: 1, text }
}

/// The first line of a page. It has no date, so that the pages of a version are always equal.
/// `Roff::control` would omit an empty argument.
pub fn title(name: &str, section: u8) -> String {
    format!(".TH {name} {section} \"\" \"lasthop {}\" \"lasthop manual\"\n", env!("CARGO_PKG_VERSION"))
}

/// Adds the text after the options in `--help`: paragraphs, indented lines as they are, and
/// examples.
fn add_notes(roff: &mut Roff, notes: &str) {
    let is_example = |line: &str| line.starts_with("  ");
    let mut heading = Some("NOTES");
    for paragraph in notes.split("\n\n") {
        let mut lines = paragraph.lines().peekable();
        if lines.next_if(|line| *line == "Examples:").is_some() {
            heading = Some("EXAMPLES");
        }
        match heading.take() {
            Some(heading) => roff.control("SH", [heading]),
            None => roff.control("PP", []),
        };
        while let Some(line) = lines.next() {
            if !is_example(line) {
                roff.text([roman(line)]);
                continue;
            }
            roff.control("EX", []).text([roman(line.trim())]);
            while let Some(next) = lines.next_if(|next| is_example(next)) {
                roff.text([roman(next.trim())]);
            }
            roff.control("EE", []);
        }
    }
}

fn add_exit_status(roff: &mut Roff, name: &str) {
    roff.control("SH", ["EXIT STATUS"]);
    let mut add = |status: &str, meaning: &str| {
        roff.control("TP", []).text([bold(status)]).text([roman(meaning)]);
    };
    if name == "lasthop-emulate" {
        add("the status of the command", "if the emulation succeeds");
    } else {
        add("0", "success");
    }
    add("1", "a failed run");
    add("2", "an error in the arguments or in a file");
}

fn add_files(roff: &mut Roff) {
    roff.control("SH", ["FILES"]);
    for (file, what) in [
        (CONFIGURATION, "the configuration that the package and the systemd unit use"),
        (DEFAULT_SOCKET, "the control socket, unless the configuration names another"),
    ] {
        roff.control("TP", []).text([bold(file)]).text([roman(what)]);
    }
}

/// Adds the section SEE ALSO: pages and their sections.
pub fn add_references(roff: &mut Roff, pages: &[(&str, &str)]) {
    if pages.is_empty() {
        return;
    }
    roff.control("SH", ["SEE ALSO"]);
    for (index, (page, section)) in pages.iter().enumerate() {
        let end = if index + 1 < pages.len() { "," } else { "" };
        roff.text([bold(*page), roman(format!("({section}){end}"))]);
    }
}
