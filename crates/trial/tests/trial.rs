//! Trials on this machine: the gateway, the stations' agents, flows and sessions.

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED, CONTROL_MESSAGES};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lasthop_needs::{namespaces, tests};

use bytes::Bytes;
use lasthop_agent::{
    Accounts, Agent, Context, Deadline, Fate, LinkEvent, LinkSenses, Side, Stateless, Transfer, Verdict,
};
use lasthop_gateway::plan::AgentMaker;
use lasthop_packet::Packet;
use lasthop_packet::wire::emit;
use lasthop_scenario::{Overrides, Scenario, file};
use lasthop_schemes::catalog::find;
use lasthop_schemes::{Role, Seat};
use lasthop_trial::plan::Case;
use lasthop_trial::session::SessionFigures;
use lasthop_trial::{Options, Outcome, RunOutcome, TrialError, plan};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            an_agent_that_needs_fates_receives_each_once_and_in_order,
            without_an_agent_that_needs_fates_none_is_reported,
            a_scheme_that_needs_fates_runs_on_a_link_layer_that_reports_them,
            a_download_with_lle_tcp_keeps_the_clients_acks_off_the_air,
            an_upload_under_lle_tcp_cc_is_acknowledged_at_the_client,
            without_its_failed_agent_the_gateway_loses_nothing_and_acks_return,
            the_goodput_of_a_file_counts_from_the_established_connection,
            flows_together_share_a_run_and_each_sender_is_sampled,
            a_call_and_pages_run_beside_a_download_and_the_call_has_the_loss_of_the_hop,
            mail_files_and_a_video_run_without_flows,
            pages_and_talk_spurts_are_those_of_the_simulator,
            clients_roam_between_two_gateways_with_their_connections,
            a_run_that_is_interrupted_ends_at_once;
    })
}

const SCENARIO: &str = r#"
duration = "10 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms", queue = "1000 packets" }
flows.download = { from = "server", to = "client", size = "2 MB" }
try = { congestion = ["cubic"], duration = "60 s" }

[links.air]
kind = "wireless"
between = ["gateway", "client"]
rate = "20 Mbit/s"
delay = "1 ms"
queue = "10000 packets"
loss = "12%"
link-layer = { kind = "immediate", retransmission-attempts = 1 }     # it gives one frame in 70 up
"#;

/// The packets that an agent has forwarded to the client, and the reported fates.
#[derive(Default)]
struct Tape {
    forwarded: Vec<Bytes>,
    fates: Vec<(Bytes, Fate, u32)>,
}

struct Recorder {
    tape: Arc<Mutex<Tape>>,
    needs: LinkSenses,
}

impl Agent for Recorder {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _cx: &mut Context<'_>) -> Verdict {
        if from == Side::Core {
            self.tape.lock().unwrap_or_else(PoisonError::into_inner).forwarded.push(identity(packet));
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
        let LinkEvent::Frame { packet, fate, transmissions, .. } = *event else { return };
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.fates.push((identity(packet), fate, transmissions));
    }

    fn needs(&self) -> LinkSenses {
        self.needs
    }
}

impl Stateless for Recorder {}

/// The octets of a packet without the fields that the router changes: the time to live and the
/// header checksum.
fn identity(packet: &Packet) -> Bytes {
    let mut octets = emit(packet).to_vec();
    octets[8] = 0;
    octets[10..12].fill(0);
    octets.into()
}

fn scenario(scheme: &str) -> Scenario {
    let text = format!("schemes = [{scheme:?}]\n{SCENARIO}");
    file::parse(&text, "trial.toml", Path::new(""), &Overrides::default()).expect("a scenario")
}

fn run(scenario: &Scenario, agent: Option<&AgentMaker>) -> Result<Outcome, TrialError> {
    plan::check(scenario)?;
    run_case(scenario, &plan::cases(scenario)[0], agent)
}

/// A run of one flow.
fn run_case(scenario: &Scenario, case: &Case, agent: Option<&AgentMaker>) -> Result<Outcome, TrialError> {
    let options =
        Options { sample_every: None, stop: &AtomicBool::new(false), programs: &[], simulation: None };
    let mut outcomes = lasthop_trial::run_with(scenario, case, agent, options)?.flows;
    assert_eq!(outcomes.len(), 1);
    Ok(outcomes.remove(0))
}

