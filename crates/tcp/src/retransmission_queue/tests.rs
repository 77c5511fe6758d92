use proptest::prelude::*;

use super::*;

const MSS: u32 = 1000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A queue with this number of segments sent at 0, from `first` on.
fn queue(first: Seq, segments: u32) -> RetransmissionQueue {
    let mut queue = RetransmissionQueue::default();
    for segment in 0..segments {
        let seq = first + segment * MSS;
        queue.on_sent(seq, seq + MSS, Instant::ZERO);
    }
    queue
}

/// Where segments begin, from `first` on.
fn borders(queue: &RetransmissionQueue, first: Seq) -> Vec<u32> {
    queue.iter().map(|segment| segment.seq - first).collect()
}

fn counters(queue: &RetransmissionQueue) -> [u32; 4] {
    [queue.in_network(), queue.sacked(), queue.lost(), queue.again()]
}

fn all(_: &Outstanding) -> ControlFlow<(), bool> {
    ControlFlow::Continue(true)
}

/// Small numbers, and numbers that wrap within the queue.
const FIRSTS: [Seq; 3] = [Seq(1), Seq(u32::MAX - 2499), Seq((1 << 31) - 2500)];

#[test]
fn a_report_of_parts_splits_segments_and_counts_the_octets_it_names() {
    for first in FIRSTS {
        let mut queue = queue(first, 5);
        queue.begin_ack(None);
        queue.on_sack(first, &[(first + 1500, first + 3200)], at(100));
        assert_eq!(borders(&queue, first), [0, 1000, 1500, 2000, 3000, 3200, 4000]);
        assert_eq!(counters(&queue), [3300, 1700, 0, 0]);
        assert_eq!(queue.highest_sacked(), Some(first + 3200));
        assert_eq!(queue.delivery().sacked, 1700);
    }
}

#[test]
fn an_acknowledgment_within_a_segment_splits_it() {
    for first in FIRSTS {
        let mut queue = queue(first, 5);
        queue.begin_ack(None);
        queue.on_cumulative_ack(first + 1300, at(100));
        assert_eq!(borders(&queue, first), [1300, 2000, 3000, 4000]);
        assert_eq!((queue.in_network(), queue.delivery().acked), (3700, 1300));
    }
}

#[test]
fn a_retransmission_of_a_part_splits_its_segment_and_may_include_new_data() {
    for first in FIRSTS {
        let mut queue = queue(first, 3);
        queue.mark_lost(all, |_| ());
        queue.on_sent(first + 2400, first + 3500, at(100));
        assert_eq!(borders(&queue, first), [0, 1000, 2000, 2400, 3000]);
        assert_eq!(counters(&queue), [1100, 0, 3000, 600]);
        let again: Vec<_> = queue.iter().map(|segment| segment.was_sent_again).collect();
        assert_eq!(again, [false, false, false, true, false]);
    }
}

#[test]
fn lost_segments_are_retransmitted_in_order_and_again_if_lost_again() {
    let first = Seq(1);
    let mut queue = queue(first, 4);
    queue.on_sack(first, &[(first + 1000, first + 2000)], at(100));
    assert_eq!(queue.next_lost(MSS), None);
    assert_eq!(queue.mark_lost(all, |_| ()), 3000);
    assert_eq!(queue.next_lost(400), Some((first, 400)));
    queue.on_sent(first, first + MSS, at(100));
    assert_eq!(queue.next_lost(MSS), Some((first + 2000, MSS)));
    queue.on_sent(first + 2000, first + 4000, at(100));
    assert_eq!(queue.next_lost(MSS), None);
    assert_eq!(counters(&queue), [3000, 1000, 3000, 3000]);
    // The first is lost again; what is not in the network cannot be.
    assert_eq!(queue.mark_lost(|segment| ControlFlow::Continue(segment.seq == first), |_| ()), 1000);
    assert_eq!(counters(&queue), [2000, 1000, 3000, 2000]);
    assert_eq!(queue.next_lost(MSS), Some((first, MSS)));
    queue.unmark_lost();
    assert_eq!(counters(&queue)[1..], [1000, 0, 2000]);
}

#[test]
fn the_last_missing_segment_is_the_last_one_not_reported() {
    let mut queue = queue(Seq(1), 3);
    assert_eq!(queue.last_missing().map(|last| last.seq), Some(Seq(2001)));
    queue.on_sack(Seq(1), &[(Seq(2001), Seq(3001))], at(100));
    assert_eq!(queue.last_missing().map(|last| last.seq), Some(Seq(1001)));
    queue.on_sack(Seq(1), &[(Seq(1), Seq(3001))], at(100));
    assert!(queue.last_missing().is_none());
}

