//! Tests of LLE-TCP's rules with hand-made packets, and their bench.

mod acknowledging;
mod control;
mod delaying;
mod keeping;
mod losses;
mod registering;
mod selective;
mod suppressing;
mod transfer;
mod whatever;
mod windows;
mod world;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{
    Accounts, Agent, Budget, Context, Fate, FlowState, ImportError, LinkEvent, Outbox, Owed, Report, Scope,
    Side, Transfer, Verdict,
};
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Timestamps};

use super::mark::Mark;
use super::*;
use crate::edits::But;
use crate::scheme::Role;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PHONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// The server's first octet, and the phone's.
const FIRST: u32 = 1000;
const UP: u32 = 7;
/// The phone's window field, and its shift.
const WINDOW: u16 = 5000;
const SHIFT: u8 = 2;

/// An agent with a clock in milliseconds.
struct Bench {
    lle: Lle,
    neighbor: Option<IpAddr>,
    now: Instant,
    rng: Rng,
    budget: Budget,
}

/// The result of one call.
#[derive(Debug)]
struct Step {
    /// The packet as it left the agent.
    passed: Option<Packet>,
    core: Vec<Packet>,
    radio: Vec<Packet>,
    reports: Vec<Report>,
}

impl Bench {
    /// An agent in this role. An access point in the kernel's path does not know its neighbors.
    fn new(settings: Settings, role: Role) -> Self {
        Self {
            lle: Lle::new(settings, role),
            neighbor: (role != Role::Edge).then_some(ACCESS_POINT),
            now: Instant::from_secs(1),
            rng: Rng::named(1, "lle"),
            budget: Budget::default(),
        }
    }

    /// An access point after a handshake that the server opened, with an agent at the phone.
    fn at_access_point(settings: Settings) -> Self {
        let mut bench = Self::new(settings, Role::Edge);
        bench.core(&syn());
        bench.radio(&accepting(syn_ack()));
        bench.core(&data(FIRST, 0));
        bench
    }

    /// A phone after a handshake that the server opened, with an agent at the access point.
    fn at_phone(settings: Settings) -> Self {
        let mut bench = Self::new(settings, Role::MobileHost);
        bench.radio(&marked(syn(), Mark::OFFER));
        bench.core(&syn_ack());
        // An ACK that passed before any promise carries the window.
        bench.radio(&marked(data(FIRST, 100), Mark::OFFER));
        assert!(bench.core(&ack(FIRST + 100)).passed.is_some());
        bench
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut Lle, &mut Context<'_>) -> R) -> (R, Step) {
        let mut outbox = Outbox::default();
        let cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let mut cx = cx.with_neighbor(self.neighbor);
        let result = f(&mut self.lle, &mut cx);
        let (core, radio) = outbox.packets.into_iter().partition::<Vec<_>, _>(|(to, _)| *to == Side::Core);
        let packets = |sent: Vec<(Side, Packet)>| sent.into_iter().map(|(_, packet)| packet).collect();
        (result, Step { passed: None, core: packets(core), radio: packets(radio), reports: outbox.reports })
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> Step {
        let mut passing = packet.clone();
        let (verdict, step) = self.call(|lle, cx| lle.on_packet(&mut passing, from, cx));
        assert_ne!(verdict, Verdict::Absorb);
        Step { passed: (verdict == Verdict::Forward).then_some(passing), ..step }
    }

    fn core(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Core)
    }

