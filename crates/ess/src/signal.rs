//! The strength of a received frame.

/// Received power in dBm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dbm(pub i16);

impl Dbm {
    /// Power in watts as dBm, rounded down. Zero and less than that are the weakest signal there is.
    pub fn from_watts(watts: f64) -> Self {
        if watts <= 0.0 {
            return Self(i16::MIN);
        }
        let dbm = 10.0 * libm::log10(watts) + 30.0;
        // A cast saturates.
        Self(libm::floor(dbm) as i16)
    }

    /// This signal with a margin, in dB, added to it.
    #[must_use]
    pub const fn plus(self, margin: i16) -> Self {
        Self(self.0.saturating_add(margin))
    }
}

/// An exponentially weighted moving average of a signal. The latest frame has a weight of a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Average {
    /// Sixteenths of a dBm.
    sixteenths: i32,
}

impl Average {
    pub(crate) fn new(first: Dbm) -> Self {
        Self { sixteenths: i32::from(first.0) * 16 }
    }

    pub(crate) fn add(&mut self, signal: Dbm) {
        self.sixteenths += (i32::from(signal.0) * 16 - self.sixteenths) / 4;
    }

    pub(crate) fn value(self) -> Dbm {
        // It lies between values of `i16`.
        Dbm(i16::try_from(self.sixteenths.div_euclid(16)).unwrap_or(i16::MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_milliwatt_is_zero_dbm() {
        let cases = [(1e-3, 0), (1.0, 30), (1e-12, -90), (0.0, i16::MIN), (f64::MIN_POSITIVE, -3047)];
        for (watts, dbm) in cases {
            assert_eq!(Dbm::from_watts(watts), Dbm(dbm), "{watts}");
        }
        assert_eq!(Dbm::from_watts(f64::INFINITY), Dbm(i16::MAX));
    }

    #[test]
    fn an_average_goes_to_a_signal_that_lasts_and_stays_among_the_signals() {
        let mut average = Average::new(Dbm(-40));
        average.add(Dbm(-80));
        assert_eq!(average.value(), Dbm(-50));
        for _ in 0..40 {
            average.add(Dbm(-80));
        }
        assert!((-80..=-79).contains(&average.value().0));
        for extreme in [i16::MIN, i16::MAX] {
            let mut average = Average::new(Dbm(extreme));
            average.add(Dbm(-1 - extreme));
            assert!(average.value().0 != 0);
        }
    }
}
