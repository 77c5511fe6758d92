//! The directory where emulations keep their sockets and files, and the lock between them.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::clock;

/// Where emulations keep their sockets and files. Not `/run/lasthop`: systemd removes that one when
/// the gateway's service stops.
pub(super) const DIRECTORY: &str = "/run/lasthop-emulate";
/// How long another emulation may have the lock; it needs it for far less.
const LONGEST_LOCK: Duration = Duration::from_secs(5);

/// Makes a directory that the users of commands can enter, if it is missing.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.exists() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(0o755))
}

/// The file that is locked.
pub(super) fn lock_file() -> PathBuf {
    Path::new(DIRECTORY).join("lock")
}

/// Keeps other emulations from choosing a subnet and from changing rules and forwarding as long as
/// the file is open.
pub(super) fn lock() -> io::Result<File> {
    make_directory(Path::new(DIRECTORY))?;
    let path = lock_file();
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
    let asked = clock::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if clock::now().since(asked) < LONGEST_LOCK => {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_gateway_s_service_leaves_emulations_alone() {
        let unit = include_str!("../../../../packaging/lasthop-gateway.service");
        let removed: Vec<_> =
            unit.lines().filter_map(|line| line.strip_prefix("RuntimeDirectory=")).collect();
        assert_eq!(removed, ["lasthop"]);
        assert!(!lock_file().starts_with("/run/lasthop"), "{}", lock_file().display());
    }
}
