//! Two endpoints joined by a channel that drops, doubles, marks, delays and reorders: all data
//! arrives once and in order, and both close.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{Ecn, Instant, Packet, Payload, Probability, Rng, Seq, Tcp, TcpFlags};
use lasthop_tcp::{
    AckPolicy, Config, Congestion, Connection, DuplicateAckResponse, PacingRule, RackConfig, Recovery,
    RtoConfig, RtoRule, SenderControl, SenderExtension, SlowStart, Snapshot, State, TimeoutResponse,
};
use proptest::prelude::*;

/// What the channel does to a packet.
#[derive(Clone, Debug)]
struct Channel {
    loss: f64,
    doubling: f64,
    /// The share of ECN-capable packets that is marked (RFC 3168).
    marking: f64,
    /// Every packet takes this long, and up to `jitter` longer.
    delay_ms: u64,
    jitter_ms: u64,
}

const MAX_MOVES: u32 = 8;

/// How the connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Established,
    Handshake,
    /// Both ends send a SYN.
    Simultaneous,
}

#[derive(Clone, Debug)]
struct Side {
    config: Config,
    iss: u32,
    octets: u64,
    /// Reads only every half second, so that its window closes.
    is_lazy: bool,
    /// A scheme's part of the sender, which spares time-outs and reductions at random.
    whim: Option<u64>,
    /// Once in this number of packets that arrive, the end is restored from its snapshot, at most
    /// [`MAX_MOVES`] times: the state of loss recovery is lost each time.
    moves: Option<u32>,
}

#[derive(Clone, Debug)]
struct Whim(Rng);

impl SenderExtension for Whim {
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        match self.0.below(4) {
            answer @ 0..2 if count >= 3 => {
                let cwnd = sender.flight().cwnd;
                DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: answer == 0 }
            }
            _ => DuplicateAckResponse::Standard,
        }
    }

    fn on_timeout(&mut self, _: &mut SenderControl<'_>) -> TimeoutResponse {
        if self.0.below(2) == 0 { TimeoutResponse::RetransmitOnly } else { TimeoutResponse::Standard }
    }
}

fn config() -> impl Strategy<Value = Config> {
    let window = prop_oneof![1u32..3000, 3000u32..70_000, 70_000u32..1_000_000];
    let ack_policy = prop_oneof![
        Just(AckPolicy::EverySegment),
        Just(AckPolicy::Delayed(Duration::from_millis(40))),
        Just(AckPolicy::Delayed(Duration::from_millis(200))),
        Just(AckPolicy::DynDelAck(Duration::from_millis(100))),
        Just(AckPolicy::Linux),
    ];
    let granularity = prop_oneof![Just(0u64), Just(1), Just(10), Just(500)];
    let parts = any::<[bool; 4]>().prop_map(|[tail_loss_probe, proportional_reduction, f_rto, undo]| {
        Recovery::Rack(RackConfig { tail_loss_probe, proportional_reduction, f_rto, undo })
    });
    let flavour = (
        prop::sample::select(&Congestion::ALL[..]),
        prop_oneof![3 => prop::sample::select(&Recovery::ALL[..]), 2 => parts],
        any::<[bool; 5]>(),
        prop::sample::select(&SlowStart::ALL[..]),
        prop_oneof![Just(RtoRule::Standard), Just(RtoRule::Linux)],
    );
    let receiver = (ack_policy, any::<(bool, bool)>(), prop::option::of(1u32..1_000_000));
    let send_window = prop::option::weighted(0.2, 1u32..20_000);
    let sizes = (1u32..2000, window, send_window, 1u32..12);
    (sizes, any::<(bool, bool)>(), receiver, granularity, flavour).prop_map(
        |(sizes, (timestamps, sack), receiver, granularity, flavour)| Config {
            congestion: flavour.0,
            recovery: flavour.1,
            limited_transmit: flavour.2[0],
            window_validation: flavour.2[1],
            ecn: flavour.2[2],
            segmentation_offload: flavour.2[4],
            pacing: if flavour.2[3] { PacingRule::Fq } else { PacingRule::Control },
            slow_start: flavour.3,
            mss: sizes.0.max(88),
            window: sizes.1,
            send_window: sizes.2,
            initial_window: sizes.3,
            timestamps,
            sack,
            ack_policy: receiver.0,
            dsack: receiver.1.0,
            ack_compression: receiver.1.1,
            window_max: receiver.2,
            rto: RtoConfig {
                rule: flavour.4,
                minimum: Duration::from_millis(100),
                maximum: Duration::from_secs(4),
                granularity: Duration::from_millis(granularity),
                ..RtoConfig::default()
            },
            max_timeouts: 60,
            time_wait: Duration::from_secs(600),
            ..Config::default()
        },
    )
}

