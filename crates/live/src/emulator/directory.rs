//! The directory where emulations keep their sockets and files, and the lock between them.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::clock;

/// How long another emulation may have the lock; it needs it for far less.
const LONGEST_LOCK: Duration = Duration::from_secs(5);

/// The directory of the emulations of one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// That of emulations that root starts. Not `/run/lasthop`: systemd removes that one when the
    /// gateway's service stops.
    pub fn of_root() -> Self {
        Self { path: "/run/lasthop-emulate".into() }
    }

    /// That of emulations that this user starts without root.
    pub fn of_this_user() -> Self {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let path = match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
            Some(runtime) => runtime.join("lasthop-emulate"),
            None => format!("/tmp/lasthop-emulate-{}", geteuid().as_raw()).into(),
        };
        Self { path }
    }

    /// All in which emulations may be that this user has started.
    pub fn all() -> [Self; 2] {
        [Self::of_root(), Self::of_this_user()]
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is locked.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Makes the directory, if it is missing: that of root for all, whose commands may run as other
    /// users, that of a user for the user alone.
    pub(super) fn make(&self) -> io::Result<()> {
        let of_root = *self == Self::of_root();
        let mode = if of_root { 0o755 } else { 0o700 };
        match DirBuilder::new().mode(mode).create(&self.path) {
            // Whatever this process would keep from others (umask(2)).
            Ok(()) => fs::set_permissions(&self.path, Permissions::from_mode(mode)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.refuse_another_user_s(),
            Err(error) => Err(error),
        }
    }

    /// In `/tmp` anybody may have made it, and put there what we would open.
    fn refuse_another_user_s(&self) -> io::Result<()> {
        let found = fs::symlink_metadata(&self.path)?;
        if found.is_dir() && found.uid() == geteuid().as_raw() {
            return Ok(());
        }
        let path = self.path.display();
        Err(io::Error::other(format!("{path} is not a directory of this user's")))
    }

    /// Keeps other emulations from choosing a subnet and from changing rules and forwarding as long
    /// as the file is open.
    pub(super) fn lock(&self) -> io::Result<File> {
        self.make()?;
        let path = self.lock_file();
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
        let ours = Directory::of_root();
        assert!(!ours.path().starts_with("/run/lasthop"), "{}", ours.path().display());
    }

    #[test]
    fn a_directory_that_is_a_link_or_another_user_s_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let own = Directory { path: place.path().join("own") };
        own.make().expect("it is new");
        own.make().expect("it is ours");
        let mode = fs::metadata(own.path()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = Directory { path: place.path().join("link") };
        std::os::unix::fs::symlink(own.path(), link.path()).expect("there is room");
        let error = link.make().expect_err("a link");
        assert!(error.to_string().contains("is not a directory of this user's"), "{error}");
    }
}
