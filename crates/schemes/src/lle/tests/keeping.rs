//! A link-layer acknowledgment is not one of TCP.

use lasthop_agent::{Accounts as _, Transfer as _};
use lasthop_config::preset::Presets as _;
use std::time::Duration;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::segment_cache::Cached;

use super::*;
use crate::lle::confirming::SegmentNotes;

/// A copy: it requests the receiver's own ACK.
pub(super) fn asking(packet: &Packet) -> Packet {
    marked(packet.clone(), Mark::OFFER.with(Mark::EVIDENCE))
}

#[test]
fn data_without_the_receivers_ack_is_sent_again() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    assert!(bench.wait(399).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, [asking(&sent)]);
    // The wait doubles each time.
    assert!(bench.wait(799).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, [asking(&sent)]);
    bench.radio(&accepting(ack(FIRST + 100)));
    assert!(bench.wait(60_000).timer().radio.is_empty());
    assert_eq!(bench.lle.unproven(), 0);
}

/// Five segments that the receiver has not acknowledged for the maximum time.
fn five_delivered_and_the_first_sent_again() -> (Bench, Vec<Packet>) {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent: Vec<Packet> = (0..5).map(|n| bench.sent(&data(FIRST + n * 100, 100))).collect();
    for packet in &sent {
        bench.delivered(packet);
    }
    assert_eq!(bench.wait(400).timer().radio, [asking(&sent[0])]);
    (bench, sent)
}

#[test]
fn late_acks_cause_no_needless_copies() {
    let (mut bench, _) = five_delivered_and_the_first_sent_again();
    for acknowledged in [100, 200, 300, 400] {
        assert!(bench.radio(&accepting(ack(FIRST + acknowledged))).radio.is_empty(), "{acknowledged}");
    }
}

#[test]
fn after_two_needed_copies_the_rest_of_a_run_follows_at_once() {
    let (mut bench, sent) = five_delivered_and_the_first_sent_again();
    assert!(bench.radio(&accepting(ack(FIRST + 100))).radio.is_empty(), "it may have been under way");
    assert_eq!(bench.wait(400).timer().radio, [asking(&sent[1])]);
    assert_eq!(bench.radio(&accepting(ack(FIRST + 200))).radio, [asking(&sent[2])]);
    // It has more than the copy: the run is over.
    assert!(bench.radio(&accepting(ack(FIRST + 400))).radio.is_empty());
}

//= RFC 5961, section 5.2: a segment whose ACK is too old is discarded.
#[test]
fn a_copy_carries_the_senders_latest_acknowledgment() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    bench.radio(&accepting(up_data(UP, FIRST, 500)));
    let answer = data(FIRST + 100, 0).but(|tcp| (tcp.ack, tcp.window) = (Seq(UP + 500), 8500));
    bench.core(&answer);
    // An ACK of data that was never sent: a forged number changes nothing.
    bench.core(&answer.but(|tcp| tcp.ack = Seq(UP + 501)));
    let copies = bench.wait(400).timer().radio;
    let fields: Vec<_> =
        copies.iter().filter_map(Packet::tcp).map(|tcp| (tcp.seq, tcp.ack, tcp.window)).collect();
    assert_eq!(fields, [(Seq(FIRST), Seq(UP + 500), 8500)]);
}

#[test]
fn data_reported_missing_is_sent_again_at_once() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent: Vec<Packet> = (0..3).map(|n| bench.sent(&data(FIRST + n * 100, 100))).collect();
    for packet in &sent {
        bench.delivered(packet);
    }
    let complaint = ack(FIRST).sack(&[(FIRST + 100, FIRST + 200)]);
    let step = bench.radio(&accepting(complaint.clone()));
    assert_eq!((step.radio, step.passed), (vec![asking(&sent[0])], Some(complaint.clone())));
    assert!(bench.radio(&accepting(complaint.clone())).radio.is_empty(), "it is on its way");
    bench.wait(401);
    assert_eq!(bench.radio(&accepting(complaint)).radio.len(), 1);
}

