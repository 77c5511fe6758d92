use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::*;

/// Longer than a datagram between two threads ever takes.
const LONG: Duration = Duration::from_secs(20);

/// A control socket as that of hostapd, with one station.
struct Fake {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Fake {
    fn new(path: PathBuf) -> Self {
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(LONG)).expect("a setting");
        Self { socket, path }
    }

    /// Answers commands until `until` has come, and returns who sent it.
    fn answer(&self, until: &str) -> std::os::unix::net::SocketAddr {
        let mut buffer = [0; 256];
        loop {
            let (len, from) = self.socket.recv_from(&mut buffer).expect("a command");
            let command = str::from_utf8(&buffer[..len]).expect("text").to_owned();
            let answer = match &*command {
                "ATTACH" => "OK\n",
                "STA-FIRST" => {
                    "02:00:00:00:00:01\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=1\ninactive_msec=20\n"
                }
                "PING" => "PONG\n",
                other => {
                    assert!(other.starts_with("STA-NEXT "), "{other}");
                    ""
                }
            };
            self.socket.send_to_addr(answer.as_bytes(), &from).expect("it is sent");
            if command.starts_with(until) {
                return from;
            }
        }
    }

    fn say(&self, to: &std::os::unix::net::SocketAddr, event: &str) {
        self.socket.send_to_addr(event.as_bytes(), to).expect("it is sent");
    }
}

fn station(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

/// The next association: a station, and whether it has come.
fn next(events: &Receiver<Event>) -> (MacAddress, bool) {
    match events.recv_timeout(LONG).expect("an event") {
        Event::Joined { client, from: None } => (client, true),
        Event::Left { client } => (client, false),
        _ => panic!("no association"),
    }
}

#[test]
fn stations_that_are_there_and_those_that_come_and_leave_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::new(folder.path().join("wlan0"));
    let (to, events) = sync_channel(100);
    let owner = Arc::new(());
    start(fake.path.clone(), to, Arc::downgrade(&owner)).expect("a thread");
    let from = fake.answer("STA-NEXT");
    assert_eq!(next(&events), (station(1), true));
    fake.say(&from, "<3>AP-STA-CONNECTED 02:00:00:00:00:02 keyid=floor1");
    fake.say(&from, "<3>WPS-PBC-ACTIVE ");
    fake.say(&from, "<3>AP-STA-DISCONNECTED 02:00:00:00:00:01");
    assert_eq!((next(&events), next(&events)), ((station(2), true), (station(1), false)));
}

#[test]
fn a_hostapd_that_ends_and_starts_again_is_attached_to_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wlan0");
    let (to, events) = sync_channel(100);
    let owner = Arc::new(());
    start(path.clone(), to, Arc::downgrade(&owner)).expect("a thread, though nobody is there yet");
    for _ in 0..2 {
        let fake = Fake::new(path.clone());
        let from = fake.answer("STA-NEXT");
        assert_eq!(next(&events), (station(1), true));
        fake.say(&from, "<3>CTRL-EVENT-TERMINATING ");
        drop(fake);
        std::fs::remove_file(&path).expect("it was there");
    }
}

#[test]
fn other_events_and_malformed_ones_report_nothing() {
    for event in ["", "AP-STA-CONNECTED", "AP-STA-CONNECTED x", "AP-STA-POLL-OK 02:00:00:00:00:01", "PONG"] {
        assert_eq!(read_event(event), None, "{event}");
    }
    assert_eq!(read_event("AP-STA-CONNECTED 02:00:00:00:00:01"), Some(Report::Connected(station(1))));
}

#[test]
fn a_station_of_the_list_is_present_if_it_may_send_and_was_heard_a_moment_ago() {
    let entry = |flags: &str, rest: &str| format!("02:00:00:00:00:01\nflags={flags}\naid=1\n{rest}");
    let authorized = "[AUTH][ASSOC][AUTHORIZED][WMM]";
    assert!(is_present(&entry(authorized, "inactive_msec=9999\nsignal=-40")));
    for (flags, rest) in [
        (authorized, "inactive_msec=10000"),
        (authorized, "inactive_msec=x"),
        // A driver that does not say.
        (authorized, ""),
        // Its handshake of WPA is not over.
        ("[AUTH][ASSOC]", "inactive_msec=20"),
    ] {
        assert!(!is_present(&entry(flags, rest)), "{flags} {rest}");
    }
}
