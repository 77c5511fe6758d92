//! The manual pages and the completions, by the programs that read them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};

use tempfile::TempDir;

fn main() -> ExitCode {
    lasthop_needs::run(lasthop_needs::tests! {
        []: every_command_has_a_page, the_configuration_has_every_key_in_its_page,
            pages_that_cannot_be_written_are_refused, pages_of_before_stay_unless_they_may_be_replaced,
            no_line_of_help_is_wider_than_the_terminal;
        [groff]: groff_formats_the_pages_without_a_warning;
        [mandoc]: mandoc_finds_no_error_in_the_pages;
        [bash]: bash_reads_and_completes;
        [zsh]: zsh_reads_the_completions;
        [fish]: fish_reads_and_completes;
    })
}

fn groff() -> Result<(), String> {
    lasthop_needs::program("groff")
}

fn mandoc() -> Result<(), String> {
    lasthop_needs::program("mandoc")
}

fn bash() -> Result<(), String> {
    lasthop_needs::program("bash")
}

fn zsh() -> Result<(), String> {
    lasthop_needs::program("zsh")
}

fn fish() -> Result<(), String> {
    lasthop_needs::program("fish")
}

fn every_command_has_a_page() {
    let (_folder, pages) = pages();
    let there: BTreeSet<String> =
        pages.iter().map(|page| page.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    let mut expected = BTreeSet::from(["lasthop.1".to_owned(), "lasthop-gateway.toml.5".to_owned()]);
    for command in commands_in_the_help_of(&[]) {
        expected.insert(format!("lasthop-{command}.1"));
        for part in commands_in_the_help_of(&[&command]) {
            expected.insert(format!("lasthop-{command}-{part}.1"));
        }
    }
    assert!(expected.contains("lasthop-gateway-status.1"), "{expected:?}");
    assert_eq!(there, expected);
}

fn the_configuration_has_every_key_in_its_page() {
    let (_folder, pages) = pages();
    let page = pages.iter().find(|page| page.ends_with("lasthop-gateway.toml.5")).expect("the page");
    let text = fs::read_to_string(page).expect("UTF-8").replace("\\-", "-");
    let file = text_of(lasthop(&["gateway", "--print-default-config"]));
    let keys: Vec<&str> = file
        .lines()
        .filter_map(|line| Some(line.trim_start_matches('#').split_once(" = ")?.0))
        .filter(|key| key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'))
        .collect();
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        assert!(text.contains(&format!("\\fB{key}\\fR")), "{key} is not in the page");
    }
}

fn pages_that_cannot_be_written_are_refused() {
    let folder = TempDir::new().expect("a temporary directory");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    let output = lasthop(&["man", &file.to_string_lossy()]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&*file.to_string_lossy()) && message.contains("cannot write"), "{message}");
}

fn pages_of_before_stay_unless_they_may_be_replaced() {
    let (folder, pages) = pages();
    let own = folder.path().join("man1/lasthop-run.1");
    fs::write(&own, "a page from elsewhere").expect("a file");
    let gone = pages.iter().find(|page| page.ends_with("man1/lasthop-compare.1")).expect("its page");
    fs::remove_file(gone).expect("a file");
    let output = lasthop(&["man", &folder.path().to_string_lossy()]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("this file exists; expected another name, or --overwrite"), "{message}");
    assert_eq!(fs::read(&own).expect("a file"), b"a page from elsewhere");
    assert!(!gone.exists(), "all pages or none");
    text_of(lasthop(&["man", "--overwrite", &folder.path().to_string_lossy()]));
    assert!(gone.exists() && fs::read(&own).expect("a file") != b"a page from elsewhere");
}

fn no_line_of_help_is_wider_than_the_terminal() {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    for command in commands_in_the_help_of(&[]) {
        let parts = commands_in_the_help_of(&[&command]);
        commands.extend(parts.into_iter().map(|part| vec![command.clone(), part]));
        commands.push(vec![command]);
    }
    for command in commands {
        for (flag, columns) in [("-h", 60), ("-h", 80), ("--help", 60), ("--help", 80)] {
            let mut lasthop = Command::new(env!("CARGO_BIN_EXE_lasthop"));
            let help = lasthop.args(&command).arg(flag).env("COLUMNS", columns.to_string()).output();
            let help = text_of(help.expect("the command starts"));
            // Examples are lines to copy, which are not folded.
            let is_wide = |line: &&str| line.chars().count() > columns && !line.starts_with("  lasthop ");
            let wide: Vec<&str> = help.lines().filter(is_wide).collect();
            assert!(wide.is_empty(), "{command:?} {flag} in {columns} columns: {wide:?}");
        }
    }
}

fn groff_formats_the_pages_without_a_warning() {
    let (_folder, pages) = pages();
    for page in pages {
        let output = Command::new("groff").args(["-man", "-ww", "-z"]).arg(&page).output().expect("groff");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
    }
}

fn mandoc_finds_no_error_in_the_pages() {
    let (_folder, pages) = pages();
    let output = Command::new("mandoc").args(["-Tlint", "-Werror"]).args(pages).output().expect("mandoc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn bash_reads_and_completes() {
    // What bash does when a user presses the tabulator after these words.
    let question =
        "COMP_WORDS=(lasthop gateway st) COMP_CWORD=2; _lasthop lasthop st gateway; echo ${COMPREPLY[@]}";
    let script = text_of(lasthop(&["completions", "bash"])) + question;
    assert_eq!(output_of(Command::new("bash"), &script).trim(), "status");
}

fn zsh_reads_the_completions() {
    let mut zsh = Command::new("zsh");
    zsh.arg("-n");
    output_of(zsh, &text_of(lasthop(&["completions", "zsh"])));
}

fn fish_reads_and_completes() {
    let question = "complete --do-complete 'lasthop gateway st'";
    let script = text_of(lasthop(&["completions", "fish"])) + question;
    let said = output_of(Command::new("fish"), &script);
    assert!(said.starts_with("status\t"), "{said}");
}

/// The pages in a folder of their own, which is removed with the first value.
fn pages() -> (TempDir, Vec<PathBuf>) {
    let folder = TempDir::new().expect("a temporary directory");
    text_of(lasthop(&["man", &folder.path().to_string_lossy()]));
    let files_in = |name: &str| fs::read_dir(folder.path().join(name)).expect("a section of the manual");
    let pages = ["man1", "man5"].into_iter().flat_map(files_in);
    let pages = pages.map(|entry| entry.expect("an entry").path()).collect();
    (folder, pages)
}

fn commands_in_the_help_of(words: &[&str]) -> Vec<String> {
    let help = text_of(lasthop(&[words, &["--help"]].concat()));
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn lasthop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lasthop")).args(arguments).output().expect("the command starts")
}

fn text_of(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Standard output of a shell that reads a script and has nothing to complain about.
fn output_of(mut shell: Command, script: &str) -> String {
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = shell.spawn().expect("the shell");
    shell.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    let output = shell.wait_with_output().expect("it ends");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{complaint}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
