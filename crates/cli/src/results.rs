//! Files of results: whether they may replace earlier ones, and those that cannot be begun.

use std::io::{Error, ErrorKind};

use clap::Args;
use lasthop_linux::results::Earlier;

use crate::failure::Failure;

/// Of a command that writes files of results.
#[derive(Args)]
pub struct Overwrite {
    /// Replace files of earlier results; without it, a name that such a file has is refused
    #[arg(long)]
    overwrite: bool,
}

impl Overwrite {
    /// What becomes of earlier files.
    pub const fn earlier(&self) -> Earlier {
        if self.overwrite { Earlier::Goes } else { Earlier::Stays }
    }
}

/// What kept a file of results from being begun: a wrong argument, unless there is no room.
pub fn cannot_begin(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Failure::Run(error.into())
        }
        _ => Failure::usage(error),
    }
}