#[test]
fn duplicate_acks_in_flight_when_a_hole_is_filled_do_not_count() {
    let mut bench = Bench::at_access_point(Settings::default());
    let first = bench.sent(&data(FIRST, 100));
    bench.through(&data(FIRST + 100, 100));
    assert_eq!(bench.delivered(&first).acks(), [FIRST + 200]);
    let complaint = accepting(ack(FIRST).sack(&[(FIRST + 100, FIRST + 200)]));
    assert!(bench.radio(&complaint).radio.is_empty());
}

#[test]
fn a_copy_carries_the_latest_tsval() {
    let mut bench = Bench::at_access_point(Settings::default());
    let first = bench.sent(&data(FIRST, 100).stamped(u32::MAX - 1, 1));
    bench.delivered(&first);
    bench.sent(&data(FIRST + 100, 100).stamped(3, 1));
    let copies = bench.wait(400).timer().radio;
    assert_eq!(copies, [asking(&first).stamped(3, 1)]);
}

#[test]
fn without_sack_three_duplicates_report_a_loss() {
    let mut bench = Bench::at_access_point(Settings::default());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    let copies: Vec<usize> = (0..4).map(|_| bench.radio(&accepting(ack(FIRST))).radio.len()).collect();
    assert_eq!(copies, [0, 0, 1, 0]);
}

#[test]
fn duplicates_right_after_a_new_ack_may_answer_retransmissions() {
    let mut bench = Bench::at_access_point(Settings::default());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    bench.radio(&evidence(FIRST + 100));
    assert!((0..4).all(|_| bench.radio(&accepting(ack(FIRST + 100))).radio.is_empty()));
}

#[test]
fn a_d_sack_does_not_report_a_loss() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    let duplicate = ack(FIRST).sack(&[(FIRST - 100, FIRST)]);
    assert!(bench.radio(&accepting(duplicate)).radio.is_empty());
}

#[test]
fn an_irreparable_loss_is_reported() {
    let settings =
        Settings { repairs: 2, evidence_timeout: Duration::from_millis(10), ..Settings::default() };
    let mut bench = Bench::at_access_point(settings);
    bench.through(&data(FIRST, 100));
    let mut reports = Vec::new();
    for _ in 0..10 {
        reports.extend(bench.wait(1000).timer().reports);
    }
    assert_eq!(reports.len(), 3);
    assert_eq!(reports[2], lost(100));
    assert_eq!(bench.core(&data(FIRST + 100, 100)).mark(), Mark::OFFER, "and nothing more is promised");
}

#[test]
fn as_published_a_loss_that_shows_after_an_hour_is_reported() {
    let mut bench = Bench::at_access_point(Settings::published());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    for _ in 0..12 {
        assert!(bench.wait(300_000).timer().reports.is_empty());
    }
    let complaint = accepting(ack(FIRST).sack(&[(FIRST + 100, FIRST + 200)]));
    assert!(bench.radio(&complaint).reports.is_empty(), "it may be under way");
    assert_eq!(bench.wait(400).radio(&complaint).reports, [lost(1)]);
    // The receiver has all data in the end, and is idle: no more ACKs are expected.
    bench.radio(&accepting(ack(FIRST + 300)));
    bench.wait(301_000).timer();
    assert_eq!(bench.lle.flows.len(), 0);
}

#[test]
fn as_published_it_is_lost_and_reported_once() {
    let mut bench = Bench::at_access_point(Settings::published());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    let complaint = accepting(ack(FIRST).sack(&[(FIRST + 100, FIRST + 200)]));
    let lost = lost(1);
    assert!(bench.radio(&complaint).reports.is_empty(), "it may be under way");
    bench.wait(400);
    assert_eq!(bench.radio(&complaint).reports, [lost]);
    assert!(bench.radio(&complaint).reports.is_empty());
    assert!(bench.wait(60_000).timer().radio.is_empty());
}