    fn radio(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Radio)
    }

    /// Sends a segment onto the hop. Returns it as it is there.
    fn sent(&mut self, packet: &Packet) -> Packet {
        self.core(packet).passed.expect("what the host sends goes on")
    }

    fn fate(&mut self, packet: &Packet, fate: Fate) -> Step {
        let event = LinkEvent::of_fate(packet, fate);
        self.call(|lle, cx| lle.on_link(&event, cx)).1
    }

    fn delivered(&mut self, packet: &Packet) -> Step {
        self.fate(packet, Fate::Delivered)
    }

    /// Sends a segment over the hop.
    fn through(&mut self, packet: &Packet) -> Step {
        let sent = self.sent(packet);
        self.delivered(&sent)
    }

    /// Exports the state of its only connection.
    fn export(&mut self) -> FlowState {
        let (mut states, _) = self.call(|lle, cx| lle.export(Scope::All, cx));
        assert_eq!((states.len(), self.lle.octets(), self.lle.owed()), (1, 0, Owed::default()));
        states.remove(0)
    }

    /// Replaces the agent by `lle`, and imports the state.
    fn import(&mut self, lle: Lle, state: &FlowState) -> Result<(), ImportError> {
        self.lle = lle;
        let (imported, step) = self.call(|lle, cx| lle.import(state, cx));
        assert!(step.core.is_empty() && step.radio.is_empty(), "{step:?}");
        if imported.is_err() {
            let left = (self.lle.octets(), self.lle.owed(), self.lle.unproven());
            assert_eq!(left, (0, Owed::default(), 0), "none of it");
        }
        imported
    }

    fn timer(&mut self) -> Step {
        self.call(Lle::on_deadline).1
    }
}

impl Step {
    /// The acknowledgment numbers sent to the core side.
    fn acks(&self) -> Vec<u32> {
        self.core.iter().filter_map(|packet| Some(packet.tcp()?.ack.0)).collect()
    }

    fn only_ack(&self) -> &Tcp {
        assert_eq!(self.core.len(), 1, "{self:?}");
        self.core[0].tcp().expect("it speaks TCP")
    }

    fn mark(&self) -> Mark {
        self.passed.as_ref().and_then(Packet::tcp).map_or(Mark::NONE, Mark::from_segment)
    }
}

fn down(tcp: Tcp, len: u32) -> Packet {
    let tcp = Tcp { source_port: 80, destination_port: 4000, ..tcp };
    let offset = u64::from(tcp.seq.0.wrapping_sub(FIRST));
    Packet::tcp_segment(Ip::new(SERVER, PHONE), tcp, Payload::Stream { stream: 1, offset, len })
}

fn up(tcp: Tcp, len: u32) -> Packet {
    let tcp = Tcp { source_port: 4000, destination_port: 80, ..tcp };
    let offset = u64::from(tcp.seq.0.wrapping_sub(UP));
    Packet::tcp_segment(Ip::new(PHONE, SERVER), tcp, Payload::Stream { stream: 2, offset, len })
}

fn data(seq: u32, len: u32) -> Packet {
    let tcp = Tcp { seq: Seq(seq), ack: Seq(UP), flags: TcpFlags::ACK, window: 9000, ..Tcp::default() };
    down(tcp, len)
}

fn up_data(seq: u32, ack: u32, len: u32) -> Packet {
    let tcp = Tcp { seq: Seq(seq), ack: Seq(ack), flags: TcpFlags::ACK, window: WINDOW, ..Tcp::default() };
    up(tcp, len)
}

fn ack(ack: u32) -> Packet {
    up_data(UP, ack, 0)
}

fn syn() -> Packet {
    let mut tcp = Tcp { seq: Seq(FIRST - 1), flags: TcpFlags::SYN, window: 9000, ..Tcp::default() };
    tcp.options.window_scale = Some(0);
    down(tcp, 0)
}

fn syn_ack() -> Packet {
    let flags = TcpFlags::SYN.with(TcpFlags::ACK);
    let mut tcp = Tcp { seq: Seq(UP - 1), ack: Seq(FIRST), flags, window: 4 * WINDOW, ..Tcp::default() };
    tcp.options.window_scale = Some(SHIFT);
    up(tcp, 0)
}

/// The report of a loss of this number of acknowledged octets, from the server's first on.
fn lost(octets: u64) -> Report {
    Report { amount: octets, ..Report::new(&ACKNOWLEDGED_AND_LOST).at(Seq(FIRST)) }
}

fn marked(mut packet: Packet, mark: Mark) -> Packet {
    mark.put(&mut packet);
    packet
}

fn accepting(packet: Packet) -> Packet {
    marked(packet, Mark::ACCEPT)
}

fn promised(packet: Packet) -> Packet {
    marked(packet, Mark::OFFER.with(Mark::PROMISE))
}

fn evidence(number: u32) -> Packet {
    marked(ack(number), Mark::ACCEPT.with(Mark::EVIDENCE))
}
