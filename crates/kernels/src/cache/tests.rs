use tempfile::TempDir;

use super::*;
use crate::edit::Edit;
use crate::options::Options;

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

fn cache() -> (TempDir, Kernels) {
    let folder = TempDir::new().expect("a temporary directory");
    let kernels = Kernels::in_folder(&folder.path().join("kernels"));
    (folder, kernels)
}

/// Puts a kernel into the cache, as a build does at its end.
fn put(kernels: &Kernels, text: &str, recipe: &Recipe) -> Kernel {
    let findings = Findings {
        edits_left_out: vec!["old".to_owned()],
        compiler: "gcc 12".to_owned(),
        octets: 3,
        objects: 2_000,
        built_unix_s: 7,
    };
    let record = Record::new(version(text), recipe, Path::new("/usr/src/linux.tar"), findings);
    let folder = kernels.folder().join(record.name_of_folder());
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(KERNEL), "ELF").expect("a file in it");
    fs::write(folder.join(RECORD), serde_json::to_string(&record).expect("JSON")).expect("a file in it");
    Kernel::new(folder, record)
}

/// A recipe with other options and edits than ours.
fn other_recipe() -> Recipe {
    let edit =
        "reason = \"Why.\"\nfiles = [\"a\"]\n[[changes]]\nline = [\"a\"]\nreplace = \"a\"\nwith = \"b\"\n";
    let options = Options::parse("# Why.\nCONFIG_A=y\n").expect("options");
    Recipe::new(options, vec![Edit::parse("it", edit).expect("an edit")])
}

#[test]
fn a_kernel_is_found_as_it_was_put_in_until_it_is_removed() {
    let (_folder, kernels) = cache();
    assert_eq!(kernels.list().expect("an empty cache"), []);
    let kernel = put(&kernels, "6.12.117", &Recipe::ours());
    for wanted in [None, Some("6.12"), Some("6.12.117")] {
        let found = kernels.find(wanted).expect("it is there");
        assert_eq!(found, kernel);
        assert!(found.path().is_file());
    }
    kernels.remove(&kernel).expect("it is there");
    assert_eq!(kernels.list().expect("an empty cache"), []);
}

#[test]
fn a_kernel_by_its_path_has_a_name_if_it_was_built_here() {
    let (folder, kernels) = cache();
    let kernel = put(&kernels, "6.1.192", &other_recipe());
    let found = Kernel::of_file(&kernel.path()).expect("it has a record");
    assert_eq!((found.name(), &found), (kernel.record().name_of_folder(), &kernel));
    let other = folder.path().join("linux");
    fs::write(&other, "ELF").expect("a file");
    assert_eq!(Kernel::of_file(&other), None);
    assert_eq!(Kernel::of_file(&folder.path().join("none")), None);
}

#[test]
fn the_newest_kernel_of_what_is_wanted_is_found() {
    let (_folder, kernels) = cache();
    for text in ["6.12.9", "6.12.117", "6.1.192"] {
        put(&kernels, text, &Recipe::ours());
    }
    let find = |wanted| kernels.find(wanted).expect("it is there").record().version().to_string();
    assert_eq!(
        [find(None), find(Some("6.12")), find(Some("6.12.9")), find(Some("6.1"))],
        ["6.12.117", "6.12.117", "6.12.9", "6.1.192"]
    );
}

#[test]
fn a_kernel_that_is_not_there_is_refused_with_the_command_that_builds_it() {
    let (_folder, kernels) = cache();
    let find = |wanted| kernels.find(wanted).expect_err("none is there").to_string();
    assert!(find(None).contains("`lasthop kernel build`"));
    assert!(
        find(Some("6.12")).contains("no user-mode kernel 6.12 in ")
            && find(Some("6.12")).contains("build 6.12`")
    );
    assert!(find(Some("new")).contains("expected one such as 6.12"));
}

#[test]
fn a_kernel_of_other_options_or_edits_is_listed_and_not_run() {
    let (_folder, kernels) = cache();
    put(&kernels, "6.12.117", &other_recipe());
    let error = kernels.find(None).expect_err("it is outdated").to_string();
    assert!(
        error.contains("kernel 6.12.117 was built with other") && error.contains("build 6.12`"),
        "{error}"
    );
    let listed = kernels.list().expect("a cache");
    assert_eq!(listed[0].changed(&Recipe::ours()), Changed { options: true, edits: true });
    let current = put(&kernels, "6.12.9", &Recipe::ours());
    assert_eq!(kernels.find(Some("6.12")).expect("an older one"), current);
}

#[test]
fn what_is_not_a_complete_kernel_is_passed_over() {
    let (_folder, kernels) = cache();
    let kernel = put(&kernels, "6.12.117", &Recipe::ours());
    let renamed = kernels.folder().join("6.12.118-00000000-00000000");
    fs::rename(&kernel.folder, &renamed).expect("its folder");
    assert_eq!(kernels.list().expect("a cache"), [], "a name of another kernel");
    fs::rename(&renamed, kernels.folder().join(".build-1")).expect("its folder");
    assert_eq!(kernels.list().expect("a cache"), [], "a build");
    let without = put(&kernels, "6.1.1", &Recipe::ours());
    fs::remove_file(without.path()).expect("the kernel");
    let damaged = put(&kernels, "6.1.2", &Recipe::ours());
    fs::write(damaged.folder.join(RECORD), "{}").expect("its record");
    assert_eq!(kernels.list().expect("a cache"), []);
}

#[test]
fn the_cache_is_where_the_environment_says() {
    let of = |xdg: Option<&str>, home: Option<&str>| cache_of_user(xdg.map(Into::into), home.map(Into::into));
    assert_eq!(of(Some("/c"), Some("/h")), Some("/c".into()));
    assert_eq!(of(None, Some("/h")), Some("/h/.cache".into()));
    assert_eq!(of(Some("c"), Some("/h")), Some("/h/.cache".into()));
    assert_eq!(of(Some(""), None), None);
}
