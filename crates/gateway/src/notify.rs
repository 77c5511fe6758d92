//! Notifications of systemd: `sd_notify(3)`, one datagram per message.

use std::env;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lasthop_packet::Instant;
use portable_atomic::AtomicU64;

/// Notifies the service manager, if there is one.
#[derive(Debug, Default)]
pub struct Notifier {
    socket: Option<UnixDatagram>,
    /// The interval of notifications to the watchdog: half of its timeout.
    watchdog: Option<Duration>,
    last_kick: Instant,
    /// The other loops: the watchdog is notified only while all of them are alive.
    others: Vec<Arc<Pulse>>,
    pulse: Option<Arc<Pulse>>,
}

/// The time in nanoseconds at which a loop that does not itself notify the service manager was last
/// alive.
#[derive(Debug, Default)]
struct Pulse(AtomicU64);

impl Notifier {
    /// Creates a notifier for the service manager that started this process, if one did.
    pub fn from_environment() -> Self {
        let watchdog = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        let is_ours = env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        Self {
            socket: env::var_os("NOTIFY_SOCKET").and_then(|path| connect(&path)),
            watchdog: watchdog.filter(|_| is_ours).map(|usec| Duration::from_micros(usec) / 2),
            ..Self::default()
        }
    }

    /// Creates a notifier for another loop of this process. From now on, the watchdog is not
    /// notified while that loop hangs.
    pub fn for_another(&mut self, now: Instant) -> Self {
        let pulse = Arc::new(Pulse(AtomicU64::new(now.as_nanos())));
        self.others.push(Arc::clone(&pulse));
        Self { pulse: Some(pulse), ..Self::default() }
    }

    /// Reports that the gateway is running, with a human-readable status line.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }

    /// Reports a human-readable status line.
    pub fn status(&self, status: &str) {
        self.send(&format!("STATUS={status}"));
    }

    /// Reports the start of a reload, after which [`Notifier::ready`] is called again. `now` is on
    /// the monotonic clock.
    pub fn reloading(&self, now: Instant) {
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_nanos() / 1000));
    }

    /// Reports that the gateway is about to end.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Reports that the calling loop is alive. To be called from each packet loop, so that a loop
    /// that hangs is detected.
    pub fn alive(&mut self, now: Instant) {
        if let Some(pulse) = &self.pulse {
            pulse.0.store(now.as_nanos(), Ordering::Relaxed);
        }
        let Some(period) = self.watchdog.filter(|period| now.since(self.last_kick) >= *period) else {
            return;
        };
        let last = |pulse: &Arc<Pulse>| Instant::from_nanos(pulse.0.load(Ordering::Relaxed));
        if self.others.iter().all(|pulse| now.since(last(pulse)) < period) {
            self.last_kick = now;
            self.send("WATCHDOG=1");
        }
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            // The gateway runs as well without a service manager that receives.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_notified_only_while_all_loops_are_alive() {
        let (ours, manager) = UnixDatagram::pair().expect("sockets");
        manager.set_nonblocking(true).expect("a socket");
        let received = || {
            let mut octets = [0; 32];
            manager.recv(&mut octets).map(|len| String::from_utf8_lossy(&octets[..len]).into_owned()).ok()
        };
        let period = Duration::from_secs(1);
        let mut first = Notifier { socket: Some(ours), watchdog: Some(period), ..Notifier::default() };
        let mut second = first.for_another(Instant::ZERO);
        for turn in 1..=3 {
            let now = Instant::from_secs(turn);
            second.alive(now);
            first.alive(now);
            assert_eq!(received().as_deref(), Some("WATCHDOG=1"));
        }
        first.alive(Instant::from_secs(4));
        assert_eq!(received(), None, "the second one hangs");
        second.alive(Instant::from_secs(5));
        assert_eq!(received(), None, "it does not speak for all");
        first.alive(Instant::from_secs(5));
        assert_eq!(received().as_deref(), Some("WATCHDOG=1"));
    }
}
