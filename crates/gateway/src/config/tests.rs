use std::net::IpAddr;

use lasthop_agent::{Budget, LinkSenses};
use lasthop_packet::FlowKey;

use super::*;

fn read(text: &str) -> Result<Config, String> {
    parse(text, "gateway.toml", LinkSenses::empty()).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    read(text).map(|_| ()).expect_err("it is wrong")
}

#[test]
fn the_packaged_file_has_the_default_of_every_key() {
    let document = Document::parse(DEFAULT_FILE, "packaging/gateway.toml".to_owned(), "a configuration")
        .expect("it is TOML");
    let mut packaged: GatewayFile = document.deserialize().expect("it is right");
    let defaults = GatewayFile::default();
    assert_eq!(std::mem::replace(&mut packaged.rule, defaults.rule.clone()), defaults.rule);
    assert_eq!(packaged, defaults);
    let packaged = read(DEFAULT_FILE).expect("it is right");
    let empty = read("").expect("every key has a default");
    assert_eq!(packaged.plan.rules[0].spec, empty.plan.rules[0].spec);
    assert_eq!((empty.core, empty.metrics.map(|address| address.port())), (None, Some(9477)));
}

#[test]
fn settings_that_are_probably_not_intended_result_in_notes() {
    let notes = |text: &str| read(text).expect("it is right").notes();
    assert_eq!(notes(""), [""; 0]);
    let [note] = &notes("[bounds]\noctets-in-all = \"1 MiB\"")[..] else { panic!("one note") };
    assert!(note.contains("(4 MiB) is more than bounds.octets-in-all (1 MiB)"), "{note}");
    let [note] = &notes("[bounds]\noctets-in-all = \"0 B\"")[..] else { panic!("one note") };
    assert!(note.contains("agents cannot keep packets"), "{note}");
    for little in ["0 B", "1023 B"] {
        let [note] = &notes(&format!("[bounds]\noctets-per-flow = \"{little}\""))[..] else {
            panic!("one note")
        };
        assert!(note.contains("bounds.octets-per-flow is") && note.contains("pass untouched"), "{note}");
    }
    assert_eq!(notes("[bounds]\noctets-per-flow = \"1 KiB\""), [""; 0]);
    let [note] = &notes("[bounds]\noctets-in-all = \"8 MiB\"\n[process]\nthreads = 4")[..] else {
        panic!("one note")
    };
    assert!(note.contains("(4 MiB) is more than a thread's share of bounds.octets-in-all (2 MiB)"), "{note}");
    let [note] = &notes("[bounds]\nflows = 100_000")[..] else { panic!("one note") };
    assert!(note.contains("octets-in-all (64 MiB) is less than 1 KiB for each connection"), "{note}");
    let few = refused("[bounds]\nflows = 2\n[process]\nthreads = 4");
    assert!(few.contains("process.threads: 4 threads share bounds.flows = 2"), "{few}");
    let rules = "[[rule]]\nscheme = \"snoop\"\n[[rule]]\nscheme = \"none\"\nports = [80]";
    let [note] = &notes(rules)[..] else { panic!("one note") };
    assert!(note.starts_with("rule[1] and the rules after it are never used"), "{note}");
    assert_eq!(notes("[[rule]]\nscheme = \"none\"\nports = [80]\n[[rule]]\nscheme = \"snoop\""), [""; 0]);
}

#[test]
fn the_refusal_of_a_scheme_that_needs_link_events_lists_usable_schemes() {
    let refusal = |scheme| refused(&format!("[[rule]]\nscheme = \"{scheme}\""));
    let fates = refusal("as-tcp");
    assert!(fates.contains("needs the fate of each frame, which Wi-Fi drivers report"), "{fates}");
    let others = fates.rsplit_once(": ").map(|(_, others)| others).expect("they are told");
    assert!(others.contains("i-tcp") && !others.contains("lle-tcp"), "{others}");
    for scheme in others.split(", ") {
        assert!(read(&format!("[[rule]]\nscheme = \"{scheme}\"")).is_ok(), "{scheme}");
    }
    let options = refusal("c3tcp");
    assert!(options.contains("needs options in frames, which have no encoding on a real wire"), "{options}");
}

