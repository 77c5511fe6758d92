//! The control socket, the metrics listener, and signals. All are opened before the first packet,
//! so that an error is reported at start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::clock;
use crate::peer::Peer;

/// All listeners of a gateway.
pub(super) struct Listeners {
    pub(super) control: Option<ControlListener>,
    pub(super) metrics: Option<TcpListener>,
    pub(super) signals: Option<Signals>,
    /// Readable when the packet loop has ended.
    pub(super) ended: UnixStream,
}

/// The control socket. It is removed with this value.
pub(super) struct ControlListener {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

/// Signals, as octets to read.
pub(super) struct Signals {
    pub(super) reload: UnixStream,
    pub(super) stop: UnixStream,
}

impl Listeners {
    /// Opens these; a failure closes those that were open already.
    pub(super) fn open(
        control: Option<&Path>,
        metrics: Option<SocketAddr>,
        signals: bool,
        ended: UnixStream,
    ) -> io::Result<Self> {
        let explain =
            |what: String| move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        let control = control
            .map(|path| {
                let what = format!("cannot open the control socket {}", path.display());
                ControlListener::open(path).map_err(explain(what))
            })
            .transpose()?;
        let metrics = metrics
            .map(|at| {
                let listener = TcpListener::bind(at).and_then(|l| l.set_nonblocking(true).map(|()| l));
                listener.map_err(explain(format!("cannot listen on the metrics address {at}")))
            })
            .transpose()?;
        let signals = signals.then(Signals::catch).transpose()?;
        Ok(Self { control, metrics, signals, ended })
    }
}

/// Whether something else than a socket is at this path, so that no control socket can be opened
/// there.
pub(super) fn is_no_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.file_type().is_socket())
}

/// Whether the metrics address could be listened on now. Nothing stays open.
pub(super) fn may_listen(at: SocketAddr) -> io::Result<()> {
    TcpListener::bind(at).map(drop)
}

impl ControlListener {
    /// Opens the control socket, where no other gateway has it. One that a dead gateway left behind
    /// is cleared away.
    fn open(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
        let _alone = StartLock::take(path)?;
        clear_away_dead(path)?;
        let listener = UnixListener::bind(path)?;
        let identity = identity(path).inspect_err(|_| drop(fs::remove_file(path)))?;
        let control = Self { listener, path: path.to_owned(), identity };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        control.listener.set_nonblocking(true)?;
        Ok(control)
    }
}

/// Serializes starts with the same socket: a locked file beside it that only its owner can open.
/// Released also if the process dies.
struct StartLock {
    path: PathBuf,
    _file: File,
}

/// A start has the lock for far less.
const OTHER_START: Duration = Duration::from_secs(2);

impl StartLock {
    #[expect(clippy::disallowed_methods, reason = "no traffic is diverted yet")]
    fn take(socket: &Path) -> io::Result<Self> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let asked = clock::now();
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
            // Whoever had it before has removed the file that we have locked: there may be another
            // by now.
            if locked && identity(&path).is_ok_and(|there| there == (metadata.dev(), metadata.ino())) {
                return Ok(Self { path, _file: file });
            }
            if clock::now().since(asked) > OTHER_START {
                let message = format!("{} is locked; another gateway may be starting", path.display());
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
        // Ours may have been removed, and another gateway's socket created in its place.
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the socket of a dead gateway. Fails if a process listens on it, or if the file is not a
/// socket.
fn clear_away_dead(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path) {
        Ok(stream) => {
            let holder = Peer::of(&stream)?;
            let message = format!("another gateway is already using it: {holder}");
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

impl Signals {
    fn catch() -> io::Result<Self> {
        let pipe = |signals: &[i32]| -> io::Result<UnixStream> {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            for signal in signals {
                signal_hook::low_level::pipe::register(*signal, writer.try_clone()?)?;
            }
            Ok(reader)
        };
        Ok(Self { reload: pipe(&[SIGHUP])?, stop: pipe(&[SIGTERM, SIGINT])? })
    }
}

/// Reads what there is. Whether there was anything.
pub(super) fn empty(mut stream: &UnixStream) -> bool {
    matches!(stream.read(&mut [0; 64]), Ok(len) if len > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_somebody_has_locked_does_not_keep_a_gateway_from_starting() {
        let directory = tempfile::tempdir().expect("a directory");
        let locked = File::open(directory.path()).expect("a directory");
        flock(&locked, FlockOperation::LockExclusive).expect("anybody may");
        let path = directory.path().join("gateway.sock");
        let listener = ControlListener::open(&path).expect("it is free");
        assert!(ControlListener::open(&path).is_err(), "it is taken");
        drop(listener);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_start_that_has_the_lock_for_too_long_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.sock");
        let _other = StartLock::take(&path).expect("it is free");
        let error = ControlListener::open(&path).map(drop).expect_err("it is locked");
        assert!(error.to_string().contains("gateway.sock.lock is locked"), "{error}");
    }
}