/// A run with an agent that records packets and fates.
fn record(needs: LinkSenses) -> (Tape, Outcome) {
    let tape = Arc::new(Mutex::new(Tape::default()));
    let kept = Arc::clone(&tape);
    let agent: AgentMaker = Arc::new(move || Box::new(Recorder { tape: Arc::clone(&kept), needs }));
    let outcome = run(&scenario("snoop"), Some(&agent)).expect("it runs");
    assert!(outcome.intact && outcome.completion_s.is_some(), "{outcome:?}");
    (std::mem::take(&mut *tape.lock().unwrap_or_else(PoisonError::into_inner)), outcome)
}

fn an_agent_that_needs_fates_receives_each_once_and_in_order() {
    let (tape, outcome) = record(LinkSenses::FRAME_FATE);
    let link = outcome.gateway.expect("there is one").link.expect("it listens");
    assert_eq!(link.lost, 0, "{link:?}");
    assert!(link.heard >= tape.fates.len() as u64 && link.delay.count == link.heard, "{link:?}");

    // A failed first transmission of a frame is reported at once, and its final fate is the next
    // report.
    let mut ends = Vec::new();
    let mut failed: Option<&Bytes> = None;
    for (packet, fate, transmissions) in &tape.fates {
        match fate {
            Fate::FirstTransmissionFailed => {
                assert_eq!((failed.replace(packet), *transmissions), (None, 1));
            }
            Fate::Delivered | Fate::GivenUp => {
                assert_eq!(*transmissions, 1 + u32::from(failed.is_some()));
                assert!(failed.take().is_none_or(|failed| failed == packet));
                ends.push(packet);
            }
        }
    }
    // The hop's queue has room for all packets, so that each forwarded packet has a fate, except
    // the last ones, which are still in transit.
    let down: Vec<&Bytes> = tape.forwarded.iter().collect();
    assert!(ends.len() > 1380, "2 MB take 1382 segments: {}", ends.len());
    assert!(ends.len() + 20 > down.len(), "{} of {}", ends.len(), down.len());
    assert!(ends == down[..ends.len()], "in order, each once");
    let count = |wanted| tape.fates.iter().filter(|(_, fate, _)| *fate == wanted).count();
    let (failed, given_up) = (count(Fate::FirstTransmissionFailed), count(Fate::GivenUp));
    assert!(failed > 100 && (1..failed).contains(&given_up), "{failed} {given_up}");
}

fn without_an_agent_that_needs_fates_none_is_reported() {
    let (tape, outcome) = record(LinkSenses::empty());
    assert!(tape.fates.is_empty() && tape.forwarded.len() > 1380);
    assert_eq!(outcome.gateway.expect("there is one").link, None);
}

fn a_scheme_that_needs_fates_runs_on_a_link_layer_that_reports_them() {
    let outcome = run(&scenario("refined-icmp"), None).expect("it runs");
    let gateway = outcome.gateway.expect("there is one");
    let messages = gateway.engine.agents.reported.get(&CONTROL_MESSAGES);
    assert!(outcome.intact && messages > 100, "{messages} messages");
    assert_eq!(gateway.engine.counters.counts.unaddressed, 0);
}

/// A real client at an 802.11g access point, with a wire whose delay requires a window of some
/// size.
const CELL: &str = r#"
duration = "20 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms", queue = "1000 packets" }
wlans.cell = { standard = "802.11g", access-point = "gateway", stations = ["client"], queue = "100 packets" }
flows.download = { from = "server", to = "client", size = "3 MB" }
flows.upload = { from = "client", to = "server", size = "1 MB" }
try = { congestion = ["cubic"], duration = "60 s" }
"#;

