//! The bypass.

use lasthop_agent::{Accounts as _, Bypass, Limits, Shown, Transfer as _};
use lasthop_config::preset::Presets as _;
use proptest::prelude::*;

use super::*;

const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));

/// An agent in a world without bypass, or with it.
struct World<R> {
    bench: Bench<R>,
    takes_up: bool,
    /// The bypass limits, and the packets that have passed.
    limits: Option<Limits>,
    next: Option<Seq>,
    acknowledged: Option<Seq>,
    passed: u32,
    acks_passed: u32,
}

impl<R: Recovery> World<R> {
    fn new(settings: Settings, takes_up: bool) -> Self {
        Self {
            bench: Bench::with(settings),
            takes_up,
            limits: None,
            next: None,
            acknowledged: None,
            passed: 0,
            acks_passed: 0,
        }
    }

    /// The packets sent to each side in a call of the agent.
    fn call<T>(&mut self, f: impl FnOnce(&mut Snoop<R>, &mut Context<'_>) -> T) -> (T, Vec<Packet>) {
        let mut outbox = Outbox::default();
        let Bench { snoop, now, rng, .. } = &mut self.bench;
        let result = f(snoop, &mut Context::new(*now, rng, &mut outbox));
        for Bypass { flow, limits } in outbox.bypasses {
            assert_eq!(Some(flow), data(0, 1).flow_key());
            if let Some(Limits { acknowledged, from, until, .. }) = limits {
                assert!(!until.before(from) && !from.before(acknowledged));
                self.next = Some(from);
                self.acknowledged = Some(acknowledged);
            }
            self.limits = limits;
        }
        (result, outbox.packets.into_iter().map(|(_, packet)| packet).collect())
    }

    fn may_pass(&self, packet: &Packet) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let end = tcp.seq + packet.segment_len();
        let is_bare = packet.payload().is_empty();
        self.takes_up
            && tcp.flags == TcpFlags::ACK
            && (is_bare || self.next == Some(tcp.seq))
            && self.limits.is_some_and(|limits| is_bare || !end.after(limits.until))
    }

    /// The packets that pass to the radio side.
    fn core(&mut self, packet: &Packet) -> Vec<Packet> {
        if self.may_pass(packet) {
            self.passed += 1;
            let mut shown = packet.clone();
            if self.limits.is_some_and(|limits| limits.shown == Shown::Headers) {
                shown.set_payload(Payload::unseen(packet.payload().len() as u32));
            }
            let ((), mut leaving) = self.call(|snoop, cx| snoop.on_bypass(&shown, Side::Core, cx));
            assert!(leaving.is_empty(), "what passed calls for nothing");
            if !packet.payload().is_empty() {
                self.next = packet.tcp().map(|tcp| tcp.seq + packet.segment_len());
            }
            leaving.push(packet.clone());
            return leaving;
        }
        let mut passing = packet.clone();
        let (verdict, mut leaving) = self.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Core, cx));
        leaving.extend((verdict == Verdict::Forward).then_some(passing));
        leaving
    }

    /// The packet that passes to the core side, and copies.
    fn radio(&mut self, packet: &Packet) -> (Option<Packet>, Vec<Packet>) {
        let Some(tcp) = packet.tcp() else { return (Some(packet.clone()), Vec::new()) };
        let is_new = self.acknowledged.is_some_and(|last| tcp.ack.after(last));
        let is_plain = tcp.options.sack.is_empty() && tcp.flags == TcpFlags::ACK;
        let is_within = self.limits.is_some_and(|limits| !tcp.ack.after(limits.until));
        if self.takes_up && (is_new || !packet.payload().is_empty()) && is_plain && is_within {
            self.acks_passed += 1;
            self.acknowledged = self.acknowledged.map(|last| last.later(tcp.ack));
            let ((), copies) = self.call(|snoop, cx| snoop.on_bypass(packet, Side::Radio, cx));
            return (Some(packet.clone()), copies);
        }
        let mut passing = packet.clone();
        let (verdict, copies) = self.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
        ((verdict == Verdict::Forward).then_some(passing), copies)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The next octets, or some that were sent before.
    Data {
        back: u32,
        len: u32,
    },
    /// This share of the sent data is acknowledged, with a block above.
    Ack {
        part: u32,
        block: Option<(u32, u32)>,
        len: u32,
    },
    /// The other direction's data is acknowledged.
    AckDown,
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u32..2000).prop_map(|len| Step::Data { back: 0, len }),
        1 => (1u32..3000, 1u32..2000).prop_map(|(back, len)| Step::Data { back, len }),
        1 => Just(Step::AckDown),
        4 => (0u32..=8, prop_oneof![2 => Just(0), 1 => 1u32..500])
            .prop_map(|(part, len)| Step::Ack { part, block: None, len }),
        1 => (0u32..4, 100u32..900, 1u32..2000)
            .prop_map(|(part, gap, len)| Step::Ack { part, block: Some((gap, len)), len: 0 }),
        1 => (0u64..300).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn the_bypass_makes_no_difference_to_the_hosts(
        steps in proptest::collection::vec(any_step(), 1..200),
        published: bool,
        local_window: bool,
    ) {
        if published {
            make_no_difference(World::<Published>::new, &Settings::published(), steps)?;
        } else {
            let settings = Settings { local_window, ..Settings::default() };
            make_no_difference(World::<Today>::new, &settings, steps)?;
        }
    }
}

