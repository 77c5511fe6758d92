//! `lasthop kernel list`.

use std::time::Duration;

use clap::Args;
use lasthop_config::words::counted;
use lasthop_kernels::cache::{CacheError, Changed};
use lasthop_kernels::{Kernel, Kernels, Recipe};
use lasthop_lab::table::Table;
use lasthop_linux::clock::time_of_day;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// The arguments of `kernel list`.
#[derive(Args)]
#[command(
    after_help = "A kernel is built with options and edits that belong to a version of lasthop. If these have changed since, the kernel is not run, and `lasthop kernel build` builds it again.\n\n\
                  Examples:\n  lasthop kernel list\n  lasthop kernel list --json"
)]
pub struct Arguments {
    /// Print one JSON document, an array with an object per kernel
    #[arg(long)]
    json: bool,
}

/// A kernel in the user's cache.
#[derive(Serialize)]
pub struct KernelReport {
    /// The version, such as 6.12.117.
    version: String,
    /// The program.
    path: String,
    /// Whether this version of lasthop runs it: it has the same options and edits.
    is_current: bool,
    /// Whether it has other options.
    options_changed: bool,
    /// Whether it has other edits.
    edits_changed: bool,
    /// The edits that this version of the kernel does not need.
    edits_left_out: Vec<String>,
    /// The size of the program.
    octets: u64,
    /// How many files were compiled.
    objects: u32,
    /// When it was built, in seconds since 1970.
    built_unix_s: u64,
    /// The source that it was built from.
    source: String,
    /// The compiler that built it.
    compiler: String,
}

impl KernelReport {
    pub fn new(kernel: &Kernel, recipe: &Recipe) -> Self {
        let (record, changed) = (kernel.record(), kernel.changed(recipe));
        Self {
            version: record.version().to_string(),
            path: kernel.path().display().to_string(),
            is_current: changed.is_nothing(),
            options_changed: changed.options,
            edits_changed: changed.edits,
            edits_left_out: record.edits_left_out().to_vec(),
            octets: record.octets(),
            objects: record.objects(),
            built_unix_s: record.built_unix_s(),
            source: record.source().display().to_string(),
            compiler: record.compiler().to_owned(),
        }
    }
}

pub fn execute(kernels: &Kernels, arguments: &Arguments) -> Result<(), Failure> {
    let recipe = Recipe::ours();
    let list = kernels.list().map_err(no_cache)?;
    if arguments.json {
        return output::print_json(
            &list.iter().map(|kernel| KernelReport::new(kernel, &recipe)).collect::<Vec<_>>(),
        );
    }
    if list.is_empty() {
        let folder = kernels.folder().display();
        return output::print(&format!("no kernels in {folder}; `lasthop kernel build` builds one"));
    }
    let mut table = Table::with_texts(&["kernel", "state", "size MB", "built", "source", "compiler"]);
    let now = time_of_day();
    for kernel in &list {
        let record = kernel.record();
        let age = now.saturating_sub(Duration::from_secs(record.built_unix_s()));
        table.add_row([
            record.version().to_string(),
            state(kernel.changed(&recipe)).to_owned(),
            format!("{:.1}", record.octets() as f64 / 1e6),
            ago(age),
            record.source().display().to_string(),
            record.compiler().to_owned(),
        ]);
    }
    output::print(&table.to_string())
}

/// The failure for a cache that cannot be used.
pub fn no_cache(error: CacheError) -> Failure {
    match error {
        CacheError::NoHome => Failure::usage(error),
        CacheError::File { .. } => Failure::Run(error.into()),
    }
}

const fn state(changed: Changed) -> &'static str {
    match changed {
        Changed { options: false, edits: false } => "current",
        Changed { options: true, edits: false } => "to build again: other options",
        Changed { options: false, edits: true } => "to build again: other edits",
        Changed { options: true, edits: true } => "to build again: other options and edits",
    }
}

/// An age in the largest unit that is not zero.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match (minutes / (24 * 60), minutes / 60, minutes) {
        (0, 0, 0) => "just now".to_owned(),
        (0, 0, minutes) => format!("{} ago", counted(minutes, "minute")),
        (0, hours, _) => format!("{} ago", counted(hours, "hour")),
        (days, ..) => format!("{} ago", counted(days, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_largest_unit() {
        let of = |seconds| ago(Duration::from_secs(seconds));
        assert_eq!(
            [of(59), of(60), of(7_199), of(7_200), of(86_400)],
            ["just now", "1 minute ago", "1 hour ago", "2 hours ago", "1 day ago"]
        );
    }
}
