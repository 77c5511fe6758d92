//! The thesis's own timelines, replayed event by event: the sample trace of appendix B.4, figures
//! 5.3 and 5.4 as described in section 5.4.3, and the reactions to a loss of sections 2.3.1 and
//! 2.3.2.

mod bench;

use bench::{Run, TempDir};

fn scenario(folder: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/goel")
        .join(folder)
        .join("datafile.dat")
}

/// Appendix B.4.
#[test]
fn nine_transmissions_of_the_16th_segment_fail_and_the_third_duplicate_ack_brings_it_back() {
    let run = Run::from_path(&scenario("appendix-b4"), "none");
    let frame = |number| format!("frame <212, 213, {number}, -1, DATA>");
    let segment = "packet <211, 213> segment <15360, -1, 1024, DATA>";
    let mut expected: Vec<String> = (0..9)
        .map(|attempt| format!("{} corrupted {} {segment}", 945 + 11 * attempt, frame(15 + attempt)))
        .collect();
    expected.push(format!("1044 given-up {} {segment}", frame(23)));
    expected.push("1174 fast-retransmit at 211".to_owned());
    expected.push(format!("1174 retransmitted at 211 {segment}"));
    assert_eq!(run.events("corrupted,given-up,fast-retransmit,retransmitted,timeout"), expected);
}

/// The events at the source and at the link layer of the base station from the loss on, without
/// delivered frames.
const TOLD: &str = "given-up,icmp,timeout,fast-retransmit,retransmitted,sent,received";

/// The events of figures 5.3 and 5.4 at the source, from the first lost segment on. A is its
/// number; B, C, D and E are those of its successors.
fn at_the_source(run: &Run, until: u64) -> Vec<String> {
    let events = run.events(TOLD);
    let first = 1_121_280;
    let shortened = |line: &String| {
        let mut line = line.replace(" packet <211, 213>", "").replace(" packet <213, 211>", "");
        line = line.replace(" packet <212, 211> icmp <253, 0>", "").replace(" at 211", "");
        for (index, name) in ["A", "B", "C", "D", "E", "F", "G"].iter().enumerate() {
            line = line.replace(&(first + 1024 * index).to_string(), name);
        }
        line.replace("segment <-1, ", "<ack ")
            .replace(", 0, ACK>", ">")
            .replace("segment ", "")
            .replace(", -1, 1024, DATA>", ">")
    };
    let clock =
        |line: &str| line.split(' ').next().and_then(|clock| clock.parse::<u64>().ok()).expect("a clock");
    let is_at_source = |line: &&String| line.contains(" at 211") && (96_651..=until).contains(&clock(line));
    events.iter().filter(is_at_source).map(shortened).collect()
}

/// Figure 5.3.
#[test]
fn simple_icmp_takes_a_spared_time_out_for_each_of_two_consecutive_losses() {
    let run = Run::from_path(&scenario("figure-5.3"), "simple-icmp");
    assert_eq!(
        at_the_source(&run, 99_705)[..],
        [
            "96651 received <ack 1118208>",
            "96651 sent <A>",
            "96662 icmp received ICMP-DEFER about 1118208",
            "96683 received <ack 1119232>",
            "96683 sent <B>",
            "96693 received <ack 1120256>",
            "96693 sent <C>",
            "96703 received <ack A>",
            "96703 sent <D>",
            "97003 icmp received ICMP-DEFER about A",
            "97102 icmp received ICMP-DEFER about B",
            "97201 icmp received ICMP-DEFER about C",
            "97211 received <ack A>",
            "97221 received <ack A>",
            "98003 timeout",
            "98003 retransmitted <A>",
            "98354 received <ack B>",
            "98354 sent <E>",
            "98705 received <ack B>",
            "99354 timeout",
            "99354 retransmitted <B>",
            "99705 received <ack F>",
            "99705 sent <F>",
            "99705 sent <G>",
            "99705 sent <1128448>",
            "99705 sent <1129472>",
        ]
    );
    assert!(run.trace("211-threshold", 1000).is_empty(), "ssthresh stays what it was at the start");
    let cwnd = run.trace("211-congestion", 96_703);
    assert!(cwnd.windows(2).all(|pair| pair[0].1 < pair[1].1), "cwnd never falls: {cwnd:?}");
    assert_eq!((run.sender().timeouts, run.sender().timeouts_spared), (2, 2));
}

