//! Why a command failed, and the exit code that says so.

use std::process::ExitCode;

/// A failure, for people and for scripts.
#[derive(Debug)]
pub enum Failure {
    /// A file or an argument is wrong: exit code 2.
    Usage(anyhow::Error),
    /// A run failed, or its results could not be written: exit code 1.
    Run(anyhow::Error),
    /// Whoever read our output has gone, which is their right: exit code 0.
    ReaderGone,
}

impl Failure {
    /// Prints the message on standard error and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Self::Usage(error) => (error, 2),
            Self::Run(error) => (error, 1),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        let mut message = error.to_string();
        // Many errors say their cause themselves.
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        crate::output::complain(&format!("lasthop: {message}"));
        ExitCode::from(code)
    }

    /// A wrong file or argument.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
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
