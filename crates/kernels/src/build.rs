//! From a source to a kernel in the cache.
//!
//! Everything is in one temporary folder of the cache, which is removed at the end, however the build
//! ends. The kernel gets its name when it is complete.

mod error;
mod folder;
mod process;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use lasthop_linux::clock::time_of_day;
use rustix::fs::statvfs;

use crate::cache::{Findings, KERNEL, Kernel, Kernels, RECORD, Record};
use crate::edit::Outcome;
use crate::recipe::Recipe;
use crate::source::Source;
use crate::tools;
use crate::version::Version;

pub use error::BuildError;
use error::NEEDED_OCTETS;
use folder::Folder;
pub use process::ProcessError;
use process::{Process, program};

/// How many files of a kernel are compiled, if no kernel in the cache says it: those of 6.12.
const USUAL_OBJECTS: u32 = 1_225;

/// Where programs write what a build has printed if it fails, in the cache.
const LOG: &str = "build.log";

/// What to build.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The kernel's source.
    pub source: &'a Source,
    /// The version that it must have, or the series.
    pub wanted: Option<&'a Version>,
    /// Options and edits.
    pub recipe: &'a Recipe,
    /// How many programs run at a time.
    pub jobs: NonZero<u32>,
}

/// A part of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The source is copied.
    Unpacking,
    /// It is edited, and its options are set.
    Configuring,
    /// It is compiled.
    Compiling {
        /// The probable number of files.
        objects: u32,
    },
}

/// Receives how far a build is.
pub trait Progress {
    /// A part begins.
    fn begin(&self, phase: Phase);
    /// This number of files is compiled.
    fn compiled(&self, objects: u32);
}

/// The result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// The kernel is new.
    New(Kernel),
    /// The same was there.
    Before(Kernel),
}