/// Figures 5.4 and 5.5.
#[test]
fn unmodified_tcp_takes_one_time_out_for_two_consecutive_losses() {
    let run = Run::from_path(&scenario("figure-5.3"), "none");
    assert_eq!(
        at_the_source(&run, 98_405)[8..],
        [
            "97211 received <ack A>",
            "97221 received <ack A>",
            "97703 timeout",
            "97703 retransmitted <A>",
            "98054 received <ack B>",
            "98054 retransmitted <B>",
            "98054 retransmitted <C>",
            "98405 received <ack E>",
            "98405 sent <E>",
            "98405 sent <F>",
            "98405 sent <G>",
        ]
    );
    assert_eq!(run.trace("211-threshold", 1000), [(97_703, 2 * 1024)]);
    let cwnd = run.trace("211-congestion", 97_703);
    assert_eq!(cwnd[..3], [(97_703, 1024), (98_054, 2 * 1024), (98_405, 3 * 1024)]);
}

/// Section 5.5.2 against the problem of section 5.5.1.
#[test]
fn refined_icmp_recovers_from_the_same_two_losses_without_a_time_out() {
    let run = Run::from_path(&scenario("figure-5.3"), "refined-icmp");
    let retransmitted = run.events("retransmitted").len();
    let sender = run.sender();
    assert_eq!((sender.timeouts, sender.scheme_retransmits, retransmitted), (0, 2, 2));
    assert!(run.trace("211-threshold", 1000).is_empty());
    let acks = run.trace("211-ackno", 97_222);
    assert!(acks[0].1 > 1_121_280 && acks[0].0 < 97_703, "{acks:?}");
}

/// The network of appendix B with other values.
fn network(window_kb: u32, read_from_trace: u32, bad_mean: &str) -> String {
    std::fs::read_to_string(scenario("figure-5.3"))
        .expect("a committed file")
        .replace("recv_wnd_size = 4 ", &format!("recv_wnd_size = {window_kb} "))
        .replace("read_from_trace = 0", &format!("read_from_trace = {read_from_trace}"))
        .replace("start_time = 126 ", "start_time = 0 ")
        .replace("mean_exp_distrib_bad_state = 0.1 ", &format!("mean_exp_distrib_bad_state = {bad_mean} "))
        .replace("system_simulation_time = 105000", "system_simulation_time = 20000")
}

fn run_in(directory: &TempDir, scheme: &str) -> Run {
    Run::from_path(&directory.path().join("datafile.dat"), scheme)
}

/// Section 2.3.1: 1 KB segments, a window of 4 KB, the first two of four are lost.
#[test]
fn a_time_out_halves_ssthresh_and_slow_start_repeats_delivered_segments() {
    let lost = 40 * 1024;
    let directory = TempDir::new()
        .with("datafile.dat", network(4, 2, "0"))
        .with("drops.dat", format!("{lost}  # A\n{} 1\n", lost + 1024));
    let run = run_in(&directory, "none");
    let timeouts = run.events("timeout");
    let [timeout] = &timeouts[..] else { panic!("{timeouts:?}") };
    let at: u64 = timeout.split(' ').next().and_then(|clock| clock.parse().ok()).expect("a clock");
    let rtt = 351;
    assert_eq!(run.trace("211-threshold", 1000), [(at, 2048)]);
    assert_eq!(run.trace("211-congestion", at)[..3], [(at, 1024), (at + rtt, 2048), (at + 2 * rtt, 3072)]);
    let (seqnos, acknos) = (run.trace("211-seqno", at), run.trace("211-ackno", at));
    assert_eq!(seqnos[..3], [(at, lost), (at + rtt, lost + 1024), (at + rtt, lost + 2048)]);
    assert_eq!(acknos[..2], [(at + rtt, lost + 1024), (at + 2 * rtt, lost + 4096)]);
    assert_eq!(
        acknos[2],
        (at + 2 * rtt + 10, lost + 4096),
        "the second of the two had arrived before: a duplicate ACK"
    );
}

