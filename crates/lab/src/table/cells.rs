//! The cells of tables.

use crate::stats::Estimate;

/// A number with this many decimals. A rounded zero has no sign.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|digit| matches!(digit, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// A change in per cent with its sign, such as `+7.3%`.
pub(super) fn change(percent: f64) -> String {
    let text = number(percent, 1);
    let sign = if text.starts_with('-') || text.bytes().all(|c| matches!(c, b'0' | b'.')) { "" } else { "+" };
    format!("{sign}{text}%")
}

pub(super) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

pub(super) fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    Estimate { mean: estimate.mean * factor, ci95: estimate.ci95.map(|ci95| ci95 * factor) }
}

pub(super) fn plus_minus(estimate: &Estimate, decimals: usize) -> String {
    let mean = number(estimate.mean, decimals);
    match estimate.ci95 {
        Some(ci95) => format!("{mean} ± {}", number(ci95, decimals)),
        None => mean,
    }
}

/// A variance in seconds squared as milliseconds squared, since tables have delays in milliseconds.
pub fn millis_squared(variance_s2: f64) -> String {
    number(variance_s2 * 1e6, 1)
}

pub(super) fn count(estimate: &Estimate) -> String {
    number(estimate.mean, 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of all magnitudes, and many that a table rounds to zero.
    fn numbers() -> impl Strategy<Value = f64> {
        prop_oneof![-1e-3..1e-3, -1.0..1.0, -1e9..1e9, Just(-0.0), Just(0.0)]
    }

    proptest! {
        #[test]
        fn no_cell_has_a_zero_with_a_sign(
            mean in numbers(), ci95 in proptest::option::of(0.0..1e3), decimals in 0..5usize
        ) {
            let estimate = Estimate { mean, ci95 };
            let cells = [
                number(mean, decimals),
                change(mean),
                plus_minus(&estimate, decimals),
                plus_minus(&scaled(estimate, 1e-6), decimals),
                count(&estimate),
                millis_squared(mean),
            ];
            for cell in cells {
                let first = cell.split([' ', '%']).next().unwrap_or_default();
                let is_signed_zero = first.parse().is_ok_and(|value: f64| value == 0.0)
                    && first.starts_with(['-', '+']);
                prop_assert!(!is_signed_zero, "{cell:?} of {mean:?}");
            }
        }

        #[test]
        fn a_number_is_only_rounded(value in numbers(), decimals in 0..5usize) {
            let shown: f64 = number(value, decimals).parse().expect("a number");
            prop_assert!((shown - value).abs() <= 0.500_001 * libm::pow(10.0, -(decimals as f64)));
        }
    }

    #[test]
    fn a_change_has_a_sign() {
        assert_eq!([7.26, -7.26, 0.04, -0.04].map(change), ["+7.3%", "-7.3%", "0.0%", "0.0%"]);
    }
}
