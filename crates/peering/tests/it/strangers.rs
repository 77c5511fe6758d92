//! Those whose keys are not known.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use lasthop_peering::{Counts, Error, Identity, Settings, SiteKey, connect, enrol};

use super::site::{LONG, SERVICE, Site, settings};

fn key(digit: &str) -> SiteKey {
    digit.repeat(64).parse().expect("64 digits")
}

#[test]
fn an_unknown_key_gets_no_channel() {
    let site = Site::with_site_key(settings(), None);
    assert!(matches!(site.connect(), Err(Error::UnknownKey)));
    assert_eq!(site.listener.counts(), Counts { unknown_keys: 1, ..Counts::default() });
    assert!(site.channels.try_recv().is_err(), "none was opened");
}

#[test]
fn a_key_that_was_removed_gets_no_channel() {
    let site = Site::new(settings());
    let (mut ours, _theirs) = site.channel();
    assert!(site.peers.remove(&site.client.fingerprint()).expect("there is no file"));
    site.listener.disconnect(&site.server.fingerprint());
    assert_eq!(ours.receive(Duration::from_millis(1)).expect("it is another peer"), None);
    site.listener.disconnect(&site.client.fingerprint());
    assert!(matches!(ours.receive(LONG), Err(Error::Closed)));
    assert!(matches!(site.connect(), Err(Error::UnknownKey)));
}

#[test]
fn an_access_point_with_another_key_than_expected_is_not_shown_ours() {
    let site = Site::new(settings());
    let other = Identity::ephemeral().expect("random numbers").fingerprint();
    let refused = connect(site.address(), &site.client, other, SERVICE, &site.settings);
    assert!(matches!(refused, Err(Error::WrongKey)), "{refused:?}");
    wait_for(&site, |counts| counts.failed == 1);
    assert_eq!(site.listener.counts(), Counts { failed: 1, ..Counts::default() });
}

#[test]
fn a_service_that_is_not_offered_is_refused() {
    let site = Site::new(settings());
    let refused = connect(site.address(), &site.client, site.server.fingerprint(), "test/2", &site.settings);
    assert!(matches!(refused, Err(Error::Tls(_))), "{refused:?}");
}

#[test]
fn whoever_has_the_site_key_is_enrolled() {
    let site = Site::with_site_key(settings(), Some(key("5")));
    for _ in 0..2 {
        let server = enrol(site.address(), &site.client, None, &key("5"), "lobby", &site.settings);
        assert_eq!(server.expect("it has the key"), site.server.fingerprint());
    }
    let (_, theirs) = site.channel();
    assert_eq!(theirs.peer_name().map(|name| &**name), Some("lobby"));
    assert_eq!(site.listener.counts(), Counts { enrolled: 2, channels: 1, ..Counts::default() });
}

#[test]
fn whoever_does_not_have_the_site_key_is_not_enrolled() {
    let site = Site::with_site_key(settings(), Some(key("5")));
    let refused = enrol(site.address(), &site.client, None, &key("6"), "lobby", &site.settings);
    assert!(matches!(refused, Err(Error::WrongSiteKey)), "{refused:?}");
    assert_eq!(site.listener.counts(), Counts { wrong_proofs: 1, ..Counts::default() });
    assert_eq!(site.peers.list(), []);

    let site = Site::with_site_key(settings(), None);
    let refused = enrol(site.address(), &site.client, None, &key("6"), "lobby", &site.settings);
    assert!(matches!(refused, Err(Error::Tls(_))), "there is no enrolment: {refused:?}");
}

#[test]
fn a_name_that_has_a_key_gets_no_other_one() {
    let site = Site::with_site_key(settings(), Some(key("5")));
    let first = Identity::ephemeral().expect("random numbers").fingerprint();
    site.peers.enrol(first, "lobby").expect("there is room");
    let refused = enrol(site.address(), &site.client, None, &key("5"), "lobby", &site.settings);
    assert!(matches!(refused, Err(Error::NotRecorded)), "{refused:?}");
    assert_eq!(site.listener.counts().refused, 1);
    assert_eq!(site.peers.get(&site.client.fingerprint()), None);
    let refused = enrol(site.address(), &site.client, None, &key("5"), "a name", &site.settings);
    assert!(matches!(refused, Err(Error::Name)), "{refused:?}");
}

#[test]
fn too_many_wrong_site_keys_pause_enrolment() {
    let site = Site::with_site_key(
        Settings { wrong_proofs: 2, wrong_proofs_time: LONG, ..settings() },
        Some(key("5")),
    );
    for digit in ["6", "7"] {
        let refused = enrol(site.address(), &site.client, None, &key(digit), "lobby", &site.settings);
        assert!(matches!(refused, Err(Error::WrongSiteKey)), "{refused:?}");
    }
    let refused = enrol(site.address(), &site.client, None, &key("5"), "lobby", &site.settings);
    assert!(matches!(refused, Err(Error::Paused)), "{refused:?}");
    assert_eq!(site.listener.counts(), Counts { wrong_proofs: 2, paused: 1, ..Counts::default() });
}

#[test]
fn octets_that_are_no_handshake_are_refused() {
    let site = Site::new(settings());
    let hello_of_16_mib = [22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff];
    let record_too_long = [22, 3, 1, 0xff, 0xff, 1];
    let garbage: [&[u8]; 5] = [b"GET / HTTP/1.1\r\n\r\n", &[0; 100], &hello_of_16_mib, &record_too_long, b""];
    for octets in garbage {
        let mut stream = TcpStream::connect(site.address()).expect("it listens");
        stream.write_all(octets).expect("there is room");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        // An alert at most.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() <= 7, "{} octets", answer.len());
    }
    wait_for(&site, |counts| counts.failed == 5);
    site.channel();
}

#[test]
fn strangers_who_say_nothing_are_as_many_as_the_limit_says_and_not_for_ever() {
    let settings =
        Settings { half_open_of_an_address: 3, handshake_time: Duration::from_secs(1), ..settings() };
    let site = Site::new(settings);
    let silent: Vec<TcpStream> =
        (0..6).map(|_| TcpStream::connect(site.address()).expect("it listens")).collect();
    // All are disconnected: some at once, and the others when their time is over.
    for mut stream in silent {
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        assert!(!matches!(stream.read(&mut [0]), Ok(1..)));
    }
    wait_for(&site, |counts| counts.failed == 3);
    assert_eq!(site.listener.counts(), Counts { too_many: 3, failed: 3, ..Counts::default() });
    // On a busy machine, a handshake may take its whole time.
    assert!((0..20).any(|_| site.connect().is_ok()), "there is room again");
}

#[expect(clippy::disallowed_methods, reason = "a listener counts when it is done, not when the client is")]
fn wait_for(site: &Site, condition: impl Fn(Counts) -> bool) {
    let has_come = (0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition(site.listener.counts())
    });
    assert!(has_come, "{:?}", site.listener.counts());
}
