//! Compiles the BPF programs, if there is a clang. Without one the crate is whole but for its tc backend, which says so when it is asked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = "bpf/divert.bpf.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=LASTHOP_NO_BPF");
    println!("cargo::rerun-if-env-changed=CLANG");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("divert.bpf.o");
    let reason = if env::var_os("LASTHOP_NO_BPF").is_some() {
        "LASTHOP_NO_BPF was set".to_owned()
    } else {
        match compile(&object) {
            Ok(()) => String::new(),
            Err(reason) => {
                println!("cargo::warning=no tc backend in this build: {reason}");
                watch_for_clang();
                reason
            }
        }
    };
    if !reason.is_empty() {
        fs::write(&object, []).expect("the output directory is writable");
    }
    println!("cargo::rustc-env=LASTHOP_BPF_MISSING={reason}");
}

/// Has the next build try again once anything was installed.
fn watch_for_clang() {
    let path = env::var_os("PATH").unwrap_or_default();
    for directory in env::split_paths(&path).filter(|directory| directory.is_dir()) {
        println!("cargo::rerun-if-changed={}", directory.display());
    }
}

/// Compiles to `object`; the error is one line.
fn compile(object: &Path) -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let big = env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|endian| endian == "big");
    let output = Command::new(&clang)
        .args(["-target", if big { "bpfeb" } else { "bpfel" }])
        // The oldest instruction set: every kernel that has the rest runs it.
        .args(["-mcpu=v1", "-O2", "-Wall", "-Werror", "-ffreestanding", "-c", SOURCE, "-o"])
        .arg(object)
        .output()
        .map_err(|error| format!("{clang} could not be started ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let first = message.lines().find(|line| line.contains("error")).unwrap_or("no message");
    Err(format!("{clang} failed: {first}"))
}
