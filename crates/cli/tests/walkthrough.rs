//! The commands that the documents show can be run as shown, and print what the documents show.
//!
//! Commands are shown in fenced blocks of the kind `console`:
//!
//! - A line that begins with `$ ` is a command. Lines that begin with `> ` continue it.
//! - The lines that follow are its output, both streams. A command without such lines must succeed.
//! - A line `...` stands for any number of lines of output.
//!
//! The commands of a document run in order, in one folder with a copy of the scenarios. A command
//! without `sudo` is deterministic, and its output must be exactly what is shown:
//! `LASTHOP_WRITE_DOCS=1` writes it into the document. A command with `sudo` needs root and runs in
//! real time: only the shape of its output must be as shown, with other numbers.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lasthop_needs::{namespaces, tests};
use tempfile::TempDir;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        []: every_command_that_is_shown_prints_what_is_shown,
            every_command_is_in_a_console_block,
            every_command_in_running_text_is_one_that_the_command_line_accepts,
            every_reason_not_to_run_a_command_is_in_use,
            a_wrong_document_is_found;
        [gnuplot]: every_plot_that_is_shown_is_drawn;
        [namespaces]: every_command_that_is_shown_with_sudo_prints_output_of_that_shape;
    })
}

fn gnuplot() -> Result<(), String> {
    lasthop_needs::program("gnuplot")
}

/// Commands that are shown and not run, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("make ", "builds, or runs this test"),
    ("cargo install ", "builds for minutes, and installs on this machine"),
    ("cargo test ", "is a test of its own"),
    ("RUSTC_BOOTSTRAP=1 cargo check ", "builds for minutes, and needs rust-src"),
    ("LASTHOP_WRITE_", "writes into the repository"),
    ("lasthop compare scenarios/access-point.toml", "takes minutes"),
    ("lasthop run scenarios/conference.toml", "takes minutes"),
    ("lasthop compare scenarios/cafe.toml", "takes more than 20 s, three times"),
    ("lasthop try scenarios/try-sessions.toml --predict", "takes a minute"),
    ("lasthop try scenarios/try-wifi-busy.toml", "takes minutes"),
    ("lasthop kernel build", "takes minutes"),
    ("lasthop emulate --time simulated", "needs a kernel built for user mode"),
    ("lasthop try scenarios/try.toml --time simulated", "needs a kernel built for user mode"),
    ("lasthop try scenarios/try-wifi.toml --time simulated", "needs a kernel built for user mode"),
    ("sudo lasthop try scenarios/try-sessions.toml", "takes a minute and a half"),
    ("sudo lasthop try scenarios/try-roaming.toml", "takes minutes"),
    ("sudo lasthop try scenarios/roaming.toml", "takes minutes"),
    ("sudo chrt -r 1 lasthop try scenarios/try-wifi", "takes minutes"),
    ("sudo lasthop emulate --rate 10mbit --delay 20ms --loss 1% -- curl", "needs a server on this machine"),
    ("sudo lasthop emulate --rate 20mbit:2mbit --delay 300ms", "is a shell"),
    ("sudo lasthop emulate scenarios/links/bursty-hop.toml", "needs a server on this machine"),
    ("sudo lasthop emulate set", "needs an emulation that runs"),
    ("sudo lasthop gateway status", "needs a gateway that runs"),
    ("sudo lasthop gateway flows", "needs a gateway that runs"),
    ("sudo lasthop gateway clients", "needs a gateway that runs"),
    ("sudo lasthop gateway top", "needs a gateway that runs"),
    ("sudo lasthop gateway gain", "needs a gateway that runs"),
    ("lasthop gateway gain --from flows.json", "needs the figures of a gateway"),
    ("lasthop compare my-hop.toml", "needs the figures of a gateway"),
    ("sudo lasthop gateway --check", "needs a wireless interface"),
    ("sudo lasthop gateway site-key", "changes this machine"),
    ("sudo scp ", "needs another machine"),
    ("sudo systemctl ", "changes this machine"),
    ("sudo apt ", "changes this machine"),
    ("sudo tar ", "changes this machine"),
    ("sudo mkdir ", "changes this machine"),
    ("sudo rm ", "changes this machine"),
    ("sudoedit ", "is an editor"),
    ("rustup ", "changes this machine"),
    ("tar -tzf ", "changes this machine"),
    ("lasthop gateway --print-default-config | sudo tee", "changes this machine"),
    ("lasthop man ~", "changes this machine"),
    ("lasthop completions bash >", "changes this machine"),
    ("cp -R /path/to/lasthop/packaging/openwrt ", "needs a build tree of OpenWrt"),
    ("./scripts/feeds ", "needs a build tree of OpenWrt"),
];

