//! Calls through the agent.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Budget, Context, Outbox, Side, Tally, Verdict};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Transport, Udp};
use proptest::prelude::*;

use super::{IDLE, LATE, MAX_OTHERS, MISSED, SAMPLES, Streams};
use crate::cicada::quality::Quality;

const FIXED: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 5004);
const MOBILE: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7)), 6000);
const INTERVAL: Duration = Duration::from_millis(200);
const PACKET_MS: u64 = 20;
const QUALITY: Quality =
    Quality { delay: Duration::from_millis(150), variation: Duration::from_millis(60), loss: 0.01 };

struct Bench {
    streams: Streams,
    rng: Rng,
    outbox: Outbox,
    budget: Budget,
    tally: Tally,
    /// The queueing delay on the hop towards the mobile host.
    queue: Duration,
}

impl Bench {
    fn new() -> Self {
        Self {
            streams: Streams::new(QUALITY, INTERVAL),
            rng: Rng::named(1, "streams"),
            outbox: Outbox::default(),
            budget: Budget::default(),
            tally: Tally::default(),
            queue: Duration::ZERO,
        }
    }

    fn shown(&mut self, from: Side, mobile_port: u16, octets: impl Into<Bytes>, now: Instant) -> Verdict {
        let mobile = (MOBILE.0, mobile_port);
        let (source, destination) = match from {
            Side::Core => (FIXED, mobile),
            Side::Radio => (mobile, FIXED),
        };
        let udp = Udp { source_port: source.1, destination_port: destination.1 };
        let packet =
            Packet::new(Ip::new(source.0, destination.0), Transport::Udp(udp), Payload::Bytes(octets.into()));
        let key = from.connection(packet.flow_key().expect("UDP"));
        assert_eq!(key, FlowKey::udp(FIXED, mobile));
        let mut cx = Context::new(now, &mut self.rng, &mut self.outbox).within(self.budget);
        let queue = if from == Side::Core { self.queue } else { Duration::ZERO };
        let verdict = self.streams.on_datagram(key, &packet, from, queue, 0, &mut cx);
        assert!(self.outbox.packets.is_empty());
        for report in self.outbox.reports.drain(..) {
            self.tally.count(report.counter, report.amount);
        }
        verdict
    }

    /// Packet number `number` of a source that began at number 0, `late` milliseconds after it was
    /// sent; the other end answers on time.
    fn talk(&mut self, number: u64, late: u64) -> Verdict {
        let sent = Instant::from_secs(100) + Duration::from_millis(number * PACKET_MS);
        assert_eq!(self.shown(Side::Radio, MOBILE.1, rtp(2, number, false), sent), Verdict::Forward);
        self.shown(Side::Core, MOBILE.1, rtp(1, number, false), sent + Duration::from_millis(late))
    }

    /// A call whose clock is known.
    fn calling() -> (Self, u64) {
        let mut bench = Self::new();
        for number in 0..500 {
            assert_eq!(bench.talk(number, 15), Verdict::Forward);
        }
        (bench, 500)
    }
}

fn rtp(ssrc: u32, number: u64, marker: bool) -> Vec<u8> {
    let header = Rtp {
        marker,
        payload_type: 96,
        sequence: (65_000 + number) as u16,
        timestamp: (u64::from(u32::MAX) - 1000 + number * 160) as u32,
        ssrc,
    };
    [&header.octets()[..], &[7; 20]].concat()
}

const GIVEN_UP: Verdict = Verdict::Drop(&LATE);

#[test]
fn late_packets_of_a_call_are_dropped_and_the_others_pass() {
    let (mut bench, next) = Bench::calling();
    assert!(bench.streams.has_calls(Instant::from_secs(110)));
    let fates = [150, 160, 170, 15, 90];
    let fates: Vec<Verdict> =
        fates.into_iter().zip(next..).map(|(late, number)| bench.talk(number, late)).collect();
    assert_eq!(
        fates,
        [Verdict::Forward, Verdict::Forward, GIVEN_UP, Verdict::Forward, Verdict::Forward],
        "135 and 145 ms more than the quickest arrive within 150 ms; 155 ms do not"
    );
    assert!(bench.tally.get(&SAMPLES) > 80 && bench.tally.get(&MISSED) == 0);
}

#[test]
fn packets_that_the_queue_on_the_hop_makes_late_are_dropped() {
    let (mut bench, next) = Bench::calling();
    bench.queue = Duration::from_millis(100);
    assert_eq!(bench.talk(next, 15), Verdict::Forward, "100 ms more arrive in time");
    assert_eq!(bench.talk(next + 1, 70), GIVEN_UP, "155 ms do not");
    bench.queue = Duration::ZERO;
    assert_eq!(bench.talk(next + 2, 70), Verdict::Forward);
}

