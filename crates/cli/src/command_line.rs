//! The command line, generic over the subcommands, of which the command for routers has fewer.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lasthop_config::words::printable_lines;

use crate::commands::version;
use crate::failure::Failure;
use crate::output;

// No documentation here: the help text starts with that of the subcommands' type.
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
    /// Parses the command line of this process. The error is the exit code after the message has
    /// been printed: 0 after help, or 1 if help could not be printed; 2 after a usage error. `hint`
    /// may add advice to an error about a subcommand's arguments.
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

/// Prints an error about the arguments, in color if standard error is a terminal, but without color
/// if the text has control characters: a shell may have expanded names of files that other users
/// have chosen.
fn complain(error: &clap::Error) {
    let plain = error.render().to_string();
    match printable_lines(&plain) {
        // If standard error is closed, the exit code still reports the error.
        Cow::Borrowed(_) => drop(error.print()),
        Cow::Owned(shown) => output::complain(shown.trim_end()),
    }
}

/// Removes `--help` after `help`, which in clap does not accept it, neither for the command nor for
/// a subcommand with subcommands.
fn without_help_of_help(commands: &clap::Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_help = |at: usize| arguments.get(at).is_some_and(|word| word == "help");
    let first = arguments.get(1).and_then(|word| commands.find_subcommand(word));
    let has_own_help = first.is_some_and(clap::Command::has_subcommands);
    if is_help(1) || has_own_help && is_help(2) {
        arguments.retain(|argument| argument != "--help" && argument != "-h");
    }
    arguments
}
