//! What must not be reported, and what must not be measured.

use super::*;

#[test]
fn an_uncertain_recovery_is_not_reported_by_the_previous_report() {
    let mut bench = Bench::new(Settings::default());
    let before = bench.last_tsval;
    bench.lose_and_repair();
    bench.ack(1500);
    assert_eq!(bench.counted(&TOLD), 1);
    // That ACK is lost, and so is segment 15.
    bench.last_tsval = before + 1;
    bench.wait(5).data(16);
    bench.wait(50).data(15);
    // The receiver reports congestion.
    let echoing = bench.ack_packet(1700).but(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE));
    let passed = bench.pass_ack(&echoing).0;
    assert_eq!(bench.counted(&LEFT), 1, "it is counted as left to TCP");
    assert_eq!(echo(&passed), echo(&echoing), "and told all the same");
}

#[test]
fn a_long_download_between_two_uploads_measures_no_round_trip() {
    let mut bench = Bench::new(Settings::default());
    bench.wait(5).ack(1000);
    for _ in 0..40 {
        bench.wait(60_000).ack(1000);
    }
    let mut segment = 10;
    for _ in 0..200 {
        bench.wait(2).data(segment);
        segment += 1;
        bench.wait(2).ack(SEGMENT * segment);
    }
    bench.reports.clear();
    bench.wait(5).data(segment + 1);
    bench.wait(60).data(segment);
    bench.wait(50).ack(SEGMENT * (segment + 2));
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (1, 0));
}

#[test]
fn round_trips_longer_than_half_a_clock_do_not_overflow() {
    let mut bench = Bench::new(Settings::default());
    bench.wait(5).ack(1000);
    let left = bench.millis - 5;
    while bench.millis + 60_000 < left + 2_147_484 {
        bench.wait(60_000).ack(1000);
    }
    bench.millis = left + 2_147_484;
    bench.data(10);
    for segment in 11..100 {
        bench.wait(5).ack(SEGMENT * segment);
        bench.wait(5).data(segment);
    }
}

#[test]
fn a_report_ends_with_an_ack_that_shows_its_arrival() {
    let mut bench = Bench::new(Settings::default());
    let shown = bench.lose_and_repair();
    assert_eq!(echo(&bench.ack(1500)), shown);
    assert_eq!(echo(&bench.wait(1).ack(1500)), shown);
    // The upload is over: the phone acknowledges a download, and sends no data.
    let last_tsval = bench.last_tsval;
    let mut pure = data(15, bench.wait(3).millis as u32, last_tsval);
    pure.set_payload(Payload::EMPTY);
    bench.pass(&pure, Side::Radio);
    let mut download = bench.wait(3).ack_packet(1500);
    download.set_payload(Payload::Stream { stream: 2, offset: 0, len: 9 });
    assert_eq!(echo(&bench.pass_ack(&download).0), echo(&download));
}

#[test]
fn a_long_queue_at_the_start_looks_like_another_clock_only_briefly() {
    let mut bench = Bench::unmeasured(Settings::default());
    for segment in 0..10 {
        // The first window waits for up to half a second.
        bench.wait(50).data_late(segment, u64::from(segment) * 50 + 2);
        bench.wait(2).ack(SEGMENT * (segment + 1));
    }
    for segment in 10..3000 {
        bench.wait(2).data(segment);
        bench.wait(2).ack(SEGMENT * (segment + 1));
    }
    bench.wait(5).data(3001);
    bench.wait(50).data(3000);
    bench.wait(50).ack(SEGMENT * 3002);
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (1, 0));
}

/// Uploads four segments every 40 ms, the last of which waits for 20 ms; in every `each`th burst
/// the second is lost. Returns the next segment.
fn upload_in_bursts(bench: &mut Bench, bursts: u32, each: u32) -> u32 {
    let mut segment = 10;
    for burst in 0..bursts {
        let is_lost = burst % each == each - 1;
        bench.wait(2).data(segment);
        if !is_lost {
            bench.wait(1).data(segment + 1);
        }
        bench.wait(1).data(segment + 2);
        if is_lost {
            bench.wait(1).data(segment + 1);
        }
        bench.wait(20).data_late(segment + 3, 22);
        segment += 4;
        bench.wait(15).ack(SEGMENT * segment);
    }
    bench.reports.clear();
    segment
}

/// After [`upload_in_bursts`] a segment is lost next to one that waits for 20 ms. Returns how often
/// that was reported, and how often it was left to TCP.
fn judged_after(each: u32) -> (usize, usize) {
    let mut bench = Bench::new(Settings::default());
    let segment = upload_in_bursts(&mut bench, 100, each);
    bench.wait(2).data(segment);
    bench.wait(20).data_late(segment + 2, 22);
    bench.wait(20).data(segment + 1);
    bench.wait(20).ack(SEGMENT * (segment + 3));
    (bench.counted(&TOLD), bench.counted(&LEFT))
}

#[test]
fn a_loss_after_long_waits_is_congestion_if_others_have_no_losses() {
    assert_eq!(judged_after(101), (0, 1));
}

#[test]
fn a_loss_after_long_waits_is_the_hops_if_others_are_lost_as_often() {
    assert_eq!(judged_after(10), (1, 0));
}
