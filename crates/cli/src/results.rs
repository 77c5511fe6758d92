//! Files of results that cannot be begun.

use std::io::{Error, ErrorKind};

use crate::failure::Failure;

/// What kept a file of results from being begun: a wrong argument, unless there is no room.
pub fn cannot_begin(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Failure::Run(error.into())
        }
        _ => Failure::usage(error),
    }
}
