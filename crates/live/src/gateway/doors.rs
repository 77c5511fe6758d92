//! The control socket, the metrics listener, and signals. All are opened before the first packet, so that an error is reported at start.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::peer::Peer;

/// All doors of a gateway.
pub(super) struct Doors {
    pub(super) control: Option<ControlDoor>,
    pub(super) metrics: Option<TcpListener>,
    pub(super) signals: Option<Signals>,
    /// Readable when the packet loop has ended.
    pub(super) ended: UnixStream,
}

/// The control socket. It is removed with this value.
pub(super) struct ControlDoor {
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

impl Doors {
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
                let what = format!("the control socket {} cannot be opened", path.display());
                ControlDoor::open(path).map_err(explain(what))
            })
            .transpose()?;
        let metrics = metrics
            .map(|at| {
                let listener = TcpListener::bind(at).and_then(|l| l.set_nonblocking(true).map(|()| l));
                listener.map_err(explain(format!("the metrics address {at} cannot be used")))
            })
            .transpose()?;
        let signals = signals.then(Signals::catch).transpose()?;
        Ok(Self { control, metrics, signals, ended })
    }
}

impl ControlDoor {
    /// Opens the control socket, where no other gateway has it. One that a dead gateway left behind is cleared away.
    fn open(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
        // Serializes two starts at the same time. Released when the file is closed, also if the process dies.
        let directory = File::open(directory)?;
        flock(&directory, FlockOperation::LockExclusive)?;
        clear_away_dead(path)?;
        let listener = UnixListener::bind(path)?;
        let door = |listener| -> io::Result<Self> {
            Ok(Self { listener, path: path.to_owned(), identity: identity(path)? })
        };
        let door = door(listener).inspect_err(|_| drop(fs::remove_file(path)))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        door.listener.set_nonblocking(true)?;
        Ok(door)
    }
}

impl Drop for ControlDoor {
    fn drop(&mut self) {
        // Ours may have been removed, and another gateway's socket created in its place.
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the socket of a dead gateway. Fails if a process listens on it, or if the file is not a socket.
fn clear_away_dead(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path) {
        Ok(stream) => {
            let holder = Peer::of(&stream)?;
            let message = format!("another gateway is running there: {holder}");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
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