#[test]
fn a_persistent_queue_silences_no_stream() {
    let (mut bench, next) = Bench::calling();
    bench.queue = Duration::from_millis(400);
    let fates: Vec<Verdict> = (next..next + 400).map(|number| bench.talk(number, 15)).collect();
    let given_up = fates.iter().filter(|fate| **fate == GIVEN_UP).count() as u64;
    assert_eq!(given_up, INTERVAL.as_millis() as u64 / PACKET_MS, "the path is like that now");
}

#[test]
fn a_packet_that_others_have_overtaken_is_judged() {
    let (mut bench, mut next) = Bench::calling();
    for (late, expected) in
        [(60, Verdict::Forward), (160, Verdict::Forward), (170, GIVEN_UP), (400, GIVEN_UP)]
    {
        let overtaken = next;
        next += (late - 15) / PACKET_MS + 1;
        for number in overtaken + 1..next {
            assert_eq!(bench.talk(number, 15), Verdict::Forward);
        }
        let at = Instant::from_secs(100) + Duration::from_millis(overtaken * PACKET_MS + late);
        let verdict = bench.shown(Side::Core, MOBILE.1, rtp(1, overtaken, false), at);
        assert_eq!(verdict, expected, "{late} ms after it was sent");
    }
}

#[test]
fn a_source_that_restarts_with_earlier_numbers_is_not_silenced() {
    let (mut bench, next) = Bench::calling();
    let sent = |number: u64| Instant::from_secs(100) + Duration::from_millis(number * PACKET_MS);
    let mut given_up = 0;
    for number in next..next + 200 {
        let _ = bench.shown(Side::Radio, MOBILE.1, rtp(2, number, false), sent(number));
        let again = rtp(1, number - 300, false);
        let verdict = bench.shown(Side::Core, MOBILE.1, again, sent(number) + Duration::from_millis(15));
        given_up += u64::from(verdict == GIVEN_UP);
    }
    assert!(given_up <= INTERVAL.as_millis() as u64 / PACKET_MS, "{given_up}");
}

#[test]
fn a_missed_quality_is_reported() {
    let (mut bench, next) = Bench::calling();
    let before = bench.tally.get(&SAMPLES);
    // One in ten is lost.
    for number in (next..next + 200).filter(|number| number % 10 != 0) {
        assert_eq!(bench.talk(number, 15), Verdict::Forward);
    }
    let samples = bench.tally.get(&SAMPLES) - before;
    assert!(samples >= 30 && 3 * bench.tally.get(&MISSED) >= samples, "{:?}", bench.tally);
}

#[test]
fn no_stream_is_silenced_for_longer_than_a_sampling_interval() {
    let (mut bench, next) = Bench::calling();
    let fates: Vec<Verdict> = (next..next + 100).map(|number| bench.talk(number, 500)).collect();
    let given_up = fates.iter().filter(|fate| **fate == GIVEN_UP).count() as u64;
    assert_eq!(given_up, INTERVAL.as_millis() as u64 / PACKET_MS, "{fates:?}");
    assert!(fates[given_up as usize..].iter().all(|fate| *fate == Verdict::Forward));
}

#[test]
fn a_burst_after_an_outage_is_dropped_except_for_timely_packets() {
    let (mut bench, next) = Bench::calling();
    // Nothing arrives for 400 ms, and then all at once.
    let fates: Vec<Verdict> =
        (0..20).map(|waited| bench.talk(next + waited, 15 + 400 - waited * PACKET_MS)).collect();
    let given_up = fates.iter().take_while(|fate| **fate == GIVEN_UP).count();
    assert_eq!(given_up, 13, "those that waited for more than 150 ms");
    assert!(fates[given_up..].iter().all(|fate| *fate == Verdict::Forward));
}

#[test]
fn the_first_packet_of_a_talkspurt_passes_after_its_clock_stopped() {
    let (mut bench, next) = Bench::calling();
    let sent = Instant::from_secs(113);
    let first = bench.shown(Side::Core, MOBILE.1, rtp(1, next, true), sent);
    let second =
        bench.shown(Side::Core, MOBILE.1, rtp(1, next + 1, false), sent + Duration::from_millis(PACKET_MS));
    assert_eq!([first, second], [Verdict::Forward; 2]);
}

#[test]
fn a_one_way_stream_is_not_a_call_and_loses_nothing() {
    let mut bench = Bench::new();
    for number in 0..1000 {
        let late = if number % 7 == 0 { 900 } else { 0 };
        let now = Instant::from_millis(number * PACKET_MS + late);
        assert_eq!(bench.shown(Side::Core, MOBILE.1, rtp(1, number, false), now), Verdict::Forward);
    }
    assert!(!bench.streams.has_calls(Instant::from_secs(20)));
}

