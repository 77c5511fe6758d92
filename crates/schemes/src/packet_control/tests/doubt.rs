//! ACKs that must not be trusted, edited, or repeated.
use super::*;

fn nine() -> Settings {
    Settings { threshold: 9, ..Settings::default() }
}

fn reorders(settings: Settings) -> Bench {
    let mut bench = Bench::started(settings);
    bench.duplicates(&ack(1), 1);
    assert!(bench.wait(40).radio(&ack(3)).passed());
    bench
}

fn stamped(packet: Packet, value: u32) -> Packet {
    packet.but(|tcp| tcp.options.timestamps = Some(Timestamps { value, echo_reply: 1 }))
}

fn upload(number: u32) -> Packet {
    let mut packet = ack(number);
    packet.set_payload(Payload::Stream { stream: 2, offset: 0, len: 10 });
    packet
}

#[test]
fn a_forged_ack_that_the_fixed_host_would_reject_is_ignored() {
    let mut bench = Bench::started(Settings::default());
    // No receiver accepts this: its number is half the sequence space off (RFC 9293, 3.10.7.4; RFC
    // 5961, 5.2).
    let forged = ack(8).but(|tcp| tcp.seq += 1 << 31);
    bench.radio(&forged);
    assert_eq!(bench.radio(&ack(3)).verdict, Verdict::Forward, "the true ACK");
    assert_eq!(bench.core(&data(3)).verdict, Verdict::Forward, "the mobile host lacks it");
}

#[test]
fn withheld_acks_have_an_acceptable_number_when_sent() {
    let mut bench = reorders(nine());
    assert_eq!(bench.duplicates(&ack(3), 2), [false, false]);
    assert!(bench.radio(&upload(3)).passed());
    let released = bench.wait(80).timer();
    assert!(released.iter().all(|ack| ack.tcp().unwrap().seq == Seq(17)), "{released:?}");
}

#[test]
fn a_duplicate_report_within_the_second_block_keeps_its_context() {
    let mut bench = reorders(nine());
    let packet = ack(3).reports(&[(5, 6), (4, 8)]);
    assert!(packet.tcp().unwrap().sack_reports().0.is_some());
    let (step, passed) = bench.pass_ack(&packet);
    assert_eq!(step.verdict, Verdict::Forward);
    assert!(passed.tcp().unwrap().sack_reports().0.is_some(), "{passed:?}");
}

#[test]
fn repeated_data_that_carries_a_mark_passes() {
    let mut bench = Bench::started(Settings::default());
    assert!(bench.radio(&ack(5)).passed());
    let mut marked = data(2);
    marked.set_ecn(lasthop_packet::Ecn::Ce);
    assert_eq!(bench.core(&marked).verdict, Verdict::Forward);
}

#[test]
fn a_duplicate_with_a_reserved_bit_passes() {
    let mut bench = Bench::published(9);
    let mut marked = ack(1);
    marked.set_tcp_reserved_bits(1);
    assert_eq!(bench.radio(&marked).verdict, Verdict::Forward, "AccECN's counter, ELN's bit");
}

#[test]
fn an_answer_has_the_latest_window_and_timestamp() {
    let mut bench = Bench::started(Settings::default());
    assert!(bench.radio(&stamped(ack(5), 100)).passed());
    assert!(bench.radio(&stamped(ack(5).window(5), 200)).passed());
    bench.core(&data(1));
    let made = bench.core(&data(1)).made;
    assert!(!made.is_empty());
    for ack in made {
        let tcp = ack.tcp().unwrap();
        assert_eq!((tcp.window, tcp.options.timestamps.unwrap().value), (5, 200), "PAWS refuses 100");
    }
}

#[test]
fn withheld_reports_have_an_acceptable_number_when_sent() {
    // Withheld at 3 with blocks; then upload data without blocks; then released.
    let mut bench = reorders(nine());
    bench.pass_ack(&ack(3).reports(&[(4, 5)]));
    assert!(bench.radio(&upload(3)).passed());
    let released = bench.wait(80).timer();
    assert!(released.iter().all(|ack| ack.tcp().unwrap().seq == Seq(17)), "{released:?}");
}

#[test]
fn a_zero_window_is_not_retracted() {
    let mut bench = reorders(nine());
    bench.pass_ack(&ack(3).reports(&[(4, 5)]));
    // The window closes, or opens.
    assert!(bench.radio(&ack(3).window(5)).passed());
    let released = bench.wait(80).timer();
    assert!(
        released.iter().all(|ack| ack.tcp().unwrap().window == 5),
        "the old window is said again: {released:?}"
    );
}

#[test]
fn an_old_window_is_not_repeated() {
    let mut bench = reorders(nine());
    assert_eq!(bench.duplicates(&ack(3), 2), [false, false]);
    assert!(bench.radio(&ack(3).window(5)).passed());
    let released = bench.wait(80).timer();
    let windows: Vec<u16> = released.iter().map(|ack| ack.tcp().unwrap().window).collect();
    assert_eq!(windows, [5, 5], "the window that was closed since is open again");
}

/// The agent's packets after upload data, as sent to a sender, and with the next number.

#[test]
fn an_ack_with_an_unknown_option_is_not_edited() {
    let mut bench = reorders(nine());
    let signed = ack(5).reports(&[(6, 8)]).unknown_option();
    let (step, passed) = bench.pass_ack(&signed);
    assert_eq!(step.verdict, Verdict::Forward);
    assert_eq!(passed, signed, "its signature is wrong now");
}

#[test]
fn a_persistent_sender_is_trusted() {
    // For whatever reason the agent assumes too high a number for the mobile host.
    let mut bench = Bench::started(Settings::default());
    assert!(bench.radio(&ack(8)).passed());
    let passed = (0..10).filter(|_| bench.core(&data(3)).verdict == Verdict::Forward).count();
    assert_eq!(passed, 2, "from the ninth repetition on");
    assert!(bench.radio(&ack(3)).passed());
}

#[test]
fn reports_of_data_that_never_passed_pass() {
    let mut bench = reorders(nine());
    assert!(bench.radio(&ack(3).reports(&[(9, 12)])).passed());
}

#[test]
fn acks_that_count_marks_pass_unchanged_from_then_on() {
    let both = TcpFlags::ECE.with(TcpFlags::CWR);
    let mut bench = reorders(nine());
    assert!(bench.radio(&ack(5).reports(&[(6, 8)]).flags(both)).passed());
    assert!(bench.radio(&ack(5).reports(&[(6, 9)])).passed());
    assert!(bench.core(&data(2)).passed(), "an answer would say that there were no marks");
    assert!(bench.timer().is_empty());
}
