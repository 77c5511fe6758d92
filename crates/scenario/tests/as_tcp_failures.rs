//! Failures under AS-TCP while stations doze: a station moves out of range, or the access point's
//! agent is lost with data that it has acknowledged.

mod on_air;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{
    Accounts, Agent, Context, Deadline, LinkEvent, LinkSenses, Obligation, Owed, Side, Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Instant, Packet, Probability};
use lasthop_scenario::build::Built;
use lasthop_scenario::{Scenario, SchemeChoice};
use lasthop_schemes::{Placement, Role, Seat};
use lasthop_sim::{FlowId, LinkId};
use lasthop_wifi::ErrorConfig;

const ACCESS_POINT: usize = 2;
const STATIONS: usize = 3;
const FILE: u64 = 300_000;
const BUFFER: u64 = 65_536;

/// Stations in power-save mode upload one file each over a wire that is slower than the cell.
fn uploads() -> Scenario {
    let settings = [
        "nodes.station.count=3",
        "flows.up.size=300 kB",
        "links.near.rate=1 Mbit/s",
        "wlans.cell.power-save={ beacon-interval = \"100 ms\" }",
    ];
    on_air::scenario("uploads.toml", &settings)
}

fn as_tcp() -> SchemeChoice {
    let settings = toml::toml! { buffer = "64 KiB" };
    SchemeChoice::new("as-tcp", settings).expect("it is in the catalog")
}

/// An agent whose state is lost when it is replaced, because it exports none.
struct Lossy(Box<dyn Agent>);

impl Agent for Lossy {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.0.on_packet(packet, from, cx)
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        self.0.on_link(event, cx);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.0.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.0.on_deadline(cx);
    }

    fn needs(&self) -> LinkSenses {
        self.0.needs()
    }
}

impl Accounts for Lossy {
    fn held(&self) -> u64 {
        self.0.held()
    }

    fn octets(&self) -> usize {
        self.0.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.0.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.0.owed()
    }
}

impl Transfer for Lossy {}

/// A cell whose access point has an agent that can be lost.
struct Site {
    built: Built,
    scheme: SchemeChoice,
    radio: Vec<LinkId>,
}

impl Site {
    fn new() -> Self {
        let mut scenario = uploads();
        scenario.nodes[ACCESS_POINT].role = Some(Role::FixedHost);
        let built = scenario.build(&as_tcp(), 1).expect("it can be built");
        let links = scenario.links.iter().zip(&built.links);
        let of_radio = links.filter(|(model, _)| model.link.is_wireless()).map(|(_, link)| *link);
        let mut site = Self { radio: of_radio.collect(), built, scheme: as_tcp() };
        let (node, agent) = (site.built.nodes[ACCESS_POINT], site.agent());
        site.built.world.attach(node, &site.radio, agent).expect("its links report fates");
        site
    }

    fn agent(&self) -> Box<dyn Agent> {
        let address = self.built.world.node_address(self.built.nodes[ACCESS_POINT]);
        let stack = self.scheme.stack().expect("a scheme");
        Box::new(Lossy(stack.agent(Seat { role: Role::Edge, address }).expect("one at the edge")))
    }

    fn run_to(&mut self, millis: u64) {
        self.built.world.run(Instant::from_millis(millis), false);
        assert!(self.built.world.accounts().balance(), "{:?}", self.built.world.accounts());
    }

    /// Replaces the agent by a new one without its state.
    fn lose_agent(&mut self) {
        let (node, agent) = (self.built.nodes[ACCESS_POINT], self.agent());
        let refused = self.built.world.replace_agent(node, self.radio[0], agent);
        assert_eq!(refused.map(|refused| refused.len()), Some(0));
    }

    /// Octets of a flow that are acknowledged to its sender and have not arrived.
    fn missing(&self, flow: FlowId) -> u64 {
        let (sender, outcome) = (self.built.world.sender(flow), self.built.world.outcome(flow));
        let unacknowledged = sender.map_or(0, lasthop_tcp::Connection::unacknowledged);
        // The whole file is written at the start.
        (FILE - unacknowledged).saturating_sub(outcome.octets)
    }

    fn missing_in_all(&self) -> u64 {
        self.built.flows.iter().map(|flow| self.missing(*flow)).sum()
    }
}