#[test]
fn without_room_to_keep_it_data_is_not_promised() {
    let budget = Budget::default();
    // A cache makes room for four packets at once, and each lies in a buffer of 320 octets.
    let for_two = 4 * size_of::<Cached<SegmentNotes>>() + 2 * 320;
    for (settings, budget) in [
        (Settings { kept_octets: 300, ..Settings::default() }, budget),
        (Settings::default(), Budget { octets_per_flow: for_two, ..budget }),
        (Settings::default(), Budget { octets_in_all: for_two, ..budget }),
    ] {
        let mut bench = Bench::at_access_point(settings);
        let octets_in_all = budget.octets_in_all + bench.lle.octets();
        bench.budget = Budget { octets_in_all, ..budget };
        let promises: Vec<bool> =
            (0..4).map(|n| bench.core(&data(FIRST + n * 100, 100)).mark().has(Mark::PROMISE)).collect();
        assert_eq!(promises, [true, true, false, false]);
        // The receiver's own ACK makes room.
        bench.radio(&accepting(ack(FIRST + 400)));
        assert!(bench.core(&data(FIRST + 400, 100)).mark().has(Mark::PROMISE));
    }
}

#[test]
fn a_shorter_retransmission_does_not_replace_the_kept_copy() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 200));
    bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    assert_eq!(bench.wait(400).timer().radio, [asking(&sent)]);
}

/// An access point that owes a hundred octets to the phone.
fn owing() -> Bench {
    let mut bench = Bench::at_access_point(Settings::default());
    assert_eq!(bench.through(&data(FIRST, 100)).acks(), [FIRST + 100]);
    assert_eq!(bench.lle.owed(), Owed { connections: 1, octets: 100 });
    bench
}

/// The same packet for a connection to another port of the phone.
fn other(packet: Packet) -> Packet {
    packet.but(|tcp| tcp.destination_port = 4001)
}

#[test]
fn a_connection_with_obligations_is_not_evicted() {
    let mut bench = owing();
    bench.budget.flows = 1;
    bench.wait(120_000);
    let step = bench.core(&other(syn()));
    assert_eq!((step.mark(), step.reports), (Mark::NONE, vec![Report::new(&AT_BOUND).which("connections")]));
    assert_eq!(bench.lle.owed().octets, 100);
    bench.radio(&accepting(ack(FIRST + 100)));
    let step = bench.wait(11_000).core(&other(syn()));
    assert_eq!((step.mark(), step.reports), (Mark::OFFER, vec![]), "nothing is owed any more");
}

#[test]
fn the_idlest_connection_without_obligations_is_evicted() {
    let mut bench = owing();
    bench.budget.flows = 2;
    bench.wait(1_000).core(&other(syn()));
    let third = syn().but(|tcp| tcp.destination_port = 4002);
    let step = bench.wait(11_000).core(&third);
    assert_eq!((step.mark(), step.reports), (Mark::OFFER, vec![]));
    assert_eq!((bench.lle.owed().octets, bench.lle.flows.len()), (100, 2));
}

#[test]
fn a_late_copy_of_the_syn_starts_no_connection() {
    for moves in [false, true] {
        let mut bench = owing();
        if moves {
            let state = bench.export();
            assert_eq!(bench.import(Lle::new(Settings::default(), Role::Edge), &state), Ok(()));
        }
        // From a host that finally retries without options.
        let step = bench.core(&syn().but(|tcp| tcp.options.window_scale = None));
        assert_eq!((step.mark(), step.reports), (Mark::OFFER, vec![]));
        assert_eq!(bench.lle.owed().octets, 100);
        let step = bench.through(&data(FIRST + 100, 100));
        let window = (4 * u32::from(WINDOW) - 200) >> SHIFT;
        let tcp = step.only_ack();
        assert_eq!((tcp.ack.0, u32::from(tcp.window)), (FIRST + 200, window), "scaled as before");
        assert_eq!(bench.wait(400).timer().radio.len(), 1, "it is still kept");
    }
}

#[test]
fn a_late_copy_of_the_phones_syn_starts_no_connection() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    let opening = accepting(syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0))));
    bench.radio(&opening);
    let answer = syn().flags(TcpFlags::ACK).but(|tcp| tcp.ack = Seq(UP));
    bench.through(&answer);
    bench.radio(&accepting(ack(FIRST)));
    assert_eq!(bench.through(&data(FIRST, 100)).acks(), [FIRST + 100]);
    let step = bench.radio(&marked(opening, Mark::NONE));
    assert!(step.passed.is_some() && step.reports.is_empty());
    assert_eq!(bench.lle.owed().octets, 100);
    assert_eq!(bench.through(&data(FIRST + 100, 100)).acks(), [FIRST + 200], "the promise stands");
}

