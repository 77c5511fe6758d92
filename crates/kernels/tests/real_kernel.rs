//! A kernel from the source of a distribution is built, and starts.

use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use lasthop_kernels::build::{Built, Order, Phase, Progress, build};
use lasthop_kernels::source::SOURCES;
use lasthop_kernels::{Kernels, Recipe, Source};
use tempfile::TempDir;

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Phase) {}
    fn compiled(&self, _: u32) {}
}

/// `LASTHOP_KERNEL_VERSION=6.1` chooses another one than the newest.
#[test]
#[ignore = "takes minutes, and requires the source of a kernel in /usr/src"]
fn a_kernel_of_this_distribution_is_built_and_runs_a_program() {
    let wanted = std::env::var("LASTHOP_KERNEL_VERSION").ok().map(|text| text.parse().expect("a version"));
    let source = Source::installed(Path::new(SOURCES), wanted.as_ref()).expect("no error").expect("a source");
    let cache = TempDir::new().expect("a temporary directory");
    let kernels = Kernels::in_folder(cache.path());
    let recipe = Recipe::ours();
    let jobs = available_parallelism().ok().and_then(|count| NonZero::new(count.get() as u32));
    let order = Order {
        source: &source,
        wanted: wanted.as_ref(),
        recipe: &recipe,
        jobs: jobs.unwrap_or(NonZero::<u32>::MIN),
    };
    let built = build(&kernels, order, &Silent, &AtomicBool::new(false));
    let Built::New(kernel) = built.expect("a kernel") else { panic!("the cache was empty") };
    assert_eq!(kernels.find(None).expect("it is there"), kernel);
    let said = output_of(&kernel.path(), "/bin/true");
    assert!(
        said.contains("Attempted to kill init! exitcode=0x00000000"),
        "its first program has ended: {said}"
    );
}

/// What a kernel prints until its first program ends, which it does not survive. In its own process group, because
/// the processes of a kernel that is killed outlive it.
fn output_of(kernel: &Path, program: &str) -> String {
    let output = Command::new("setsid")
        .args(["--wait", "timeout", "--signal=KILL", "60"])
        .arg(kernel)
        .args(["mem=128M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "panic=1"])
        .args(["con=null", "con0=fd:0,fd:1", &format!("init={program}")])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("setsid runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
