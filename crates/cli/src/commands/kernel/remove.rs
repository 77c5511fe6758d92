//! `lasthop kernel remove`.

use anyhow::anyhow;
use clap::Args;
use lasthop_config::words::counted;
use lasthop_kernels::build::remove_leftovers;
use lasthop_kernels::version::VersionError;
use lasthop_kernels::{Kernels, Version};
use serde::Serialize;

use super::list::no_cache;
use crate::failure::Failure;
use crate::output;

/// The arguments of `kernel remove`.
#[derive(Args)]
#[command(
    after_help = "A guest that runs is not disturbed, but a command that uses the kernel cannot start the next one.\n\nExamples:\n  lasthop kernel remove 6.1\n  lasthop kernel remove 6.12.117\n  lasthop kernel remove all"
)]
pub struct Arguments {
    /// A version such as 6.12.117, a series such as 6.12, which is all its versions, or all
    #[arg(value_name = "VERSION|all", value_parser = parse)]
    what: What,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The kernels that are removed.
#[derive(Clone)]
enum What {
    All,
    Version(Version),
}

/// What was removed.
#[derive(Serialize)]
struct RemovalReport {
    /// The versions of the kernels.
    removed: Vec<String>,
    /// The size of their programs.
    octets: u64,
}

fn parse(text: &str) -> Result<What, String> {
    match text {
        "all" => Ok(What::All),
        _ => text.parse().map(What::Version).map_err(|error: VersionError| format!("{error}, or all")),
    }
}

pub fn execute(kernels: &Kernels, arguments: &Arguments) -> Result<(), Failure> {
    let mut list = kernels.list().map_err(no_cache)?;
    match &arguments.what {
        What::All => remove_leftovers(kernels),
        What::Version(wanted) => {
            let there: Vec<String> =
                list.iter().map(|kernel| kernel.record().version().to_string()).collect();
            list.retain(|kernel| kernel.record().version().is(wanted));
            if list.is_empty() {
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                let folder = kernels.folder().display();
                return Err(Failure::usage(anyhow!("no kernel {wanted} is in {folder}, which has {there}")));
            }
        }
    }
    for kernel in &list {
        kernels.remove(kernel).map_err(no_cache)?;
    }
    let octets: u64 = list.iter().map(|kernel| kernel.record().octets()).sum();
    if arguments.json {
        let removed = list.iter().map(|kernel| kernel.record().version().to_string()).collect();
        return output::print_json(&RemovalReport { removed, octets });
    }
    let count = counted(list.len() as u64, "kernel");
    output::print(&format!("{count} removed, {:.1} MB", octets as f64 / 1e6))
}