//= RFC 2018, section 8: the receiver may discard data that it has reported.
#[test]
fn discarded_reports_can_be_repeated() {
    let mut queue = queue(Seq(1), 3);
    let blocks = [(Seq(1001), Seq(3001))];
    queue.on_sack(Seq(1), &blocks, at(100));
    queue.forget_reports();
    assert_eq!((counters(&queue), queue.highest_sacked()), ([3000, 0, 0, 0], None));
    queue.on_sack(Seq(1), &blocks, at(100));
    assert_eq!(counters(&queue), [1000, 2000, 0, 0]);
}

//= RFC 2883, section 4, whose examples these are: a first block below the acknowledgment number, or within the second block.
#[test]
fn the_first_block_may_report_a_duplicate() {
    let block = |left: u32, right: u32| (Seq(left), Seq(right));
    for (ack, blocks, is_duplicate) in [
        (4000, vec![block(3000, 3500)], true),
        (4000, vec![block(3000, 3500), block(4500, 5000)], true),
        (4000, vec![block(4500, 5000)], false),
        (4000, vec![block(5000, 5500), block(4500, 5500)], true),
        (4000, vec![block(5000, 5500), block(4500, 5000)], false),
        (4000, vec![block(4500, 5000), block(3000, 3500)], false),
        (4000, vec![block(3500, 3000)], false),
        (4000, vec![block(3000, 3000)], false),
        (4000, vec![block(3500, 4500)], false),
        (100, vec![block(u32::MAX - 99, 100)], true),
        (4000, vec![], false),
    ] {
        let mut queue = queue(Seq(4000), 2);
        queue.begin_ack(None);
        queue.on_sack(Seq(ack), &blocks, at(100));
        assert_eq!(queue.delivery().duplicate.is_some(), is_duplicate, "{ack} {blocks:?}");
    }
}

#[test]
fn an_old_report_does_not_hide_one_with_the_same_numbers() {
    let mut queue = queue(Seq(1), 3);
    queue.on_sack(Seq(1), &[(Seq(1001), Seq(2001))], at(100));
    queue.on_cumulative_ack(Seq(3001), at(100));
    // The numbers have wrapped.
    queue.on_sent(Seq(1), Seq(3001), at(200));
    queue.on_sack(Seq(1), &[(Seq(1001), Seq(2001))], at(300));
    assert_eq!(queue.sacked(), 1000);
}

#[test]
fn reports_of_single_octets_do_not_grow_the_queue_without_bound() {
    let len = 4 * MAX_PIECES as u32;
    let mut queue = RetransmissionQueue::default();
    queue.on_sent(Seq(1), Seq(1 + len), Instant::ZERO);
    for octet in (2..len).rev().step_by(2) {
        queue.on_sack(Seq(1), &[(Seq(octet), Seq(octet + 1))], at(100));
    }
    assert!(queue.iter().count() <= MAX_PIECES + 2);
    assert!(queue.sacked() > 0 && queue.sacked() < len / 2);
    queue.on_sack(Seq(1), &[(Seq(1), Seq(1 + len))], at(100));
    assert_eq!((queue.sacked(), queue.in_network()), (len, 0));
}

#[test]
fn the_minimum_round_trip_ignores_retransmissions() {
    let mut queue = queue(Seq(1), 3);
    queue.on_cumulative_ack(Seq(1001), at(80));
    queue.on_sent(Seq(1001), Seq(2001), at(90));
    queue.on_cumulative_ack(Seq(2001), at(100));
    assert_eq!(queue.min_rtt(), Some(Duration::from_millis(80)));
}

/// The rate sample of one ACK: octets, milliseconds, and whether the application limited the sender.
fn rate(queue: &mut RetransmissionQueue, ack: u32, now: u64) -> Option<(u64, u64, bool)> {
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(ack), at(now));
    let sample = queue.rate_sample(at(now))?;
    Some((sample.delivered, sample.interval.as_millis() as u64, sample.is_application_limited))
}

