//! Tests of links that change while they are in use, and of an emulator that is late.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_emulator::control::{About, ControlSocket, change, status};
use lasthop_emulator::{Options, Running};
use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, SchemeChoice, Settings};

use crate::hosts::{Hosts, direction, world};
use crate::stream::stream;

const LINK: &str = r#"
[nodes.near]
kind = "external"
[nodes.far]
kind = "external"
[links.air]
between = ["near", "far"]
rate = "100 Mbit/s"
"#;

fn about() -> About {
    let [link, command] = ["loss 1%", "curl"].map(str::to_owned);
    About { pid: std::process::id(), name: None, link, command, changed: BTreeMap::new() }
}

fn set(path: &Path, assignments: &[&str]) -> Result<(), String> {
    let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
    change(path, &assignments).map_err(|error| error.to_string())
}

fn settings(link: &str) -> Settings {
    let settings = Settings::parse(link.to_owned(), "link".to_owned(), PathBuf::new(), &Overrides::default());
    settings.expect("a good file")
}

/// An emulation of `link` whose control socket has `settings`; `name` is part of the socket's path
/// and unique to each test.
fn listening(name: &str, link: &Settings, settings: Settings) -> (Hosts, Running, ControlSocket) {
    let scheme = SchemeChoice::new("none", toml::Table::new()).expect("it is in the catalog");
    let built = link.scenario().build(&scheme, 1).expect("it can be built");
    let (hosts, emulator) = Hosts::around(built.world, [built.nodes[0], built.nodes[1]], false);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let path = std::env::temp_dir().join(format!("lasthop-{name}-{}.sock", std::process::id()));
    let socket = ControlSocket::listen(&path, None, about(), settings, built.links, running.handle());
    let socket = socket.expect("a directory");
    (hosts, running, socket)
}

pub fn a_link_is_changed_through_the_socket_while_packets_cross_it() {
    let (hosts, _running, socket) = listening("test", &settings(LINK), settings(LINK));
    let (near, far) = hosts.udp();

    // 50 packets of 1,000 octets: 4 ms at 100 Mbit/s, 200 ms at 2.
    let took = || {
        let arrivals = stream(&near, &far, 50, Duration::ZERO);
        assert_eq!(arrivals.len(), 50);
        arrivals[49].at.since(arrivals[0].sent)
    };
    lasthop_needs::assert_in_time("as the file says", Duration::from_millis(100), took);
    set(socket.path(), &["air.forward.rate=2 Mbit/s", "air.delay=1 ms"]).expect("good values");
    let slow = took();
    assert!(slow > Duration::from_millis(200), "{slow:?}");
    set(socket.path(), &["air.loss=100%"]).expect("a good value");
    assert!(stream(&near, &far, 20, Duration::ZERO).is_empty());

    let status = status(socket.path()).expect("it listens");
    let changed = [("air.delay", "1 ms"), ("air.forward.rate", "2 Mbit/s"), ("air.loss", "100%")];
    let changed = changed.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    assert_eq!(status.about, About { changed, ..about() });
    assert_eq!(status.summary["packets_taken"], 120, "{status:?}");
    assert_eq!(status.summary["dropped"]["wired loss"], 20, "{status:?}");

    assert!(set(socket.path(), &["air.rate"]).expect_err("no value").contains("KEY=VALUE"));
    assert!(set(socket.path(), &["air.rate=1 parsec"]).expect_err("no rate").contains(".rate: "));
    let path = socket.path().to_owned();
    drop(socket);
    assert!(!path.exists() && set(&path, &["air.loss=0%"]).is_err());
}

