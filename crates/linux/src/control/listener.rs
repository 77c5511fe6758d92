//! The file of a control socket, and the users that may connect to it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::geteuid;

use super::client::Client;
use crate::clock;
use crate::peer::Peer;

/// Maximum number of clients that wait to be accepted.
const BACKLOG: i32 = 128;

/// A control socket. It is removed when this value is dropped.
#[derive(Debug)]
pub struct ControlListener {
    listener: UnixListener,
    /// Users that may connect, in addition to root and this process's own user.
    others: Vec<u32>,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl ControlListener {
    /// Opens a control socket, unless a living process has one there; the file of a dead process is
    /// removed. From the start only the owner has access to the file. The users with these IDs, in
    /// addition to root and this process's own user, may connect once they have access to the file.
    pub fn open(path: &Path, others: &[u32]) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
        let _alone = StartLock::take(path)?;
        clear_away_dead(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The file takes the socket's mode (Linux, `unix_bind`).
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        let identity = identity(path).inspect_err(|_| drop(fs::remove_file(path)))?;
        let listener = UnixListener::from(socket);
        let control = Self { listener, others: others.to_vec(), path: path.to_owned(), identity };
        listen(&control.listener, BACKLOG)?;
        Ok(control)
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts a client, and returns it with its user ID. `None` for a user that may not connect.
    pub fn accept<R>(&self, now: Instant) -> io::Result<Option<(Client<R>, u32)>> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(true)?;
        let uid = Peer::from_socket(&stream)?.uid;
        let may = uid == 0 || uid == geteuid().as_raw() || self.others.contains(&uid);
        Ok(may.then(|| (Client::new(stream, now), uid)))
    }

    /// Removes the file, if it still belongs to this socket.
    pub fn remove(&self) {
        // Our file may have been removed, and another process's socket created in its place.
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl AsFd for ControlListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Serializes starts with the same socket: a locked file next to it that only its owner can open.
/// It is also released if the process dies.
struct StartLock {
    path: PathBuf,
    _file: File,
}

/// A start holds the lock for far less.
const OTHER_START: Duration = Duration::from_secs(2);

impl StartLock {
    #[expect(clippy::disallowed_methods, reason = "no traffic is diverted yet")]
    fn take(socket: &Path) -> io::Result<Self> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let began = clock::now();
        loop {
            let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut options = OpenOptions::new();
            options
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(flags.bits().cast_signed());
            let file = options.open(&path)?;
            let locked = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => true,
                Err(Errno::WOULDBLOCK) => false,
                Err(error) => return Err(error.into()),
            };
            let metadata = file.metadata()?;
            // The previous holder may have removed the file that we have locked, and another file
            // may have taken its place.
            if locked && identity(&path).is_ok_and(|there| there == (metadata.dev(), metadata.ino())) {
                return Ok(Self { path, _file: file });
            }
            if clock::now().since(began) > OTHER_START {
                let message =
                    format!("{} is locked; another process may be starting with this socket", path.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
            }
            thread::sleep(OTHER_START / 200);
        }
    }
}

impl Drop for StartLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the socket of a dead process. Fails if a process listens on it, or if the file is not a
/// socket.
fn clear_away_dead(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path) {
        Ok(stream) => {
            let holder = Peer::from_socket(&stream)?;
            let message = format!("already in use by {holder}");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the path exists and is not a socket"));
    }
    fs::remove_file(path)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_lock_on_the_directory_does_not_prevent_listening() {
        let directory = tempfile::tempdir().expect("a directory");
        let locked = File::open(directory.path()).expect("a directory");
        flock(&locked, FlockOperation::LockExclusive).expect("anybody may");
        let path = directory.path().join("gateway.sock");
        let listener = ControlListener::open(&path, &[]).expect("it is free");
        assert!(ControlListener::open(&path, &[]).is_err(), "it is taken");
        drop(listener);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_start_that_waits_too_long_for_the_lock_fails_with_its_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.sock");
        let _other = StartLock::take(&path).expect("it is free");
        let error = ControlListener::open(&path, &[]).map(drop).expect_err("it is locked");
        assert!(error.to_string().contains("gateway.sock.lock is locked"), "{error}");
    }

    #[test]
    fn only_the_owner_has_access_to_the_file_independent_of_the_umask() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.sock");
        let listener = ControlListener::open(&path, &[]).expect("it is free");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let _client = UnixStream::connect(&path).expect("it listens");
        let (_, uid) = listener.accept::<()>(Instant::ZERO).expect("a client").expect("our own user may ask");
        assert_eq!(uid, geteuid().as_raw());
    }
}
