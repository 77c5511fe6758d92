//! The part of a file that is being written: beside the file, under a hidden name of its own. A part
//! that stays open is locked, so that one without a lock is known to be of a process that was killed.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempPath};

/// Random letters and digits between the file's name and the suffix.
const RANDOM: usize = 6;

/// How a part is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is open until it is whole.
    Throughout,
    /// It is open now and then: too many are under way to keep all open, and so it has no lock.
    NowAndThen,
}

impl Use {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Throughout => ".part",
            Self::NowAndThen => ".unlocked",
        }
    }
}

/// Makes the part of a file, with the rights of the file that it is to replace.
pub(super) fn begin(target: &Path, how: Use) -> io::Result<(File, TempPath)> {
    remove_abandoned(target);
    let part = loop {
        let part = make(target, how)?;
        if how == Use::NowAndThen || is_ours(part.as_file())? {
            break part;
        }
    };
    if let Ok(replaced) = fs::metadata(target) {
        part.as_file().set_permissions(replaced.permissions())?;
        // Only root can give files away, and only root's part could replace another user's file.
        let _ = fchown(part.as_file(), Some(replaced.uid()), Some(replaced.gid()));
    }
    Ok(part.into_parts())
}

fn make(target: &Path, how: Use) -> io::Result<NamedTempFile> {
    let made = tempfile::Builder::new()
        .prefix(&prefix(target))
        .rand_bytes(RANDOM)
        .suffix(how.suffix())
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory_of(target));
    made.map_err(|error| {
        // The part's own name says nothing to the user.
        let message = error.to_string();
        io::Error::new(error.kind(), message.split(" at path ").next().unwrap_or_default().to_owned())
    })
}

/// Locks a new part. False if another process took it for abandoned before.
fn is_ours(part: &File) -> io::Result<bool> {
    match flock(part, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        // Not every file system has locks.
        _ => Ok(part.metadata()?.nlink() > 0),
    }
}

/// Removes the parts of a file that processes have left which were killed. What cannot be removed
/// stays: it does no harm.
fn remove_abandoned(target: &Path) {
    let (prefix, suffix) = (prefix(target), Use::Throughout.suffix());
    for entry in fs::read_dir(directory_of(target)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.as_bytes().strip_prefix(prefix.as_bytes());
        let random = random.and_then(|rest| rest.strip_suffix(suffix.as_bytes()));
        let is_part = random
            .is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric));
        if !is_part || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(part) = File::open(entry.path()) else { continue };
        // The lock is held until the part is gone: a process that has just made it makes another.
        if flock(&part, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The directory in which a file of this name is.
pub(super) fn directory_of(name: &Path) -> &Path {
    name.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What the names of a file's parts begin with.
fn prefix(target: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_part_of_this_file_that_no_process_writes_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let (under_way, _path) = begin(&at("out"), Use::Throughout).expect("writable");
        let (_, _idle) = begin(&at("out"), Use::NowAndThen).expect("writable");
        let (killed, path) = begin(&at("out"), Use::Throughout).expect("writable");
        let abandoned = path.keep().expect("ours");
        // The kernel closes the files of a process that is killed.
        drop(killed);
        for other in [".out.csv.a1B2c3.part", ".out.a1B2c3d4.part", ".out.part", "out.a1B2c3.part"] {
            fs::write(at(other), "precious").expect("writable");
        }
        let count = || fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!((abandoned.exists(), count()), (true, 7));
        remove_abandoned(&at("out"));
        assert_eq!((abandoned.exists(), count()), (false, 6));
        drop(under_way);
    }
}