fn every_command_that_is_shown_prints_what_is_shown() {
    walk(|example| !example.needs_root() && !example.is_plot(), |_| true);
}

/// With the commands that make what is drawn.
fn every_plot_that_is_shown_is_drawn() {
    walk(|example| !example.needs_root(), Example::is_plot);
}

fn every_command_that_is_shown_with_sudo_prints_output_of_that_shape() {
    walk(|example| !example.is_plot(), Example::needs_root);
}

/// Runs the chosen commands of all documents in which one of them is wanted, each document in a
/// folder of its own.
fn walk(is_chosen: impl Fn(&Example) -> bool, is_wanted: impl Fn(&Example) -> bool) {
    let walk_one = |page: &PathBuf| {
        let text = read(page);
        let all = examples(&text);
        let chosen: Vec<_> =
            all.into_iter().filter(|it| it.reason_not_to_run().is_none() && is_chosen(it)).collect();
        if !chosen.iter().any(&is_wanted) {
            return Vec::new();
        }
        let folder = Folder::new();
        let mut wrong = Vec::new();
        let mut corrected: Vec<String> = text.lines().map(str::to_owned).collect();
        // From the first to the last, and then into the document from the last to the first.
        let outputs: Vec<Printed> = chosen.iter().map(|example| folder.run(&example.command)).collect();
        for (example, printed) in chosen.iter().zip(&outputs).rev() {
            if let Err(difference) = example.check(printed) {
                wrong.push(format!("{}:{}: {difference}", shown(page), example.line));
                let output = example.line + example.command.lines().count() - 1;
                corrected.splice(output..output + example.output.len(), example.abridged(printed));
            }
        }
        if !wrong.is_empty() && env::var_os("LASTHOP_WRITE_DOCS").is_some() {
            fs::write(page, corrected.join("\n") + "\n").expect("a writable repository");
        }
        wrong.reverse();
        wrong
    };
    let wrong: Vec<String> = pages().iter().flat_map(walk_one).collect();
    let advice = "LASTHOP_WRITE_DOCS=1 cargo test -p lasthop-cli --test walkthrough writes what is printed";
    assert!(wrong.is_empty(), "{}\n({advice})", wrong.join("\n"));
}

fn every_command_is_in_a_console_block() {
    const PROGRAMS: [&str; 5] = ["lasthop", "sudo", "cargo", "make", "target/release/lasthop"];
    let mut elsewhere = Vec::new();
    for page in pages() {
        let text = read(&page);
        for (line, words) in code_lines(&text) {
            let first = words.split_whitespace().next().unwrap_or_default();
            if PROGRAMS.contains(&first) {
                elsewhere.push(format!("{}:{line}: {words}", shown(&page)));
            }
        }
    }
    assert!(elsewhere.is_empty(), "commands outside of `console` blocks:\n{}", elsewhere.join("\n"));
}

