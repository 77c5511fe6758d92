//! `lasthop schema`.

use clap::{Args, ValueEnum};
use lasthop_gateway::config;
use lasthop_scenario::file::{scenario_schema, sweep_schema};

use crate::failure::Failure;
use crate::output;

/// The arguments of `schema`.
#[derive(Args)]
#[command(
    after_help = "An editor with a TOML language server shows the explanations of keys as you type, if the first line of a file names \
                  the schema:\n\n  lasthop schema scenario > scenario.schema.json\n  #:schema ./scenario.schema.json"
)]
pub struct Arguments {
    /// The kind of file
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Scenarios, links for `lasthop emulate` included
    Scenario,
    /// Sweeps
    Sweep,
    /// The configuration of the gateway
    Gateway,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    output::print_json(&match arguments.kind {
        Kind::Scenario => scenario_schema(),
        Kind::Sweep => sweep_schema(),
        Kind::Gateway => config::schema(),
    })
}