fn make_no_difference<R: Recovery>(
    new: fn(Settings, bool) -> World<R>,
    settings: &Settings,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let mut worlds = [false, true].map(|takes_up| new(settings.clone(), takes_up));
    let (mut sent, mut acked) = (1u32, 1u32);
    for step in steps {
        match step {
            Step::Data { back, len } => {
                let packet = data(sent.saturating_sub(back).max(1), len).stamped(sent, 5);
                sent = sent.max(packet.tcp().map_or(0, |tcp| tcp.seq.0) + len);
                let [direct, bypassed] = worlds.each_mut().map(|world| world.core(&packet));
                prop_assert_eq!(direct, bypassed);
            }
            Step::AckDown => {
                let packet = data(sent, 0).stamped(sent, 5);
                let [direct, bypassed] = worlds.each_mut().map(|world| world.core(&packet));
                prop_assert_eq!(direct, bypassed);
            }
            Step::Ack { part, block, len } => {
                acked += (sent - acked) / 8 * part;
                let blocks = block.map(|(gap, len)| (acked + gap, acked + gap + len));
                let mut packet = ack(acked).stamped(acked, 5).sack(&blocks.into_iter().collect::<Vec<_>>());
                packet.set_payload(Payload::Stream { stream: 2, offset: 0, len });
                let [direct, bypassed] = worlds.each_mut().map(|world| world.radio(&packet));
                prop_assert_eq!(direct, bypassed);
            }
            Step::Wait(millis) => {
                let [direct, bypassed] = worlds.each_mut().map(|world| {
                    world.bench.wait(millis);
                    world.call(Agent::on_deadline)
                });
                prop_assert_eq!(direct, bypassed);
            }
        }
        let [direct, bypassed] =
            worlds.each_ref().map(|world| (world.bench.cached(), world.bench.snoop.held()));
        prop_assert_eq!(direct, bypassed);
    }
    Ok(())
}

/// A flow that may bypass the agent: its first segment went through the agent, and is acknowledged.
fn passing() -> World<Today> {
    let mut world = World::<Today>::new(Settings { reordering: 0, ..Settings::default() }, true);
    world.core(&data(1, 100));
    world.bench.wait(10);
    world.radio(&ack(101));
    assert!(world.limits.is_some());
    world
}

#[test]
fn data_in_order_bypasses_the_agent_and_is_cached() {
    let mut world = passing();
    for segment in 1..4 {
        world.core(&data(1 + 100 * segment, 100));
    }
    assert_eq!(world.passed, 3);
    assert_eq!(world.bench.cached(), [101, 201, 301]);
}

