//! What must not be told, and what must not be measured.

use super::*;

#[test]
fn a_doubtful_recovery_is_not_told_by_the_telling_of_the_one_before() {
    let mut bench = Bench::new(Settings::default());
    let before = bench.heard;
    // 10 is lost on the air, 13 is lost, too.
    bench.wait(5);
    for segment in [11, 12, 14, 15] {
        bench.data(segment);
        bench.wait(1);
    }
    // Both are sent again before any ACK of a repair is heard.
    bench.wait(50).data(10);
    bench.wait(50).ack(1300);
    assert_eq!(bench.counted(&TOLD), 1);
    bench.heard = before + 1;
    bench.wait(1).data(13);
    // The receiver says that there is congestion.
    let echoing = bench.ack_packet(1600).but(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE));
    let passed = bench.hear(&echoing).0;
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
