//! The directory where emulations keep their sockets and files, and the lock between them.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::clock;

/// Where emulations keep their sockets and files.
pub(super) const DIRECTORY: &str = "/run/lasthop";
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

/// Keeps other emulations from choosing a subnet and from changing rules and forwarding as long as
/// the file is open.
pub(super) fn lock() -> io::Result<File> {
    make_directory(Path::new(DIRECTORY))?;
    let path = Path::new(DIRECTORY).join("emulate.lock");
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