/// Section 2.3.2: 1 KB segments, a window of 32 KB, one is lost.
#[test]
fn the_third_duplicate_ack_retransmits_halves_the_window_and_the_further_ones_inflate_it() {
    let lost = 200 * 1024;
    let directory =
        TempDir::new().with("datafile.dat", network(32, 2, "0")).with("drops.dat", format!("{lost}\n"));
    let run = run_in(&directory, "none");
    assert!(run.events("timeout").is_empty());
    let retransmitted =
        run.trace("211-seqno", 0).iter().rposition(|(_, seq)| *seq == lost).expect("it is sent again");
    let (at, _) = run.trace("211-seqno", 0)[retransmitted];
    let mss = 1024;
    assert_eq!(run.trace("211-threshold", 1000), [(at, 16 * mss)]);
    let duplicates = run.trace("211-ackno", 0).iter().filter(|(_, ack)| *ack == lost).count() as u64 - 1;
    assert_eq!(duplicates, 31, "every other segment of the window brings one");
    // cwnd: ssthresh + 3 segments, one more for each further duplicate, then ssthresh.
    let cwnd = run.trace("211-congestion", at);
    let values: Vec<u64> = cwnd.iter().map(|(_, value)| *value).collect();
    let inflated: Vec<u64> = (19..=19 + duplicates - 3).map(|segments| segments * mss).collect();
    assert_eq!(values[..inflated.len()], inflated);
    assert_eq!(values[inflated.len()], 16 * mss);
    assert!(values[inflated.len() + 1] - 16 * mss <= mss, "congestion avoidance: {values:?}");
}

/// Appendix B.3.1: a later run can use the states that a run with chosen losses or with the Markov
/// model has recorded.
#[test]
fn a_produced_trace_of_link_states_reproduces_the_run() {
    for (mode, bad_mean) in [(2, "0"), (1, "0.1")] {
        let drops = "81920\n82944\n120832 1\n120832 2\n";
        let first = TempDir::new().with("datafile.dat", network(8, mode, bad_mean)).with("drops.dat", drops);
        let first = run_in(&first, "refined-icmp");
        assert!(!first.events("corrupted").is_empty());
        let produced = std::fs::read(first.out.path().join("trace.dat")).expect("it is produced");
        let second = TempDir::new().with("datafile.dat", network(8, 0, bad_mean)).with("trace.dat", produced);
        let second = run_in(&second, "refined-icmp");
        let kinds = "corrupted,given-up,timeout,fast-retransmit,sent,retransmitted,received,icmp,transfer";
        assert_eq!(first.events(kinds), second.events(kinds));
        assert_eq!(first.outcome, second.outcome);
    }
}

/// Figure 5.1 and table 5.1: two runs under different schemes with the same link states.
#[test]
fn schemes_can_be_compared_over_the_link_states_of_one_run() {
    let run = Run::from_path(&scenario("figure-5.1"), "none");
    assert!(run.outcome.completion.is_some());
    let states = std::fs::read(run.out.path().join("trace.dat")).expect("it is produced");
    let text = std::fs::read_to_string(scenario("figure-5.1")).expect("a committed file");
    let text = text.replace("read_from_trace = 1", "read_from_trace = 0");
    let directory = TempDir::new().with("datafile.dat", text).with("trace.dat", states);
    let [same, refined] = ["none", "refined-icmp"].map(|scheme| run_in(&directory, scheme));
    assert_eq!(same.outcome, run.outcome);
    assert!(refined.outcome.completion < run.outcome.completion);
}
