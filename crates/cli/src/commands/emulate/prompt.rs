//! A shell behind a hop says so in its prompt.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Tells an interactive shell to show `label` in its prompt: before the prompt of bash and sh, at
/// the right margin of zsh. A start-up file of the user's may set another prompt and so hide it.
pub fn announce(command: &mut Command, shell: &OsStr, label: &str) {
    let label = harmless(label);
    let name = Path::new(shell).file_name().and_then(OsStr::to_str).unwrap_or_default();
    match name {
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
    use super::*;

    #[test]
    fn a_shell_runs_nothing_that_a_label_contains() {
        let mut command = Command::new("bash");
        announce(&mut command, OsStr::new("/bin/bash"), "loss 1%, $(reboot)`x`\"\\");
        let value = command.get_envs().find_map(|(name, value)| (name == "PROMPT_COMMAND").then_some(value));
        let value = value.flatten().and_then(OsStr::to_str).expect("it is set");
        assert_eq!(value, "PS1=\"[loss 1%, ??reboot??x???] $PS1\"; unset PROMPT_COMMAND");
    }
}