//= draft-ietf-ccwg-bbr, section 4.1.1: what was delivered between the sending of a segment and its ACK, over the time that took.
#[test]
fn a_flight_that_is_acknowledged_evenly_shows_the_rate_of_the_path() {
    let mut queue = RetransmissionQueue::default();
    // A segment each 10 ms, acknowledged 100 ms later: 100,000 octets a second.
    for segment in 0..30_u32 {
        let now = u64::from(segment) * 10;
        queue.on_sent(Seq(segment * MSS), Seq((segment + 1) * MSS), at(now));
        if segment >= 10 {
            let sample = rate(&mut queue, (segment - 9) * MSS, now);
            // Segments sent before the first delivery belong to the first flight. Each is sent before the ACK of its time.
            if segment > 20 {
                assert_eq!(sample, Some((11_000, 110, false)), "segment {segment}");
            }
        }
    }
}

//= draft-ietf-ccwg-bbr, section 4.1.1.3 (ACK aggregation): "send_rate" bounds what a stretch ACK seems to say.
#[test]
fn the_delivery_rate_is_at_most_the_sending_rate() {
    let mut queue = RetransmissionQueue::default();
    queue.on_sent(Seq(0), Seq(MSS), at(0));
    assert_eq!(rate(&mut queue, MSS, 100), Some((1000, 100, false)));
    // Ten segments, 20 ms apart, which one ACK reports 100 ms after the last.
    for segment in 1..=10_u32 {
        queue.on_sent(Seq(segment * MSS), Seq((segment + 1) * MSS), at(100 + u64::from(segment) * 20));
    }
    assert_eq!(rate(&mut queue, 11 * MSS, 400), Some((10_000, 280, false)));
}

//= draft-ietf-ccwg-bbr, section 4.1.2.3: "if (RS.interval < C.min_rtt) [...] return; /* no reliable sample */".
#[test]
fn an_ack_too_early_for_a_retransmission_yields_no_rate_sample() {
    let mut queue = queue(Seq(0), 3);
    assert_eq!(rate(&mut queue, MSS, 100), Some((1000, 100, false)));
    queue.mark_lost(all, |_| ());
    queue.on_sent(Seq(MSS), Seq(2 * MSS), at(150));
    assert_eq!(rate(&mut queue, 2 * MSS, 160), Some((1000, 150, false)), "the original took so long");
    queue.on_sent(Seq(2 * MSS), Seq(3 * MSS), at(161));
    assert_eq!(rate(&mut queue, 3 * MSS, 170), None);
}

//= draft-ietf-ccwg-bbr, section 4.1.2.4: "C.app_limited": until what is in flight then is delivered.
#[test]
fn samples_are_marked_while_the_application_limits_the_sender() {
    let mut queue = queue(Seq(0), 2);
    queue.record_application_limited();
    queue.on_sent(Seq(2 * MSS), Seq(3 * MSS), at(50));
    assert_eq!(rate(&mut queue, MSS, 100).map(|sample| sample.2), Some(false), "it left before");
    assert_eq!(rate(&mut queue, 3 * MSS, 150).map(|sample| sample.2), Some(true));
    queue.on_sent(Seq(3 * MSS), Seq(4 * MSS), at(150));
    assert_eq!(rate(&mut queue, 4 * MSS, 250).map(|sample| sample.2), Some(false));
}

/// What is delivered of two segments that left at 100 with the timestamp 7 and again at 250 with 9: at 400
/// an ACK that echoes this acknowledges the first of them, or reports the second.
fn after_a_copy(echo: Option<u32>, is_reported: bool) -> Delivery {
    let mut queue = queue(Seq(0), 1);
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(MSS), at(100));
    queue.set_timestamp(7);
    queue.on_sent(Seq(MSS), Seq(3 * MSS), at(100));
    queue.mark_lost(all, |_| ());
    queue.set_timestamp(9);
    queue.on_sent(Seq(MSS), Seq(3 * MSS), at(250));
    queue.begin_ack(echo.map(|value| Echoed { value, sent: None }));
    if is_reported {
        queue.on_sack(Seq(MSS), &[(Seq(2 * MSS), Seq(3 * MSS))], at(400));
    } else {
        queue.on_cumulative_ack(Seq(2 * MSS), at(400));
    }
    *queue.delivery()
}

//= RFC 8985, section 6.2, step 2: no RTT of a copy whose ACK echoes an earlier timestamp.
#[test]
fn an_echo_of_an_earlier_timestamp_times_the_original_not_the_retransmission() {
    let delivery = after_a_copy(Some(7), false);
    assert_eq!((delivery.newest, delivery.copied_since), (None, Some(at(100))));
    for echo in [Some(9), None] {
        let delivery = after_a_copy(echo, false);
        let rtt = delivery.newest.map(|newest| newest.rtt);
        assert_eq!((rtt, delivery.copied_since), (Some(Duration::from_millis(150)), None));
    }
}

