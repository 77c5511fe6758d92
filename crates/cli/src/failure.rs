//! Why a command failed, and the exit code that says so.

use std::process::ExitCode;

use lasthop_config::words::without_error_numbers;
use lasthop_lab::run::RunError;

/// A failure, for people and for scripts.
#[derive(Debug)]
pub enum Failure {
    /// A file or an argument is wrong: exit code 2.
    Usage(anyhow::Error),
    /// A run failed, or its results could not be written: exit code 1.
    Run(anyhow::Error),
    /// All was done and printed, but the machine was too busy for it to be trusted, and trust was
    /// required: exit code 3. What to say, unless it has been said.
    #[allow(dead_code, reason = "the command for routers has neither trials nor emulations")]
    Untrusted(Option<anyhow::Error>),
    /// Whoever read our output has gone, which is their right: exit code 0.
    ReaderGone,
}

impl Failure {
    /// What to print on standard error, causes included; `None` where there is no one left to tell.
    pub fn message(&self) -> Option<String> {
        let (Self::Usage(error) | Self::Run(error) | Self::Untrusted(Some(error))) = self else {
            return None;
        };
        let mut message = error.to_string();
        // Many errors say their cause themselves.
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        Some(without_error_numbers(&message))
    }

    /// What the process is to exit with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Run(_) => ExitCode::FAILURE,
            Self::Untrusted(_) => ExitCode::from(3),
            Self::ReaderGone => ExitCode::SUCCESS,
        }
    }

    /// A wrong file or argument.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }
}

/// A scenario that cannot run is a wrong file; what goes wrong later is a failed run.
impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Build(_) => Self::Usage(error.into()),
            RunError::Memory(_)
            | RunError::Canceled
            | RunError::NothingMeasured { .. }
            | RunError::AtPoint { .. } => Self::Run(error.into()),
        }
    }
}

/// What went wrong with output is a failed run.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Run(error.into()),
        }
    }
}
