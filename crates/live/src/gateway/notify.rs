//! What systemd wants to know: `sd_notify(3)`, which is one datagram a message.

use std::env;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use lasthop_packet::Instant;

/// Tells the service manager how we are; where there is none, nobody.
#[derive(Debug, Default)]
pub struct Notifier {
    socket: Option<UnixDatagram>,
    /// How often the watchdog wants to hear of us: half of what it waits.
    watchdog: Option<Duration>,
    last_kick: Instant,
}

impl Notifier {
    /// The service manager that started this process, if one did.
    pub fn from_environment() -> Self {
        let watchdog = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        let is_ours = env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        Self {
            socket: env::var_os("NOTIFY_SOCKET").and_then(|path| connect(&path)),
            watchdog: watchdog.filter(|_| is_ours).map(|usec| Duration::from_micros(usec) / 2),
            last_kick: Instant::ZERO,
        }
    }

    /// It runs, and this is how, in a line for people.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// It takes over a new file, and will be ready again. `now` is on the monotonic clock.
    pub fn reloading(&self, now: Instant) {
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_nanos() / 1000));
    }

    /// It is about to end.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// It is alive. Called from the packet loop, so that a loop that hangs is noticed.
    pub fn alive(&mut self, now: Instant) {
        if self.watchdog.is_some_and(|period| now.since(self.last_kick) >= period) {
            self.last_kick = now;
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&self, message: &str) {
        if let Some(socket) = &self.socket {
            // A manager that does not listen is not our trouble.
            let _ = socket.send(message.as_bytes());
        }
    }
}

fn connect(path: &OsStr) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(path),
    };
    socket.connect_addr(&address.ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}
