//! The meaning of data files, the errors about wrong ones, and the output of their runs.

mod bench;

use std::path::Path;
use std::time::Duration;

use bench::{Run, TempDir};
use lasthop_config::FileError;
use lasthop_linux::results::Earlier;
use lasthop_scenario::Link;
use lasthop_sim::{LinkLayer, NodeKind};
use lasthop_thesis::{DataFile, EventKinds};

/// The parts of the manual's example (appendix B.3) in one file, with their comments and some `;`.
const MANUAL: &str = include_str!("../../../fuzz/corpus/datafile/manual");

fn parse(text: &str) -> Result<DataFile, FileError> {
    lasthop_thesis::parse(text, "datafile.dat", Path::new("/nowhere"))
}

fn with(from: &str, to: &str) -> String {
    assert!(MANUAL.contains(from), "{from}");
    MANUAL.replace(from, to)
}

#[test]
fn the_manuals_example_is_the_network_of_figure_5_1() {
    let file = parse(MANUAL).expect("the manual's own example");
    let scenario = &file.scenario;
    let nodes: Vec<_> =
        scenario.nodes.iter().map(|node| (node.name.as_str(), node.kind, node.buffer)).collect();
    let hosts = NodeKind::Host;
    assert_eq!(nodes, [("211", hosts, None), ("212", NodeKind::Router, Some(512_000)), ("213", hosts, None)]);
    assert_eq!(scenario.duration, Duration::from_secs(4300));
    assert_eq!(file.print_interval, Duration::from_millis(500));
    let flow = &scenario.flows[0];
    assert_eq!((flow.name.as_str(), flow.from, flow.to, flow.size()), ("211-213", 0, 2, Some(100 * 1024)));
    let tcp = flow.tcp().expect("TCP is what there was");
    assert_eq!((tcp.sender.mss, tcp.receiver.window), (1024, 16 * 1024));
    assert_eq!(tcp.sender.rto.minimum, Duration::from_secs(1));
    let [wired, wireless] = &scenario.links[..] else { panic!("two links") };
    let (Link::Wired(wired), Link::Wireless { config, cell: None }) = (&wired.link, &wireless.link) else {
        panic!("one wired, one wireless and full duplex")
    };
    assert_eq!((wired.forward.delay.constant(), wired.seed), (Some(Duration::from_millis(492)), Some(2)));
    assert_eq!((config.forward.delay.constant(), config.seed), (Some(Duration::from_millis(1)), Some(3)));
    assert_eq!(config.channel.good.mean, Duration::from_secs(5));
    assert_eq!(config.link_layer.retransmission_attempts, 8);
    assert!(file.notes.is_empty());
}