#[test]
fn datagrams_other_than_rtp_are_soon_left_alone() {
    let mut bench = Bench::new();
    let mut now = Instant::ZERO;
    for number in 0..100_u32 {
        now += Duration::from_millis(1);
        // QUIC, or datagrams that begin like RTP and continue otherwise.
        let octets =
            if number % 2 == 0 { vec![0x43; 900] } else { [&[0x80; 8], &number.to_be_bytes()[..]].concat() };
        assert_eq!(bench.shown(Side::Core, MOBILE.1, octets, now), Verdict::Forward);
        let expected = usize::from(number + 1 >= u32::from(MAX_OTHERS));
        assert_eq!(bench.outbox.left_alone.len(), expected);
    }
    bench.streams.on_deadline(now + IDLE);
    assert_eq!(bench.streams.next_timer(), None, "a minute after the last one that it looked at");
    for number in 0..500 {
        let _ = bench.talk(number, 15);
    }
    assert!(bench.streams.has_calls(Instant::from_secs(110)), "a call may have taken the ports");
}

#[test]
fn a_flood_of_ports_stays_within_its_share_and_is_evicted_for_a_call() {
    let mut bench = Bench::new();
    bench.budget.flows = 40;
    for port in 1..=u16::MAX {
        let verdict = bench.shown(Side::Core, port, vec![0x80; 40], Instant::from_millis(u64::from(port)));
        assert_eq!(verdict, Verdict::Forward);
        assert!(bench.streams.entries.len() <= 10);
    }
    for number in 0..100 {
        let _ = bench.talk(number, 0);
    }
    assert!(bench.streams.has_calls(Instant::from_secs(102)));
}

proptest! {
    /// All datagrams that are not RTP of one source in sequence pass, without a panic.
    #[test]
    fn arbitrary_datagrams_pass(datagrams in prop::collection::vec(
        (any::<bool>(), prop::collection::vec(any::<u8>(), 0..60), any::<bool>(), 0_u64..300), 0..200
    )) {
        let mut bench = Bench::new();
        let mut now = Instant::ZERO;
        for (is_down, mut octets, like_rtp, gap) in datagrams {
            now += Duration::from_millis(gap);
            if let Some(first) = octets.first_mut().filter(|_| like_rtp) {
                *first = *first & 0x1f | 0x80;
            }
            let from = if is_down { Side::Core } else { Side::Radio };
            prop_assert_eq!(bench.shown(from, MOBILE.1, octets, now), Verdict::Forward);
            bench.streams.on_deadline(now);
        }
    }

    /// Hostile RTP of a call: any numbers, timestamps and times. No run of late packets lasts
    /// longer than a sampling interval, without a panic.
    #[test]
    fn no_call_is_silenced(packets in prop::collection::vec(
        (any::<u16>(), any::<u32>(), any::<bool>(), 0_u64..100, 0_u8..40), 0..400
    )) {
        let (mut bench, next) = Bench::calling();
        let mut now = Instant::from_secs(110);
        let mut silent_since = None;
        for (number, (sequence, timestamp, marker, gap, kind)) in (next..).zip(packets) {
            now += Duration::from_millis(gap);
            let _ = bench.shown(Side::Radio, MOBILE.1, rtp(2, number, false), now);
            let mut octets = rtp(1, number, marker);
            if kind == 0 {
                octets[2..4].copy_from_slice(&sequence.to_be_bytes());
            }
            if kind < 20 {
                octets[4..8].copy_from_slice(&timestamp.to_be_bytes());
            }
            match bench.shown(Side::Core, MOBILE.1, octets, now) {
                Verdict::Forward => silent_since = None,
                verdict => {
                    prop_assert_eq!(verdict, GIVEN_UP);
                    let since = *silent_since.get_or_insert(now);
                    prop_assert!(now.since(since) < INTERVAL);
                }
            }
        }
    }
}

