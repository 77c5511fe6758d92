//! The `lasthop` command.
//!
//! Exit codes: 0 for success, 1 for a failed run, 2 for a usage or file error, 3 for a run that is
//! not trusted if trust was required. Results go to standard output, everything else to standard
//! error.

mod command_line;
mod commands;
#[cfg_attr(not(feature = "thesis"), path = "data_file/absent.rs")]
mod data_file;
mod failure;
mod leftovers;
mod load;
mod memory;
mod number;
mod output;
mod progress;
mod rectangle;
mod results;
mod signals;

use std::process::ExitCode;

use clap::{CommandFactory as _, Subcommand};

use command_line::CommandLine;

/// TCP acceleration for wireless last hops: published schemes, compared on your link.
///
/// Start with `lasthop init my-link.toml`, then `lasthop compare my-link.toml`.
#[derive(Subcommand)]
enum Command {
    /// Run every scheme of a scenario with several seeds and print the results side by side
    Compare(commands::compare::Arguments),
    /// Run a scenario once with one scheme
    Run(commands::run::Arguments),
    /// Run a grid of scenarios in parallel and write one CSV or Parquet file
    Sweep(commands::sweep::Arguments),
    /// Compare a paper's numbers with the simulator's, with a verdict per row
    Reproduce(commands::reproduce::Arguments),
    /// Run a command or a shell behind an emulated link, in real or simulated time
    Emulate(Box<commands::emulate::Arguments>),
    /// Run a scenario between real hosts on this machine, with the kernel's own TCP and an emulated hop
    Try(commands::trial::Arguments),
    /// Run as the first program of a guest in simulated time
    #[command(hide = true)]
    Guest(commands::guest::Arguments),
    /// Run the schemes on this machine's traffic: the daemon and its control commands
    Gateway(commands::gateway::Arguments),
    /// Build, list and remove the user-mode kernels that run in simulated time
    Kernel(commands::kernel::Arguments),
    /// List the schemes: what each one does, what it needs, and its source
    Schemes(commands::schemes::Arguments),
    /// Write a commented file to start from
    Init(commands::init::Arguments),
    /// Print the JSON schema of a kind of file
    Schema(commands::schema::Arguments),
    /// Print a shell's completions of this command line
    Completions(commands::completions::Arguments),
    /// Write the manual pages
    Man(commands::man::Arguments),
}

/// Adds advice to an error about a subcommand's arguments.
fn hint(subcommand: &str, error: &mut clap::Error) {
    match subcommand {
        "emulate" => commands::emulate::hint(error),
        "compare" | "run" | "try" => commands::emulate::hint_of_a_scenario(error),
        "gateway" => commands::gateway::hint(error),
        _ => {}
    }
}

fn main() -> ExitCode {
    let CommandLine { version, command } = match CommandLine::<Command>::read(hint) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let Some(command) = command else {
        return commands::version::execute(&version)
            .map_or_else(|failure| output::report(&failure), |()| ExitCode::SUCCESS);
    };
    // A sweep, the build of a kernel, and a trial between real hosts handle signals themselves.
    let leaves_files = match &command {
        Command::Run(_) => true,
        Command::Try(arguments) => arguments.only_predicts(),
        _ => false,
    };
    if leaves_files {
        signals::on_termination(|| ());
    }
    let outcome = match command {
        Command::Compare(arguments) => commands::compare::execute(&arguments),
        Command::Run(arguments) => commands::run::execute(&arguments),
        Command::Sweep(arguments) => commands::sweep::execute(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::execute(&arguments),
        Command::Emulate(arguments) => {
            return commands::emulate::execute(&arguments).unwrap_or_else(|failure| output::report(&failure));
        }
        Command::Try(arguments) => commands::trial::execute(&arguments),
        Command::Guest(arguments) => commands::guest::execute(&arguments),
        Command::Gateway(arguments) => commands::gateway::execute(&arguments),
        Command::Kernel(arguments) => commands::kernel::execute(&arguments),
        Command::Schemes(arguments) => commands::schemes::execute(&arguments),
        Command::Init(arguments) => commands::init::execute(&arguments),
        Command::Schema(arguments) => commands::schema::execute(&arguments),
        Command::Completions(arguments) => {
            commands::completions::execute(&arguments, CommandLine::<Command>::command())
        }
        Command::Man(arguments) => commands::man::execute(&arguments, CommandLine::<Command>::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            lasthop_linux::results::remove_parts();
            output::report(&failure)
        }
    }
}
