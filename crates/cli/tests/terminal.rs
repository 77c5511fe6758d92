//! What the command prints on a terminal.

use std::process::{Command, ExitCode};

use lasthop_needs::tests;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [script]: results_on_a_terminal_are_plain_text;
        [script]: help_is_plain_text_if_the_user_wants_it;
        [script]: the_variable_columns_overrides_the_width_of_the_terminal;
    })
}

/// `script` of util-linux runs a command on a terminal of its own.
fn script() -> Result<(), String> {
    lasthop_needs::program("script")
}

const ESCAPE: char = '\u{1b}';

/// What a command prints on a terminal, with these variables in its environment.
fn on_a_terminal(arguments: &str, variables: &[(&str, &str)]) -> String {
    // Progress is shown on standard error, where it may be anything.
    let command = format!("{} {arguments} 2>/dev/null", env!("CARGO_BIN_EXE_lasthop"));
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        // The library for help has colors in CI, whatever the terminal can do.
        .env_remove("CI")
        .env("TERM", "xterm-256color")
        .envs(variables.iter().copied())
        .output()
        .expect("it is installed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && !text.is_empty(), "{command}: {text}");
    text
}

fn results_on_a_terminal_are_plain_text() {
    for arguments in ["compare small.toml --seeds 1", "run small.toml", "schemes", "schemes snoop"] {
        let text = on_a_terminal(arguments, &[]);
        assert!(!text.contains(ESCAPE), "{arguments}: {text:?}");
    }
}

fn help_is_plain_text_if_the_user_wants_it() {
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for arguments in ["--help", "compare --help"] {
            let text = on_a_terminal(arguments, &[variable]);
            assert!(!text.contains(ESCAPE), "{variable:?}: {arguments}: {text:?}");
        }
    }
}

fn the_variable_columns_overrides_the_width_of_the_terminal() {
    let widest = |columns| {
        let text = on_a_terminal("schemes", &[("COLUMNS", columns)]);
        text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or_default()
    };
    assert!((91..=100).contains(&widest("100")) && widest("150") > 130);
}