#[test]
fn a_key_frame_sent_packet_by_packet_is_not_late() {
    let mut bench = Bench::new();
    let (mut number, mut sampled) = (0, 0);
    // 25 frames a second at 90 kHz; every hundredth has 40 packets, spread over 400 ms without
    // other frames.
    for frame in 0..1000_u32 {
        let packets = if frame % 100 == 99 { 40 } else { 1 };
        let now = Instant::from_secs(100) + Duration::from_millis(sampled);
        let answer = rtp(2, u64::from(frame), false);
        assert_eq!(bench.shown(Side::Radio, MOBILE.1, answer, now), Verdict::Forward);
        for packet in 0..packets {
            let header = Rtp {
                marker: packet + 1 == packets,
                payload_type: 96,
                sequence: number,
                timestamp: sampled as u32 * 90,
                ssrc: 1,
            };
            let at = now + Duration::from_millis(10 * packet);
            let octets = [&header.octets()[..], &[7; 20]].concat();
            assert_eq!(bench.shown(Side::Core, MOBILE.1, octets, at), Verdict::Forward, "frame {frame}");
            number = number.wrapping_add(1);
        }
        sampled += (10 * packets).max(40);
    }
    assert!(bench.tally.get(&SAMPLES) > 0, "it is a call");
    // The next frame overtakes the last packet of this one, which left 900 ms after the first.
    let at = |ms| Instant::from_secs(100) + Duration::from_millis(sampled + ms);
    let mut packet = |ahead: u16, frame: u64, now| {
        let sequence = number.wrapping_add(ahead);
        let timestamp = (sampled + frame * 40) as u32 * 90;
        let header = Rtp { marker: false, payload_type: 96, sequence, timestamp, ssrc: 1 };
        let octets = [&header.octets()[..], &[7; 20]].concat();
        bench.shown(Side::Core, MOBILE.1, octets, now)
    };
    let fates = [packet(0, 0, at(0)), packet(1, 0, at(1)), packet(3, 1, at(40)), packet(2, 0, at(900))];
    assert_eq!(fates, [Verdict::Forward; 4]);
}

#[test]
fn sparse_packets_are_not_a_call() {
    let mut bench = Bench::new();
    for number in 0..400 {
        let now = Instant::from_secs(100 + 2 * number);
        let _ = bench.shown(Side::Core, MOBILE.1, rtp(1, number, false), now);
        let _ = bench.shown(Side::Radio, MOBILE.1, rtp(2, number, false), now);
        assert!(!bench.streams.has_calls(now));
    }
}

#[test]
fn under_a_growing_delay_at_most_half_is_dropped() {
    for step in [5, 10, 20] {
        let (mut bench, next) = Bench::calling();
        let fates: Vec<Verdict> =
            (0..400).map(|packet| bench.talk(next + packet, 15 + step * packet)).collect();
        let given_up = fates.iter().filter(|fate| **fate == GIVEN_UP).count();
        assert!(given_up <= fates.len() / 2 + 10, "{given_up} of {} at {step} ms a packet", fates.len());
    }
}

#[test]
fn audio_and_video_between_the_same_ports_are_each_judged_by_their_own_clock() {
    let mut bench = Bench::new();
    let audio = |number| rtp(1, number, false);
    // 90 kHz, a packet every 40 ms.
    let video = |number: u64| {
        let header = Rtp {
            marker: true,
            payload_type: 97,
            sequence: number as u16,
            timestamp: (number * 3600) as u32,
            ssrc: 9,
        };
        [&header.octets()[..], &[7; 900]].concat()
    };
    let sent = |number: u64| Instant::from_secs(100) + Duration::from_millis(number * PACKET_MS);
    let verdicts = |bench: &mut Bench, number, late| {
        let at = sent(number) + Duration::from_millis(late);
        let _ = bench.shown(Side::Radio, MOBILE.1, rtp(2, number, false), sent(number));
        let audio_verdict = bench.shown(Side::Core, MOBILE.1, audio(number), at);
        let video_verdict = if number % 2 == 0 {
            bench.shown(Side::Core, MOBILE.1, video(number / 2), at)
        } else {
            audio_verdict
        };
        [audio_verdict, video_verdict]
    };
    for number in 0..600 {
        assert_eq!(verdicts(&mut bench, number, 15), [Verdict::Forward; 2]);
    }
    assert_eq!(verdicts(&mut bench, 600, 170), [GIVEN_UP; 2]);
    assert_eq!(verdicts(&mut bench, 602, 15), [Verdict::Forward; 2]);
}

#[test]
fn the_stalest_source_is_replaced() {
    let (mut bench, next) = Bench::calling();
    // Eight more, one after the other; the call's own source continues.
    for number in next..next + 800 {
        let ssrc = 10 + (number / 100) as u32;
        let now = Instant::from_secs(100) + Duration::from_millis(number * PACKET_MS);
        let _ = bench.talk(number, 15);
        assert_eq!(bench.shown(Side::Core, MOBILE.1, rtp(ssrc, number, false), now), Verdict::Forward);
    }
    let number = next + 800;
    assert_eq!(bench.talk(number, 170), GIVEN_UP, "the call's own is still known");
}
