//! A shell behind a hop says so in its prompt.

use std::path::Path;
use std::process::Command;

/// Before the prompt that fish has after its start-up files, to which the status of the last command
/// is handed on. LABEL stands for the label.
const FISH: &str = "functions --copy fish_prompt lasthop_prompt
function lasthop_status; return $argv[1]; end
function fish_prompt
    set --local last $status
    printf '[%s] ' 'LABEL'
    lasthop_status $last
    lasthop_prompt
end";

/// Tells an interactive shell to show `label` in its prompt: before the prompt of bash, sh and fish,
/// at the right margin of zsh. A start-up file of the user's may set another prompt and so hide it.
pub fn announce(command: &mut Command, label: &str) {
    let label = harmless(label);
    let shell = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    match shell.to_str().unwrap_or_default() {
        // Bash runs this after its start-up files and before its first prompt.
        "bash" => {
            command.env("PROMPT_COMMAND", format!("PS1=\"[{label}] $PS1\"; unset PROMPT_COMMAND"));
        }
        "sh" | "dash" | "ash" | "ksh" | "mksh" => {
            command.env("PS1", format!("[{label}] $ "));
        }
        "zsh" => {
            command.env("RPROMPT", format!("[{}]", label.replace('%', "%%")));
        }
        "fish" => {
            command.args(["--init-command", &FISH.replace("LABEL", &label)]);
        }
        _ => {}
    }
}

/// The label without the characters that a shell would expand.
fn harmless(label: &str) -> String {
    let is_harmless = |letter: char| letter.is_alphanumeric() || " .,:%/_+-".contains(letter);
    label.chars().map(|letter| if is_harmless(letter) { letter } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_shell_runs_nothing_that_a_label_contains() {
        let mut command = Command::new("/bin/bash");
        announce(&mut command, "loss 1%, $(reboot)`x`\"\\");
        let value = command.get_envs().find_map(|(name, value)| (name == "PROMPT_COMMAND").then_some(value));
        let value = value.flatten().and_then(OsStr::to_str).expect("it is set");
        assert_eq!(value, "PS1=\"[loss 1%, ??reboot??x???] $PS1\"; unset PROMPT_COMMAND");
    }
}