fn every_command_in_running_text_is_one_that_the_command_line_accepts() {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for page in pages() {
        for span in code_spans(&read(&page)) {
            if let Err(error) = folder.accepts(&span) {
                wrong.push(format!("{}: `{span}`: {error}", shown(&page)));
            }
        }
        // What is too long to be run is read, at least.
        for example in examples(&read(&page)).iter().filter(|it| it.reason_not_to_run().is_some()) {
            let command = example.command.split_once("lasthop ").map(|(_, rest)| format!("lasthop {rest}"));
            if let Some(Err(error)) = command.map(|command| folder.accepts(&command)) {
                wrong.push(format!("{}:{}: {error}", shown(&page), example.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn every_reason_not_to_run_a_command_is_in_use() {
    let texts: Vec<String> = pages().iter().map(|page| read(page)).collect();
    let commands: Vec<String> =
        texts.iter().flat_map(|text| examples(text)).map(|example| example.command).collect();
    for (beginning, _) in NOT_RUN {
        assert!(
            commands.iter().any(|command| command.starts_with(beginning)),
            "nothing begins with {beginning:?}"
        );
    }
}

/// What the other tests rest on.
fn a_wrong_document_is_found() {
    let folder = Folder::new();
    let check = |text: &str| {
        let all = examples(text);
        all.iter().try_for_each(|example| example.check(&folder.run(&example.command)))
    };
    let right = "```console\n$ lasthop compare scenarios/first-look.toml --seeds 1 --schemes none |\n> grep -o 'timeouts'\ntimeouts\n```\n";
    assert_eq!(check(right), Ok(()));
    for (is, was) in [("timeout\n", "timeouts\n"), ("timeouts\nmore\n", "timeouts\n")] {
        let wrong = right.replace(was, is);
        assert!(check(&wrong).is_err_and(|error| error.contains("prints")), "{wrong}");
    }
    let unknown = "```console\n$ lasthop compare scenarios/first-look.toml --sedes 1\n```\n";
    assert!(check(unknown).is_err_and(|error| error.contains("--sedes")));
    let real_time = "```console\n$ sudo printf 'rate │ 2.34 ± 0.1\\n'\nrate │ 11.5 ± 3\n```\n";
    assert_eq!(check(real_time), Ok(()));
    assert!(check(&real_time.replace("\nrate", "\nratio")).is_err());
    assert!(folder.accepts("lasthop compare scenarios/cafe.toml --seeds N").is_ok());
    assert!(folder.accepts("lasthop compare scenarios/cafe.toml --sedes 1").is_err());
    assert!(folder.accepts("lasthop compare scenarios/coffee.toml").is_err());
}

/// A command, and what a document says that it prints.
struct Example {
    /// Where the command is in its document, from 1.
    line: usize,
    /// Its lines.
    command: String,
    output: Vec<String>,
}

/// What a command printed: its lines, or why it failed.
type Printed = Result<Vec<String>, String>;

impl Example {
    fn needs_root(&self) -> bool {
        self.command.starts_with("sudo ")
    }

    fn is_plot(&self) -> bool {
        self.command.starts_with("gnuplot ")
    }

    fn reason_not_to_run(&self) -> Option<&'static str> {
        let reason = NOT_RUN.iter().find(|(beginning, _)| self.command.starts_with(beginning));
        reason.map(|(_, reason)| *reason)
    }

    /// Whether the command printed what the document shows.
    fn check(&self, printed: &Printed) -> Result<(), String> {
        let lines = printed.as_ref().map_err(|failure| format!("{} {failure}", self.command))?;
        let shape = |line: &String| if self.needs_root() { shape(line) } else { line.trim_end().to_owned() };
        let is: Vec<String> = self.abridged(printed).iter().map(shape).collect();
        let shown: Vec<String> = self.output.iter().map(shape).collect();
        if self.output.is_empty() || is == shown {
            return Ok(());
        }
        Err(format!("{} prints\n{}\nand not what is shown", self.command, lines.join("\n")))
    }

    /// What was printed, with as many lines left out as the document leaves out.
    fn abridged(&self, printed: &Printed) -> Vec<String> {
        let Ok(lines) = printed else { return self.output.clone() };
        let Some(before) = self.output.iter().position(|line| line == "...") else { return lines.clone() };
        let after = self.output.len() - before - 1;
        if lines.len() < before + after {
            return lines.clone();
        }
        let (head, tail) = (&lines[..before], &lines[lines.len() - after..]);
        [head, &["...".to_owned()], tail].concat()
    }
}

/// A line with its numbers, and what aligns them, made the same.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    // Whether a row is trusted depends on the machine.
    let words = line.split(' ').filter(|word| !word.starts_with('!'));
    for c in words.collect::<Vec<_>>().join(" ").chars() {
        let kept = match c {
            '0'..='9' | '.' | ',' | '-' | '─' | '═' | '=' if shape.ends_with('N') && c != '=' => continue,
            '0'..='9' => 'N',
            c => c,
        };
        if !(matches!(kept, ' ' | '─' | '═') && shape.ends_with(kept)) {
            shape.push(kept);
        }
    }
    shape.trim_end().to_owned()
}

/// The commands in `console` blocks.
fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            is_console = !is_console && kind == "console";
        } else if !is_console {
        } else if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { line: index + 1, command: command.to_owned(), output: Vec::new() });
        } else {
            let example =
                examples.last_mut().unwrap_or_else(|| panic!("{}: output before a command", index + 1));
            match line.strip_prefix("> ").filter(|_| example.output.is_empty()) {
                Some(more) => {
                    example.command.push('\n');
                    example.command.push_str(more);
                }
                None => example.output.push(line.to_owned()),
            }
        }
    }
    examples
}