#[test]
fn a_stray_or_late_syn_ack_changes_no_window_scale() {
    let forgeries: [fn(&mut Tcp); 4] = [
        |tcp| tcp.ack = Seq(FIRST - 500),
        |tcp| tcp.ack = Seq(FIRST + 100),
        |tcp| (tcp.seq, tcp.ack) = (Seq(UP.wrapping_sub(400)), Seq(FIRST + 1)),
        // The right number, but the handshake is over.
        |_| {},
    ];
    for forge in forgeries {
        let mut bench = owing();
        let forged = accepting(syn_ack().but(forge).but(|tcp| tcp.options.window_scale = Some(7)));
        let step = bench.radio(&forged);
        assert!(step.passed.is_some() && step.reports.is_empty());
        let window = (4 * u32::from(WINDOW) - 200) >> SHIFT;
        let step = bench.through(&data(FIRST + 100, 100));
        let tcp = step.only_ack();
        assert_eq!((tcp.ack.0, u32::from(tcp.window)), (FIRST + 200, window), "scaled as before");
        assert_eq!(bench.lle.owed().octets, 200);
    }
}

#[test]
fn a_stray_syn_ack_does_not_belong_to_the_handshake() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    bench.core(&syn());
    let forged = accepting(syn_ack().but(|tcp| {
        (tcp.ack, tcp.options.window_scale) = (Seq(FIRST - 7), Some(14));
    }));
    bench.radio(&forged);
    bench.radio(&accepting(syn_ack()));
    bench.core(&data(FIRST, 0));
    let step = bench.through(&data(FIRST, 100));
    assert_eq!(step.only_ack().window, WINDOW - (100 >> SHIFT), "by the answer to the SYN that was seen");
}

#[test]
fn a_new_connection_reports_the_octets_at_risk_of_the_one_it_replaces() {
    let ends: [fn(&mut Bench) -> Step; 2] = [
        |bench| bench.core(&syn().but(|tcp| tcp.seq = Seq(77))),
        |bench| bench.radio(&syn_ack().but(|tcp| (tcp.flags, tcp.seq) = (TcpFlags::SYN, Seq(77)))),
    ];
    for end in ends {
        let mut bench = owing();
        assert_eq!(end(&mut bench).reports, [lost(100)]);
        assert_eq!(bench.lle.owed(), Owed::default());
        assert!(bench.radio(&ack(0).flags(TcpFlags::RST)).reports.is_empty(), "once");
    }
}

/// After a reset both ends know that data may be missing; a world that releases a connection counts
/// the obligations itself.
#[test]
fn a_reset_and_a_release_end_all_obligations_without_a_report() {
    let ends: [fn(&mut Bench) -> Step; 3] = [
        |bench| bench.core(&data(FIRST, 0).flags(TcpFlags::RST)),
        |bench| bench.radio(&ack(0).flags(TcpFlags::RST)),
        |bench| bench.call(|lle, cx| lle.release(data(0, 0).flow_key().expect("TCP"), cx)).1,
    ];
    for end in ends {
        let mut bench = owing();
        assert!(end(&mut bench).reports.is_empty());
        assert_eq!(bench.lle.owed(), Owed::default());
    }
}

#[test]
fn forgetting_an_idle_connection_reports_its_octets_at_risk() {
    let mut bench = owing();
    let step = bench.wait(301_000).timer();
    assert_eq!((step.reports.last(), bench.lle.owed()), (Some(&lost(100)), Owed::default()));
    assert!(bench.wait(400_000).timer().reports.is_empty());
}

#[test]
fn data_given_up_is_not_counted_as_lost_twice() {
    let settings = Settings { repairs: 0, ..Settings::default() };
    let mut bench = Bench::at_access_point(settings);
    bench.through(&data(FIRST, 100));
    assert_eq!(bench.wait(400).timer().reports, [lost(100)]);
    assert!(bench.wait(301_000).timer().reports.is_empty());
}
