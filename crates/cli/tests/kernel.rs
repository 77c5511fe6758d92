//! `lasthop kernel`: what needs no source of a kernel.

mod answer;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A user with a cache of his own.
struct User {
    folder: TempDir,
    path: std::ffi::OsString,
}

impl User {
    fn new() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self { folder: TempDir::new().expect("a temporary directory"), path }
    }

    /// A user who has only these programs of this machine.
    fn with_programs(programs: &[&str]) -> Self {
        let user = Self::new();
        let own = user.folder.path().join("bin");
        fs::create_dir(&own).expect("a folder");
        for program in programs {
            let folders = std::env::split_paths(&user.path);
            let file = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
            // The name is what is looked at.
            symlink(file.unwrap_or_else(|| "/bin/sh".into()), own.join(program)).expect("a link");
        }
        Self { path: own.into(), ..user }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .arg("kernel")
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.folder.path())
            .env("PATH", &self.path)
            .env_remove("COLUMNS")
            .output()
            .expect("the command starts")
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        answer::succeeded(arguments, &self.run(arguments))
    }

    fn refuse(&self, arguments: &[&str]) -> String {
        answer::refused(arguments, &self.run(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.succeed(arguments)).expect("one JSON document")
    }

    fn kernels(&self) -> PathBuf {
        self.folder.path().join("lasthop/kernels")
    }

    /// Puts a kernel of other options and edits than today's into the cache.
    fn has(&self, version: &str) {
        let folder = self.kernels().join(format!("{version}-00000001-00000002"));
        fs::create_dir_all(&folder).expect("a folder");
        let record = json!({
            "version": version, "options": "00000001", "edits": "00000002", "edits_left_out": [],
            "source": "/usr/src/linux.tar.xz", "compiler": "gcc 12", "octets": 1_500_000, "objects": 2_000,
            "built_unix_s": 0,
        });
        fs::write(folder.join("kernel.json"), record.to_string()).expect("a file in it");
        fs::write(folder.join("linux"), "ELF").expect("a file in it");
    }
}

/// A source as far as it is looked at before anything is copied.
fn source_in(folder: &Path) -> &'static str {
    for file in ["Makefile", "Kconfig", "arch/um/Makefile", "kernel/fork.c"] {
        let path = folder.join("source").join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n").expect("a file in it");
    }
    "source"
}

#[test]
fn kernels_are_listed_with_what_has_changed_and_removed_by_version() {
    let user = User::new();
    assert!(user.succeed(&["list"]).contains("`lasthop kernel build` builds one"));
    assert_eq!(user.json(&["list", "--json"]), json!([]));
    for version in ["6.12.9", "6.12.117", "6.1.192"] {
        user.has(version);
    }
    let list = user.json(&["list", "--json"]);
    let versions: Vec<&Value> = list.as_array().expect("an array").iter().map(|it| &it["version"]).collect();
    assert_eq!(versions, ["6.1.192", "6.12.9", "6.12.117"]);
    assert_eq!((&list[0]["is_current"], &list[0]["options_changed"]), (&json!(false), &json!(true)));
    assert!(Path::new(list[0]["path"].as_str().expect("a path")).is_file());
    let table = user.succeed(&["list"]);
    assert!(table.contains("to build again: other options and edits") && table.contains("1.5"), "{table}");

    assert_eq!(
        user.json(&["remove", "6.12.9", "--json"]),
        json!({ "removed": ["6.12.9"], "octets": 1_500_000 })
    );
    let message = user.refuse(&["remove", "6.12.9"]);
    assert!(
        message.contains("no kernel 6.12.9 is in ") && message.contains("has 6.1.192, 6.12.117"),
        "{message}"
    );
    assert_eq!(user.succeed(&["remove", "6.12"]), "1 kernel removed, 1.5 MB\n");
    fs::create_dir_all(user.kernels().join(".build-killed/source")).expect("a folder");
    assert_eq!(user.succeed(&["remove", "all"]), "1 kernel removed, 1.5 MB\n");
    assert_eq!(fs::read_dir(user.kernels()).expect("a folder").count(), 0);
    assert_eq!(user.succeed(&["remove", "all"]), "0 kernels removed, 0.0 MB\n");
}

#[test]
fn what_is_neither_version_nor_source_is_refused() {
    let user = User::new();
    let message = user.refuse(&["build", "absent"]);
    assert!(
        message.contains("absent: No such file or directory; expected the version of a kernel"),
        "{message}"
    );
    let message = user.refuse(&["build", "."]);
    assert!(message.contains("expected the source of a kernel that can be built for user mode"), "{message}");
    let message = user.refuse(&["remove", "new"]);
    assert!(message.contains("expected one such as 6.12 or 6.12.117, or all"), "{message}");
}

#[test]
fn a_machine_without_a_tool_is_told_which_before_anything_is_unpacked() {
    let user = User::with_programs(&["gcc", "ld", "make", "bison", "bc", "tar"]);
    let source = source_in(user.folder.path());
    let message = user.refuse(&["build", source]);
    assert!(message.contains("requires flex, which this machine does not have"), "{message}");
    assert!(message.trim_end().ends_with("sudo apt install flex"), "{message}");
    assert!(!user.kernels().exists(), "nothing is created");
}

#[test]
fn a_cache_that_is_nowhere_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args(["kernel", "list"]).env_remove("HOME").env_remove("XDG_CACHE_HOME");
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("XDG_CACHE_HOME or HOME"));
}
