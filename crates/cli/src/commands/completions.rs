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

/// Prints the completions of `command`, the whole command line.
pub fn execute(arguments: &Arguments, mut command: clap::Command) -> Result<(), Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end())
}
