//! Files of results: the option to replace earlier ones, and errors of their creation.

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
    /// The treatment of earlier files.
    pub const fn earlier(&self) -> Earlier {
        if self.overwrite { Earlier::Goes } else { Earlier::Stays }
    }
}

/// The failure for a file of results that cannot be created: a wrong argument, unless the disk is
/// full.
pub fn cannot_begin(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Failure::Run(error.into())
        }
        _ => Failure::usage(error),
    }
}
