//! Sessions: hosts, kinds and times.

use std::time::Duration;

use lasthop_apps::heavy_tails::{Lognormal, Pareto};
use lasthop_apps::session::{DialogueKind, Ftp, Mail, Objects, Pace, Size, Web};
use lasthop_apps::traffic::{Codec, Frames, Media, Spurts, Video, Voice};
use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::Playout;

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

/// Checks the error of each session: its line from the start of the session's table, its key, and a
/// part of its message.
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
fn a_call_has_defaults_and_every_key_can_be_set() {
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
fn a_start_after_the_end_of_the_run_is_refused() {
    let call =
        |start: &str| format!("duration = \"20 s\"\n{}", with(&format!("{CALL}\nstart = \"{start}\"")));
    assert!(read(&call("19.9 s")).is_ok());
    let flow = GOOD.replace("to = \"phone\"\n", "to = \"phone\"\nstart = \"15 min\"\n");
    for (text, place, ends) in [
        (call("20 s"), "29: sessions.chat.start: 20 s", "20 s"),
        (call("25 s"), "29: sessions.chat.start: 25 s", "20 s"),
        // The default.
        (flow.clone(), "23: flows.download.start: 15 min", "10 min"),
    ] {
        let expected = format!("x.toml:{place}: the run ends at {ends}; expected a time before its end");
        assert_eq!(error(&text), expected);
    }
    assert!(read(&format!("{flow}[try]\n")).is_ok(), "a trial ends by its own duration");
}

#[test]
fn impossible_sessions_are_refused() {
    let call = |keys: &str| format!("{CALL}\n{keys}");
    let cases = [
        ("kind = \"chess\"".to_owned(), 1, "kind", "voice"),
        ("kind = \"voice\"".to_owned(), 0, "", "between"),
        ("kind = \"voice\"".to_owned(), 0, "", "between"),
        (call("client = \"phone\""), 3, "client", "leave it out"),
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
fn the_error_about_a_misspelled_key_lists_the_keys_of_its_kind() {
    let error = error(&with(&format!("{CALL}\nplayout = \"60 ms\"")));
    assert_eq!(
        error,
        "x.toml:28: sessions.chat.playout: unknown key `playout`; a session of kind \"voice\" has: `kind`, \
         `between`, `start`, `stop`, `codec`, `packet-time`, `talk-spurts`, `concealment`, `playout-buffer`"
    );
}

#[test]
fn a_session_of_a_group_becomes_one_per_member() {
    let text = "[nodes.ap]\nkind = \"host\"\n[nodes.phone]\nkind = \"host\"\ncount = 30\n[wlans.cell]\n\
                standard = \"802.11g\"\naccess-point = \"ap\"\nstations = [\"phone\"]\n[sessions.call]\n\
                kind = \"voice\"\nbetween = [\"ap\", \"phone\"]\n";
    let scenario = read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.sessions.len(), 30);
    let last = &scenario.sessions[29];
    assert_eq!((last.name.as_str(), last.client, last.server), ("call-30", 0, 30));
}

#[test]
fn a_session_needs_routes_in_both_directions() {
    let text = "[nodes.a]\nkind = \"host\"\n[nodes.b]\nkind = \"host\"\n[nodes.c]\nkind = \"host\"\n[links.wire]\n\
                between = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n[sessions.call]\nkind = \"voice\"\nbetween = [\"a\", \"c\"]\n";
    let error = error(text);
    assert!(error.starts_with("x.toml:10: sessions.call: "), "{error}");
    assert!(error.contains("no route from \"a\" to \"c\" and back"), "{error}");
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
    let rate = Bitrate::mbps(2);
    assert_eq!(media("bit-rate = \"constant\"\nrate = \"2 Mbit/s\""), Video::Constant { rate, packet: 1200 });
    let video = |keys: &str| format!("{VIDEO}\n{keys}");
    let cases = [
        (video("bit-rate = \"constant\""), 0, "", "requires a rate"),
        (video("rate = \"trace\""), 4, "rate", "Gbit/s, such as \"11 Mbit/s\""),
        (video("rate = \"10 Mbit/s\""), 4, "rate", "packets-per-frame"),
        (video("packet = \"100 B\""), 4, "packet", "constant"),
        (video("bit-rate = \"constant\"\nrate = \"1 Mbit/s\"\npacket = \"9 kB\""), 6, "packet", "1460 B"),
        (video("bit-rate = \"constant\"\nrate = \"1 bit/s\""), 5, "rate", "1 us to 1 h"),
        (video("bit-rate = \"constant\"\npackets-per-frame = 2"), 5, "packets-per-frame", "variable"),
        (video("codec = \"g711\""), 4, "codec", "only with kind = \"voice\""),
        ("kind = \"video\"".to_owned(), 0, "", "a client and a server"),
        ("kind = \"video\"\nbetween = [\"phone\", \"server\"]".to_owned(), 2, "between", "leave it out"),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(keys, line, key, says)| (keys.as_str(), *line, *key, *says)).collect();
    refused(&cases);
}

const WEB: &str = "kind = \"web\"\nclient = \"phone\"\nserver = \"server\"";

fn dialogue(keys: &str) -> (DialogueKind, Pace, lasthop_tcp::Config) {
    let ActivityModel::Dialogue { dialogue, pace, tcp } = session(keys).activity else {
        panic!("a dialogue")
    };
    (dialogue, pace, *tcp)
}

#[test]
fn browsing_has_the_published_distributions_and_every_key_can_be_set() {
    let (kind, pace, tcp) = dialogue(WEB);
    assert_eq!(kind, DialogueKind::Web(Web::evaluation_methodology()));
    assert_eq!((pace, tcp.window), (Pace::Think(Duration::from_secs(30)), 65_536));
    let (kind, pace, tcp) = dialogue(&format!(
        "{WEB}\nload = \"50 kbit/s\"\nrequest = \"400 B\"\nconnections = 2\nparse-time = \"0 s\"\n\
         main-object = \"10 kB\"\nobjects = {{ max = 10 }}\ntcp = {{ window = \"8 KiB\" }}\n\
         object = {{ distribution = \"pareto\", shape = 1.5, min = \"1 kB\", max = \"1 MB\" }}"
    ));
    let rate = Bitrate::from_bps(50_000).expect("above zero");
    assert_eq!((pace, tcp.window), (Pace::Load(rate), 8192));
    let web = Web {
        request: 400,
        main_object: Size::Fixed(10_000),
        objects: Objects::Pareto(Pareto { shape: 1.1, min: 2.0, max: 12.0 }),
        object: Size::Pareto(Pareto { shape: 1.5, min: 1e3, max: 1e6 }),
        parse_time: Duration::ZERO,
        connections: 2,
    };
    assert_eq!(kind, DialogueKind::Web(web));
    let (kind, ..) = dialogue(&format!("{WEB}\nobjects = 4"));
    assert!(matches!(kind, DialogueKind::Web(Web { objects: Objects::Fixed(4), .. })));
}

#[test]
fn mail_and_files_have_their_own_sizes_and_go_both_ways() {
    let of = |kind: &str, keys: &str| dialogue(&format!("{}\n{keys}", WEB.replace("web", kind)));
    let (kind, pace, _) = of("mail", "sent = \"30%\"");
    let message = Mail::measured_sizes();
    let sent = Probability::new(0.3).expect("30%");
    assert_eq!(kind, DialogueKind::Mail(Mail { message: message.clone(), sent }));
    assert_eq!(pace, Pace::Think(Duration::from_secs(60)));
    let bands = "[{ share = \"50%\", max = \"1 kB\" }, { share = \"50%\", max = \"10 kB\" }]";
    let (kind, ..) =
        of("mail", &format!("message = {{ distribution = \"measured\", min = \"100 B\", bands = {bands} }}"));
    let DialogueKind::Mail(Mail { message: measured, .. }) = kind else { panic!("mail") };
    // Means of sizes whose logarithms are uniformly distributed.
    let expected = 0.5 * 9900.0 / libm::log(10.0);
    assert!((measured.mean() - expected).abs() < 1e-6, "{}", measured.mean());
    let (kind, pace, _) = of(
        "ftp",
        "stored = \"100%\"\nfile = { distribution = \"lognormal\", mu = 10, sigma = 1, max = \"1 MB\" }",
    );
    let file = Size::Lognormal(Lognormal { mu: 10.0, sigma: 1.0, min: 1.0, max: 1e6 });
    assert_eq!(kind, DialogueKind::Ftp(Ftp { file, stored: Probability::ONE }));
    assert_eq!(pace, Pace::Think(Duration::from_secs(180)));
}

#[test]
fn the_tcp_settings_of_a_row_apply_to_sessions() {
    let text = with(WEB).replacen("\"none\"", "\"none\", { label = \"small\", tcp.window = \"8 KiB\" }", 1);
    let scenario = read(&text).unwrap_or_else(|error| panic!("{error}"));
    let ActivityModel::Dialogue { tcp, .. } = &scenario.sessions[0].activity else { panic!("a dialogue") };
    let windows = [0, 1].map(|row| scenario.schemes[row].tcp_of_session(0, tcp).window);
    assert_eq!(windows, [65_536, 8192]);
}

#[test]
fn hostile_settings_of_dialogues_are_refused() {
    let web = |keys: &str| format!("{WEB}\n{keys}");
    let mail = |keys: &str| format!("{}\n{keys}", WEB.replace("web", "mail"));
    let object = |keys: &str| web(&format!("object = {{ {keys} }}"));
    let cases = [
        (web("connections = 17"), 4, "connections", "1 to 16"),
        (web("connections = 0"), 4, "connections", "1 to 16"),
        (web("objects = -1"), 4, "objects", "0 to 1000"),
        (web("objects = 1001"), 4, "objects", "0 to 1000"),
        (web("objects = { scale = 0 }"), 4, "objects.scale", "1 to 1000"),
        (web("objects = { shape = nan }"), 4, "objects.shape", "above 0"),
        (web("objects = \"many\""), 4, "objects", "a whole number from 0 to 1000"),
        (web("request = \"0 B\""), 4, "request", "1 B"),
        (web("main-object = \"0 B\""), 4, "main-object", "1 B"),
        (web("main-object = \"100 GB\""), 4, "main-object", "10 GB"),
        (web("load = \"trace\""), 4, "load", "Gbit/s, such as \"11 Mbit/s\""),
        (web("load = 3"), 4, "load", "in bit/s, kbit/s, Mbit/s or Gbit/s"),
        (web("load = \"1 Mbit/s\"\nthink-time = \"1 s\""), 5, "think-time", "not both"),
        (web("think-time = \"0 s\""), 4, "think-time", "1 ms"),
        (web("file = \"1 MB\""), 4, "file", "only with kind = \"ftp\""),
        (web("playout-buffer = \"1 s\""), 4, "playout-buffer", "only with kind = \"voice\""),
        (web("tcp = { window = \"0 B\" }"), 4, "tcp.window", "expected a window"),
        (object("distribution = \"normal\""), 4, "object.distribution", "lognormal"),
        (object("distribution = \"lognormal\", mu = 8, max = \"1 MB\""), 4, "object.sigma", "missing"),
        (
            object("distribution = \"lognormal\", mu = 8, sigma = -1, max = \"1 MB\""),
            4,
            "object.sigma",
            "above 0",
        ),
        (object("distribution = \"lognormal\", mu = 8, sigma = 1"), 4, "object", "`max`"),
        (
            object("distribution = \"lognormal\", mu = 1, sigma = 0.1, min = \"1 MB\", max = \"2 MB\""),
            4,
            "object",
            "1%",
        ),
        (object("distribution = \"pareto\", shape = 1, max = \"1 MB\""), 4, "object", "`min`"),
        (
            object("distribution = \"pareto\", shape = 1, min = \"2 MB\", max = \"1 MB\""),
            4,
            "object.max",
            "less than `min`",
        ),
        (
            object("distribution = \"pareto\", shape = 1, min = \"1 B\", max = \"1 MB\", mu = 1"),
            4,
            "object.mu",
            "lognormal",
        ),
        (object("distribution = \"measured\", bands = []"), 4, "object.bands", "1 to 100"),
        (
            object("distribution = \"measured\", bands = [{ share = \"90%\", max = \"1 kB\" }]"),
            4,
            "object.bands",
            "100%",
        ),
        (
            object(
                "distribution = \"measured\", min = \"5 kB\", bands = [{ share = \"100%\", max = \"1 kB\" }]",
            ),
            4,
            "object.bands",
            "increase",
        ),
        (mail("sent = \"110%\""), 4, "sent", "100%"),
        (mail("connections = 2"), 4, "connections", "only with kind = \"web\""),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(keys, line, key, says)| (keys.as_str(), *line, *key, *says)).collect();
    refused(&cases);
}