fn side() -> impl Strategy<Value = Side> {
    let iss = prop_oneof![any::<u32>(), (0u32..40_000).prop_map(|before| u32::MAX - before)];
    let octets = prop_oneof![Just(0u64), 1u64..100, 100u64..60_000];
    let whim = prop::option::weighted(0.2, any::<u64>());
    let moves = prop::option::weighted(0.3, 1u32..20);
    (config(), iss, octets, prop::bool::weighted(0.2), whim, moves).prop_map(
        |(config, iss, octets, is_lazy, whim, moves)| Side { config, iss, octets, is_lazy, whim, moves },
    )
}

fn channel() -> impl Strategy<Value = Channel> {
    let marking = prop_oneof![Just(0.0), 0.0..0.3f64, Just(1.0)];
    (0.0..0.25f64, 0.0..0.2f64, marking, 0u64..80, 0u64..60).prop_map(
        |(loss, doubling, marking, delay_ms, jitter_ms)| Channel {
            loss,
            doubling,
            marking,
            delay_ms,
            jitter_ms,
        },
    )
}

struct World {
    ends: [Connection; 2],
    sides: [Side; 2],
    received: [u64; 2],
    is_closed: [bool; 2],
    moved: [u32; 2],
    closes_at_once: bool,
    channel: Channel,
    rng: Rng,
    now: Instant,
    /// Packets in the network: the time of arrival, the order of sending, the receiving end, and the index.
    wire: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    packets: Vec<Packet>,
    /// The end of the window advertised by each end.
    edge: [Option<Seq>; 2],
    shift: [Option<u8>; 2],
}

const LOCAL: [(IpAddr, u16); 2] = [
    (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 1),
    (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 2),
];

