//! Associations as hostapd reports them on its control interface: a datagram socket, to which `ATTACH` subscribes, and
//! on which `AP-STA-CONNECTED` and `AP-STA-DISCONNECTED` come (`hostapd_cli(1)`; `wpa_ctrl.h`). hostapd reports a
//! station once it may send, so before its first packet.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use tracing::{debug, info, warn};

use super::event::Event;
use crate::frame::MacAddress;
use crate::trouble::{Notice, Trouble};

/// How long hostapd may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the thread looks whether it is to end.
const WAIT: Duration = Duration::from_secs(1);

/// How often hostapd is asked whether it is still there, since a datagram socket does not say so.
const PING: Duration = Duration::from_secs(5);

/// The maximum number of stations that are asked for at the beginning. IEEE 802.11 has association IDs up to 2007.
const MAX_STATIONS: usize = 2007;

/// A station in hostapd's list that was heard longer ago than this is not taken for present. hostapd keeps a station that
/// has left without a word for minutes (`ap_max_inactivity`, 300 s), and a claim of it would take it away from the access
/// point where it is. If it is here after all, its next frame says so.
const RECENT: Duration = Duration::from_secs(10);

/// Longer than what hostapd sends in a datagram.
const LONGEST: usize = 8192;

/// What hostapd reports of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Connected(MacAddress),
    Disconnected(MacAddress),
}

/// Starts to report the associations of a hostapd, as long as `owner` exists.
pub(super) fn start<O: Send + Sync + 'static>(
    path: PathBuf,
    events: SyncSender<Event>,
    owner: Weak<O>,
) -> io::Result<()> {
    let run = move || {
        let (mut trouble, mut was_there) = (Trouble::default(), false);
        while owner.strong_count() > 0 {
            let watched = Hostapd::attach(&path).and_then(|mut hostapd| {
                if !was_there || trouble.is(false, clock::now()).is_some() {
                    info!(socket = %path.display(), "associations come from hostapd");
                }
                was_there = true;
                hostapd.watch(&events, &owner)
            });
            let Err(error) = watched else { return };
            if let Some(Notice::Begin { .. }) = trouble.is(true, clock::now()) {
                warn!(socket = %path.display(), %error, "hostapd does not answer; clients are noticed by their frames");
            }
            thread::park_timeout(WAIT);
        }
    };
    thread::Builder::new().name("hostapd".into()).spawn(run).map(drop)
}

/// A connection to hostapd's control interface.
struct Hostapd {
    socket: UnixDatagram,
    buffer: Box<[u8]>,
    /// When it has answered last, and when it was asked last.
    heard: Instant,
    asked: Instant,
    /// What came while an answer was awaited.
    reports: Vec<Report>,
}

impl Hostapd {
    fn attach(path: &Path) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        // An abstract name that the kernel chooses: hostapd answers to it, and no file is left.
        bind(&socket, &SocketAddrUnix::new_unnamed())?;
        let socket = UnixDatagram::from(socket);
        socket.connect(path)?;
        let now = clock::now();
        let buffer = vec![0; LONGEST].into();
        let mut hostapd = Self { socket, buffer, heard: now, asked: now, reports: Vec::new() };
        match &*hostapd.ask("ATTACH")? {
            "OK" => Ok(hostapd),
            other => Err(io::Error::other(format!("it refuses ATTACH: {other}"))),
        }
    }

    /// Reports the stations that are there, and then each change. Returns without an error when `owner` has ended.
    fn watch<O>(&mut self, events: &SyncSender<Event>, owner: &Weak<O>) -> io::Result<()> {
        let mut station = self.ask("STA-FIRST")?;
        for _ in 0..MAX_STATIONS {
            let Some(client) = station.lines().next().and_then(|line| line.parse().ok()) else { break };
            if is_present(&station) {
                self.reports.push(Report::Connected(client));
            }
            station = self.ask(&format!("STA-NEXT {client}"))?;
        }
        while owner.strong_count() > 0 {
            for report in self.reports.drain(..) {
                let event = match report {
                    Report::Connected(client) => Event::Joined { client, from: None },
                    Report::Disconnected(client) => Event::Left { client },
                };
                if events.send(event).is_err() {
                    return Ok(());
                }
            }
            let now = clock::now();
            if now.since(self.asked) >= PING {
                if now.since(self.heard) > PING + PATIENCE {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                self.asked = now;
                self.socket.send(b"PING")?;
            }
            let _answer_to_ping = self.receive(WAIT)?;
        }
        Ok(())
    }

    /// The answer to a command.
    fn ask(&mut self, command: &str) -> io::Result<String> {
        self.socket.set_write_timeout(Some(PATIENCE))?;
        self.socket.send(command.as_bytes())?;
        let end = clock::now() + PATIENCE;
        loop {
            let left = end.since(clock::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if let Some(answer) = self.receive(left)? {
                return Ok(answer);
            }
        }
    }

    /// Waits for a datagram. Returns it if it is an answer; what is an event is noted.
    fn receive(&mut self, wait: Duration) -> io::Result<Option<String>> {
        self.socket.set_read_timeout(Some(wait.max(Duration::from_millis(1))))?;
        let len = match self.socket.recv(&mut self.buffer) {
            Ok(len) => len,
            Err(error) if is_no_failure(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.heard = clock::now();
        let text = String::from_utf8_lossy(&self.buffer[..len]);
        let text = text.trim();
        // An event begins with its level: `<3>AP-STA-CONNECTED 02:00:00:00:00:01`.
        let Some((_, event)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
            return Ok(Some(text.to_owned()));
        };
        match read_event(event) {
            Some(report) => self.reports.push(report),
            None if event.starts_with("CTRL-EVENT-TERMINATING") => {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            None => debug!(event, "another event of hostapd"),
        }
        Ok(None)
    }
}

fn is_no_failure(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Whether an entry of hostapd's list is of a station that may send, and was heard a moment ago.
fn is_present(entry: &str) -> bool {
    let value = |key: &str| entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let is_authorized = value("flags").is_some_and(|flags| flags.contains("[AUTHORIZED]"));
    let silent_ms = value("inactive_msec").and_then(|text| text.parse().ok());
    is_authorized && silent_ms.is_some_and(|ms| Duration::from_millis(ms) < RECENT)
}

/// What an event says of a station; `None` if it says something else.
fn read_event(event: &str) -> Option<Report> {
    let mut words = event.split_whitespace();
    let report: fn(MacAddress) -> Report = match words.next()? {
        "AP-STA-CONNECTED" => Report::Connected,
        "AP-STA-DISCONNECTED" => Report::Disconnected,
        _ => return None,
    };
    words.next()?.parse().ok().map(report)
}

#[cfg(test)]
mod tests;
