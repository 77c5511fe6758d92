//! The control socket, the metrics listener, and signals. All are opened before the first packet,
//! so that an error is reported at start.

use std::fs;
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use lasthop_linux::control::listener::ControlListener;

/// All listeners of a gateway.
pub(super) struct Listeners {
    pub(super) control: Option<ControlListener>,
    pub(super) metrics: Option<TcpListener>,
    pub(super) signals: Option<Signals>,
    /// Readable when the packet loop has ended.
    pub(super) ended: UnixStream,
}

/// Streams from which an octet can be read for each signal.
pub(super) struct Signals {
    pub(super) reload: UnixStream,
    pub(super) stop: UnixStream,
}

impl Listeners {
    /// Opens the listeners; a failure closes those already open.
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
                ControlListener::open(path, &[]).map_err(explain(what))
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

/// Whether a file other than a socket exists at this path, which prevents a control socket.
pub(super) fn is_no_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.file_type().is_socket())
}

/// Tests whether a listener can be opened at the metrics address, and closes it again.
pub(super) fn may_listen(at: SocketAddr) -> io::Result<()> {
    TcpListener::bind(at).map(drop)
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

/// Reads the pending octets. Returns whether there were any.
pub(super) fn empty(mut stream: &UnixStream) -> bool {
    matches!(stream.read(&mut [0; 64]), Ok(len) if len > 0)
}
