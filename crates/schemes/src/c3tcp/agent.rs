//! A station: it measures its hops, and at an end of a connection it is that end's congestion
//! control module.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::path::micros;
use lasthop_agent::{
    Accounts, Agent, Context, FlowState, FlowTable, FrameTimes, ImportError, LinkEvent, LinkSenses, Report,
    Scope, Side, Transfer, Verdict,
};
use lasthop_hop::handshake::opening;
use lasthop_packet::{FlowKey, LinkOptions, Packet, Protocol, Tcp, TcpFlags};

use super::flow::Flow;
use super::options::{Backward, Carried, Forward, MALFORMED_OPTIONS, Malformed, after_hop};
use super::settings::Settings;
use super::window::window_field;

/// A connection used within this time is not evicted for another.
const GRACE: Duration = Duration::from_secs(60);

/// C3TCP at a station.
#[derive(Debug)]
pub struct C3tcp {
    settings: Settings,
    /// The address of its own host. For the connections of others it is a relay.
    host: IpAddr,
    /// The flows, keyed by the direction from the core to the radio side.
    pub(super) flows: FlowTable<Flow>,
}

impl C3tcp {
    /// An agent without flows, at the host with this address.
    pub fn new(settings: Settings, host: IpAddr) -> Self {
        Self { settings, host, flows: FlowTable::new(GRACE) }
    }

    /// Adds the state of a connection, and replaces that of an earlier one. Returns whether there
    /// was room.
    pub(super) fn admit(&mut self, key: FlowKey, flow: Flow, cx: &mut Context<'_>) -> bool {
        let max_flows = self.flows.max_flows(cx.budget(), self.flows.octets(), 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.flows.remove(idlest);
        }
        let has_room = self.flows.insert(key, flow, max_flows, cx.now()).is_ok();
        if !has_room {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        has_room
    }

    /// Creates a flow for a SYN, unless it is a copy of the SYN that opened the known one.
    fn open(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) {
        let Some(opening) = opening(packet) else { return };
        if self.flows.peek(key).is_none_or(|flow| flow.opening != Some(opening)) {
            self.admit(key, Flow { opening: Some(opening), ..Flow::default() }, cx);
        }
    }

    /// Processes a packet to the radio: one from this host gets the options for its frames. One
    /// that came over the radio has its options already; one that came over a wired path has a
    /// longer path behind it than an option covers.
    fn on_core(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) {
        let Some(tcp) = packet.tcp().filter(|_| packet.ip().source == self.host) else { return };
        let flags = tcp.flags;
        self.open(packet, key, cx);
        let flow = self.flows.touch(key, cx.now());
        let mut options = LinkOptions::NONE;
        if flags.has(TcpFlags::SYN) {
            if let Some(flow) = flow {
                flow.on_syn_from_core(packet);
            }
        } else if flags.has(TcpFlags::RST) {
            self.flows.remove(key);
        } else {
            let octets = packet.payload().len() as u32;
            if octets > 0 {
                options = Forward::NO_HOPS.add_to(options).unwrap_or(options);
            }
            if let Some(flow) = flow {
                flow.segment = flow.segment.max(packet.segment_payload());
                let echo = flow.echo.of_ack(tcp.ack).filter(|_| flags.has(TcpFlags::ACK));
                let backward = echo.and_then(|echo| Backward { echo, delay: 0 }.add_to(options));
                options = backward.unwrap_or(options);
            }
        }
        if !options.is_empty() {
            cx.attach(options);
        }
    }

    /// Processes a packet from the radio.
    fn on_radio(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) {
        let is_here = packet.ip().destination == self.host;
        let Some(flags) = packet.tcp().map(|tcp| tcp.flags).filter(|_| is_here) else { return };
        self.open(packet, key, cx);
        if flags.has(TcpFlags::RST) {
            self.flows.remove(key);
        }
        let Some(flow) = self.flows.touch(key, cx.now()) else { return };
        if flags.has(TcpFlags::SYN) {
            flow.on_syn_from_radio(packet);
            return;
        }
        let options = packet.link_options().copied().unwrap_or(LinkOptions::NONE);
        let found = well_formed(Forward::from_options(&options), cx);
        if let Some(tcp) = packet.tcp().filter(|_| !packet.payload().is_empty()) {
            flow.echo.record_data(tcp.seq + packet.segment_len(), found);
        }
        if let Some(backward) = well_formed(Backward::from_options(&options), cx) {
            flow.path.add(backward, &self.settings, cx.now());
        }
        set_window(packet, flow, &self.settings, cx);
    }

    /// Adds the measurement of a hop to a frame that has arrived at its other end.
    fn on_transmission(packet: &Packet, times: &FrameTimes, cx: &mut Context<'_>) {
        let Some(options) = packet.link_options() else { return };
        let hop = Forward::from_frame(packet.payload().len() as u32, times);
        match after_hop(options, hop, micros(times.since_queued())) {
            Ok(updated) => cx.attach(updated),
            Err(Malformed) => cx.report(Report::new(&MALFORMED_OPTIONS)),
        }
    }
}

/// The minimum window in segments. A receiver may wait for the second one before it
/// acknowledges the first (RFC 9293, section 3.8.6.3), and no option covers this wait.
const MIN_SEGMENTS: u64 = 2;

/// Limits the window of an ACK to the capacity of the path.
fn set_window(packet: &mut Packet, flow: &Flow, settings: &Settings, cx: &Context<'_>) {
    // A signature would not match another window; with Multipath TCP it is not a window of the
    // connection.
    let is_known = |tcp: &&Tcp| tcp.flags.has(TcpFlags::ACK) && tcp.options.unknown.is_none();
    let Some(field) = packet.tcp().filter(is_known).map(|tcp| tcp.window) else { return };
    let Some(shift) = flow.radio_shift() else { return };
    let Some(octets) = flow.path.octets(settings.lifetime, cx.now()) else { return };
    if flow.segment == 0 {
        return;
    }
    let min = MIN_SEGMENTS * u64::from(flow.segment);
    let window = window_field(octets.max(min), shift, field);
    if window < field
        && let Some(tcp) = packet.tcp_mut()
    {
        tcp.window = window;
    }
}

/// A well-formed option; malformed ones are counted.
fn well_formed<T>(read: Result<Option<T>, Malformed>, cx: &mut Context<'_>) -> Option<T> {
    read.unwrap_or_else(|Malformed| {
        cx.report(Report::new(&MALFORMED_OPTIONS));
        None
    })
}

impl Agent for C3tcp {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let key = packet.flow_key().filter(|key| key.protocol == Protocol::Tcp);
        if let Some(key) = key.map(|key| from.connection(key)) {
            match from {
                Side::Core => self.on_core(packet, key, cx),
                Side::Radio => self.on_radio(packet, key, cx),
            }
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        match event {
            LinkEvent::Departure { packet } => {
                if let Some(options) = packet.link_options() {
                    cx.attach(*options);
                }
            }
            LinkEvent::Transmission { packet, times } => Self::on_transmission(packet, times, cx),
            LinkEvent::Frame { .. } | LinkEvent::Attempt { .. } | LinkEvent::Backlog { .. } => {}
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::DEPARTURES | LinkSenses::TRANSMISSIONS | LinkSenses::LINK_OPTIONS
    }
}

impl Accounts for C3tcp {
    fn octets(&self) -> usize {
        self.flows.octets()
    }
}

impl Transfer for C3tcp {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn release(&mut self, connection: FlowKey, _cx: &mut Context<'_>) {
        self.flows.remove(connection);
    }
}
