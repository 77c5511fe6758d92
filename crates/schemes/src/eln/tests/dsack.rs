//! `undo = "dsack"`.

use super::*;

#[test]
fn each_repair_covered_by_an_ack_is_reported_twice_received_before_it() {
    let mut bench = Bench::new(Settings { undo: Undo::Dsack, ..Settings::default() });
    bench.wait(5).data(11);
    bench.wait(1).data(13);
    bench.wait(60).data(10);
    bench.wait(1).data(12);
    bench.wait(50);
    let ack = bench.ack_packet(1400).sack(&[(1500, 1600)]);
    let (passed, ahead) = bench.pass_ack(&ack);
    assert_eq!(passed, ack, "what the receiver said goes on as it is");
    let of = |left, right| bench.ack_packet(1400).sack(&[(left, right)]);
    assert_eq!(ahead, [of(1000, 1100), of(1200, 1300)]);
    assert_eq!(bench.counted(&TOLD), 1);
}

#[test]
fn after_its_report_a_repair_is_forgotten() {
    let mut bench = Bench::new(Settings { undo: Undo::Dsack, ..Settings::default() });
    bench.lose_and_repair();
    let first = bench.ack_packet(1500);
    assert_eq!(bench.pass_ack(&first).1.len(), 1);
    assert_eq!(bench.pass_ack(&first).1.len(), 0);
}