#[test]
fn reported_segments_are_not_timed_by_the_timestamp_of_another() {
    let delivery = after_a_copy(Some(7), true);
    assert_eq!((delivery.newest, delivery.copied_since), (None, None));
}

#[test]
fn without_timestamps_duplicates_show_that_an_ack_is_for_the_original() {
    let mut queue = queue(Seq(0), 1);
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(MSS), at(100));
    queue.on_sent(Seq(MSS), Seq(4 * MSS), at(100));
    queue.mark_lost(all, |_| ());
    queue.on_sent(Seq(MSS), Seq(4 * MSS), at(250));
    // The octets before were received twice.
    queue.begin_ack(None);
    queue.on_sack(Seq(MSS), &[(Seq(0), Seq(MSS))], at(390));
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(2 * MSS), at(400));
    assert_eq!((queue.delivery().newest, queue.delivery().copied_since), (None, Some(at(100))));
    // Until all is acknowledged that had left by then.
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(4 * MSS), at(410));
    queue.on_sent(Seq(4 * MSS), Seq(5 * MSS), at(410));
    queue.mark_lost(all, |_| ());
    queue.on_sent(Seq(4 * MSS), Seq(5 * MSS), at(520));
    queue.begin_ack(None);
    queue.on_cumulative_ack(Seq(5 * MSS), at(640));
    assert_eq!(queue.delivery().newest.map(|newest| newest.rtt), Some(Duration::from_millis(120)));
}

#[test]
fn timestamps_wrap() {
    let echo = |value| Echoed { value, sent: None };
    assert!(echo(u32::MAX).is_before(0) && !echo(0).is_before(u32::MAX) && !echo(5).is_before(5));
}

/// One octet of the naive model.
#[derive(Clone, Copy, Debug, Default)]
struct Octet {
    sent: Instant,
    is_sacked: bool,
    is_lost: bool,
    is_again: bool,
    was_sent_again: bool,
}

/// The queue, octet by octet.
#[derive(Default)]
struct Model {
    una: usize,
    octets: Vec<Octet>,
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    SendAgain(u32, u32),
    Ack(u32),
    Sack(u32, Vec<(i32, i32)>),
    /// What left at this time or before is lost.
    Lose(u32),
    LoseFirst,
    Unmark,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    let block = (-20..140_i32, -20..140_i32);
    prop_oneof![
        4 => (1..12_u32).prop_map(Step::Send),
        3 => (0..120_u32, 1..30_u32).prop_map(|(from, len)| Step::SendAgain(from, len)),
        2 => (0..40_u32).prop_map(Step::Ack),
        5 => (0..10_u32, prop::collection::vec(block, 0..5)).prop_map(|(ack, blocks)| Step::Sack(ack, blocks)),
        3 => (0..40_u32).prop_map(Step::Lose),
        1 => Just(Step::LoseFirst),
        1 => Just(Step::Unmark),
        1 => Just(Step::Forget),
    ]
}

impl Model {
    fn outstanding(&mut self) -> &mut [Octet] {
        &mut self.octets[self.una..]
    }

    fn count(&self, which: impl Fn(&Octet) -> bool) -> u32 {
        self.octets[self.una..].iter().filter(|octet| which(octet)).count() as u32
    }

    fn lose(&mut self, range: std::ops::Range<usize>, is_lost: impl Fn(&Octet) -> bool) {
        for octet in &mut self.octets[range] {
            let is_under_way = !octet.is_sacked && (!octet.is_lost || octet.is_again);
            if is_under_way && is_lost(octet) {
                (octet.is_lost, octet.is_again) = (true, false);
            }
        }
    }

