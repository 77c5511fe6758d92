//! `lasthop man`.

mod configuration;
mod page;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_linux::results::{ResultFile, make_directory};

use crate::failure::Failure;
use crate::output;
use crate::results::{Overwrite, cannot_begin};

/// The arguments of `man`.
#[derive(Args)]
#[command(after_help = "\
The package and the tarball have these pages. For a binary without them:

  lasthop man ~/.local/share/man")]
pub struct Arguments {
    /// Write the pages to man1 and man5 in this directory
    directory: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// Writes a page for `command`, the complete command line, a page for each of its subcommands, and
/// a page for the gateway's configuration.
pub fn execute(arguments: &Arguments, command: clap::Command) -> Result<(), Failure> {
    let mut pages = Vec::new();
    let mut command = command.disable_help_subcommand(true);
    command.build();
    add_commands(&command, None, &mut pages);
    pages.push(configuration::page());
    let mut files = Vec::new();
    for page in &pages {
        let folder = arguments.directory.join(format!("man{}", page.section));
        make_directory(&folder)
            .map_err(|error| Failure::usage(anyhow!("{}: cannot write: {error}", folder.display())))?;
        let name = folder.join(format!("{}.{}", page.name, page.section));
        let earlier = arguments.overwrite.earlier();
        files.push(ResultFile::create(&name, &[], earlier).map_err(cannot_begin)?);
    }
    // After all files are created: if one page exists already, none is written.
    for (page, mut file) in pages.iter().zip(files) {
        file.write_all(&page.text)?;
        file.finish()?;
    }
    let directory = arguments.directory.display();
    output::print(&format!("wrote {} pages; to read one: man -M {directory} lasthop", pages.len()))
}

fn add_commands(command: &clap::Command, parent: Option<&str>, pages: &mut Vec<page::Page>) {
    let page = page::of_command(command, parent);
    let name = page.name.clone();
    pages.push(page);
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        add_commands(subcommand, Some(&name), pages);
    }
}