#[test]
fn new_acks_bypass_the_agent_and_others_do_not() {
    let mut world = passing();
    for segment in 1..4 {
        world.core(&data(1 + 100 * segment, 100));
    }
    assert_eq!(world.radio(&ack(201)).0, Some(ack(201)));
    assert_eq!((world.acks_passed, world.bench.cached()), (1, vec![201, 301]));
    world.radio(&ack(201));
    world.radio(&ack(301).flags(TcpFlags::FIN));
    assert_eq!(world.acks_passed, 1);
}

#[test]
fn the_bypass_is_limited_to_the_room_in_the_window() {
    let world = passing();
    let Limits { from, until, .. } = world.limits.expect("it may pass");
    let hop = &world.bench.snoop.hops;
    let hop = hop.find(MOBILE).and_then(|at| hop.get(at)).expect("the hop is known");
    assert_eq!(u64::from(until - from), hop.room());
}

#[test]
fn nothing_bypasses_the_agent_between_a_hole_and_its_repair() {
    let mut world = passing();
    for segment in 1..4 {
        world.core(&data(1 + 100 * segment, 100));
    }
    world.radio(&ack(101).sack(&[(201, 301)]));
    assert_eq!(world.limits, None);
    world.core(&data(401, 100));
    assert_eq!(world.passed, 3);
    world.bench.wait(10);
    world.radio(&ack(501));
    assert!(world.limits.is_some());
    world.core(&data(501, 100));
    assert_eq!(world.passed, 4);
}

#[test]
fn a_forgotten_flow_does_not_bypass_the_agent() {
    for end in [data(101, 0).flags(TcpFlags::SYN), data(101, 0).flags(TcpFlags::RST)] {
        let mut world = passing();
        world.core(&end);
        assert_eq!(world.limits, None);
    }
    let mut world = passing();
    let flow = data(0, 1).flow_key().expect("it is TCP");
    world.call(|snoop, cx| snoop.release(flow, cx));
    assert_eq!(world.limits, None);
    // A copy of a packet that passed just before.
    world.limits =
        Some(Limits { acknowledged: Seq(101), from: Seq(101), until: Seq(501), shown: Shown::Whole });
    world.call(|snoop, cx| snoop.on_bypass(&data(101, 100), Side::Core, cx));
    assert_eq!(world.limits, None, "it says so again");
}

/// A flow over a hop that has delivered a thousand segments and lost none.
fn proven() -> (World<Today>, u32) {
    let mut world = passing();
    let mut next = 101;
    while world.limits.is_some_and(|limits| limits.shown == Shown::Whole) {
        world.core(&data(next, 100));
        next += 100;
        world.bench.wait(1);
        world.radio(&ack(next));
        assert!(next < 101 * 1000 + 100, "a thousand are enough");
    }
    assert!(world.limits.is_some(), "it goes on passing");
    (world, next)
}

/// Sends four segments, the second of which is lost. Returns the resulting ACKs, as they pass.
fn lose_second_of_four(world: &mut World<Today>, from: u32) -> Vec<Option<Packet>> {
    (0..4).for_each(|segment| drop(world.core(&data(from + 100 * segment, 100))));
    world.bench.wait(1);
    let first = world.radio(&ack(from + 100)).0;
    let third = world.radio(&ack(from + 100).sack(&[(from + 200, from + 300)])).0;
    let fourth = world.radio(&ack(from + 100).sack(&[(from + 200, from + 400)])).0;
    vec![first, third, fourth]
}

#[test]
fn over_a_hop_without_losses_headers_suffice_and_no_data_is_cached() {
    let (mut world, next) = proven();
    let passed = world.passed;
    (0..4).for_each(|segment| drop(world.core(&data(next + 100 * segment, 100))));
    assert_eq!((world.passed - passed, world.bench.cached()), (4, vec![]));
}