    fn highest_sacked(&self) -> Option<usize> {
        self.octets
            .iter()
            .enumerate()
            .skip(self.una)
            .rfind(|(_, octet)| octet.is_sacked)
            .map(|(at, _)| at + 1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// The counters are those of a plain recount, whatever happens.
    #[test]
    fn counters_are_those_of_a_recount(
        first in prop::sample::select(&[0, 1, u32::MAX - 50, (1 << 31) - 30][..]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let first = Seq(first);
        let (mut queue, mut model) = (RetransmissionQueue::default(), Model::default());
        let mut delivered = 0;
        for (now, step) in steps.into_iter().enumerate() {
            let now = at(now as u64);
            let seq = |at: usize| first + at as u32;
            let (una, max) = (model.una, model.octets.len());
            queue.begin_ack(None);
            match step {
                Step::Send(len) => {
                    queue.on_sent(seq(max), seq(max) + len, now);
                    model.octets.resize(max + len as usize, Octet { sent: now, ..Octet::default() });
                }
                Step::SendAgain(from, len) if una < max => {
                    let from = una + from as usize % (max - una);
                    let to = (from + len as usize).min(max);
                    queue.on_sent(seq(from), seq(to), now);
                    for octet in &mut model.octets[from..to] {
                        octet.is_again |= !octet.is_sacked;
                        (octet.was_sent_again, octet.sent) = (true, now);
                    }
                }
                Step::Ack(by) => {
                    let to = (una + by as usize).min(max);
                    let new = model.octets[una..to].iter().filter(|octet| !octet.is_sacked).count() as u32;
                    queue.on_cumulative_ack(seq(to), now);
                    prop_assert_eq!(queue.delivery().acked, new);
                    model.una = to;
                    delivered += u64::from(new);
                }
                Step::Sack(below, blocks) => {
                    let ack = seq(una) + below.wrapping_neg();
                    let named: Vec<_> = blocks
                        .iter()
                        .map(|&(from, to)| (seq(una) + from as u32, seq(una) + to as u32))
                        .collect();
                    queue.on_sack(ack, &named, now);
                    let mut new = 0;
                    for (from, to) in blocks {
                        let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) else { continue };
                        if from < to && una + to <= max {
                            for octet in &mut model.octets[una + from..una + to] {
                                new += u32::from(!octet.is_sacked);
                                (octet.is_sacked, octet.is_lost, octet.is_again) = (true, false, false);
                            }
                        }
                    }
                    prop_assert_eq!(queue.delivery().sacked, new);
                    delivered += u64::from(new);
                }
                Step::Lose(until) => {
                    let until = at(u64::from(until));
                    queue.mark_lost(|segment| ControlFlow::Continue(segment.sent <= until), |_| ());
                    model.lose(una..max, |octet| octet.sent <= until);
                }
                Step::LoseFirst => {
                    let end = queue.first().map_or(una, |first| una + first.octets() as usize);
                    let is_first = |segment: &Outstanding| segment.seq == seq(una);
                    queue.mark_lost(|segment| {
                        if is_first(segment) { ControlFlow::Continue(true) } else { ControlFlow::Break(()) }
                    }, |_| ());
                    model.lose(una..end, |_| true);
                }
                Step::Unmark => {
                    queue.unmark_lost();
                    model.outstanding().iter_mut().for_each(|octet| octet.is_lost = false);
                }
                Step::Forget => {
                    queue.forget_reports();
                    model.outstanding().iter_mut().for_each(|octet| octet.is_sacked = false);
                }
                Step::SendAgain(..) => {}
            }
            let [sacked, lost, again] =
                [model.count(|o| o.is_sacked), model.count(|o| o.is_lost), model.count(|o| o.is_again)];
            let octets = (model.octets.len() - model.una) as u32;
            prop_assert_eq!(counters(&queue), [octets - sacked - lost + again, sacked, lost, again]);
            prop_assert_eq!(queue.highest_sacked(), model.highest_sacked().map(|at| first + at as u32));
            let due = model.octets.iter().enumerate().skip(model.una).find(|(_, o)| o.is_lost && !o.is_again);
            prop_assert_eq!(queue.next_lost(1).map(|(seq, _)| seq), due.map(|(at, _)| first + at as u32));
            prop_assert_eq!(queue.due, model.count(|o| o.is_lost && !o.is_again));
            let missing = model.octets.iter().enumerate().skip(model.una).rfind(|(_, o)| !o.is_sacked);
            prop_assert_eq!(queue.last_missing().map(|last| last.end), missing.map(|(at, _)| first + at as u32 + 1));
            // Without gaps, and nothing empty.
            let mut next = first + model.una as u32;
            for segment in queue.iter() {
                prop_assert!(segment.seq == next && segment.octets() > 0);
                next = segment.end;
            }
            prop_assert!(octets == 0 || next == first + model.octets.len() as u32);
            // What was delivered is forgotten with a report: it is delivered a second time.
            prop_assert!(queue.delivered() == delivered);
        }
    }
}
