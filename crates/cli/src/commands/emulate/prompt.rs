//! The prompt of a shell on the client side of a hop, which shows the link.

use std::path::Path;
use std::process::Command;

/// Commands for fish that put the label (LABEL) before the prompt of its start-up files, and keep
/// the status of the last command for that prompt.
const FISH: &str = "functions --copy fish_prompt lasthop_prompt
function lasthop_status; return $argv[1]; end
function fish_prompt
    set --local last $status
    printf '[%s] ' 'LABEL'
    lasthop_status $last
    lasthop_prompt
end";

/// Configures an interactive shell to show `label` in its prompt: before the prompt in bash, sh and
/// fish, at the right margin in zsh. A start-up file of the user may set another prompt, which
/// hides the label.
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

/// The label, with `?` for characters that a shell could expand.
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