#[test]
fn the_sender_repairs_the_first_loss_there_and_the_agent_the_next() {
    let (mut world, next) = proven();
    let passed = lose_second_of_four(&mut world, next);
    let blocks = |right| Some(ack(next + 100).sack(&[(next + 200, right)]));
    assert_eq!(passed, [Some(ack(next + 100)), blocks(next + 300), blocks(next + 400)], "it hears of all");
    assert_eq!(world.limits, None);
    world.core(&data(next + 100, 100));
    world.bench.wait(1);
    world.radio(&ack(next + 400));
    assert_eq!(world.limits.map(|limits| limits.shown), Some(Shown::Whole));

    let next = next + 400;
    (0..4).for_each(|segment| drop(world.core(&data(next + 100 * segment, 100))));
    assert_eq!(world.bench.cached(), [next, next + 100, next + 200, next + 300]);
    world.bench.wait(1);
    world.radio(&ack(next + 100));
    let (_, copies) = world.radio(&ack(next + 100).sack(&[(next + 200, next + 300)]));
    assert_eq!(pieces(&copies), [(next + 100, 100)]);
}

#[test]
fn a_tail_loss_there_shows_in_the_senders_retransmission() {
    let (mut world, next) = proven();
    world.core(&data(next, 100));
    world.bench.wait(LONG);
    let ((), copies) = world.call(Agent::on_deadline);
    assert!(copies.is_empty(), "there is nothing to copy");
    world.core(&data(next, 100));
    world.bench.wait(1);
    world.radio(&ack(next + 100));
    assert_eq!(world.limits.map(|limits| limits.shown), Some(Shown::Whole));
}

#[test]
fn an_upload_bypasses_the_agent_until_there_is_a_download() {
    let mut world = World::<Today>::new(Settings::default(), true);
    let mut upload = ack(1);
    upload.set_payload(Payload::Stream { stream: 2, offset: 0, len: 100 });
    assert_eq!(world.radio(&upload).0, Some(upload.clone()));
    let limits = world.limits.expect("it may pass");
    assert_eq!((limits.from, limits.until, limits.shown), (Seq(1), Seq(1), Shown::Headers));
    world.radio(&upload);
    assert_eq!(world.acks_passed, 1);
    world.core(&data(1, 0));
    assert_eq!(world.passed, 1, "its acknowledgments pass, too");
    world.core(&data(1, 100));
    assert_eq!(world.passed, 1);
    assert_eq!(world.bench.cached(), [1]);
    world.core(&data(0, 0).flags(TcpFlags::SYN));
    assert_eq!(world.limits, None);
}

#[test]
fn a_host_without_losses_is_trusted_like_all_others() {
    let (mut world, _) = proven();
    let other = |packet: Packet| {
        let ip =
            if packet.ip().destination == MOBILE { Ip::new(SERVER, OTHER) } else { Ip::new(OTHER, SERVER) };
        Packet::new(ip, packet.transport().clone(), packet.payload().clone())
    };
    let Bench { snoop, now, rng, .. } = &mut world.bench;
    let mut limits = None;
    for (packet, from) in [(data(1, 100), Side::Core), (ack(101), Side::Radio)] {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(*now, rng, &mut outbox);
        assert_eq!(snoop.on_packet(&mut other(packet), from, &mut cx), Verdict::Forward);
        *now += Duration::from_millis(1);
        limits = outbox.bypasses.last().and_then(|bypass| bypass.limits).or(limits);
    }
    assert_eq!(limits.map(|limits| limits.shown), Some(Shown::Headers));
}

#[test]
fn uncached_data_is_not_retransmitted_and_no_duplicate_ack_counts_as_its_answer() {
    let (mut world, end) = proven();
    for segment in 0..5 {
        world.core(&data(end + 1448 * segment, 1448));
    }
    assert_eq!(world.limits.map(|limits| limits.shown), Some(Shown::Headers));
    assert!(world.bench.cached().is_empty());
    world.bench.wait(LONG);
    assert!(world.bench.timer().is_empty(), "nothing is here to send");
    let scoreboard = world.bench.flow().map(|flow| &flow.recovery.scoreboard).expect("it is kept");
    assert_eq!(scoreboard.expected, 0);
}
