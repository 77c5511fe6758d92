//! What schemes change in TCP endpoints: explicit loss notification in miniature, from an agent
//! over the receiver to the sender.

use std::collections::BTreeSet;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_packet::{Packet, Seq};
use lasthop_sim::{
    Feedback, FlowConfig, FlowOutcome, LinkLayer, NodeKind, Opening, TcpConfig, TransportConfig, World,
};
use lasthop_tcp::{
    Config, DuplicateAckResponse, OutgoingAck, ReceiverControl, ReceiverExtension, SenderControl,
    SenderExtension, Stats,
};

use crate::support::{direction, flow, hash, ms, node, percent, wired, wireless};

/// In the reserved bits of data: a segment of this connection was lost in the air. Of a duplicate
/// ACK: it is that segment's.
const LOST_IN_THE_AIR: u8 = 1;

/// At the base station: marks data while what the link layer gave up has not come again.
#[derive(Default)]
struct Marker(BTreeSet<u32>);

impl Agent for Marker {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        if let Some(Seq(seq)) = packet.tcp().map(|tcp| tcp.seq).filter(|_| from == Side::Core) {
            self.0.remove(&seq);
            packet.set_tcp_reserved_bits(if self.0.is_empty() { 0 } else { LOST_IN_THE_AIR });
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _: &mut Context<'_>) {
        let LinkEvent::Frame { packet, fate: Fate::GivenUp, .. } = event else { return };
        self.0.extend(packet.tcp().map(|tcp| tcp.seq.0));
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE
    }
}

impl Stateless for Marker {}

/// Tells the sender with duplicate ACKs what data says.
#[derive(Default)]
struct Echo(u8);

impl ReceiverExtension for Echo {
    fn on_segment(&mut self, segment: &Packet, _: &mut ReceiverControl<'_>) {
        self.0 = segment.tcp_reserved_bits();
    }

    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        if receiver.has_gap() {
            ack.set_reserved_bits(self.0);
        }
    }
}

/// Recovers from what was lost in the air without taking it for congestion.
#[derive(Default)]
struct Reader(u8);

impl SenderExtension for Reader {
    fn on_ack(&mut self, ack: &Packet, _: &mut SenderControl<'_>) {
        self.0 = ack.tcp_reserved_bits();
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        if count == 3 && self.0 == LOST_IN_THE_AIR {
            let cwnd = sender.flight().cwnd;
            return DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: true };
        }
        DuplicateAckResponse::Standard
    }
}

/// Both ends, with every hook as it is by default.
struct Nothing;
impl SenderExtension for Nothing {}
impl ReceiverExtension for Nothing {}

type Ends = (Option<Box<dyn SenderExtension>>, Option<Box<dyn ReceiverExtension>>);

struct Seen {
    outcome: FlowOutcome,
    stats: Stats,
    ssthresh: u32,
    hash: u64,
}

/// 1,000 segments over a hop that loses 1% of them, with a window that hardly ever loses two at
/// once.
fn run((sender_extension, receiver_extension): Ends) -> Seen {
    let mut world = World::new(1);
    let names = [("server", NodeKind::Host), ("base", NodeKind::Router), ("mobile", NodeKind::Host)];
    let [server, base, mobile] = names.map(|(name, kind)| node(&mut world, name, kind));
    world.add_wired_link(server, base, &wired("wire", &direction(10_000), 50));
    let layer = LinkLayer { feedback: Feedback::Immediate, retransmission_attempts: 0 };
    let mut air = wireless("air", &direction(2000), layer);
    air.forward.loss = percent(1.0).into();
    let air = world.add_wireless_link(base, mobile, &air);
    world.attach(base, &[air], Box::<Marker>::default()).expect("the link layer shows fates");
    let config = Config { mss: 1000, window: 20_000, ..Config::default() };
    let transport = TransportConfig::Tcp(TcpConfig {
        opening: Opening::Established,
        sender: config.clone(),
        receiver: config,
        sender_extension,
        receiver_extension,
    });
    let config = FlowConfig { transport, ..flow(&world, (server, mobile), Some(1_000_000)) };
    let flow = world.add_flow(config);
    let hash = hash(&mut world);
    world.run(ms(600_000), true);
    let sender = world.sender(flow).expect("it is TCP's");
    Seen {
        outcome: world.outcome(flow),
        stats: sender.stats(),
        ssthresh: sender.flight().ssthresh,
        hash: hash(),
    }
}

#[test]
fn a_sender_that_hears_of_losses_in_the_air_from_the_receiver_keeps_its_window() {
    let plain = run((None, None));
    let told = run((Some(Box::<Reader>::default()), Some(Box::<Echo>::default())));
    // The same losses of the same segments, and none by a time-out: what differs is what they are
    // taken for.
    assert_eq!((plain.stats.fast_retransmits, plain.stats.timeouts), (8, 0));
    assert_eq!((told.stats.fast_retransmits, told.stats.timeouts), (8, 0));
    assert!(plain.ssthresh < 20_000, "{}", plain.ssthresh);
    assert_eq!(told.ssthresh, 65_535);
    let goodput = |seen: &Seen| seen.outcome.goodput_bps();
    assert!(goodput(&told) > 1.3 * goodput(&plain), "{:?} {:?}", told.outcome, plain.outcome);
    assert!(told.outcome.intact);
}

#[test]
fn half_of_it_changes_nothing() {
    let plain = run((None, None));
    let deaf = run((None, Some(Box::<Echo>::default())));
    let untold = run((Some(Box::<Reader>::default()), None));
    assert_eq!((plain.hash, plain.hash), (deaf.hash, untold.hash));
}

#[test]
fn hooks_that_do_nothing_change_nothing() {
    let (plain, idle) = (run((None, None)), run((Some(Box::new(Nothing)), Some(Box::new(Nothing)))));
    assert_eq!(plain.hash, idle.hash);
}