#[test]
fn errors_name_line_key_and_what_was_expected() {
    for (text, place, problem) in [
        (
            "[bounds]\nflows = 0",
            "gateway.toml:2: bounds.flows: ",
            "expected a whole number from 1 to 1000000",
        ),
        ("[bounds]\nflow = 1", "gateway.toml:2: bounds.flow: ", "unknown key"),
        (
            "[bounds]\n\noctets-in-all = \"3 apples\"",
            "gateway.toml:3: bounds.octets-in-all: ",
            "amount of data",
        ),
        ("backend = \"magic\"", "gateway.toml:1: backend: ", "\"tc-bpf\""),
        ("[ports]\nradio = [\"wlan0\", \"a/b\"]", "gateway.toml:2: ports.radio[1]: ", "such as \"wlan0\""),
        (
            "[ports]\ncore = [\"e\"]\nradio = [\"e\"]",
            "gateway.toml:3: ports.radio[0]: ",
            "each interface once",
        ),
        ("[ports]\ncore = []", "gateway.toml:2: ports.core: ", "leave the key out"),
        ("[traffic]\nports = [0]", "gateway.toml:2: traffic.ports[0]: ", "a range such as"),
        (
            "[traffic]\nprefixes = [\"10.0.0.0/8\", \"x\"]",
            "gateway.toml:2: traffic.prefixes[1]: ",
            "\"x\" is a name; expected an address or a prefix",
        ),
        ("[[rule]]\nports = [80]", "gateway.toml:1: rule[0]: ", "expected a scheme"),
        ("[[rule]]\nscheme = \"snop\"", "gateway.toml:2: rule[0].scheme: ", "unknown scheme \"snop\""),
        (
            "[[rule]]\nscheme = \"snoop\"\n[rule.settings]\nreordering = 3\nminimum-timeout = 5",
            "gateway.toml:5: rule[0].settings.minimum-timeout: ",
            "expected a duration",
        ),
        (
            "[[rule]]\nscheme = \"none\"\n[[rule]]\nscheme = \"refined-icmp\"",
            "gateway.toml:4: rule[1].scheme: ",
            "needs the fate of each frame, which no driver of a real link reports to a gateway",
        ),
        (
            "[[rule]]\nscheme = \"none\"\n[[rule]]\nscheme = \"c3tcp\"",
            "gateway.toml:4: rule[1].scheme: ",
            "which have no encoding on a real wire",
        ),
        ("[[rule]]\nscheme = \"snoop\"\nstack = []", "gateway.toml:1: rule[0]: ", "or a stack"),
        (
            "[[rule]]\nstack = [{ scheme = \"snoop\" }, { scheme = \"x\" }]",
            "gateway.toml:2: rule[0].stack[1].scheme: ",
            "unknown scheme",
        ),
        (
            "[[rule]]\nstack = [\"snoop\", { scheme = \"snoop\", minimum-timeout = \"9 days\" }]",
            "gateway.toml:2: rule[0].stack[1].minimum-timeout: ",
            "9 days",
        ),
        ("rule = []", "gateway.toml:1: rule: ", "expected 1 to 64"),
        ("[metrics]\nlisten = \"0.0.0.0:9477\"", "gateway.toml:2: metrics.listen: ", "loopback"),
        ("[metrics]\nlisten = \"9477\"", "gateway.toml:2: metrics.listen: ", "or \"off\""),
        ("[control]\nsocket = \"gateway.sock\"", "gateway.toml:2: control.socket: ", "absolute path"),
        ("[idle]\nclosing = \"0 s\"", "gateway.toml:2: idle.closing: ", "expected 1 s to"),
        ("[log]\nlevel = \"loud\"", "gateway.toml:2: log.level: ", "\"warn\""),
        (
            "[stepping-aside]\nunresponsive-losses = 0",
            "gateway.toml:2: stepping-aside.unresponsive-losses: ",
            "1 to 100",
        ),
        ("[ports\n", "gateway.toml:1: ports: ", ""),
    ] {
        let error = refused(text);
        assert!(error.starts_with(place) && error.contains(problem), "{text:?}\n  gives {error}");
    }
}

