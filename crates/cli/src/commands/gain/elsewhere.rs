//! `lasthop gateway gain` in the command for routers, which has no simulator.

use anyhow::anyhow;
use clap::Args;

use crate::failure::Failure;

/// The arguments of `gateway gain`, of which none matters here.
#[derive(Args)]
#[command(
    after_help = "This command has no simulator. Write on this machine what the gateway measured, and let the whole command predict on another one:\n  lasthop gateway flows --json > flows.json\n  lasthop gateway gain --from flows.json"
)]
pub struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    ignored: Vec<String>,
}

pub fn execute(Arguments { ignored: _ }: &Arguments) -> Result<(), Failure> {
    Err(Failure::usage(anyhow!(
        "this command has no simulator: run `lasthop gateway flows --json > flows.json` here, and `lasthop gateway gain --from flows.json` on a machine with the whole command"
    )))
}
