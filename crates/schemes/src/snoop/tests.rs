//! Tests of Snoop's rules with hand-made packets, and their bench.

mod bounds;
mod duplicate_acks;
mod fast_path;
mod laws;
mod lifetime;
mod local_window;
mod memory;
mod needless;
mod octets;
mod path_mtu;
mod random;
mod reordering_window;
mod short_path;
mod timer;
mod timestamps;
mod today;
mod transfer;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use lasthop_agent::counter::DUPLICATE_ACK;
use lasthop_agent::report::Cause;
use lasthop_agent::{Agent, Budget, Context, FlowState, ImportError, Outbox, Report, Scope, Side, Verdict};
use lasthop_config::preset::Presets as _;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Transport, Udp};

use super::flow::{Recovery, SnoopFlow};
use super::published::Published;
use super::saved::Duplicates;
use super::today::Today;
use super::{Settings, Snoop, settings};
use crate::edits::But;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const WINDOW: u16 = 1000;
/// Longer than the initial time-out of 1100 ms.
const LONG: u64 = 1200;

/// An agent with a clock in milliseconds.
struct Bench<R> {
    snoop: Snoop<R>,
    now: Instant,
    rng: Rng,
    budget: Budget,
}

/// The result of one call.
#[derive(Debug)]
struct Step {
    verdict: Verdict,
    copies: Vec<Packet>,
    reports: Vec<Report>,
}

impl Bench<Published> {
    fn new() -> Self {
        Self::with(Settings::published())
    }
}

impl<R: Recovery> Bench<R> {
    fn with(settings: Settings) -> Self {
        Self::within(settings, Budget::default())
    }

    fn within(settings: Settings, budget: Budget) -> Self {
        let (now, rng) = (Instant::from_secs(1), Rng::named(1, "snoop"));
        Self { snoop: Snoop::new(settings), now, rng, budget }
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn call<T>(
        &mut self,
        f: impl FnOnce(&mut Snoop<R>, &mut Context<'_>) -> T,
    ) -> (T, Vec<Packet>, Vec<Report>) {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let result = f(&mut self.snoop, &mut cx);
        let copies = outbox.packets.into_iter().map(|(to, packet)| {
            assert_eq!(to, Side::Radio, "Snoop sends to the mobile host only");
            packet
        });
        (result, copies.collect(), outbox.reports)
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> Step {
        let mut passing = packet.clone();
        let (verdict, copies, reports) = self.call(|snoop, cx| snoop.on_packet(&mut passing, from, cx));
        if !self.snoop.settings.local_window {
            assert_eq!(passing, *packet, "the packet in hand is never edited");
        }
        Step { verdict, copies, reports }
    }

    fn core(&mut self, packet: &Packet) -> Step {
        let step = self.pass(packet, Side::Core);
        assert_eq!(step.verdict, Verdict::Forward, "what comes from the core always goes on");
        assert!(step.copies.is_empty());
        step
    }

    /// Sends `count` segments of 100 octets from `seq` on.
    fn burst(&mut self, seq: u32, count: u32) {
        for segment in 0..count {
            self.core(&data(seq.wrapping_add(100 * segment), 100));
        }
    }

    fn radio(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Radio)
    }

    /// The ACK as the agent passed it, and the copies that it triggered.
    fn pass_ack(&mut self, packet: &Packet) -> (Option<Packet>, Vec<(u32, usize)>) {
        let mut passing = packet.clone();
        let (verdict, copies, _) = self.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
        ((verdict == Verdict::Forward).then_some(passing), pieces(&copies))
    }

    /// Two duplicates of `ack`, and the result of the second.
    fn two_duplicates(&mut self, duplicate: &Packet) -> Step {
        assert!(self.radio(duplicate).passed(), "the first duplicate passes");
        self.radio(duplicate)
    }

    fn timer(&mut self) -> Vec<Packet> {
        self.call(Agent::on_deadline).1
    }

    fn cached(&self) -> Vec<u32> {
        self.flow().map_or(Vec::new(), |flow| flow.cache.iter().map(|cached| cached.seq.0).collect())
    }

    /// Octets of the first connection that are assumed to be on the hop.
    fn in_flight(&self) -> u64 {
        self.flow().map_or(0, SnoopFlow::in_flight)
    }

    fn flow(&self) -> Option<&SnoopFlow<R>> {
        self.snoop.flows.peek(data(0, 1).flow_key()?)
    }
}

impl Step {
    fn passed(&self) -> bool {
        self.verdict == Verdict::Forward && self.copies.is_empty()
    }

    fn suppressed(&self) -> bool {
        self.verdict == Verdict::Drop(&DUPLICATE_ACK)
    }

    /// Sequence number and length of the only copy, if the ACK was suppressed.
    fn repaired(&self) -> Option<(u32, usize)> {
        self.suppressed().then(|| pieces(&self.copies)).and_then(|pieces| pieces.first().copied())
    }
}

fn pieces(packets: &[Packet]) -> Vec<(u32, usize)> {
    packets.iter().filter_map(|packet| Some((packet.tcp()?.seq.0, packet.payload().len()))).collect()
}

pub(super) fn data(seq: u32, len: u32) -> Packet {
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        seq: Seq(seq),
        ack: Seq(7),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    Packet::tcp_segment(
        Ip::new(SERVER, MOBILE),
        tcp,
        Payload::Stream { stream: 1, offset: u64::from(seq), len },
    )
}

fn ack(ack: u32) -> Packet {
    let tcp = Tcp {
        source_port: 4000,
        destination_port: 80,
        seq: Seq(7),
        ack: Seq(ack),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(MOBILE, SERVER), tcp, Payload::EMPTY)
}

fn tsval(packet: &Packet) -> Option<u32> {
    packet.tcp()?.options.timestamps.map(|timestamps| timestamps.value)
}