#[test]
fn bounds_and_settings_are_those_of_the_file() {
    let text = r#"
        [bounds]
        flows = 77
        octets-per-flow = "2 KiB"
        octets-in-all = "1 MiB"
        [[rule]]
        scheme = "snoop"
        settings = { preset = "published" }
        ports = [443]
        [[rule]]
        scheme = "snoop"
        [[rule]]
        scheme = "none"
    "#;
    let plan = read(text).expect("it is right").plan;
    let specs: Vec<&str> = plan.rules.iter().map(|rule| rule.spec.as_str()).collect();
    assert_eq!(specs, [r#"snoop { preset = "published" }"#, "snoop", "none"]);
    assert_eq!(plan.rules.iter().map(|rule| rule.agent.is_some()).collect::<Vec<_>>(), [true, true, false]);
    let budget = Budget { flows: 77, octets_per_flow: 2 << 10, octets_in_all: 1 << 20 };
    assert_eq!(plan.budget, budget);
}

#[test]
fn ssh_is_excluded_by_default() {
    let key = |port| {
        let host = IpAddr::from([10, 0, 0, 1]);
        FlowKey::tcp((host, port), (host, 50_000))
    };
    let plain = read("").expect("right").plan.traffic;
    assert!(plain.matches(key(443)) && !plain.matches(key(22)));
    let all = read("[traffic]\nexclude-ports = []").expect("right").plan.traffic;
    assert!(all.matches(key(22)));
}

#[test]
fn the_schema_in_the_repository_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/gateway.schema.json");
    let mut schema = serde_json::to_string_pretty(&schema()).expect("a JSON value");
    schema.push('\n');
    if std::env::var_os("LASTHOP_WRITE_SCHEMA").is_some() {
        std::fs::write(path, &schema).expect("a writable repository");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == schema,
        "packaging/gateway.schema.json is stale: LASTHOP_WRITE_SCHEMA=1 cargo test -p lasthop-gateway --lib schema"
    );
}

#[test]
fn the_schema_knows_every_key_of_the_packaged_file() {
    let schema = schema();
    let document = DEFAULT_FILE.parse::<toml::Table>().expect("it is TOML");
    for key in document.keys() {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}

#[test]
fn a_change_of_the_scheme_is_not_reported_as_a_change_of_traffic() {
    let of = |scheme: &str| read(&format!("[[rule]]\nscheme = \"{scheme}\"")).expect("it is right");
    // Neither file has [traffic].
    assert!(!of("cicada").takes_restart(&of("snoop")).contains(&"traffic"));
}

#[test]
fn schemes_that_need_the_fates_of_frames_are_for_drivers_that_report_them() {
    let with = |tx_status: &str| format!("{tx_status}\n[[rule]]\nscheme = \"lle-tcp\"");
    let off = refused(&with(""));
    assert!(
        off.contains("needs the fate of each frame, which Wi-Fi drivers report if [ports] tx-status"),
        "{off}"
    );
    for tx_status in ["probed", "trusted"] {
        let config = read(&with(&format!("[ports]\ntx-status = \"{tx_status}\""))).expect("it is right");
        assert!(config.plan.needs().contains(LinkSenses::FRAME_FATE) && config.tx_status != TxStatus::Off);
    }
    let tun = refused(&with("backend = \"tun\"\n[ports]\ntx-status = \"probed\""));
    assert!(tun.contains("ports.tx-status: with the backend tun"), "{tun}");
}

#[test]
fn a_mobile_host_has_the_agents_of_mobile_hosts() {
    let at = |rest: &str| format!("role = \"mobile-host\"\n{rest}");
    let probed = refused(&at("[ports]\ntx-status = \"probed\""));
    assert!(probed.contains("ports.tx-status: the driver of a client"), "{probed}");
    let snoop = refused(&at("[[rule]]\nscheme = \"snoop\""));
    assert!(snoop.contains("places nothing at a mobile host"), "{snoop}");
    let trusted = at("[ports]\ntx-status = \"trusted\"\n[[rule]]\nscheme = \"lle-tcp\"");
    assert_eq!(read(&trusted).expect("it is right").role, Role::MobileHost);
    // The other end of the hop has the other agent of such a stack.
    let stack = at("[ports]\ntx-status = \"trusted\"\n[[rule]]\nstack = [\"snoop\", \"lle-tcp\"]");
    assert!(read(&stack).is_ok());
    #[cfg(feature = "roaming")]
    assert!(
        refused(&at("[ports]\ntx-status = \"trusted\"\n[[rule]]\nscheme = \"lle-tcp\"\n[roaming]\n"))
            .contains("role")
    );
}