/// Runs one flow under one scheme, and checks that all of it arrives as it was sent.
fn over_a_cell(scheme: &str, flow: &str, agent: Option<&AgentMaker>) -> Outcome {
    let text = format!("schemes = [{scheme}]\n{CELL}");
    let scenario = file::parse(&text, "cell.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    plan::check(&scenario).expect("it can be tried");
    let case =
        plan::cases(&scenario).into_iter().find(|case| case.flows[0].name == flow).expect("it is there");
    let outcome = run_case(&scenario, &case, agent).expect("it runs");
    assert!(outcome.intact && outcome.completion_s.is_some(), "{outcome:?}");
    assert_eq!(
        outcome.gateway.as_ref().map_or(0, |gateway| gateway
            .engine
            .agents
            .reported
            .get(&ACKNOWLEDGED_AND_LOST)),
        0
    );
    outcome
}

/// The number of frames that the client has transmitted.
fn frames_of_client(outcome: &Outcome) -> u64 {
    outcome.stations.iter().find(|station| station.name == "client").expect("it is in the cell").frames
}

fn a_download_with_lle_tcp_keeps_the_clients_acks_off_the_air() {
    let (plain, lle) =
        (over_a_cell("\"none\"", "download", None), over_a_cell("\"lle-tcp\"", "download", None));
    let agents = &lle.gateway.as_ref().expect("there is one").engine.agents;
    assert!(frames_of_client(&plain) > 700, "an ACK for every other of 2072 segments");
    assert!(
        frames_of_client(&lle) * 3 < frames_of_client(&plain),
        "{} {}",
        frames_of_client(&lle),
        frames_of_client(&plain)
    );
    assert!(
        agents.reported.get(&ACKS_GENERATED) > 1500 && lle.acks_suppressed > 500,
        "{agents:?} {}",
        lle.acks_suppressed
    );
    assert_eq!((plain.acks_generated, plain.acks_suppressed), (0, 0));
}

fn an_upload_under_lle_tcp_cc_is_acknowledged_at_the_client() {
    let (plain, controlled) = ("\"lle-tcp\"", "{ scheme = \"lle-tcp\", sender-buffer = \"64 KiB\" }");
    let (plain, controlled) = (over_a_cell(plain, "upload", None), over_a_cell(controlled, "upload", None));
    assert!(plain.acks_generated < 10, "it goes further than the hop: {}", plain.acks_generated);
    assert!(controlled.acks_generated > 500, "of 691 segments: {}", controlled.acks_generated);
}

/// An agent that panics after 500 packets, unless one has panicked before.
struct Failing {
    agent: Box<dyn Agent>,
    seen: u32,
    has_one_failed: Arc<AtomicBool>,
}

impl Agent for Failing {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.seen += 1;
        assert!(self.seen <= 500 || self.has_one_failed.swap(true, Ordering::Relaxed), "it fails on purpose");
        self.agent.on_packet(packet, from, cx)
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        self.agent.on_link(event, cx);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.agent.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.agent.on_deadline(cx);
    }

    fn needs(&self) -> LinkSenses {
        self.agent.needs()
    }
}

impl Accounts for Failing {
    fn held(&self) -> u64 {
        self.agent.held()
    }
}

impl Transfer for Failing {}

fn without_its_failed_agent_the_gateway_loses_nothing_and_acks_return() {
    // Any number may be made only to query their needs.
    let has_one_failed = Arc::new(AtomicBool::new(false));
    let agent: AgentMaker = Arc::new(move || {
        let scheme = find("lle-tcp").and_then(|scheme| scheme.configure(toml::Table::new()));
        let seat = Seat { role: Role::Edge, address: IpAddr::from([10, 77, 0, 2]) };
        let agent = scheme.expect("it is in the catalog").agent(seat).expect("it has one");
        Box::new(Failing { agent, seen: 0, has_one_failed: Arc::clone(&has_one_failed) })
    });
    let outcome = over_a_cell("\"lle-tcp\"", "download", Some(&agent));
    let agents = &outcome.gateway.as_ref().expect("there is one").engine.agents;
    let frames = frames_of_client(&outcome);
    assert!((100..1000).contains(&agents.reported.get(&ACKS_GENERATED)), "until it failed: {agents:?}");
    assert!(frames > 500, "the client's own ACKs since: {frames}");
}

fn the_goodput_of_a_file_counts_from_the_established_connection() {
    let text = SCENARIO
        .replace("loss = \"12%\"", "loss = \"0%\"")
        .replace("delay = \"5 ms\"", "delay = \"24 ms\"")
        .replace(
            "\n[links.air]",
            "flows.upload = { from = \"client\", to = \"server\", size = \"10 kB\" }\n[links.air]",
        )
        .replace("size = \"2 MB\"", "size = \"10 kB\"");
    let text = format!("schemes = [\"none\"]\ntcp.preset = \"linux\"\n{text}");
    let scenario = file::parse(&text, "file.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    for case in plan::cases(&scenario) {
        let outcome = run_case(&scenario, &case, None).expect("it runs");
        let predicted = outcome.predicted_goodput_bps.expect("the simulator has CUBIC");
        // All of it is sent at once. Real hosts are later than their links, never earlier.
        let (way, octets) = (0.025, 10_000.0);
        let took = |goodput: f64| octets * 8.0 / goodput;
        assert!((way..1.5 * way).contains(&took(predicted)), "{predicted}");
        assert!(took(outcome.goodput_bps) >= way, "{outcome:?}");
        assert!(outcome.completion_s.is_some_and(|completion| completion >= 3.0 * way), "{outcome:?}");
    }
}

