//! `lasthop completions`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

/// The arguments of `completions`.
#[derive(Args)]
#[command(after_help = "\
The package and the tarball have the completions of bash, zsh and fish. For a binary without them:

  lasthop completions bash > ~/.local/share/bash-completion/completions/lasthop
  lasthop completions zsh > ~/.zsh/completions/_lasthop
  lasthop completions fish > ~/.config/fish/completions/lasthop.fish

The directories have to exist. For zsh, the directory has to be in fpath before compinit runs.")]
pub struct Arguments {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions of `command`, the complete command line.
pub fn execute(arguments: &Arguments, command: clap::Command) -> Result<(), Failure> {
    let mut command = without_hidden(command);
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end())
}

/// The command without its hidden subcommands, which would otherwise appear in completions.
fn without_hidden(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(without_hidden);
    if !command.get_subcommands().any(clap::Command::is_hide_set) {
        return command;
    }
    // clap cannot remove a subcommand, so the command is built again. Its name must be static.
    let name: &'static str = command.get_name().to_owned().leak();
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let made = clap::Command::new(name)
        .args(command.get_arguments().cloned())
        .groups(command.get_groups().cloned())
        .subcommands(shown.cloned());
    match command.get_about() {
        Some(about) => made.about(about.clone()),
        None => made,
    }
}
