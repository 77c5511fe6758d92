//! The command line but for its subcommands, of which the command for routers has fewer.

use clap::{Parser, Subcommand};

use crate::commands::version;

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
