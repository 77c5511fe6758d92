//! `lasthop kernel build`.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::Args;
use lasthop_kernels::build::{BuildError, Built, Order, build};
use lasthop_kernels::source::SOURCES;
use lasthop_kernels::{Kernels, Recipe, Source, Version, tools};
use serde::Serialize;

use super::list::{KernelReport, no_cache};
use crate::failure::Failure;
use crate::number::whole;
use crate::output;
use crate::progress::BuildBar;
use crate::signals::{Termination, end_by};

/// The arguments of `kernel build`.
#[derive(Args)]
#[command(
    after_help = "On Debian and Ubuntu, the packages linux-source and linux-source-VERSION put sources into /usr/src: `sudo apt install linux-source gcc make flex bison bc xz-utils libc6-dev iproute2`. A build needs 1.5 GB of disk space for some minutes; what it unpacks and compiles is removed at its end, also after Ctrl-C. A kernel that is there already is not built again.\n\n\
                  Examples:\n  lasthop kernel build\n  lasthop kernel build 6.1\n  lasthop kernel build ~/Downloads/linux-6.15.2.tar.xz\n  lasthop kernel build ~/src/linux"
)]
pub struct Arguments {
    /// The version of a source in /usr/src, such as 6.12, or the path of a source, a folder or an
    /// archive [default: the newest in /usr/src]
    #[arg(value_name = "VERSION|PATH")]
    what: Option<PathBuf>,
    /// Compile this many files at a time [default: as many as there are processors]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1_024))]
    jobs: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The result of a build.
#[derive(Serialize)]
struct BuildReport {
    /// Whether the kernel was built now; it may have been there.
    is_new: bool,
    /// The kernel.
    #[serde(flatten)]
    kernel: KernelReport,
}

pub fn execute(kernels: &Kernels, arguments: &Arguments) -> Result<(), Failure> {
    let (wanted, path) = arguments.version_or_path();
    let source = match path {
        Some(path) => Some(Source::at(path).map_err(Failure::usage)?),
        None => Source::installed(Path::new(SOURCES), wanted.as_ref()).map_err(Failure::usage)?,
    };
    tools::check(source.as_ref()).map_err(Failure::usage)?;
    // The check has complained about a missing source.
    let Some(source) = source else { return Ok(()) };
    let recipe = Recipe::ours();
    let order = Order { source: &source, wanted: wanted.as_ref(), recipe: &recipe, jobs: arguments.jobs() };
    let termination = Termination::listen()?;
    output::complain(&format!(
        "lasthop: the source is {}; a kernel that is not there yet takes minutes",
        source.path().display()
    ));
    let bar = BuildBar::new();
    let built = build(kernels, order, &bar, termination.stop());
    bar.finish();
    if let (Some(signal), Err(error)) = (termination.signal(), &built) {
        output::complain(&format!("lasthop: {error}"));
        end_by(signal);
    }
    let (kernel, is_new) = match built.map_err(failure)? {
        Built::New(kernel) => (kernel, true),
        Built::Before(kernel) => (kernel, false),
    };
    if arguments.json {
        return output::print_json(&BuildReport { is_new, kernel: KernelReport::new(&kernel, &recipe) });
    }
    let (version, path) = (kernel.record().version(), kernel.path());
    let how = if is_new { "is built" } else { "was built before" };
    output::print(&format!("kernel {version} {how}: {}", path.display()))
}

impl Arguments {
    /// What is not a version is a path.
    fn version_or_path(&self) -> (Option<Version>, Option<&Path>) {
        let Some(what) = self.what.as_deref() else { return (None, None) };
        match what.to_str().and_then(|text| text.parse().ok()) {
            Some(version) => (Some(version), None),
            None => (None, Some(what)),
        }
    }

    fn jobs(&self) -> NonZero<u32> {
        let processors = || available_parallelism().map_or(1, NonZero::get) as u64;
        let jobs = u32::try_from(self.jobs.unwrap_or_else(processors)).ok();
        jobs.and_then(NonZero::new).unwrap_or(NonZero::<u32>::MIN)
    }
}

/// A wrong source or place, or a package that is missing, is a wrong argument; the rest is a failed run.
fn failure(error: BuildError) -> Failure {
    match error {
        BuildError::Missing(_) | BuildError::Source(_) | BuildError::Path(_) => Failure::usage(error),
        BuildError::Cache(error) => no_cache(error),
        BuildError::Space { .. }
        | BuildError::Edit { .. }
        | BuildError::Option { .. }
        | BuildError::Process { .. }
        | BuildError::File { .. }
        | BuildError::Canceled => Failure::Run(error.into()),
    }
}
