//! What is drawn against what theory says; fixed streams.

use lasthop_packet::Instant;

use super::*;

const DRAWS: usize = 200_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Milliseconds, sorted.
fn drawn(distribution: &Distribution) -> Vec<f64> {
    let mut rng = Rng::named(5, "delay");
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut rng) as f64 / 1e6).collect();
    drawn.sort_by(f64::total_cmp);
    drawn
}

fn mean(drawn: &[f64]) -> f64 {
    drawn.iter().sum::<f64>() / drawn.len() as f64
}

fn quantile(drawn: &[f64], part: f64) -> f64 {
    drawn[(part * DRAWS as f64) as usize]
}

fn assert_near(measured: f64, expected: f64, by: f64) {
    assert!((measured - expected).abs() <= by, "{measured} for {expected}");
}

fn table() -> Bands {
    let band = |share, min, max| Band { share, min: ms(min), max: ms(max) };
    let bands = vec![band(0.8, 153, 195), band(0.1, 195, 225), band(0.08, 225, 297), band(0.02, 297, 621)];
    Bands::new(bands).expect("shares that sum to one")
}

#[test]
fn a_constant_delay_draws_nothing() {
    let mut rng = Rng::named(1, "delay");
    let before = rng.clone().next_u64();
    assert_eq!(Distribution::Constant(ms(7)).draw(&mut rng), 7_000_000);
    assert_eq!(rng.next_u64(), before);
}

#[test]
fn a_uniform_delay_has_its_mean_and_quantiles_and_stays_in_its_range() {
    let drawn = drawn(&Distribution::Uniform { min: ms(150), max: ms(190) });
    assert_near(mean(&drawn), 170.0, 0.1);
    for part in [0.1, 0.5, 0.9] {
        assert_near(quantile(&drawn, part), 150.0 + 40.0 * part, 0.2);
    }
    assert!(drawn[0] >= 150.0 && drawn[DRAWS - 1] <= 190.0);
}

#[test]
fn a_normal_delay_has_its_quantiles_and_is_cut_at_three_deviations_and_at_zero() {
    let drawn_wide = drawn(&Distribution::Normal { mean: ms(10), deviation: ms(8) });
    let drawn = drawn(&Distribution::Normal { mean: ms(100), deviation: ms(10) });
    assert_near(mean(&drawn), 100.0, 0.1);
    for (part, deviations) in [(0.158_66, -1.0), (0.5, 0.0), (0.841_34, 1.0), (0.977_25, 2.0)] {
        assert_near(quantile(&drawn, part), 100.0 + 10.0 * deviations, 0.2);
    }
    assert_eq!((drawn[0], drawn[DRAWS - 1]), (70.0, 130.0));
    assert_eq!((drawn_wide[0], drawn_wide[DRAWS - 1]), (0.0, 34.0));
}

#[test]
fn an_exponential_delay_has_its_mean_and_quantiles_above_its_shortest() {
    let drawn = drawn(&Distribution::Exponential { min: ms(20), mean: ms(50) });
    assert_near(mean(&drawn), 50.0, 0.2);
    for part in [0.1, 0.5, 0.9, 0.99] {
        let expected = 20.0 - 30.0 * libm::log(1.0 - part);
        assert_near(quantile(&drawn, part), expected, expected * 0.02);
    }
    assert!(drawn[0] >= 20.0 && drawn[DRAWS - 1] <= 20.0 + 30.0 * EXPONENTIAL_CUT);
}

#[test]
fn bands_have_their_shares_and_each_is_uniform() {
    let bands = table();
    let expected = Distribution::Bands(Arc::new(bands.clone()));
    let drawn = drawn(&expected);
    assert_near(mean(&drawn), expected.mean().as_secs_f64() * 1e3, 0.3);
    for band in bands.bands() {
        let (min, max) = (band.min.as_secs_f64() * 1e3, band.max.as_secs_f64() * 1e3);
        let within: Vec<f64> = drawn.iter().copied().filter(|delay| (min..max).contains(delay)).collect();
        let deviation = (band.share * (1.0 - band.share) / DRAWS as f64).sqrt();
        assert_near(within.len() as f64 / DRAWS as f64, band.share, 4.0 * deviation);
        assert_near(
            mean(&within),
            f64::midpoint(min, max),
            4.0 * (max - min) / (12.0 * within.len() as f64).sqrt(),
        );
    }
    assert!(drawn[0] >= 153.0 && drawn[DRAWS - 1] <= 621.0);
    assert_near(bands.quantile(0.0), 153e6, 0.0);
    assert_near(bands.quantile(0.8), 195e6, 1.0);
    assert_near(bands.quantile(0.95), 270e6, 1.0);
    assert_near(bands.quantile(1.0), 621e6, 1.0);
}

#[test]
fn bands_that_make_no_mixture_are_refused() {
    let band = |share, min, max| Band { share, min: ms(min), max: ms(max) };
    let error = |bands| Bands::new(bands).expect_err("no mixture");
    assert_eq!(error(vec![band(0.5, 1, 2), band(0.5, 4, 3)]), BandsError::Range { band: 1 });
    assert_eq!(error(vec![band(0.0, 1, 2)]), BandsError::Share { band: 0 });
    assert_eq!(error(vec![band(f64::NAN, 1, 2)]), BandsError::Share { band: 0 });
    assert!(matches!(error(vec![band(0.9, 1, 2)]), BandsError::Sum { .. }));
    assert!(matches!(error(Vec::new()), BandsError::Sum { .. }));
    let thirds = vec![band(0.333, 1, 2), band(0.333, 2, 3), band(0.334, 3, 4)];
    assert!(Bands::new(thirds).is_ok());
}

#[test]
fn only_where_order_is_kept_does_a_packet_wait_for_the_one_before_it() {
    let (sent, last) = (Instant::from_millis(10), Some(Instant::from_millis(500)));
    let kept = Delay::from(ms(100));
    let overtake = Delay { order: Order::Overtake, ..kept.clone() };
    let arrival = |delay| Delays::new(delay, Rng::named(1, "delay")).arrival(sent, last);
    assert_eq!(arrival(&kept), Instant::from_millis(500));
    assert_eq!(arrival(&overtake), Instant::from_millis(110));
}