impl World {
    fn new(
        mut sides: [Side; 2],
        opening: Opening,
        closes_at_once: bool,
        channel: Channel,
        seed: u64,
    ) -> Self {
        let [a, b] = &mut sides;
        // A window of an octet moves an octet a round trip: not for ever.
        let window = |here: &Side, there: &Side| {
            u64::from(here.config.send_window.unwrap_or(u32::MAX).min(there.config.window))
        };
        a.octets = a.octets.min(window(a, b) * 100);
        b.octets = b.octets.min(window(b, a) * 100);
        let [a, b] = &sides;
        let (iss_a, iss_b) = (Seq(a.iss), Seq(b.iss));
        let active = |side: &Side, end: usize| {
            Connection::connect(side.config.clone(), LOCAL[end], LOCAL[1 - end], Seq(side.iss))
        };
        let ends = match opening {
            Opening::Handshake => [active(a, 0), Connection::listen(b.config.clone(), LOCAL[1], iss_b)],
            Opening::Simultaneous => [active(a, 0), active(b, 1)],
            Opening::Established => [
                Connection::established(a.config.clone(), &b.config, LOCAL[0], LOCAL[1], iss_a, iss_b),
                Connection::established(b.config.clone(), &a.config, LOCAL[1], LOCAL[0], iss_b, iss_a),
            ],
        };
        let whim = |side: &Side| {
            side.whim.map(|seed| Box::new(Whim(Rng::named(seed, "whim"))) as Box<dyn SenderExtension>)
        };
        let [first, second] = ends;
        let ends = [first.with_sender_extension(whim(a)), second.with_sender_extension(whim(b))];
        let shift = |config: &Config| (0..14).find(|shift| config.largest_window() >> shift <= 65_535);
        let handshake = opening != Opening::Established;
        let shift = if handshake { [None; 2] } else { [shift(&a.config), shift(&b.config)] };
        // Only windows that a field can express are advertised.
        let advertised = |end: usize| {
            let shift = shift[end].unwrap_or(0);
            (sides[end].config.window >> shift).max(1) << shift
        };
        let edge = if handshake {
            [None; 2]
        } else {
            [Some(iss_b + 1 + advertised(0)), Some(iss_a + 1 + advertised(1))]
        };
        Self {
            ends,
            sides,
            received: [0; 2],
            is_closed: [false; 2],
            moved: [0; 2],
            closes_at_once,
            channel,
            rng: Rng::named(seed, "channel"),
            now: Instant::ZERO,
            wire: BinaryHeap::new(),
            packets: Vec::new(),
            edge,
            shift,
        }
    }

    fn run(&mut self) -> Result<(), TestCaseError> {
        for end in 0..2 {
            self.ends[end].write_stream(end as u32, 0, self.sides[end].octets);
            self.close_if_time(end);
            self.settle(end)?;
        }
        let mut next_read = Instant::from_millis(500);
        for _ in 0..400_000 {
            if self.is_done() {
                return self.check_result();
            }
            let deadlines = self.ends.each_ref().map(|end| end.deadline().map(|deadline| deadline.at));
            let arrival = self.wire.peek().map(|Reverse((at, ..))| *at);
            let reading = self.sides.iter().any(|side| side.is_lazy).then_some(next_read);
            let at = [deadlines[0], deadlines[1], arrival, reading].into_iter().flatten().min();
            let Some(at) = at else {
                return Err(TestCaseError::fail(format!("deadlock\n{}", self.describe())));
            };
            self.now = self.now.max(at);
            prop_assert!(self.now < Instant::from_secs(20_000), "too slow\n{}", self.describe());
            if arrival == Some(at) {
                self.deliver()?;
            } else if reading == Some(at) {
                next_read += Duration::from_millis(500);
                for end in 0..2 {
                    self.read(end)?;
                    self.settle(end)?;
                }
            } else {
                let end = usize::from(deadlines[0] != Some(at));
                self.ends[end].on_deadline(self.now);
                self.settle(end)?;
            }
        }
        Err(TestCaseError::fail(format!("too many events\n{}", self.describe())))
    }

    fn is_done(&self) -> bool {
        self.ends.iter().all(|end| matches!(end.state(), State::Closed | State::TimeWait))
            && (0..2).all(|end| self.received[end] == self.sides[1 - end].octets)
    }

