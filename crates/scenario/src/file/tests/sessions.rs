//! Sessions: who, what, and from when to when.

use std::time::Duration;

use lasthop_sim::Playout;
use lasthop_sim::traffic::{Codec, Frames, Media, Spurts, Video, Voice};

use super::{GOOD, error, read};
use crate::model::{ActivityModel, SessionModel};

/// `GOOD` with a session that has these keys.
fn with(keys: &str) -> String {
    format!("{GOOD}[sessions.chat]\n{keys}\n")
}

fn session(keys: &str) -> SessionModel {
    let mut scenario = read(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.sessions.len(), 1);
    scenario.sessions.remove(0)
}

/// Checks each session's error: its line counted from the session's table on, its key, and a piece
/// of what it says.
#[track_caller]
fn refused(cases: &[(&str, usize, &str, &str)]) {
    let first = GOOD.lines().count() + 1;
    for (keys, line, key, says) in cases {
        let error = error(&with(keys));
        let dot = if key.is_empty() { "" } else { "." };
        let place = format!("x.toml:{}: sessions.chat{dot}{key}: ", first + line);
        assert!(error.starts_with(&place), "{keys}: expected {place} in: {error}");
        assert!(error.contains(says), "{keys}: expected {says:?} in: {error}");
    }
}

const CALL: &str = "kind = \"voice\"\nbetween = [\"phone\", \"server\"]";

#[test]
fn a_call_has_defaults_and_everything_of_it_can_be_set() {
    let (ms, s) = (Duration::from_millis, Duration::from_secs);
    let plain = session(CALL);
    assert_eq!((plain.client, plain.server, plain.start, plain.stop), (2, 0, s(0), None));
    let ActivityModel::Call([Some(one), Some(other)]) = plain.activity else { panic!("a call") };
    let voice = Voice { codec: Codec::G711 { concealment: true }, packet_time: ms(20), spurts: None };
    assert_eq!(one, Media::Voice(voice, Playout { buffer: ms(60) }));
    assert_eq!(one, other);
    let set = session(&format!(
        "{CALL}\nstart = \"1 s\"\nstop = \"5 s\"\ncodec = \"g729\"\npacket-time = \"30 ms\"\n\
         talk-spurts = {{ pause = \"2 s\" }}\nplayout-buffer = \"0 s\""
    ));
    assert_eq!((set.start, set.stop), (s(1), Some(s(5))));
    let ActivityModel::Call([Some(media), _]) = set.activity else { panic!("a call") };
    let spurts = Some(Spurts { pause: s(2), ..Spurts::P59 });
    let voice = Voice { codec: Codec::G729, packet_time: ms(30), spurts };
    assert_eq!(media, Media::Voice(voice, Playout { buffer: ms(0) }));
}

#[test]
fn what_a_session_cannot_be_is_refused() {
    let call = |keys: &str| format!("{CALL}\n{keys}");
    let cases = [
        ("kind = \"chess\"".to_owned(), 1, "kind", "voice"),
        ("kind = \"voice\"".to_owned(), 0, "", "between"),
        ("kind = \"voice\"\nclient = \"phone\"\nserver = \"server\"".to_owned(), 0, "", "between"),
        (call("client = \"phone\""), 0, "", "between"),
        ("kind = \"voice\"\nbetween = [\"phone\", \"phone\"]".to_owned(), 2, "between", "itself"),
        (
            "kind = \"voice\"\nbetween = [\"phone\", \"ap\"]".to_owned(),
            2,
            "between",
            "a router; expected a host",
        ),
        (call("stop = \"0 s\""), 3, "stop", "later stop"),
        (call("codec = \"g722\""), 3, "codec", "g729"),
        (call("packet-time = \"200 ms\""), 3, "packet-time", "10 ms to 100 ms"),
        (call("packet-time = \"25 ms\"\ncodec = \"g729\""), 3, "packet-time", "a multiple of 10 ms"),
        (call("packet-time = \"20500 us\""), 3, "packet-time", "a multiple of 1 ms"),
        (call("codec = \"g729\"\nconcealment = false"), 4, "concealment", "always"),
        (call("talk-spurts = { talk = \"0 s\" }"), 3, "talk-spurts.talk", "10 ms to 1 h"),
        (call("playout-buffer = \"3 s\""), 3, "playout-buffer", "0 s to 2 s"),
        (call("size = \"1 MB\""), 3, "size", "unknown key"),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(keys, line, key, says)| (keys.as_str(), *line, *key, *says)).collect();
    refused(&cases);
}

