//! The `lasthop` command for routers with little flash: the gateway and the list of schemes.
//!
//! `main.rs` is the complete command. Both use the same modules.

mod command_line;
mod commands {
    //! The subcommands, each in its own file.
    #[path = "gain/elsewhere.rs"]
    pub mod gain;
    pub mod gateway;
    pub mod schemes;
    pub mod version;
}
mod failure;
mod number;
mod output;
mod rectangle;
#[allow(dead_code, reason = "the gateway needs a part of it")]
mod signals;

use std::process::ExitCode;

use clap::Subcommand;

use command_line::CommandLine;

/// TCP acceleration for wireless last hops: the gateway alone. The whole command also has the
/// simulator and the emulator.
#[derive(Subcommand)]
enum Command {
    /// Run the schemes on this machine's traffic: the daemon and its control commands
    Gateway(commands::gateway::Arguments),
    /// List the schemes: what each one does, what it needs, and its source
    Schemes(commands::schemes::Arguments),
}

/// Adds advice to an error about a subcommand's arguments.
fn hint(subcommand: &str, error: &mut clap::Error) {
    if subcommand == "gateway" {
        commands::gateway::hint(error);
    }
}

fn main() -> ExitCode {
    let CommandLine { version, command } = match CommandLine::read(hint) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let outcome = match command {
        None => commands::version::execute(&version),
        Some(Command::Gateway(arguments)) => commands::gateway::execute(&arguments),
        Some(Command::Schemes(arguments)) => commands::schemes::execute(&arguments),
    };
    outcome.map_or_else(|failure| output::report(&failure), |()| ExitCode::SUCCESS)
}
