//! The command line but for its subcommands, of which the command for routers has fewer.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lasthop_config::words::printable_lines;

use crate::commands::version;
use crate::failure::Failure;
use crate::output;

// No documentation here: what help says first is that of the subcommands' type.
#[derive(Parser)]
#[command(
    name = "lasthop",
    max_term_width = 110,
    disable_version_flag = true,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
pub struct CommandLine<C: Subcommand> {
    #[command(flatten)]
    pub version: version::Arguments,
    #[command(subcommand)]
    pub command: Option<C>,
}

impl<C: Subcommand> CommandLine<C> {
    /// The command line of this process. An `Err` is the code to exit with, for which everything has
    /// been said: after help 0, or 1 if it could not be printed; after a usage error 2. `hint` may add to
    /// the error about a subcommand's arguments.
    pub fn read(hint: impl FnOnce(&str, &mut clap::Error)) -> Result<Self, ExitCode> {
        let commands = C::augment_subcommands(clap::Command::new("lasthop"));
        let arguments = without_help_of_help(&commands, std::env::args_os().collect());
        let subcommand = arguments.get(1).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
        Self::try_parse_from(arguments).map_err(|mut error| {
            if error.use_stderr() {
                hint(&subcommand, &mut error);
                complain(&error);
                return ExitCode::from(2);
            }
            match error.print().and_then(|()| io::stdout().flush()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => output::report(&Failure::from(output::failed(&error))),
            }
        })
    }
}

/// Prints an error about the arguments, in colors where standard error is a terminal, unless it repeats
/// characters that a terminal obeys: a shell may have filled in names of files that other users have chosen.
fn complain(error: &clap::Error) {
    let plain = error.render().to_string();
    match printable_lines(&plain) {
        // Where standard error is closed, the exit code alone says it.
        Cow::Borrowed(_) => drop(error.print()),
        Cow::Owned(shown) => output::complain(shown.trim_end()),
    }
}

/// `help` has no `--help` in clap, neither that of the command nor that of a subcommand with subcommands:
/// with it, help is still what is asked for.
fn without_help_of_help(commands: &clap::Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_help = |at: usize| arguments.get(at).is_some_and(|word| word == "help");
    let first = arguments.get(1).and_then(|word| commands.find_subcommand(word));
    let has_own_help = first.is_some_and(clap::Command::has_subcommands);
    if is_help(1) || has_own_help && is_help(2) {
        arguments.retain(|argument| argument != "--help" && argument != "-h");
    }
    arguments
}