#[test]
fn a_session_of_a_group_is_one_of_each_member() {
    let text = "[nodes.ap]\nkind = \"host\"\n[nodes.phone]\nkind = \"host\"\ncount = 30\n[wlans.cell]\n\
                standard = \"802.11g\"\naccess-point = \"ap\"\nstations = [\"phone\"]\n[sessions.call]\n\
                kind = \"voice\"\nbetween = [\"ap\", \"phone\"]\n";
    let scenario = read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.sessions.len(), 30);
    let last = &scenario.sessions[29];
    assert_eq!((last.name.as_str(), last.client, last.server), ("call-30", 0, 30));
}

#[test]
fn a_session_needs_a_way_there_and_back() {
    let text = "[nodes.a]\nkind = \"host\"\n[nodes.b]\nkind = \"host\"\n[nodes.c]\nkind = \"host\"\n[links.wire]\n\
                between = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n[sessions.call]\nkind = \"voice\"\nbetween = [\"a\", \"c\"]\n";
    let error = error(text);
    assert!(error.starts_with("x.toml:10: sessions.call: "), "{error}");
    assert!(error.contains("there is no way from \"a\" to \"c\" and back"), "{error}");
}

#[test]
fn a_video_comes_from_the_server_at_a_constant_or_a_variable_rate() {
    const VIDEO: &str = "kind = \"video\"\nclient = \"phone\"\nserver = \"server\"";
    let media = |keys: &str| {
        let ActivityModel::Call([None, Some(Media::Video(video))]) =
            session(&format!("{VIDEO}\n{keys}")).activity
        else {
            panic!("a video")
        };
        video
    };
    assert_eq!(media(""), Video::Variable(Frames::NEAR_REAL_TIME));
    let Video::Variable(frames) =
        media("rate = \"256 kbit/s\"\npackets-per-frame = 16\nframe-interval = \"50 ms\"")
    else {
        panic!("it varies")
    };
    assert!((frames.mean_bps() - 256_000.0).abs() < 1.0, "{frames:?}");
    assert!((frames.spacing.max - 0.003_125).abs() < 1e-9 && frames.packets == 16, "{frames:?}");
    let rate = lasthop_packet::Bitrate::mbps(2);
    assert_eq!(media("bit-rate = \"constant\"\nrate = \"2 Mbit/s\""), Video::Constant { rate, packet: 1200 });
    let video = |keys: &str| format!("{VIDEO}\n{keys}");
    let cases = [
        (video("bit-rate = \"constant\""), 0, "", "needs a rate"),
        (video("rate = \"trace\""), 4, "rate", "no trace"),
        (video("rate = \"10 Mbit/s\""), 4, "rate", "packets-per-frame"),
        (video("packet = \"100 B\""), 4, "packet", "constant"),
        (video("bit-rate = \"constant\"\nrate = \"1 Mbit/s\"\npacket = \"9 kB\""), 6, "packet", "1460 B"),
        (video("bit-rate = \"constant\"\nrate = \"1 bit/s\""), 5, "rate", "1 us to 1 h"),
        (video("bit-rate = \"constant\"\npackets-per-frame = 2"), 5, "packets-per-frame", "variable"),
        (video("codec = \"g711\""), 4, "codec", "only with kind = \"voice\""),
        ("kind = \"video\"\nbetween = [\"phone\", \"server\"]".to_owned(), 0, "", "a client and a server"),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(keys, line, key, says)| (keys.as_str(), *line, *key, *says)).collect();
    refused(&cases);
}
