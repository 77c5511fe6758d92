use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;
use crate::edit::Edit;
use crate::options::Options;

/// A source that is "built" by a makefile of a few lines, as a kernel is: three files are compiled.
const MAKEFILE: &str = "\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 117
mrproper:
defconfig:
\t@echo CONFIG_A=n > .config
olddefconfig:
\t@find arch -type f | sort > files
\t@sed -i s/CONFIG_B=y// .config
linux:
\t@for i in 1 2 3; do echo \"  CC      a$$i.o\"; done
\t@test $(ARCH) = um && cat Kconfig files > linux
";

struct Seen(Mutex<Vec<String>>);

impl Progress for Seen {
    fn begin(&self, phase: Phase) {
        self.0.lock().expect("no panic").push(format!("{phase:?}"));
    }

    fn compiled(&self, objects: u32) {
        self.0.lock().expect("no panic").push(objects.to_string());
    }
}

struct Machine {
    folder: TempDir,
    kernels: Kernels,
}

impl Machine {
    fn new(makefile: &str) -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        for (file, text) in [
            ("Makefile", makefile),
            ("Kconfig", "one\nplace\n"),
            ("arch/um/Makefile", ""),
            ("kernel/fork.c", ""),
            ("arch/um/kernel/time.c", ""),
            ("arch/arm/kernel/time.c", ""),
            ("arch/arm/Kconfig", ""),
        ] {
            let path = folder.path().join("source").join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file in it");
        }
        let kernels = Kernels::in_folder(&folder.path().join("kernels"));
        Self { folder, kernels }
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    fn build(&self, option: &str, place: &str, stop: bool) -> (Result<Built, BuildError>, Vec<String>) {
        let edit = format!(
            "reason = \"Why.\"\nfiles = [\"Kconfig\"]\n[[changes]]\nline = [\"{place}\"]\ninsert = \"after\"\ntext = \"edited\\n\"\n"
        );
        let options = Options::parse(&format!("# Why.\n{option}=y\n")).expect("options");
        let recipe = Recipe::new(options, vec![Edit::parse("it", &edit).expect("an edit")]);
        let source = Source::at(&self.source()).expect("a source");
        let order = Order { source: &source, wanted: None, recipe: &recipe, jobs: NonZero::<u32>::MIN };
        let seen = Seen(Mutex::new(Vec::new()));
        let built = build_with_tools(&self.kernels, order, &seen, &AtomicBool::new(stop));
        (built, seen.0.into_inner().expect("no panic"))
    }

    /// The names of all that is in the cache.
    fn cached(&self) -> Vec<String> {
        let entries = fs::read_dir(self.kernels.folder()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn a_kernel_is_built_once_from_a_copy_of_its_source() {
    let machine = Machine::new(MAKEFILE);
    let (built, seen) = machine.build("CONFIG_A", "place", false);
    let Built::New(kernel) = built.expect("a kernel") else { panic!("the cache was empty") };
    // Of other processors' files only those that configure the build.
    let files = "arch/arm/Kconfig\narch/um/Makefile\narch/um/kernel/time.c\n";
    assert_eq!(text(&kernel.path()), format!("one\nplace\nedited\n{files}"));
    assert_eq!(text(&machine.source().join("Kconfig")), "one\nplace\n", "the source is as it was");
    assert_eq!(
        seen,
        ["Unpacking", "Configuring", &format!("Compiling {{ objects: {USUAL_OBJECTS} }}"), "1", "2", "3"]
    );
    assert_eq!(kernel.record().version().to_string(), "6.12.117");
    assert_eq!(kernel.record().objects(), 3);
    assert_eq!(kernel.record().octets(), text(&kernel.path()).len() as u64);
    assert!(kernel.record().compiler().contains("gcc"), "{}", kernel.record().compiler());
    assert_eq!(machine.cached().len(), 1, "nothing else is left");

    let (again, seen) = machine.build("CONFIG_A", "place", false);
    assert_eq!(again.expect("it is there"), Built::Before(kernel));
    assert!(seen.is_empty());
    let (other, _) = machine.build("CONFIG_A", "one", false);
    assert!(
        matches!(other, Ok(Built::New(_))) && machine.cached().len() == 2,
        "another edit, another kernel"
    );
}

#[test]
fn an_edit_or_an_option_that_a_kernel_does_not_take_ends_the_build() {
    let machine = Machine::new(MAKEFILE);
    let error = machine.build("CONFIG_A", "absent", false).0.expect_err("no such place").to_string();
    assert!(error.starts_with("kernel 6.12.117: edit it: Kconfig: expected one line with absent"), "{error}");
    let error = machine.build("CONFIG_B", "place", false).0.expect_err("no such option").to_string();
    assert!(error.starts_with("kernel 6.12.117: CONFIG_B: expected y"), "{error}");
    assert!(machine.cached().is_empty());
}

#[test]
fn a_build_that_fails_leaves_its_output_only() {
    let machine = Machine::new(&MAKEFILE.replace("\t@test", "\t@echo a.c:1: error: no; exit 1; test"));
    let error = machine.build("CONFIG_A", "place", false).0.expect_err("it fails").to_string();
    assert!(error.starts_with("make failed:\n  a.c:1: error: no; all that was printed is in "), "{error}");
    assert_eq!(machine.cached(), [LOG]);
    assert!(text(&machine.kernels.folder().join(LOG)).contains("  CC      a3.o\na.c:1: error: no\n"));
    remove_leftovers(&machine.kernels);
    assert!(machine.cached().is_empty());
}

#[test]
fn a_build_that_is_interrupted_leaves_nothing() {
    let machine = Machine::new(MAKEFILE);
    let (built, _) = machine.build("CONFIG_A", "place", true);
    assert!(matches!(built, Err(BuildError::Canceled)), "{built:?}");
    assert!(machine.cached().is_empty());
}

#[test]
fn a_cache_whose_path_has_a_space_is_refused() {
    let mut machine = Machine::new(MAKEFILE);
    machine.kernels = Kernels::in_folder(&machine.folder.path().join("my kernels"));
    let error = machine.build("CONFIG_A", "place", false).0.expect_err("make cannot read it").to_string();
    assert!(
        error.contains("my kernels: a kernel cannot be built in a folder whose path has a space"),
        "{error}"
    );
}