/// Builds a kernel, unless the same is in the cache. Stops soon after `stop` is set.
pub fn build(
    kernels: &Kernels,
    order: Order<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Built, BuildError> {
    tools::check(Some(order.source))?;
    build_with_tools(kernels, order, progress, stop)
}

/// Builds a kernel on a machine that has been checked.
fn build_with_tools(
    kernels: &Kernels,
    order: Order<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Built, BuildError> {
    let version = order.source.version(order.wanted)?;
    if let Some(kernel) = kernels.built(&version, order.recipe)? {
        return Ok(Built::Before(kernel));
    }
    let folder = prepare(kernels)?;
    let mut building = Building { folder: &folder, order, version, stop };
    let built = building.run(kernels, progress);
    built.map_err(|error| match error {
        BuildError::Process { problem, .. } => {
            let log = kernels.folder().join(LOG);
            let log = fs::rename(folder.log(), &log).is_ok().then_some(log);
            BuildError::Process { problem, log }
        }
        other => other,
    })
}

/// Removes what builds that were killed have left in the cache.
pub fn remove_leftovers(kernels: &Kernels) {
    folder::remove_leftovers(kernels.folder());
    // It may be absent.
    let _ = fs::remove_file(kernels.folder().join(LOG));
}

/// Creates the folder of a build, after a look at the disk.
fn prepare(kernels: &Kernels) -> Result<Folder, BuildError> {
    let cache = kernels.folder();
    let error = |problem| BuildError::File { path: cache.to_owned(), problem };
    fs::create_dir_all(cache).map_err(error)?;
    // Absolute, because programs run in other folders.
    let cache = fs::canonicalize(cache).map_err(error)?;
    if cache.as_os_str().as_encoded_bytes().iter().any(|octet| octet.is_ascii_whitespace() || *octet == b':')
    {
        return Err(BuildError::Path(cache));
    }
    folder::remove_leftovers(&cache);
    let disk = statvfs(&cache).map_err(|problem| error(problem.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < NEEDED_OCTETS {
        return Err(BuildError::Space { folder: cache, free: free / 1_000_000 });
    }
    Folder::create(&cache).map_err(error)
}

/// A build under way.
struct Building<'a> {
    folder: &'a Folder,
    order: Order<'a>,
    version: Version,
    stop: &'a AtomicBool,
}

impl Building<'_> {
    fn run(&mut self, kernels: &Kernels, progress: &dyn Progress) -> Result<Built, BuildError> {
        progress.begin(Phase::Unpacking);
        let (pack, unpack) = self.order.source.commands_to_unpack();
        self.process().run_after(pack, unpack)?;
        progress.begin(Phase::Configuring);
        let edits_left_out = self.edit()?;
        self.configure()?;
        let newest = kernels.list()?.last().map(|kernel| kernel.record().objects());
        progress.begin(Phase::Compiling { objects: newest.unwrap_or(USUAL_OBJECTS) });
        let objects = self.compile(progress)?;
        self.finish(kernels, edits_left_out, objects)
    }

    /// Makes the edits. Returns the names of those that the kernel does not need.
    fn edit(&self) -> Result<Vec<String>, BuildError> {
        let mut left_out = Vec::new();
        for edit in self.order.recipe.edits() {
            let error = |problem| BuildError::Edit { version: self.version.clone(), problem };
            if edit.apply(&self.folder.source()).map_err(error)? == Outcome::Unnecessary {
                left_out.push(edit.name().to_owned());
            }
        }
        Ok(left_out)
    }

    /// Sets the options, beside the defaults of user-mode Linux, and checks that the kernel has taken them.
    fn configure(&self) -> Result<(), BuildError> {
        let options = self.order.recipe.options();
        let configuration = self.folder.source().join(".config");
        let error = |problem| BuildError::File { path: configuration.clone(), problem };
        // A folder may have been compiled before, for another machine.
        self.process().run(self.make(&["mrproper"]))?;
        self.process().run(self.make(&["defconfig"]))?;
        let defaults = fs::read_to_string(&configuration).map_err(error)?;
        fs::write(&configuration, defaults + &options.lines()).map_err(error)?;
        self.process().run(self.make(&["olddefconfig"]))?;
        let taken = fs::read_to_string(&configuration).map_err(error)?;
        let error = |problem| BuildError::Option { version: self.version.clone(), problem };
        options.check(&taken).map_err(error)
    }

    /// Compiles the kernel, and returns the number of files.
    fn compile(&self, progress: &dyn Progress) -> Result<u32, BuildError> {
        let mut objects = 0;
        let jobs = format!("-j{}", self.order.jobs);
        self.process().run_with(self.make(&[&jobs, KERNEL]), &mut |line| {
            if line.starts_with("  CC ") {
                objects += 1;
                progress.compiled(objects);
            }
        })?;
        Ok(objects)
    }

    /// Puts the kernel and its record into the cache.
    fn finish(
        &self,
        kernels: &Kernels,
        edits_left_out: Vec<String>,
        objects: u32,
    ) -> Result<Built, BuildError> {
        let complete = self.folder.complete();
        let error = |path: &Path| {
            let path = path.to_owned();
            move |problem| BuildError::File { path, problem }
        };
        fs::create_dir(&complete).map_err(error(&complete))?;
        let kernel = complete.join(KERNEL);
        fs::rename(self.folder.source().join(KERNEL), &kernel).map_err(error(&kernel))?;
        let octets = fs::metadata(&kernel).map_err(error(&kernel))?.len();
        let built_unix_s = time_of_day().as_secs();
        let findings = Findings { edits_left_out, compiler: self.compiler()?, octets, objects, built_unix_s };
        let Order { source, recipe, .. } = self.order;
        let record = Record::new(self.version.clone(), recipe, source.path(), findings);
        let text = serde_json::to_string_pretty(&record).map_err(io::Error::from);
        let file = complete.join(RECORD);
        text.and_then(|text| fs::write(&file, text + "\n")).map_err(error(&file))?;
        let place = kernels.folder().join(record.name_of_folder());
        if fs::rename(&complete, &place).is_err() {
            // Another build of the same kernel was faster,
            if let Some(kernel) = kernels.built(&self.version, recipe)? {
                return Ok(Built::Before(kernel));
            }
            // or there is a part of a kernel, such as an interrupted removal leaves.
            fs::remove_dir_all(&place).map_err(error(&place))?;
            fs::rename(&complete, &place).map_err(error(&place))?;
        }
        Ok(Built::New(Kernel::new(place, record)))
    }

    /// The first line that the compiler says of its version.
    fn compiler(&self) -> Result<String, BuildError> {
        let mut first = None;
        let mut gcc = program("gcc", self.folder);
        gcc.arg("--version");
        self.process().run_with(gcc, &mut |line| {
            first.get_or_insert_with(|| line.to_owned());
        })?;
        Ok(first.unwrap_or_default())
    }

    fn process(&self) -> Process<'_> {
        Process::new(self.folder, self.stop)
    }

    /// The kernel's makefile, for user mode. What it calls itself is always the same, because the kernel mixes it into
    /// its random numbers.
    fn make(&self, targets: &[&str]) -> Command {
        let mut make = program("make", self.folder);
        make.args(["ARCH=um", "LOCALVERSION="]).args(targets.iter().map(OsStr::new));
        make.envs([
            ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
            ("KBUILD_BUILD_VERSION", "1"),
            ("KBUILD_BUILD_USER", "lasthop"),
            ("KBUILD_BUILD_HOST", "lasthop"),
        ]);
        make
    }
}

#[cfg(test)]
mod tests;
