//! When a change of a link applies: from a time on, for a time, or periodically.

use std::str::FromStr;
use std::time::Duration;

use lasthop_packet::units::{format_duration, parse_duration};

use super::quantity::Written;

/// The shortest period.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
/// The shortest time within an interval or between two intervals.
const SHORTEST: Duration = Duration::from_millis(1);

/// When a change of a link applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The first beginning, from the start of the run.
    pub first: Duration,
    /// How long it lasts; `None` if it does not end.
    pub length: Option<Duration>,
    /// The time from one beginning to the next, above the length; `None` if it begins once.
    pub period: Option<Duration>,
}

impl FromStr for When {
    type Err = String;

    /// Reads `5 s`, `5 s for 1 s`, `every 15 s for 1 s`, which first begins after 15 s, and
    /// `5 s every 15 s for 1 s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| parse_duration(text).map_err(|error| error.to_string());
        let text = text.trim();
        let (beginnings, length) = match text.split_once(" for ") {
            Some((beginnings, length)) => (beginnings.trim(), Some(time(length)?)),
            None => (text, None),
        };
        let (first, period) = match (beginnings.strip_prefix("every "), beginnings.split_once(" every ")) {
            (Some(period), _) => (time(period)?, Some(time(period)?)),
            (None, Some((first, period))) => (time(first)?, Some(time(period)?)),
            (None, None) => (time(beginnings)?, None),
        };
        let when = Self { first, length, period };
        when.check()
            .map_err(|problem| format!("{:?}: {problem}", text.chars().take(80).collect::<String>()))?;
        Ok(when)
    }
}

impl When {
    fn check(&self) -> Result<(), String> {
        match (self.period, self.length) {
            (Some(period), _) if period < SHORTEST_PERIOD => Err(format!(
                "the period is out of range; expected at least {}",
                format_duration(SHORTEST_PERIOD)
            )),
            (Some(period), None) => {
                let period = format_duration(period);
                Err(format!("how long does it last? expected a length, such as \"every {period} for 1 s\""))
            }
            (_, Some(length)) if length < SHORTEST => {
                Err(format!("the length is out of range; expected at least {}", format_duration(SHORTEST)))
            }
            (Some(period), Some(length)) if period.saturating_sub(length) < SHORTEST => Err(format!(
                "the length is out of range; expected at least {} less than the period",
                format_duration(SHORTEST)
            )),
            _ => Ok(()),
        }
    }
}

impl Written for When {
    const NAME: &'static str = "When";
    const EXPECTED: &'static str = "a time such as \"5 s\", with \"for\" and a length if the change ends again \
                                    (\"5 s for 1 s\"), and \"every\" and a period if it repeats (\"every 15 s for 1 s\", \
                                    \"5 s every 15 s for 1 s\")";
    const FORMS: &'static [&'static str] =
        &[r"[0-9][^ ]*(\s*[a-zµμ]+)?( for .+)?", r"([0-9].*)?\s*every\s.+\sfor\s.+"];

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lengths_and_periods_are_read() {
        let s = |seconds| Some(Duration::from_secs(seconds));
        let when = |first, length, period| Ok(When { first: Duration::from_secs(first), length, period });
        for (text, meant) in [
            ("5s", when(5, None, None)),
            ("5 s for 1 s", when(5, s(1), None)),
            ("every 15s for 1s", when(15, s(1), s(15))),
            (" 0 s every 1 min for 59 s", when(0, s(59), s(60))),
            ("0s", when(0, None, None)),
        ] {
            assert_eq!(text.parse(), meant, "{text}");
        }
        for (text, problem) in [
            ("soon", "is not a duration"),
            ("every 15s", "expected a length, such as \"every 15 s for 1 s\""),
            ("every 15s for", "is not a duration"),
            ("every 15s for 15s", "at least 1 ms less than the period"),
            ("every 15s for 1h", "less than the period"),
            ("every 5ms for 1ms", "expected at least 10 ms"),
            ("every 0s for 0s", "expected at least 10 ms"),
            ("5s for 0s", "the length is out of range; expected at least 1 ms"),
            ("for 1s", "is not a duration"),
            ("every NaN s for 1s", "is not a duration"),
            ("every 1e300 s for 1s", "is not a duration"),
        ] {
            let error = text.parse::<When>().expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