#[test]
fn layout_and_the_order_of_components_do_not_matter() {
    let blocks: Vec<&str> = MANUAL.split_inclusive("}\n").collect();
    let reversed = blocks.iter().rev().copied().collect::<String>();
    let one_line_braces = MANUAL.replace("\n{", " {  # comment");
    let crlf = MANUAL.replace('\n', "\r\n");
    let tight = MANUAL.replace(" = ", "=").replace("    ", "\t");
    for text in [reversed, one_line_braces, crlf, tight] {
        let file = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(
            (file.scenario.nodes.len(), file.scenario.links.len(), file.scenario.flows.len()),
            (3, 2, 1)
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn an_error_names_line_and_key_and_says_what_was_expected() {
    let cases = [
        (
            with("    pkt_size = 1024\n", ""),
            "8: wired_source_node.pkt_size: missing; expected a whole number",
        ),
        (
            with("pkt_size = 1024", "packet_size = 1024"),
            "14: wired_source_node: \"packet_size\": unknown attribute; expected one of node_id, dest_id",
        ),
        (with("base_station\n", "base_staton\n"), "17: \"base_staton\": expected a component: simulator, "),
        (
            with("latency    = 492", "latency = fast"),
            "31: wired_link.latency: \"fast\": expected a number from 0 to",
        ),
        (with("latency    = 492", "latency = -1"), "31: wired_link.latency: \"-1\": expected"),
        (with("latency    = 492", "latency = nan"), "31: wired_link.latency: \"nan\": expected"),
        (
            with("bandwidth  = 8000000", "bandwidth = -8"),
            "30: wired_link.bandwidth: \"-8\": expected a whole number from 1 to",
        ),
        (
            with("bandwidth  = 8000000", "bandwidth = 8 Mbit/s"),
            "30: wired_link.bandwidth: \"8 Mbit/s\": expected",
        ),
        (
            with("loss_probability = 0", "loss_probability = 1.5"),
            "34: wired_link.loss_probability: \"1.5\": expected a number from 0 to 1",
        ),
        (with("latency    = 492", "latency = "), "31: wired_link.latency: expected a value"),
        (
            with("latency    = 492", "latency"),
            "31: wired_link: \"latency\": expected an attribute as `name = value`, or }",
        ),
        (
            with("latency    = 492", "latency = 1\nlatency = 2"),
            "32: wired_link.latency: given twice, first in line 31",
        ),
        (
            with("node_id = 213", "node_id = 211"),
            "25: wireless_sink_node.node_id: node id 211 is already used in line 10",
        ),
        (
            with("link_id    = 102", "link_id = 101"),
            "39: wireless_link.link_id: link id 101 is already used in line 29",
        ),
        (with("node_id2   = 212", "node_id2 = 214"), "33: wired_link.node_id2: unknown node 214; expected"),
        (with("node_id2   = 212", "node_id2 = 211"), "27: wired_link.node_id2: the same node as node_id1"),
        (
            with("dest_id = 213", "dest_id = 212"),
            "12: wired_source_node.dest_id: node 212 is not a sink; expected",
        ),
        (with("dest_id = 213", "dest_id = 9"), "12: wired_source_node.dest_id: unknown node 9"),
        (
            MANUAL[..MANUAL.find("wireless_link").unwrap()].to_owned(),
            "12: wired_source_node.dest_id: no route to node 213",
        ),
        (
            with("read_from_trace = 1", "read_from_trace = 3"),
            "6: simulator.read_from_trace: \"3\": expected a whole number from 0 to 2",
        ),
        (
            with("read_from_trace = 1", "read_from_trace = 2"),
            "45: wireless_link.mean_exp_distrib_bad_state: 0.1: expected 0",
        ),
        (
            with("bad_state = 0.1", "bad_state = 0.0001"),
            "45: wireless_link.mean_exp_distrib_bad_state: 0.0001: expected 0, or at least 0.001",
        ),
        (
            with("base_station", "normal_router_node"),
            "37: wireless_link.node_id1: only one of nodes 212 and 213 has the reliable link layer",
        ),
        (
            with("    random_seed = 3;\n}\n", ""),
            "45: wireless_link: the file ends inside this component, which begins in line 37",
        ),
        (
            with("}\nwired_link", "wired_link"),
            "26: wireless_sink_node: \"wired_link\": expected an attribute",
        ),
        (with("wired_link\n{", "wired_link\nlink_id = 1"), "28: wired_link: \"link_id = 1\": expected {"),
        (with("simulator", "# simulator"), "2: \"{\""),
        (
            format!("{MANUAL}{}", &MANUAL[..MANUAL.find('}').unwrap() + 2]),
            "48: simulator: duplicate of the one in line 1",
        ),
        (String::new(), "1: simulator: missing; expected one component `simulator`"),
        ("# nothing\n\n".to_owned(), "2: simulator: missing"),
        (
            with("print_interval = 500", "print_interval = 500\nscheme = snop"),
            "6: simulator.scheme: unknown scheme \"snop\" (did you mean \"snoop\"?); expected one of: none, ",
        ),
        (
            format!("{MANUAL}shared_links\n{{\n link_id = 101\n}}\n"),
            "50: shared_links.link_id: unknown wireless_link 101",
        ),
        (
            format!("{MANUAL}shared_links\n{{\n link_id = 102\n link_id = 102\n}}\n"),
            "51: shared_links.link_id: link 102 is already in the cell in line 48",
        ),
        (format!("{MANUAL}shared_links\n{{\n}}\n"), "48: shared_links.link_id: missing"),
        (
            format!("{MANUAL}shared_links\n{{\n link_id = 102\n mac = fast\n}}\n"),
            "51: shared_links.mac: \"fast\": expected 802.11 or ideal",
        ),
        (
            format!("{MANUAL}shared_links\n{{\n link_id = 102\n rate = 1\n}}\n"),
            "51: shared_links: \"rate\": unknown attribute; expected one of link_id, mac",
        ),
        (
            cell("")
                .replace("link_id = 202\n    bandwidth  = 1000000", "link_id = 202\n bandwidth = 2000000"),
            "85: shared_links.link_id: link 202 has a bandwidth of 2000000; expected 1000000 (bits per second), as link 102 has",
        ),
        (
            cell("").replace("pkt_size = 1024", "pkt_size = 2265"),
            "14: wired_source_node.pkt_size: 2265: expected at most 2264 octets: the connection crosses",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text).map(|_| ()).expect_err(expected).to_string();
        let expected = format!("datafile.dat:{expected}");
        assert!(error.starts_with(&expected), "found    {error}\nexpected {expected}");
    }
}

#[test]
fn octets_that_are_no_data_file_are_refused_with_a_short_message() {
    let mut octets = vec![0_u8; 10 << 20];
    let mut rng = lasthop_packet::Rng::named(1, "octets");
    octets.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.next_u64().to_le_bytes()));
    let text: String = octets.iter().map(|octet| char::from(octet & 0x7f)).collect();
    for (octets, expected) in [(octets, "not valid UTF-8"), (text.into_bytes(), "expected a component")] {
        let directory = TempDir::new().with("datafile.dat", &octets);
        let error = lasthop_thesis::read(&directory.path().join("datafile.dat"))
            .map(|_| ())
            .expect_err("noise")
            .to_string();
        assert!(error.contains(expected) && error.len() < 1000, "{error}");
    }
    let error =
        lasthop_thesis::read(Path::new("/nowhere/datafile.dat")).map(|_| ()).expect_err("it is not there");
    assert!(error.line.is_none() && error.file == "/nowhere/datafile.dat", "{error}");
}

#[test]
fn link_states_are_read_or_refused_with_the_line() {
    let produced = {
        let directory = TempDir::new().with("datafile.dat", MANUAL);
        let run = Run::from_path(&directory.path().join("datafile.dat"), "none");
        std::fs::read_to_string(run.out.path().join("trace.dat")).expect("it is produced")
    };
    let uses = with("read_from_trace = 1", "read_from_trace = 0");
    let error = |trace: Option<&str>| {
        let directory = TempDir::new().with("datafile.dat", &uses);
        let directory =
            trace.into_iter().fold(directory, |directory, trace| directory.with("trace.dat", trace));
        let read = lasthop_thesis::read(&directory.path().join("datafile.dat"));
        read.err().map(|error| {
            assert!(error.file.ends_with("trace.dat"), "{error}");
            (error.line, error.problem)
        })
    };
    assert_eq!(error(Some(&produced)), None);
    assert_eq!(error(Some("945 0\n1033 1 # by hand\n")), None);
    for len in 60..produced.len() - 1 {
        let Some((Some(_), _)) = error(Some(&produced[..len])) else {
            panic!("cut at {len} of {}", produced.len())
        };
        if len > 1000 {
            break;
        }
    }
    let (line, problem) = error(None).expect("missing");
    assert!(line.is_none() && problem.contains("in the directory of the data file"), "{problem}");
    assert_eq!(error(Some("945 0\n1033\n")).map(|(line, _)| line), Some(Some(2)));
    assert_eq!(error(Some("945 0\n944 1\n")).map(|(line, _)| line), Some(Some(2)));
}

#[test]
fn a_list_of_packets_to_lose_is_read_or_refused_with_the_line() {
    let drops =
        with("read_from_trace = 1", "read_from_trace = 2").replace("bad_state = 0.1", "bad_state = 0");
    let read = |list: Option<&str>| {
        let directory = TempDir::new().with("datafile.dat", &drops);
        let directory = list.into_iter().fold(directory, |directory, list| directory.with("drops.dat", list));
        lasthop_thesis::read(&directory.path().join("datafile.dat")).map(|_| ()).map_err(|error| error.line)
    };
    assert_eq!(read(Some("# none\n0\n1024 2\n")), Ok(()));
    assert_eq!(read(None), Err(None));
    for (list, line) in [("x\n", 1), ("1\n2 0\n", 2), ("1 1 1\n", 1), ("-1\n", 1), ("5000000000\n", 1)] {
        assert_eq!(read(Some(list)), Err(Some(line)), "{list}");
    }
}

#[test]
fn an_unreliable_node_has_no_link_layer_and_no_part_in_a_scheme() {
    let text = with("base_station", "normal_router_node").replace("wireless_sink_node", "wired_sink_node");
    let file = parse(&text).expect("both ends are unreliable");
    let Link::Wireless { config, .. } = &file.scenario.links[1].link else { panic!("it is wireless") };
    assert_eq!(config.link_layer, LinkLayer::UNRELIABLE);
    let run = Run::from_file(&file, "refined-icmp");
    assert!(run.events("icmp").is_empty());
}

/// Two wireless hosts in a cell, each with its own source.
fn cell(mac: &str) -> String {
    let second = |name: &str, id: &str| {
        let begin = MANUAL.find(&format!("{name}\n{{")).expect("a component");
        let block = &MANUAL[begin..=begin + MANUAL[begin..].find('}').expect("its end")];
        block
            .replace("211", "221")
            .replace("213", "223")
            .replace("link_id    = 10", id)
            .replace("random_seed = 3", "random_seed = 4")
    };
    let blocks = [
        second("wired_source_node", ""),
        second("wireless_sink_node", ""),
        second("wired_link", "link_id = 20"),
        second("wireless_link", "link_id = 20"),
    ];
    format!("{MANUAL}{}\nshared_links\n{{\nlink_id = 102\nlink_id = 202\n{mac}\n}}\n", blocks.join("\n"))
}

#[test]
fn shared_links_share_a_medium_with_an_ideal_mac() {
    let file = parse(&cell("mac = ideal")).expect("a cell");
    let cells = file.scenario.links.iter().filter_map(|link| match &link.link {
        Link::Wireless { cell, .. } => cell.clone(),
        Link::Wired(_) | Link::Radio { .. } => None,
    });
    let cells: Vec<_> = cells.collect();
    assert!(cells.len() == 2 && cells[0] == cells[1], "{cells:?}");
    assert_eq!(file.notes.len(), 1, "no trace.dat for two links");
    let run = Run::from_file(&file, "none");
    let files = run.out.files();
    assert!(!files.contains(&"trace.dat".to_owned()));
    for name in ["wless_state-212-213", "wless_state-212-223", "211-seqno", "221-seqno"] {
        assert!(files.contains(&name.to_owned()), "{name} in {files:?}");
    }
    for mode in ["0", "2"] {
        let text = cell("mac = ideal").replace("read_from_trace = 1", &format!("read_from_trace = {mode}"));
        let error = parse(&text).map(|_| ()).expect_err("two wireless links").to_string();
        assert!(
            error.contains("datafile.dat:6: simulator.read_from_trace") && error.contains("exactly one"),
            "{error}"
        );
    }
}

#[test]
fn traces_have_the_thesiss_names_and_exist_only_with_events() {
    let file = parse(&with("num_of_pkts_to_send = 100", "num_of_pkts_to_send = 1")).expect("a good file");
    let run = Run::from_file(&file, "none");
    let expected = [
        "211-ackno",
        "211-congestion",
        "211-seqno",
        "211-swnd_size",
        "211-threshold",
        "212-router_pkt_arrival",
        "trace.dat",
        "wless_state-212-213",
    ];
    assert_eq!(run.out.files(), expected);
    assert_eq!(run.trace("211-seqno", 0), [(0, 0)]);
    assert_eq!(run.trace("212-router_pkt_arrival", 0), [(493, 0)]);
    assert_eq!(run.trace("211-ackno", 0), [(995, 1024)]);
    assert_eq!(run.trace("211-swnd_size", 0), [(0, 1024), (995, 0)]);
    assert_eq!(run.trace("211-congestion", 0), [(0, 1024), (995, 2048)]);
    assert_eq!(run.trace("211-threshold", 0), [(0, 65_535)]);
}

#[test]
fn without_a_directory_only_link_states_are_written_beside_the_data_file() {
    let directory = TempDir::new().with("datafile.dat", MANUAL);
    let file = lasthop_thesis::read(&directory.path().join("datafile.dat")).expect("a good file");
    let mut built = file.scenario.build(&file.scenario.schemes[0], 1).expect("it can be built");
    let observers =
        file.observers(&built, None, EventKinds::empty(), Box::new(std::io::sink()), Earlier::Goes);
    for observer in observers.expect("nothing to open yet") {
        built.world.observe(observer);
    }
    built.world.run(lasthop_packet::Instant::from_secs(60), false);
    let mut observers = built.world.take_observers();
    assert!(!directory.files().contains(&"trace.dat".to_owned()), "nothing half-written");
    for observer in &mut observers {
        observer.flush().expect("a writable directory");
        observer.finish().expect("a writable directory");
    }
    assert_eq!(directory.files(), ["datafile.dat", "trace.dat"]);
}

#[test]
fn an_unfinished_run_leaves_no_files() {
    let out = TempDir::new();
    let file = parse(MANUAL).expect("a good file");
    let mut built = file.scenario.build(&file.scenario.schemes[0], 1).expect("it can be built");
    let observers = file.observers(
        &built,
        Some(out.path()),
        EventKinds::empty(),
        Box::new(std::io::sink()),
        Earlier::Goes,
    );
    observers.expect("a writable directory").into_iter().for_each(|observer| built.world.observe(observer));
    built.world.run(lasthop_packet::Instant::from_secs(4000), false);
    assert!(out.files().iter().all(|name| name.contains(".part")), "{:?}", out.files());
    drop(built);
    assert!(out.files().is_empty(), "{:?}", out.files());
}

#[test]
fn each_kind_of_event_can_be_switched_and_has_a_name() {
    for name in EventKinds::all().names() {
        let kind = EventKinds::named(&name).expect("its own name");
        assert_eq!(kind.names(), [name]);
    }
    assert_eq!(EventKinds::named("given-up, timeout"), Ok(EventKinds::GIVEN_UP | EventKinds::TIMEOUT));
    assert_eq!(EventKinds::named("all"), Ok(EventKinds::all()));
    let error = EventKinds::named("timeouts").expect_err("no such kind").to_string();
    assert!(error.contains("\"timeouts\"") && error.contains("fast-retransmit"), "{error}");
}

#[test]
fn the_periodic_trace_has_the_state_of_every_node_once_per_interval() {
    let run = Run::from_file(&parse(MANUAL).expect("a good file"), "none");
    let periodic = run.events("periodic");
    assert_eq!(
        periodic[..3],
        [
            "500 periodic at 211 packets: 0 in, 1 out, 0 dropped; source: acknowledged 0, next 1024, sent 1024, cwnd 1024, ssthresh 65535",
            "500 periodic at 212 packets: 1 in, 1 out, 0 dropped",
            "500 periodic at 213 packets: 0 in, 0 out, 0 dropped",
        ]
    );
}

#[test]
fn a_link_has_its_own_seed() {
    let states = |text: &str| {
        let run = Run::from_file(&parse(text).expect("a good file"), "none");
        std::fs::read_to_string(run.out.path().join("trace.dat")).expect("it is produced")
    };
    let other = with("random_seed = 2;", "random_seed = 9");
    assert_eq!(states(MANUAL), states(&other), "another link's seed");
    assert_ne!(states(MANUAL), states(&with("random_seed = 3;", "random_seed = 4")));
}
