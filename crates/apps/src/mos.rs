//! The quality of a call: the E-model of ITU-T G.107 (06/2015), with its default values for all but
//! delay, codec and loss.
//!
//! `R = Ro - Is - Id - Ie,eff`, each on a scale of 0 to 100 (clause 7). With the defaults of table
//! 2, `Ro` is 94.77 and `Is` 1.41; without delay and loss `R` is 93.2. `Id` is that of clause 7.4
//! in full: talker echo with the default 65 dB, listener echo with 110 dB, and absolute delay.
//! `Ie,eff` is that of clause 7.5 for independent losses (`BurstR` 1); with bursts of losses, the
//! call is worse than this rating. The advantage factor is zero. Codecs have the values of G.113,
//! appendix I, table I.4. The text of G.107 itself was not available: tests compare the formulas
//! with values that others have published.

use libm::{exp, log10, pow, sqrt};

/// `Ro - Is` with the default values.
const BASIC: f64 = 94.77 - 1.41;
/// `No`: the total noise with the default values, in dBm0p.
const NOISE: f64 = -61.18;
/// The default values of table 2, in dB: receive loudness, talker echo loudness, and weighted echo
/// path loss.
const RLR: f64 = 2.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;

/// A codec's impairment, and its robustness against packet loss (G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robustness {
    /// `Ie`: the impairment without loss.
    pub impairment: f64,
    /// `Bpl`: the packet-loss robustness factor.
    pub loss_robustness: f64,
}

impl Robustness {
    /// G.711 without packet loss concealment.
    pub const G711: Self = Self { impairment: 0.0, loss_robustness: 4.3 };
    /// G.711 with the concealment of its appendix I.
    pub const G711_CONCEALED: Self = Self { impairment: 0.0, loss_robustness: 25.1 };
    /// G.729A with voice activity detection; the codec includes loss concealment.
    pub const G729A: Self = Self { impairment: 11.0, loss_robustness: 19.0 };

    /// `Ie,eff`: the impairment at a packet loss of `lost_percent`.
    fn effective(self, lost_percent: f64) -> f64 {
        let Self { impairment, loss_robustness } = self;
        impairment + (95.0 - impairment) * lost_percent / (lost_percent + loss_robustness)
    }
}

/// The rating `R` of one direction of a call, 0 to 93.2. `delay_s` is the mouth-to-ear delay in
/// seconds, which is assumed to be the same in the other direction; `lost_percent` is the
/// percentage of packets that are not played, 0 to 100.
pub fn rating(codec: Robustness, delay_s: f64, lost_percent: f64) -> f64 {
    (BASIC - delay_impairment(delay_s * 1e3) - codec.effective(lost_percent)).clamp(0.0, 100.0)
}

/// The mean opinion score of a rating, 1 to 4.5 (G.107, annex B): the estimated conversational
/// quality (MOS-CQE).
pub fn opinion(rating: f64) -> f64 {
    match rating {
        ..=0.0 => 1.0,
        100.0.. => 4.5,
        // Below a rating of 6.5 the polynomial is less than 1.
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// `Id` of clause 7.4, for a delay in milliseconds.
fn delay_impairment(ms: f64) -> f64 {
    talker_echo(ms) + listener_echo(2.0 * ms) + absolute_delay(ms)
}

/// `Idte`, for a sidetone of the default loudness.
fn talker_echo(ms: f64) -> f64 {
    let terv = TELR - 40.0 * log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0)) + 6.0 * exp(-0.3 * ms * ms);
    let (roe, re) = (-1.5 * (NOISE - RLR), 80.0 + 2.5 * (terv - 14.0));
    let half = (roe - re) / 2.0;
    (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-ms))
}

/// `Idle`, for a round-trip time.
fn listener_echo(round_trip_ms: f64) -> f64 {
    let ro = BASIC + 1.41;
    let rle = 10.5 * (WEPL + 7.0) * pow(round_trip_ms + 1.0, -0.25);
    let half = (ro - rle) / 2.0;
    half + sqrt(half * half + 169.0)
}

/// `Idd`: the impairment of the delay itself, without echo, at the default sensitivity.
fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = log10(ms / 100.0) / log10(2.0);
    let root = |x: f64| pow(1.0 + pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(measured: f64, published: f64, within: f64) -> bool {
        (measured - published).abs() <= within
    }

    #[test]
    fn the_rating_without_delay_and_loss_is_that_of_the_default_values() {
        // G.107, clause 7.7: "R = 93.2".
        let rating = rating(Robustness::G711, 0.0, 0.0);
        assert!(close(rating, 93.2, 0.05) && close(opinion(rating), 4.41, 0.005), "{rating}");
    }

    #[test]
    fn opinions_are_those_of_table_b_1() {
        for (rating, published) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            // The table has 4.03 where the formula has 4.024.
            assert!(close(opinion(rating), published, 0.0065), "{rating}: {}", opinion(rating));
        }
        assert_eq!((opinion(-3.0), opinion(3.0), opinion(100.0)), (1.0, 1.0, 4.5));
    }

    #[test]
    fn loss_impairs_a_codec_as_much_as_g_113_says() {
        // G.729A in G.113, appendix I (09/1999), table I.2, to which the later formula was fitted.
        for (lost, published) in [(0.0, 11.0), (2.0, 19.0), (8.0, 36.0), (16.0, 49.0)] {
            let effective = Robustness::G729A.effective(lost);
            assert!(close(effective, published, 0.5), "{lost}%: {effective}");
        }
        // G.711 without concealment, 2%: 95 * 2 / (2 + 4.3).
        assert!(close(Robustness::G711.effective(2.0), 30.2, 0.05));
    }

    #[test]
    fn the_results_of_a_worked_example_are_reproduced() {
        // Rozhon and Voznak, lecture on quality of service (VSB-TU Ostrava): 150 ms and 2% of loss; Id is
        // 3.8, and R 70.5 with G.729A, 82.5 with G.711 and concealment.
        assert!(close(delay_impairment(150.0), 3.8, 0.05), "{}", delay_impairment(150.0));
        for (codec, published, score) in
            [(Robustness::G729A, 70.5, 3.62), (Robustness::G711_CONCEALED, 82.5, 4.12)]
        {
            let rating = rating(codec, 0.150, 2.0);
            assert!(close(rating, published, 0.1) && close(opinion(rating), score, 0.01), "{rating}");
        }
    }

    #[test]
    fn more_delay_and_more_loss_are_never_better() {
        for step in 0..200 {
            let (delay, lost) = (f64::from(step) * 5e-3, f64::from(step) / 2.0);
            for codec in [Robustness::G711, Robustness::G711_CONCEALED, Robustness::G729A] {
                let rated = rating(codec, delay, lost);
                assert!(rating(codec, delay + 5e-3, lost) <= rated + 0.3, "{delay}");
                assert!(rating(codec, delay, lost + 0.5) <= rated, "{lost}");
            }
        }
    }
}