#[test]
fn data_lost_with_a_failed_access_point_was_reported_as_at_risk_and_is_bounded() {
    for millis in [300, 1_000, 2_000, 4_000] {
        let mut site = Site::new();
        site.run_to(millis);
        let at_risk = site.built.world.owed_by_agents().octets;
        let missing = site.missing_in_all();
        assert!(0 < missing && missing <= at_risk, "{millis} ms: {missing} of {at_risk}");
        site.lose_agent();
        site.run_to(600_000);
        // A station's own agent keeps and reports the data that it acknowledges after that.
        let kept = site.built.world.owed_by_agents().octets;
        let lost = site.missing_in_all();
        assert!(lost <= at_risk + kept, "{millis} ms: {lost} of {at_risk}, {kept} kept");
        for flow in &site.built.flows {
            let missing = site.missing(*flow);
            assert!(missing <= 2 * BUFFER, "{millis} ms: {missing}");
        }
    }
}

#[test]
fn a_stream_with_data_lost_at_the_access_point_does_not_complete() {
    let mut cut = 0;
    for millis in (250..8_000).step_by(250) {
        let mut site = Site::new();
        site.run_to(millis);
        site.lose_agent();
        site.run_to(600_000);
        for flow in &site.built.flows {
            let outcome = site.built.world.outcome(*flow);
            let is_complete = outcome.octets == FILE;
            assert!(outcome.intact, "{millis} ms: {outcome:?}");
            assert_eq!(outcome.completion.is_some(), is_complete, "{millis} ms: {outcome:?}");
            let is_acknowledged =
                site.built.world.sender(*flow).is_none_or(lasthop_tcp::Connection::is_fin_acknowledged);
            assert!(
                is_complete || !is_acknowledged,
                "{millis} ms: its sender believes that all has arrived: {outcome:?}"
            );
            cut += u32::from(!is_complete);
        }
    }
    assert!(cut > 20, "{cut}");
}

/// Nothing crosses the air between the access point and the first station, beacons included.
fn cut_off(built: &mut Built, is_cut: bool) {
    let errors = if is_cut { ErrorConfig::packets(Probability::ONE, true) } else { ErrorConfig::none() };
    let cell = &built.wlans[0];
    let (access_point, station) = (cell.stations[0], cell.stations[1]);
    built.world.set_radio_errors(cell.wlan, access_point, station, errors.clone());
    built.world.set_radio_errors(cell.wlan, station, access_point, errors);
}

#[test]
fn a_station_that_returns_into_range_completes_its_upload() {
    let mut built = uploads().build(&as_tcp(), 1).expect("it can be built");
    built.world.run(Instant::from_millis(1_000), false);
    cut_off(&mut built, true);
    built.world.run(Instant::from_millis(21_000), false);
    assert!(built.world.outcome(built.flows[0]).completion.is_none());
    for flow in &built.flows[1..] {
        assert!(built.world.outcome(*flow).completion.is_some(), "the others go on");
    }
    cut_off(&mut built, false);
    built.world.run(Instant::from_millis(300_000), false);
    assert_all_arrived(&built);
}

#[test]
fn a_station_that_does_not_return_delays_no_other_and_leaves_no_packet() {
    let mut built = uploads().build(&as_tcp(), 1).expect("it can be built");
    built.world.run(Instant::from_millis(1_000), false);
    cut_off(&mut built, true);
    built.world.run(Instant::from_millis(300_000), false);
    let outcomes: Vec<_> = built.flows.iter().map(|flow| built.world.outcome(*flow)).collect();
    assert!(outcomes[0].intact && outcomes[0].completion.is_none(), "{:?}", outcomes[0]);
    assert!(outcomes[1..].iter().all(|outcome| outcome.intact && outcome.octets == FILE), "{outcomes:?}");
    let cell = &built.wlans[0];
    let (packets, _) = built.world.wlan(cell.wlan).waiting(cell.stations[0]);
    assert!(packets <= 2, "{packets} wait at the access point");
    assert!(built.world.accounts().balance(), "{:?}", built.world.accounts());
}

fn assert_all_arrived(built: &Built) {
    for flow in &built.flows {
        let outcome = built.world.outcome(*flow);
        assert!(outcome.intact && outcome.octets == FILE, "{outcome:?} {:?}", built.world.counters());
    }
    assert_eq!(built.world.reported().get(&ACKNOWLEDGED_AND_LOST), 0);
    assert_eq!(built.flows.len(), STATIONS);
}