pub fn a_value_set_after_a_planned_change_holds_until_the_next_one() {
    let changes = "[[changes]]\nat = \"100 ms\"\nset = { \"links.air.loss\" = \"100%\" }\n\
                   [[changes]]\nat = \"1500 ms\"\nset = { \"links.air.loss\" = \"100%\" }\n";
    let link = settings(&(LINK.to_owned() + changes));
    let (hosts, running, socket) = listening("planned", &link, link.clone());
    let (near, far) = hosts.udp();
    let arrived = || stream(&near, &far, 20, Duration::ZERO).len();
    let wait_until = |ms: u64| {
        let now = || running.with_world(|world| world.now()).expect("it runs");
        while now() < Instant::from_millis(ms) {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    };
    let loss = || status(socket.path()).expect("it listens").about.changed["air.loss"].clone();
    wait_until(150);
    assert_eq!((arrived(), loss().as_str()), (0, "100%"));
    set(socket.path(), &["air.loss=0%"]).expect("a good value");
    assert_eq!((arrived(), loss().as_str()), (20, "0%"), "though the file has no loss at its start");
    wait_until(1550);
    assert_eq!((arrived(), loss().as_str()), (0, "100%"), "though the change before set the same value");
}

/// Further keys of [`LINK`] that make it a wireless link with a channel.
const WIRELESS: &str =
    "kind = \"wireless\"\nchannel = { good = { mean = \"1 s\" }, bad = { mean = \"0 s\" } }\n";

pub fn no_change_is_made_if_the_world_refuses_a_later_one_of_the_request() {
    // The link has a channel in the settings, but not in the world.
    let wireless = settings(&(LINK.to_owned() + WIRELESS));
    let (hosts, _running, socket) = listening("refused", &settings(LINK), wireless);
    let (near, far) = hosts.udp();
    let channel = "air.channel={ good = { mean = \"2 s\" }, bad = { mean = \"0 s\" } }";
    let refused = set(socket.path(), &["air.loss=100%", channel]).expect_err("there is no channel");
    assert!(refused.contains("a wired link has no channel"), "{refused}");
    assert_eq!(stream(&near, &far, 20, Duration::ZERO).len(), 20, "nothing was lost");
    // The next change does not include the refused ones.
    set(socket.path(), &["air.delay=1 ms"]).expect("a good value");
    assert_eq!(stream(&near, &far, 20, Duration::ZERO).len(), 20, "nothing was lost");
}

pub fn a_stalled_run_is_not_trusted_and_does_not_catch_up_in_a_burst() {
    let (world, ends, link) = world(1, &direction(50, 0.0), Duration::from_millis(2));
    let (hosts, emulator) = Hosts::around(world, ends, false);
    let running = emulator.spawn(Options::default()).expect("a thread");
    running.stall(Duration::from_millis(250)).expect("it runs");
    let (near, far) = hosts.udp();
    assert_eq!(stream(&near, &far, 10, Duration::from_millis(1)).len(), 10);
    let name = running.with_world(move |world| world.link_name(link).to_owned());
    assert_eq!(name.as_deref(), Ok("hop"));
    let summary = running.stop().expect("it ran");
    assert!(!summary.trusted && summary.stalls >= 1, "{summary:?}");
    assert!(summary.longest_stall_ms > 200.0 && summary.cut_ms > 100.0, "{summary:?}");
    assert!(summary.to_string().contains("because the emulator stalled"), "{summary}");
}

pub fn incomplete_requests_do_not_delay_other_clients_and_are_closed() {
    let (_hosts, _running, socket) = listening("slow", &settings(LINK), settings(LINK));
    let connect = || UnixStream::connect(socket.path()).expect("it listens");
    let slow: Vec<UnixStream> = (0..20).map(|_| connect()).collect();
    for mut client in &slow[4..] {
        client.write_all(b"{\"command\":").expect("there is room");
    }
    set(socket.path(), &["air.loss=1%"]).expect("a good value");
    // All are closed: those that were replaced, and the others after their own timeouts.
    for mut client in slow {
        let mut answer = String::new();
        // This is a reset if its octets had not been read.
        let _ = client.read_to_string(&mut answer);
        assert_eq!(answer, "");
    }
    set(socket.path(), &["air.loss=2%"]).expect("a good value");
}

pub fn a_command_with_an_unknown_key_is_refused() {
    let (_hosts, _running, socket) = listening("keys", &settings(LINK), settings(LINK));
    let send = |request: &str| {
        let mut stream = UnixStream::connect(socket.path()).expect("it listens");
        stream.write_all(request.as_bytes()).expect("there is room");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(send("{\"command\":\"status\"}\n").starts_with("{\"ok\":"));
    for request in [
        r#"{"command":"status","pid":7}"#,
        r#"{"command":"set","assignments":["air.loss=2%"],"at":"10 s"}"#,
        r#"{"command":"stop"}"#,
        "status",
    ] {
        let answer = send(&format!("{request}\n"));
        assert!(answer.starts_with("{\"error\":") && answer.contains("nothing has changed"), "{answer}");
    }
    assert!(status(socket.path()).expect("it listens").about.changed.is_empty());
}
