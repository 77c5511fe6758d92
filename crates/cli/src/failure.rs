//! Failures of commands, and their exit codes.

use std::process::ExitCode;

use lasthop_config::words::without_error_numbers;
use lasthop_lab::run::RunError;

/// A failure, with a message for users and an exit code for scripts.
#[derive(Debug)]
pub enum Failure {
    /// A file or an argument is wrong: exit code 2.
    Usage(anyhow::Error),
    /// A run failed, or its results could not be written: exit code 1.
    Run(anyhow::Error),
    /// The command is complete and its results are printed, but the machine was too busy for them
    /// to be trusted, and trust was required: exit code 3. The message, unless it has been printed.
    #[allow(dead_code, reason = "the command for routers has neither trials nor emulations")]
    Untrusted(Option<anyhow::Error>),
    /// The reader of standard output has closed it, which is not an error: exit code 0.
    ReaderGone,
}

impl Failure {
    /// The message for standard error, with its causes; `None` if there is nothing to print.
    pub fn message(&self) -> Option<String> {
        let (Self::Usage(error) | Self::Run(error) | Self::Untrusted(Some(error))) = self else {
            return None;
        };
        let mut message = error.to_string();
        // Many errors include their cause in their own text.
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        Some(without_error_numbers(&message))
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Run(_) => ExitCode::FAILURE,
            Self::Untrusted(_) => ExitCode::from(3),
            Self::ReaderGone => ExitCode::SUCCESS,
        }
    }

    /// Creates a failure for a wrong file or argument.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }
}

/// A scenario that cannot run is a wrong file; later errors are failed runs.
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

/// An error of output is a failed run.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Run(error.into()),
        }
    }
}