    fn check_result(&self) -> Result<(), TestCaseError> {
        for end in &self.ends {
            prop_assert!(end.peer_has_closed(), "{}", self.describe());
            prop_assert_eq!(end.unacknowledged(), 0, "{}", self.describe());
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<(), TestCaseError> {
        let Some(Reverse((_, index, end))) = self.wire.pop() else { return Ok(()) };
        let packet = self.packets[index as usize].clone();
        self.ends[end].on_segment(&packet, self.now);
        if !self.sides[end].is_lazy {
            self.read(end)?;
        }
        self.close_if_time(end);
        let is_to_move = self.sides[end].moves.is_some_and(|moves| self.rng.below(u64::from(moves)) == 0);
        if is_to_move && self.moved[end] < MAX_MOVES {
            self.moved[end] += 1;
            self.go_on_elsewhere(end)?;
        }
        self.settle(end)
    }

    /// Replaces an end by one restored from the octets of its snapshot.
    fn go_on_elsewhere(&mut self, end: usize) -> Result<(), TestCaseError> {
        let Some(snapshot) = self.ends[end].snapshot(self.now) else { return Ok(()) };
        let octets = postcard::to_allocvec(&snapshot).expect("it is written");
        let read: Snapshot = postcard::from_bytes(&octets).expect("it is read");
        let restored = Connection::restore(self.sides[end].config.clone(), read, self.now);
        let restored =
            restored.map_err(|error| TestCaseError::fail(format!("{error}\n{}", self.describe())))?;
        self.ends[end] = restored;
        Ok(())
    }

    fn close_if_time(&mut self, end: usize) {
        // Whoever only listens has nothing to close yet.
        let is_open = self.ends[end].state() != State::Listen;
        if !self.is_closed[end]
            && is_open
            && (self.closes_at_once || end == 0 || self.ends[end].peer_has_closed())
        {
            self.is_closed[end] = true;
            self.ends[end].close();
        }
    }

    fn read(&mut self, end: usize) -> Result<(), TestCaseError> {
        let mut unread = 0;
        while let Some(payload) = self.ends[end].read() {
            let len = payload.len() as u32;
            prop_assert!(len > 0);
            prop_assert_eq!(
                payload,
                Payload::Stream { stream: 1 - end as u32, offset: self.received[end], len }
            );
            self.received[end] += u64::from(len);
            unread += u64::from(len);
        }
        let window = u64::from(self.sides[end].config.largest_window());
        prop_assert!(unread <= window + 64, "{unread} octets were held in a buffer of {window}");
        Ok(())
    }

    fn settle(&mut self, end: usize) -> Result<(), TestCaseError> {
        for count in 0.. {
            prop_assert!(count < 100_000, "it does not stop sending\n{}", self.describe());
            // The fast check agrees with the complete one.
            let (is_idle, mut place) = (self.ends[end].is_idle(), None);
            let has_sent = self.ends[end].transmit_into(&mut place, self.now);
            prop_assert!(has_sent == place.is_some() && !(is_idle && has_sent), "{}", self.describe());
            let Some(mut packet) = place else { break };
            self.check_windows(end, &packet)?;
            let copies = 1 + u32::from(self.happens(self.channel.doubling));
            if packet.ip().ecn() == Ecn::Ect0 && self.happens(self.channel.marking) {
                packet.set_ecn(Ecn::Ce);
            }
            self.packets.push(packet);
            for _ in 0..copies {
                if !self.happens(self.channel.loss) {
                    let jitter = self.rng.below(self.channel.jitter_ms * 1_000_000 + 1);
                    let delay = Duration::from_millis(self.channel.delay_ms) + Duration::from_nanos(jitter);
                    let index = self.packets.len() as u64 - 1;
                    self.wire.push(Reverse((self.now + delay, index, 1 - end)));
                }
            }
        }
        let flight = self.ends[end].flight();
        prop_assert!(flight.cwnd >= flight.mss, "{}", self.describe());
        prop_assert!(!flight.nxt.before(flight.una) && !flight.max.before(flight.nxt));
        self.check_queue(end)
    }

    /// The retransmission queue has the outstanding octets, each once and without gaps.
    fn check_queue(&self, end: usize) -> Result<(), TestCaseError> {
        let (queue, flight) = (self.ends[end].queue(), self.ends[end].flight());
        let Some(first) = queue.first() else { return Ok(()) };
        prop_assert!(first.seq == flight.una, "{}", self.describe());
        let mut next = first.seq;
        let [mut sacked, mut lost, mut again] = [0; 3];
        for segment in queue.iter() {
            prop_assert!(segment.seq == next && segment.octets() > 0);
            next = segment.end;
            sacked += if segment.is_sacked { segment.octets() } else { 0 };
            lost += if segment.is_lost { segment.octets() } else { 0 };
            again += if segment.is_again { segment.octets() } else { 0 };
        }
        prop_assert!(next == flight.max, "{}", self.describe());
        prop_assert_eq!((queue.sacked(), queue.lost(), queue.again()), (sacked, lost, again));
        Ok(())
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.rng.happens(Probability::new(probability).unwrap_or_default())
    }

    /// No end sends beyond the window of the other (except for a probe or a FIN), and no window shrinks.
    fn check_windows(&mut self, end: usize, packet: &Packet) -> Result<(), TestCaseError> {
        let Some(tcp) = packet.tcp() else { return Ok(()) };
        if tcp.flags.has(TcpFlags::RST) {
            return Ok(());
        }
        let mss = self.sides[end].config.mss.min(self.sides[1 - end].config.mss) as usize;
        let syn = tcp.flags.has(TcpFlags::SYN);
        let own_mss = packet.payload().len() + if syn { 0 } else { tcp.options.len() };
        prop_assert!(own_mss <= mss, "a segment of {own_mss} octets with options");
        if syn {
            self.shift[end] = tcp.options.window_scale;
        } else if let Some(edge) = self.edge[1 - end] {
            let segment_end = tcp.seq + packet.segment_len();
            prop_assert!(!segment_end.after(edge + 1), "{tcp:?} goes beyond {edge}\n{}", self.describe());
        }
        self.check_reports(end, tcp)?;
        if tcp.flags.has(TcpFlags::ACK) {
            let scaled = if self.shift[1 - end].is_some() { self.shift[end].unwrap_or(0) } else { 0 };
            let shift = if syn { 0 } else { scaled };
            let edge = tcp.ack + (u32::from(tcp.window) << shift);
            if let Some(before) = self.edge[end] {
                prop_assert!(!edge.before(before), "the window shrinks from {before} to {edge}");
            }
            self.edge[end] = Some(edge);
        }
        Ok(())
    }

    /// Nothing is acknowledged or reported that was not sent, and no more is outstanding than the
    /// sender's own limit allows.
    fn check_reports(&self, end: usize, tcp: &Tcp) -> Result<(), TestCaseError> {
        let sent = self.ends[1 - end].flight().max;
        if tcp.flags.has(TcpFlags::ACK) {
            prop_assert!(!tcp.ack.after(sent), "{tcp:?} acknowledges more than {sent}");
        }
        for (left, right) in tcp.options.sack.as_slice() {
            prop_assert!(left.before(*right) && !right.after(sent), "{tcp:?} reports more than {sent}");
        }
        // A SYN or FIN takes a number.
        let limit = self.sides[end].config.send_window.map_or(u32::MAX, |octets| octets + 1);
        let outstanding = self.ends[end].flight().outstanding();
        prop_assert!(outstanding <= limit, "{outstanding} octets are outstanding, not {limit}");
        Ok(())
    }

    fn describe(&self) -> String {
        let ends = self.ends.iter().map(|end| {
            format!(
                "{:?} {:?} unacknowledged {} {:?} {:?}",
                end.state(),
                end.flight(),
                end.unacknowledged(),
                end.stats(),
                end.deadline()
            )
        });
        format!("at {}, received {:?}\n{}", self.now, self.received, ends.collect::<Vec<_>>().join("\n"))
    }
}

proptest! {
    #![proptest_config(crate::settings(4000))]

    #[test]
    fn all_data_arrives_once_and_in_order_and_both_close(
        a in side(),
        b in side(),
        opening in prop_oneof![
            Just(Opening::Established),
            Just(Opening::Handshake),
            Just(Opening::Simultaneous),
        ],
        closes_at_once in any::<bool>(),
        channel in channel(),
        seed in any::<u64>(),
    ) {
        World::new([a, b], opening, closes_at_once, channel, seed).run()?;
    }
}
