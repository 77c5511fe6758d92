//! The directory where emulations keep their sockets and files, and the lock between them.

use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use lasthop_linux::clock;

/// The maximum wait for the lock, which other emulations hold for a much shorter time.
const LONGEST_LOCK: Duration = Duration::from_secs(5);

/// The maximum length of a directory's path, in octets, which leaves room for a socket's name.
const LONGEST_PATH: usize = 64;

/// The name of a user's directory.
const NAME: &str = "lasthop-emulate";

/// The directory of the emulations of one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory of emulations that root starts. It is not `/run/lasthop`, which systemd
    /// removes when the gateway's service stops.
    pub fn for_root() -> Self {
        Self { path: "/run/lasthop-emulate".into() }
    }

    /// The directory of emulations that this user starts without root.
    pub fn for_this_user() -> Self {
        let runtime = runtime_directories().into_iter().find(|path| is_usable(path));
        let path = runtime.map_or_else(|| in_tmp(Path::new("/tmp")), |runtime| runtime.join(NAME));
        Self { path }
    }

    /// All directories that may have emulations of this user, also if they were started with
    /// another environment, and root's. Directories of other users are left out: any process may
    /// own the sockets in them.
    pub fn all() -> Vec<Self> {
        let runtime = runtime_directories().into_iter().map(|path| path.join(NAME));
        let own = runtime.filter(|path| is_own(path)).chain(own_in_tmp(Path::new("/tmp")));
        let mut all = vec![Self::for_root()];
        for own in own.map(|path| Self { path }) {
            if !all.contains(&own) {
                all.push(own);
            }
        }
        all
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock file.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Creates the directory if it is missing. Other users can read root's directory, since root's
    /// commands may run as other users; that of another user is private.
    pub(super) fn make(&self) -> io::Result<()> {
        let of_root = *self == Self::for_root();
        let mode = if of_root { 0o755 } else { 0o700 };
        match DirBuilder::new().mode(mode).create(&self.path) {
            // Independent of this process's umask(2).
            Ok(()) => fs::set_permissions(&self.path, Permissions::from_mode(mode)),
            // Another user may have created it, with files that this process would open.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_own(&self.path) => {
                fs::set_permissions(&self.path, Permissions::from_mode(mode))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(io::Error::other(
                "it is no directory, or belongs to another user; remove it, or set XDG_RUNTIME_DIR to a directory of your own",
            )),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock. While the returned file is open, no other emulation chooses a subnet or
    /// changes rules and forwarding.
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

/// The directories in which systemd and similar programs let users keep sockets: the one that the
/// environment names, and the default.
fn runtime_directories() -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usual = Path::new("/run/user").join(geteuid().as_raw().to_string());
    named.into_iter().chain([usual]).collect()
}

/// Whether a runtime directory belongs to this user and its path is short enough: programs such as
/// su(1) keep the variable of another user, and the path of a socket has at most 107 octets
/// (unix(7)).
fn is_usable(path: &Path) -> bool {
    let is_users = fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
    let own = path.join(NAME);
    let is_free = fs::symlink_metadata(&own).is_err() || is_own(&own);
    path.is_absolute() && path.as_os_str().len() <= LONGEST_PATH && is_users && is_free
}

/// Whether a path is a directory, not a link, and belongs to this user.
fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
}

/// The directory to use without a runtime directory: the first one in `tmp` that belongs to this
/// user, or the name of one to create. The name is random if another user has taken the usual one.
fn in_tmp(tmp: &Path) -> PathBuf {
    let plain = tmp.join(name_in_tmp());
    own_in_tmp(tmp).into_iter().next().unwrap_or_else(|| match fs::symlink_metadata(&plain) {
        Ok(_) => tmp.join(format!("{}-{:016x}", name_in_tmp(), RandomState::new().hash_one(0))),
        Err(_) => plain,
    })
}

/// This user's directories in `tmp`, in order.
fn own_in_tmp(tmp: &Path) -> Vec<PathBuf> {
    let is_named = |name: &str| {
        let rest = name.strip_prefix(&name_in_tmp());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let entries = fs::read_dir(tmp).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_named));
    let mut own: Vec<PathBuf> = named.map(|entry| entry.path()).filter(|path| is_own(path)).collect();
    own.sort();
    own
}

fn name_in_tmp() -> String {
    format!("{NAME}-{}", geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_gateway_s_service_does_not_remove_files_of_emulations() {
        let unit = include_str!("../../../packaging/lasthop-gateway.service");
        let removed: Vec<_> =
            unit.lines().filter_map(|line| line.strip_prefix("RuntimeDirectory=")).collect();
        assert_eq!(removed, ["lasthop"]);
        let ours = Directory::for_root();
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
        fs::set_permissions(own.path(), Permissions::from_mode(0o777)).expect("it is ours");
        own.make().expect("it is ours");
        let mode = fs::metadata(own.path()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "it was open to all");
        let link = Directory { path: place.path().join("link") };
        std::os::unix::fs::symlink(own.path(), link.path()).expect("there is room");
        let error = link.make().expect_err("a link");
        assert!(error.to_string().contains("belongs to another user"), "{error}");
    }

    #[test]
    fn a_name_in_tmp_that_another_user_has_taken_is_replaced_by_a_random_one() {
        let tmp = tempfile::tempdir().expect("a directory");
        let plain = tmp.path().join(name_in_tmp());
        assert_eq!(in_tmp(tmp.path()), plain);
        // A symbolic link is not the user's directory, whoever created it.
        std::os::unix::fs::symlink("/", &plain).expect("there is room");
        let drawn = Directory { path: in_tmp(tmp.path()) };
        assert!(drawn.path() != plain && in_tmp(tmp.path()) != drawn.path(), "{drawn:?}");
        drawn.make().expect("it is new");
        assert_eq!(in_tmp(tmp.path()), drawn.path(), "it is found again");
        assert_eq!(own_in_tmp(tmp.path()), [drawn.path()]);
        let of_another = tmp.path().join(format!("{}0", name_in_tmp()));
        fs::create_dir(of_another).expect("there is room");
        assert_eq!(own_in_tmp(tmp.path()), [drawn.path()]);
    }
}