/// The lines of code blocks other than `console` and of files, with their numbers.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut block = None;
    let mut above = "";
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        match (block, trimmed.strip_prefix("```")) {
            (None, Some(kind)) => block = Some(kind),
            (Some(_), Some(_)) => block = None,
            (Some(""), None) => lines.push((index + 1, line)),
            // An indented block stands alone; indented lines below others continue a list.
            (None, None) if line.starts_with("    ") && above.is_empty() => lines.push((index + 1, line)),
            _ => {}
        }
        above = trimmed;
    }
    lines
}

/// What stands between backquotes and begins with the command.
fn code_spans(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut running = String::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && !line.trim_start().starts_with("```") {
            running += line.trim_start();
            running.push(' ');
        }
    }
    let spans = running.split('`').skip(1).step_by(2);
    let commands = spans.map(|span| span.trim_start_matches("sudo ").trim_start_matches("chrt -r 1 "));
    commands.filter(|span| span.starts_with("lasthop ")).map(str::to_owned).collect()
}

/// A folder with copies of the scenarios, and a path on which `lasthop` is the binary under test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        let work = folder.path().join("work");
        for kept in ["scenarios", "packaging", "docs/plots"] {
            copy(&repository().join(kept), &work.join(kept));
        }
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_lasthop"), programs.join("lasthop")).expect("a link");
        Self(folder)
    }

    fn run(&self, shown: &str) -> Printed {
        let command = shown
            .trim_start_matches("sudo ")
            .replace("cargo run --release -- ", "lasthop ")
            .replace("target/release/lasthop ", "lasthop ");
        let paths = env::var("PATH").expect("a path");
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.0.path().join("work"))
            .env("PATH", format!("{}:{paths}", self.0.path().join("bin").display()))
            .env_remove("COLUMNS")
            .output()
            .expect("sh starts");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        if !output.status.success() {
            return Err(format!("ends with {}:\n{text}", output.status));
        }
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Whether the files of a command are there, and its arguments have meanings.
    fn accepts(&self, command: &str) -> Result<(), String> {
        let command = command.split([';', '|', '>', '<', '&']).next().unwrap_or_default();
        let command = command.split(" -- ").next().unwrap_or_default().replace("...", "");
        for file in command.split_whitespace().filter(|word| word.starts_with("scenarios/")) {
            if !self.0.path().join("work").join(file).exists() {
                return Err(format!("there is no {file}"));
            }
        }
        let numbered = ["--seeds", "--seed", "--jobs"].iter().fold(command, |command, flag| {
            ["N", "SEED"].iter().fold(command, |command, name| {
                command.replace(&format!("{flag} {name}"), &format!("{flag} 1"))
            })
        });
        // Help is printed only if what stands before it is understood.
        self.run(&format!("{numbered} --help")).map(|_| ())
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, &copied).expect("a copy");
        }
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn shown(page: &Path) -> String {
    page.strip_prefix(repository()).expect("a page of it").display().to_string()
}

/// All documents for users.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    pages.extend(["docs/src", "scenarios"].iter().flat_map(|folder| markdown_in(&repository().join(folder))));
    pages.sort();
    pages
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => markdown_in(&path),
            Some("md") => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}
