//! Invariants for arbitrary packets.

use super::*;
use crate::wtcp::settings::HiddenTime;

/// For any loss, repetition and delay: an echo only ever becomes later, never later than the
/// sender's clock, and never later than the sender's first retransmission.
#[test]
fn an_echo_stays_between_the_receivers_and_the_senders_clock() {
    let mut changed = 0;
    for seed in 0..60 {
        let mut rng = Rng::named(seed, "echoes");
        let hidden_time = if seed % 2 == 0 { HiddenTime::Repairs } else { HiddenTime::Residence };
        let mut bench = Bench::learnt(Settings { hidden_time, ..Settings::default() });
        let (mut acknowledged, mut next) = (16, 16);
        let mut stamps: Vec<(u32, u32)> = Vec::new();
        let mut first_again: Option<(u32, u32)> = None;
        for _ in 0..400 {
            let delay = rng.below(20) as u32;
            match rng.below(6) {
                0 | 1 => {
                    let tsval = bench.tsval().wrapping_sub(delay);
                    bench.send(&data(next).stamped(tsval, 7));
                    stamps.push((next, tsval));
                    next += 1;
                }
                2 if next > acknowledged => {
                    let tsval = bench.tsval();
                    bench.send(&data(acknowledged).stamped(tsval, 7));
                    first_again.get_or_insert((tsval, next));
                }
                3 | 4 if next > acknowledged => {
                    let up_to = acknowledged + 1 + rng.below(u64::from(next - acknowledged)) as u32;
                    let place = acknowledged + rng.below(u64::from(up_to - acknowledged)) as u32;
                    let (_, echo) = stamps[(place - 16) as usize];
                    let passed = bench.echo(&echoing(up_to, echo)).expect("what is new passes");
                    assert!(!Seq(passed).before(Seq(echo)), "earlier: {passed} than {echo}");
                    assert!(!Seq(passed).after(Seq(bench.tsval())), "{passed} from the future");
                    if let Some((again, _)) = first_again.filter(|(again, _)| Seq(echo).before(Seq(*again))) {
                        assert!(Seq(passed).before(Seq(again)), "as if the retransmission had arrived");
                    }
                    changed += u32::from(passed != echo);
                    acknowledged = up_to;
                    first_again = first_again.filter(|(_, until)| acknowledged < *until);
                }
                _ => {
                    let longest = if rng.below(10) == 0 { 3000 } else { 30 };
                    let until = bench.now.as_millis() + rng.below(longest);
                    bench.timers_until(until);
                }
            }
        }
    }
    assert!(changed > 1000, "{changed}");
}
