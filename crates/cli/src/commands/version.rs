//! `lasthop --version`.

use std::fmt::Write as _;

use clap::Args;
use lasthop_schemes::catalog::CATALOG;

use crate::failure::Failure;
use crate::output;

/// What is asked of the program itself.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: also print what is built in
    #[arg(long, requires = "version")]
    verbose: bool,
}

/// Prints the version, which is the only argument that is allowed without a command.
pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let mut text = concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned();
    if arguments.verbose {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let schemes: Vec<&str> = CATALOG.iter().map(|scheme| scheme.name).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nplatform    {} {}, {profile} build\nschemes     {}\nbackends    tc-bpf (Linux 5.8 or newer), tun\n\
             results     tables, JSON, CSV, Parquet, pcapng",
            std::env::consts::ARCH,
            std::env::consts::OS,
            schemes.join(", ")
        );
    }
    output::print(&text)
}