fn flows_together_share_a_run_and_each_sender_is_sampled() {
    let text = SCENARIO
        .replace("flows.download = { from = \"server\", to = \"client\", size = \"2 MB\" }", TWO_FLOWS)
        .replace("loss = \"12%\"", "loss = \"0%\"")
        .replace(
            "congestion = [\"cubic\"], duration = \"60 s\"",
            "flows = \"together\", duration = \"3 s\", settle = \"1 s\"",
        );
    let scenario = file::parse(&text, "two.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    plan::check(&scenario).expect("it can be tried");
    let cases = plan::cases(&scenario);
    let options = Options {
        sample_every: Some(Duration::from_millis(20)),
        stop: &AtomicBool::new(false),
        programs: &[],
        simulation: None,
    };
    let outcomes = lasthop_trial::run(&scenario, &cases[0], options).expect("it runs").flows;
    let [first, second] = &outcomes[..] else { panic!("two flows: {outcomes:?}") };
    assert_eq!([&*first.congestion, &*second.congestion], ["reno", "cubic"]);
    assert_eq!(
        (&first.beside[..], &second.beside[..]),
        (&["second".to_owned()][..], &["first".to_owned()][..])
    );
    for flow in &outcomes {
        assert!(flow.intact && flow.octets > 0 && flow.predicted_goodput_bps.is_some(), "{flow:?}");
        assert!(!flow.series.is_empty() && !flow.predicted_series.is_empty());
        assert!(flow.series.iter().all(|sample| sample.cwnd > 0));
        assert!(flow.series.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
    assert!((first.share + second.share - 1.0).abs() < 1e-9);
    assert!(first.series[0].at < second.series[0].at, "it started first");
}

const TWO_FLOWS: &str = r#"
flows.first = { from = "server", to = "client", tcp = { congestion = "reno-abc" } }
flows.second = { from = "server", to = "client", start = "1 s", tcp = { congestion = "cubic" } }
tcp = { window = "1 MiB", recovery = "sack" }
"#;

/// A client that rides from one access point to the other and back.
const ROAMING: &str = r#"
duration = "20 s"
nodes.server.kind = "host"
nodes.switch.kind = "router"
nodes.hall = { kind = "router", position = ["0 m", "0 m"] }
nodes.stairs = { kind = "router", position = ["50 m", "0 m"] }
nodes.rider.kind = "host"
links.uplink = { between = ["server", "switch"], rate = "100 Mbit/s", delay = "5 ms", queue = "1000 packets" }
links.first = { between = ["switch", "hall"], rate = "100 Mbit/s", delay = "1 ms" }
links.second = { between = ["switch", "stairs"], rate = "100 Mbit/s", delay = "1 ms" }
flows.download = { from = "server", to = "rider", start = "1 s" }
flows.upload = { from = "rider", to = "server", start = "1 s" }
tcp.preset = "linux"
try = { flows = "together", congestion = ["cubic"], duration = "14 s", settle = "1 s" }

[wlans.floor]
standard = "802.11a"
rate = "6 Mbit/s"
propagation = "log-distance"
stations = ["rider"]
roaming = { access-points = ["hall", "stairs"], channels = [36, 40], short-scan-interval = "500 ms" }
paths.rider = { points = [["0 m", "3 m"], ["50 m", "3 m"]], speed = "10 m/s", start = "2 s", laps = 2 }
"#;

fn clients_roam_between_two_gateways_with_their_connections() {
    for (scheme, gateways) in [("none", 0), ("i-tcp", 2)] {
        let text = format!("schemes = [{scheme:?}]\n{ROAMING}");
        let scenario = file::parse(&text, "roaming.toml", Path::new(""), &Overrides::default());
        let scenario = scenario.expect("a scenario");
        plan::check(&scenario).expect("it can be tried");
        let options =
            Options { sample_every: None, stop: &AtomicBool::new(false), programs: &[], simulation: None };
        let outcome = lasthop_trial::run(&scenario, &plan::cases(&scenario)[0], options).expect("it runs");
        for flow in &outcome.flows {
            assert!(flow.intact && !flow.lost && flow.goodput_bps > 0.0, "{flow:?}");
        }
        let roaming = outcome.roaming.expect("clients roam");
        assert_eq!((roaming.gateways.len(), roaming.connections_lost, roaming.corrupted), (gateways, 0, 0));
        assert!(roaming.predicted_hand_offs.is_some_and(|predicted| !predicted.is_empty()));
        // The walk and the signals are the model's, but not all frames on the air.
        assert!(!roaming.hand_offs.is_empty());
        for hand_off in &roaming.hand_offs {
            let (gap, interruption) = (hand_off.radio_gap_s, hand_off.interruption_s);
            assert!(gap.is_some_and(|gap| interruption.is_some_and(|span| span >= gap)), "{hand_off:?}");
        }
        for gateway in &roaming.gateways {
            let counts = &gateway.engine.counters.counts;
            assert!(counts.connections >= 2 && counts.obligations_broken == 0, "{scheme}: {counts:?}");
        }
    }
}

/// A hop that loses one packet in ten.
const SESSIONS: &str = r#"
duration = "20 s"
schemes = ["none"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms", queue = "1000 packets" }
links.air = { kind = "wireless", between = ["gateway", "client"], rate = "20 Mbit/s", delay = "1 ms", loss = "10%", queue = "64 kB" }
tcp.preset = "linux"
try = { flows = "together", duration = "6 s", settle = "1 s" }
"#;

fn run_sessions(more: &str, stop: &AtomicBool) -> Result<RunOutcome, TrialError> {
    let text = format!("{SESSIONS}\n{more}");
    let scenario =
        file::parse(&text, "sessions.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    plan::check(&scenario).expect("it can be tried");
    let options = Options { sample_every: None, stop, programs: &[], simulation: None };
    lasthop_trial::run(&scenario, &plan::cases(&scenario)[0], options)
}

fn a_call_and_pages_run_beside_a_download_and_the_call_has_the_loss_of_the_hop() {
    let more = r#"
flows.download = { from = "server", to = "client" }
sessions.call = { kind = "voice", between = ["client", "server"] }
[sessions.browsing]
kind = "web"
client = "client"
server = "server"
think-time = "100 ms"
main-object = "20 kB"
objects = 8
object = "5 kB"

# For three seconds no packet is lost: a SYN that was lost twice passes at the third second, so that a page
# is completed whichever packets the hop took.
[[changes]]
at = "2 s"
set = { "links.air.loss" = "0%" }

[[changes]]
at = "5 s"
set = { "links.air.loss" = "10%" }
"#;
    let RunOutcome { flows, sessions, .. } = run_sessions(more, &AtomicBool::new(false)).expect("it runs");
    assert!(flows.len() == 1 && flows[0].intact && flows[0].octets > 0, "{flows:?}");
    let [call, browsing] = &sessions[..] else { panic!("two sessions: {sessions:?}") };
    assert!(browsing.intact && call.intact);

    let pages = browsing.real.transactions.expect("it has pages");
    assert!(pages.completed >= 1 && pages.failed == 0, "{pages:?}");
    // A page uses one connection for its main object, and six for the embedded ones.
    assert!(pages.connections >= 6 * pages.completed && pages.retransmits > 0, "{pages:?}");
    assert!(browsing.real.bytes >= pages.completed * (20_000 + 8 * 5_000 + 9 * 350));
    let predicted = browsing.predicted.as_ref().and_then(|session| session.transactions);
    assert!(predicted.is_some_and(|pages| pages.completed >= 1), "{predicted:?}");

    let predicted = &call.predicted.as_ref().expect("the simulator has calls").streams;
    for (stream, predicted) in call.real.streams.iter().zip(predicted) {
        // 20 ms each, for 6 s; the simulator draws the same first departure.
        assert!(
            stream.packets.sent.abs_diff(predicted.packets.sent) <= 2 && stream.packets.sent > 290,
            "{stream:?} {predicted:?}"
        );
        assert_eq!(stream.packets.received + stream.packets.lost, stream.packets.sent);
        // 10% of the 150 packets sent while the hop is lossy are 15 of 300: 5%. Four standard deviations are 4.9%.
        assert!(stream.packets.lost_percent.is_some_and(|lost| (0.1..10.0).contains(&lost)), "{stream:?}");
        let delay = stream.packets.delay_mean_s.expect("arrivals");
        assert!((0.006..0.5).contains(&delay), "the path alone takes 6 ms: {stream:?}");
        assert!(stream.mos.is_some_and(|mos| (1.0..4.4).contains(&mos)), "{stream:?}");
    }
    assert_eq!(call.real.streams.len(), 2);
    let SessionFigures { reports_sent, reports_received, .. } = call.real;
    assert!(reports_sent >= 2 && reports_received <= reports_sent, "{reports_received} of {reports_sent}");
}

fn mail_files_and_a_video_run_without_flows() {
    let more = r#"
sessions.files = { kind = "ftp", client = "client", server = "server", think-time = "50 ms", file = "30 kB", stored = "50%" }
sessions.mail = { kind = "mail", client = "client", server = "server", think-time = "50 ms", sent = "50%", message = "5 kB" }
sessions.video = { kind = "video", client = "client", server = "server" }
"#;
    // After two seconds no packet is lost: a SYN that was lost twice passes at the third second,
    // and each transaction completes.
    let more = format!("{more}\n[[changes]]\nat = \"2 s\"\nset = {{ \"links.air.loss\" = \"0%\" }}\n");
    let RunOutcome { flows, sessions, .. } = run_sessions(&more, &AtomicBool::new(false)).expect("it runs");
    let [files, mail, video] = &sessions[..] else { panic!("three sessions: {sessions:?}") };
    assert!(flows.is_empty() && sessions.iter().all(|session| session.intact));
    for (session, least) in [(files, 30_000), (mail, 5_000)] {
        let done = session.real.transactions.expect("it has some");
        assert!(done.completed >= 2 && done.failed == 0, "{}: {done:?}", session.session);
        assert!(session.real.bytes >= done.completed * least, "{session:?}");
    }
    let [stream] = &video.real.streams[..] else { panic!("one way: {video:?}") };
    assert_eq!((&*stream.from, &*stream.to), ("server", "client"));
    assert!(stream.packets.received > 0 && stream.packets.lost > 0 && stream.mos.is_none(), "{stream:?}");
}

fn pages_and_talk_spurts_are_those_of_the_simulator() {
    // With a load, the start times of pages do not depend on their durations.
    let more = r#"
sessions.call = { kind = "voice", between = ["client", "server"], talk-spurts = "p59", stop = "5 s" }
sessions.pages = { kind = "web", client = "client", server = "server", load = "300 kbit/s", stop = "4 s" }
"#;
    let more = format!("{more}\n[[changes]]\nat = \"1 ms\"\nset = {{ \"links.air.loss\" = \"0%\" }}\n");
    let RunOutcome { sessions, .. } = run_sessions(&more, &AtomicBool::new(false)).expect("it runs");
    let [call, pages] = &sessions[..] else { panic!("two sessions: {sessions:?}") };
    let [real, predicted] = [Some(&pages.real), pages.predicted.as_ref()]
        .map(|figures| figures.and_then(|figures| figures.transactions).expect("it has pages"));
    assert!(real.completed >= 3, "{real:?}");
    assert_eq!((real.completed, real.offered_bytes), (predicted.completed, predicted.offered_bytes));
    assert_eq!(real.connections, predicted.connections);
    let predicted = &call.predicted.as_ref().expect("the simulator has calls").streams;
    for (stream, predicted) in call.real.streams.iter().zip(predicted) {
        assert!(
            stream.packets.sent.abs_diff(predicted.packets.sent) <= 1 && stream.packets.sent < 240,
            "{stream:?} {predicted:?}"
        );
    }
}

fn a_run_that_is_interrupted_ends_at_once() {
    let more = r#"
sessions.call = { kind = "voice", between = ["client", "server"] }
sessions.web = { kind = "web", client = "client", server = "server", think-time = "10 ms" }
"#;
    let stop = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            // Waking up early only ends the run sooner.
            thread::park_timeout(Duration::from_secs(2));
            stop.store(true, Ordering::Relaxed);
        });
        run_sessions(more, &stop)
    });
    assert!(matches!(ended, Err(TrialError::Interrupted)), "{ended:?}");
}
