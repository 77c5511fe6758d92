use tempfile::TempDir;

use super::*;

const MAKEFILE: &str = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n";

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

/// A folder with empty files of these names.
fn folder(names: &[&str]) -> TempDir {
    let folder = TempDir::new().expect("a temporary directory");
    for name in names {
        fs::write(folder.path().join(name), "").expect("a file in it");
    }
    folder
}

/// A kernel's source as far as it is looked at.
fn kernel_in(folder: &Path) {
    for file in ["Makefile", "Kconfig", "arch/um/Makefile", "kernel/fork.c"] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, if file == "Makefile" { MAKEFILE } else { "" }).expect("a file in it");
    }
}

fn name_of_installed(folder: &TempDir, wanted: Option<&str>) -> Option<String> {
    let source = Source::installed(folder.path(), wanted.map(version).as_ref()).expect("no error");
    source.map(|source| source.path().file_name().expect("a name").to_string_lossy().into_owned())
}

#[test]
fn the_newest_source_of_a_folder_is_taken_unless_a_series_is_wanted() {
    let sources = folder(&[
        "linux-source-6.1.tar.xz",
        "linux-source-6.12.tar.xz",
        "linux-source-6.8.0.tar.bz2",
        "linux-6.12.3-own.tgz",
        "linux-config-6.18.tar.xz",
        "linux-source-6.19.deb",
        "linux-source-next.tar.xz",
    ]);
    fs::create_dir(sources.path().join("linux-headers-6.20.0")).expect("a folder");
    fs::create_dir(sources.path().join("linux-6.20.0")).expect("a folder without a kernel");
    let of = |wanted| name_of_installed(&sources, wanted);
    assert_eq!(of(None).as_deref(), Some("linux-6.12.3-own.tgz"));
    assert_eq!(of(Some("6.1")).as_deref(), Some("linux-source-6.1.tar.xz"));
    assert_eq!(of(Some("6.8.12")).as_deref(), Some("linux-source-6.8.0.tar.bz2"), "its name has the series");
    kernel_in(&sources.path().join("linux-6.20.0"));
    assert_eq!(of(None).as_deref(), Some("linux-6.20.0"));
}

#[test]
fn a_series_that_no_source_has_is_refused_with_those_that_there_are() {
    let sources = folder(&["linux-source-6.1.tar.xz", "linux-source-6.12.tar.xz"]);
    let error = Source::installed(sources.path(), Some(&version("6.9"))).expect_err("no such source");
    let text = error.to_string();
    assert!(
        text.starts_with("no source of kernel 6.9 is in ") && text.contains("which has 6.1, 6.12;"),
        "{text}"
    );
    assert_eq!(name_of_installed(&folder(&[]), Some("6.9")), None);
    let absent = sources.path().join("absent");
    assert!(Source::installed(&absent, None).expect("no error").is_none());
}

#[test]
fn a_path_is_a_folder_with_a_kernel_or_an_archive() {
    let folder = folder(&["a.tar.xz", "a.zip"]);
    let at = |name: &str| Source::at(&folder.path().join(name)).map_err(|error| error.to_string());
    assert_eq!(at("a.tar.xz").expect("an archive").unpacker(), Some("xz"));
    assert!(at("a.zip").expect_err("no archive").contains("expected a name that ends in .tar"));
    assert!(at("absent").expect_err("nothing").contains("No such file or directory"));
    assert!(at("").expect_err("no kernel").contains("expected the source of a kernel"));
    kernel_in(folder.path());
    assert_eq!(at("").expect("a kernel").unpacker(), None);
}

#[test]
fn the_version_is_read_from_a_folder_and_from_an_archive_and_is_the_wanted_one() {
    let folder = folder(&[]);
    let kernel = folder.path().join("linux");
    kernel_in(&kernel);
    let archive = folder.path().join("linux.tar");
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&archive).arg("-C").arg(folder.path()).arg("linux");
    assert!(tar.status().expect("tar").success());
    for path in [kernel, archive] {
        let source = Source::at(&path).expect("a source");
        assert_eq!(source.version(None).expect("a version"), version("6.12.117"));
        assert!(source.version(Some(&version("6.12"))).is_ok());
        let error = source.version(Some(&version("6.12.118"))).expect_err("another");
        assert!(error.to_string().ends_with("expected kernel 6.12.118; this is 6.12.117"), "{error}");
    }
}

#[test]
fn an_archive_without_a_makefile_is_not_a_kernel() {
    let folder = folder(&["a.tar"]);
    let source = Source::at(&folder.path().join("a.tar")).expect("an archive");
    let error = source.version(None).expect_err("it is empty");
    assert!(error.to_string().contains("expected the source of a kernel"), "{error}");
}
