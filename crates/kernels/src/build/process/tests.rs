use std::fs;
use std::thread;

use tempfile::TempDir;

use super::*;

fn folder() -> (TempDir, Folder) {
    let cache = TempDir::new().expect("a temporary directory");
    let folder = Folder::create(cache.path()).expect("a folder");
    (cache, folder)
}

fn shell(folder: &Folder, script: &str) -> Command {
    let mut shell = program("sh", folder);
    shell.args(["-c", script]);
    shell
}

#[test]
fn the_lines_of_both_streams_are_handed_over_and_kept() {
    let (_cache, folder) = folder();
    let stop = AtomicBool::new(false);
    let mut lines = Vec::new();
    let script = "echo one; echo two >&2; printf '%02000d\\n' 0; printf end";
    let process = Process::new(&folder, &stop);
    process.run_with(shell(&folder, script), &mut |line| lines.push(line.to_owned())).expect("a success");
    assert_eq!(lines, ["one", "two", &"0".repeat(LONGEST_LINE)]);
    assert!(fs::read_to_string(folder.log()).expect("a log").ends_with("0\nend"));
}

#[test]
fn a_program_that_fails_is_reported_with_its_errors_or_its_last_lines() {
    let (_cache, folder) = folder();
    let stop = AtomicBool::new(false);
    let run = |script: &str| {
        let outcome = Process::new(&folder, &stop).run(shell(&folder, script));
        outcome.expect_err("it fails").to_string()
    };
    let long = run("for i in 1 2 3 4 5 6 7 8; do echo $i; done; exit 2");
    assert_eq!(long, "sh failed:\n  3\n  4\n  5\n  6\n  7\n  8");
    assert_eq!(run("echo a.c:1: error: no; echo make: Error 1; exit 2"), "sh failed:\n  a.c:1: error: no");
    let absent = Process::new(&folder, &stop).run(program("absent-program", &folder));
    assert!(absent.expect_err("it is absent").to_string().starts_with("cannot run absent-program: "));
}

#[test]
fn a_request_to_stop_ends_the_program_and_its_children() {
    let (_cache, folder) = folder();
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut on_line = |_: &str| stop.store(true, Ordering::Relaxed);
            Process::new(&folder, &stop).run_with(shell(&folder, "sleep 1000 & echo go; wait"), &mut on_line)
        });
        running.join().expect("no panic")
    });
    // The output has ended, so no process has it open any more.
    assert!(matches!(outcome, Err(ProcessError::Canceled)), "{outcome:?}");
}

#[test]
fn a_program_reads_what_the_one_before_it_writes_and_its_failure_counts() {
    let (_cache, folder) = folder();
    let stop = AtomicBool::new(false);
    let process = Process::new(&folder, &stop);
    let shell = |script: &str| shell(&folder, script);
    process.run_after(Some(shell("echo text")), shell("cat > it")).expect("a success");
    assert_eq!(fs::read_to_string(folder.source().join("it")).expect("a file"), "text\n");
    assert!(process.run_after(Some(shell("exit 1")), shell("cat")).is_err());
    assert!(process.run_after(Some(shell("exit 0")), shell("exit 1")).is_err());
}

#[test]
fn a_program_gets_little_of_the_environment() {
    let (_cache, folder) = folder();
    let stop = AtomicBool::new(false);
    let mut names = Vec::new();
    let process = Process::new(&folder, &stop);
    let mut on_line = |line: &str| names.extend(line.split_once('=').map(|(name, _)| name.to_owned()));
    process.run_with(program("env", &folder), &mut on_line).expect("a success");
    names.sort();
    assert_eq!(names, ["HOME", "LC_ALL", "PATH", "TMPDIR"]);
}
