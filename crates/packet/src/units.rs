//! Quantities with a unit, and their notation in files.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The description of a valid rate in messages to the user.
pub const EXPECTED_RATE: &str = "a rate above zero in bit/s, kbit/s, Mbit/s or Gbit/s, such as \"11 Mbit/s\"";
/// The description of a valid duration.
pub const EXPECTED_DURATION: &str = "a duration of zero or more in ns, us, ms, s, min or h, such as \"5 ms\"";
/// The description of a valid amount of data.
pub const EXPECTED_DATA: &str =
    "an amount of data in B, kB, MB, GB, KiB, MiB or GiB, such as \"10 MB\" or \"16 KiB\"";

/// The description of a valid probability.
pub const EXPECTED_PROBABILITY: &str = "a probability from \"0%\" to \"100%\", such as \"1%\" or 0.01";

/// A rate in bits a second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

impl Bitrate {
    /// A rate of `bps` bits a second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Self(bps)) }
    }

    /// A rate of `mbps` million bits a second.
    ///
    /// # Panics
    /// If `mbps` is zero: for constants in tests and tables.
    pub const fn mbps(mbps: u64) -> Self {
        assert!(mbps > 0, "a rate is above zero");
        Self(mbps * 1_000_000)
    }

    /// Bits a second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time that `octets` octets take, rounded up to a nanosecond; at most 584 years.
    pub fn transmission_time(self, octets: u64) -> Duration {
        // A rate below 9 Gbit/s and a packet below 2^30 octets, the usual case, stays within 64
        // bits.
        let bits = octets.saturating_mul(8);
        if let Some(scaled) = bits.checked_mul(1_000_000_000) {
            return Duration::from_nanos(scaled.div_ceil(self.0));
        }
        let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0;
        match bps {
            _ if bps.is_multiple_of(1_000_000_000) => write!(f, "{} Gbit/s", bps / 1_000_000_000),
            _ if bps.is_multiple_of(1_000_000) => write!(f, "{} Mbit/s", bps / 1_000_000),
            _ if bps.is_multiple_of(1_000) => write!(f, "{} kbit/s", bps / 1_000),
            _ => write!(f, "{bps} bit/s"),
        }
    }
}

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Impossible.
    pub const ZERO: Self = Self(0.0);
    /// Certain.
    pub const ONE: Self = Self(1.0);

    /// `None` if `value` is not a number from 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The number, from 0 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// The greater of two probabilities.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// Whether the event never happens.
    pub fn is_zero(self) -> bool {
        self.0 <= 0.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

/// Why a quantity in a file is invalid, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{:?} is not {expected}{}", .found.chars().take(80).collect::<String>(), did_you_mean(.meant.as_deref()))]
pub struct UnitError {
    /// The text.
    pub found: String,
    /// A description of valid texts, with an example.
    pub expected: &'static str,
    /// The probable meaning, in quotes.
    pub meant: Option<String>,
}

impl UnitError {
    fn new(found: &str, expected: &'static str, meant: Option<String>) -> Self {
        Self { found: found.to_owned(), expected, meant }
    }
}

impl FromStr for Bitrate {
    type Err = UnitError;
    /// Reads `"11 Mbit/s"`, `"56 kbit/s"`, `"1.5 Gbit/s"`, `"9600 bit/s"`, and the notation of
    /// other tools: `"11 Mbps"`, `"11mbit"`. `mbps` are bits, unlike those of `tc`; `MBps`, which
    /// means octets nearly everywhere, is refused.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, EXPECTED_RATE, meant_rate(text));
        let factor = |unit: &str| match unit.to_ascii_lowercase().as_str() {
            _ if unit.ends_with("Bps") => None,
            "bit/s" | "bps" | "bit" => Some(1.0),
            "kbit/s" | "kbps" | "kbit" => Some(1e3),
            "mbit/s" | "mbps" | "mbit" => Some(1e6),
            "gbit/s" | "gbps" | "gbit" => Some(1e9),
            _ => None,
        };
        let bps = quantity(text, factor).ok_or_else(error)?;
        if bps > 1e15 {
            return Err(UnitError::new(text, "a rate of at most \"1000 Gbit/s\"", None));
        }
        if bps < 1.0 {
            return Err(error());
        }
        Self::from_bps(bps.round() as u64).ok_or_else(error)
    }
}

impl FromStr for Probability {
    type Err = UnitError;
    /// Reads `"1%"` and `"0.01"`. `"1"` is refused, and so is `"1.0"`: 1% and 100% are both likely.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let factor = |unit: &str| match unit {
            "%" => Some(0.01),
            "" => Some(1.0),
            _ => None,
        };
        let error = || UnitError::new(text, EXPECTED_PROBABILITY, meant_probability(text));
        let is_clear = |value: &f64| *value < 1.0 || text.trim_end().ends_with('%');
        quantity(text, factor).filter(is_clear).and_then(Self::new).ok_or_else(error)
    }
}

/// Reads a duration: `"5 ms"`, `"1.5 s"`, `"20 us"`, `"10 min"`, `"800 ns"`; at most 100 years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let factor = |unit: &str| match unit {
        "ns" => Some(1.0),
        "us" | "µs" | "μs" | "usec" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" => Some(1e9),
        "min" => Some(6e10),
        "h" => Some(3.6e12),
        _ => None,
    };
    match quantity(text, factor) {
        Some(nanos) if nanos > 3.2e18 => Err(UnitError::new(text, "a duration of at most 100 years", None)),
        Some(nanos) if nanos >= 0.0 => Ok(Duration::from_nanos(nanos.round() as u64)),
        _ => Err(UnitError::new(text, EXPECTED_DURATION, meant_duration(text))),
    }
}

/// Reads an amount of data: `"10 MB"` (10^6), `"16 KiB"` (2^10), `"1460 B"`; below 2^53 octets.
pub fn parse_octets(text: &str) -> Result<u64, UnitError> {
    let factor = |unit: &str| match unit {
        "B" => Some(1.0),
        "kB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "KiB" => Some(1024.0),
        "MiB" => Some(1024.0 * 1024.0),
        "GiB" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    match quantity(text, factor) {
        Some(octets) if octets >= 9e15 => {
            Err(UnitError::new(text, "an amount of data below \"9000000 GB\"", None))
        }
        Some(octets) if octets >= 0.0 => Ok(octets.round() as u64),
        _ => Err(UnitError::new(text, EXPECTED_DATA, meant_data(text))),
    }
}

/// The probable meaning of a rate in another tool's unit, in quotes: `MB/s` are octets.
pub fn meant_rate(text: &str) -> Option<String> {
    let (number, unit) = number_and_unit(text)?;
    let is_octets = unit.contains('B') || unit.to_ascii_lowercase().contains("byte");
    let (prefix, rest) = prefix_of(unit);
    let rest = rest.to_ascii_lowercase();
    let of_time = ["", "/s", "/sec", "ps"];
    let of_data = ["", "b", "bit", "bits", "byte", "bytes"];
    let is_rate =
        of_time.iter().any(|time| rest.strip_suffix(time).is_some_and(|data| of_data.contains(&data)));
    let is_plain = prefix.is_empty() && rest.is_empty();
    let bits = if is_octets { number * 8.0 } else { number };
    (is_rate && !is_plain && bits > 0.0).then(|| format!("\"{bits} {prefix}bit/s\""))
}

/// The probable meaning of an amount of data in another tool's unit, in quotes.
pub fn meant_data(text: &str) -> Option<String> {
    let (number, unit) = number_and_unit(text)?;
    let (prefix, rest) = prefix_of(unit);
    match rest.to_ascii_lowercase().as_str() {
        "" if prefix.is_empty() => None,
        "" | "b" | "byte" | "bytes" => Some(format!("\"{number} {prefix}B\"")),
        "i" | "ib" if !prefix.is_empty() => Some(format!("\"{number} {}iB\"", prefix.to_ascii_uppercase())),
        _ => None,
    }
}

/// The probable meaning of a number that is no fraction, in quotes: a percentage.
pub fn meant_probability(text: &str) -> Option<String> {
    let (number, unit) = number_and_unit(text)?;
    match unit {
        // Of these only 1 is refused.
        "" if (0.0..=1.0).contains(&number) => Some("\"1%\" or \"100%\"".to_owned()),
        "" if (1.0..=100.0).contains(&number) => Some(format!("\"{number}%\"")),
        _ => None,
    }
}

/// The probable meaning of a duration in another tool's unit, in quotes.
fn meant_duration(text: &str) -> Option<String> {
    let (number, unit) = number_and_unit(text)?;
    let unit = match unit.to_ascii_lowercase().as_str() {
        "m" => return Some(format!("\"{number} min\" or \"{number} ms\"")),
        "ns" | "nsec" | "nsecs" | "nanoseconds" => "ns",
        "us" | "usecs" | "microseconds" => "us",
        "ms" | "msecs" | "millis" | "milliseconds" => "ms",
        "s" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        _ => return None,
    };
    Some(format!("\"{number} {unit}\""))
}

/// A suggestion to append to a message about a text; `meant` is in quotes.
pub fn did_you_mean(meant: Option<&str>) -> String {
    meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

/// The number at the start of a text, and the word after it.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let (number, unit) = text.split_at(number_ends(text));
    Some((number.parse().ok()?, unit.trim()))
}

/// The decimal prefix of a unit, as written in files, and the rest.
fn prefix_of(unit: &str) -> (&'static str, &str) {
    let prefixes = [("k", ['k', 'K']), ("M", ['m', 'M']), ("G", ['g', 'G'])];
    let found = prefixes.into_iter().find_map(|(prefix, of)| Some((prefix, unit.strip_prefix(of)?)));
    found.unwrap_or(("", unit))
}

/// Writes a duration as [`parse_duration`] reads it, in the largest unit that gives an integer.
pub fn format_duration(duration: Duration) -> String {
    const SECOND: u128 = 1_000_000_000;
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0 s".to_owned();
    }
    let units = [
        ("h", 3600 * SECOND),
        ("min", 60 * SECOND),
        ("s", SECOND),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    in_largest_unit(nanos, &units)
}

/// Writes an amount of data as [`parse_octets`] reads it, in the largest unit that gives an
/// integer.
pub fn format_octets(octets: u64) -> String {
    if octets == 0 {
        return "0 B".to_owned();
    }
    in_largest_unit(octets.into(), &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)])
}

/// The last unit has size 1.
fn in_largest_unit(number: u128, units: &[(&str, u128)]) -> String {
    let whole = units.iter().find(|(_, size)| number.is_multiple_of(*size));
    whole.map_or_else(|| number.to_string(), |(unit, size)| format!("{} {unit}", number / size))
}

/// A duration rounded down to a multiple of `tick`, as in simulators that count ticks; unchanged if
/// `tick` is zero.
pub fn cut_to_ticks(duration: Duration, tick: Duration) -> Duration {
    let rest = duration.as_nanos().checked_rem(tick.as_nanos()).unwrap_or(0);
    // The remainder is less than the duration, so it fits where that does.
    u64::try_from(rest).map_or(duration, |rest| duration.saturating_sub(Duration::from_nanos(rest)))
}

/// Splits `"11 Mbit/s"` or `"1e3 s"` into number and unit and scales the number; `None` for an
/// unknown unit or a number that is missing or negative.
fn quantity(text: &str, factor: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    Some(number * factor(unit)?)
}

/// The end of the number at the start of a text, including its exponent.
fn number_ends(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..]
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .map_or(text.len(), |digits| from + digits)
    };
    let mantissa = digits(0);
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else { return mantissa };
    let first = text.len() - exponent.trim_start_matches(['+', '-']).len();
    let end = digits(first);
    if end > first { end } else { mantissa }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_unit() {
        assert_eq!("11 Mbit/s".parse(), Ok(Bitrate::mbps(11)));
        assert_eq!("5.5Mbit/s".parse::<Bitrate>().map(Bitrate::as_bps), Ok(5_500_000));
        for as_others_write_it in
            ["11Mbps", "11 mbps", "11mbit", "11 Mbit", "11 MBit/s", "0.011Gbit/s", "1.1e7 bps"]
        {
            assert_eq!(as_others_write_it.parse(), Ok(Bitrate::mbps(11)), "{as_others_write_it}");
        }
        for octets in ["11 MBps", "11Bps", "11 MB/s"] {
            assert!(octets.parse::<Bitrate>().is_err(), "{octets}");
        }
        assert_eq!(parse_duration("1e3 s"), Ok(Duration::from_secs(1000)));
        assert_eq!(parse_duration("1.5E-3s"), Ok(Duration::from_micros(1500)));
        assert_eq!(parse_duration("20µs"), parse_duration("20 us"));
        for (text, value) in
            [("1%", 0.01), ("0.01", 0.01), (".01", 0.01), ("1e-2", 0.01), ("99.5%", 0.995), ("0", 0.0)]
        {
            assert_eq!(text.parse::<Probability>().map(Probability::value), Ok(value), "{text}");
        }
        assert_eq!(parse_duration("5 ms"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_duration("0.5 s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_octets("16 KiB"), Ok(16_384));
        assert_eq!(parse_octets("10 MB"), Ok(10_000_000));
    }

    #[test]
    fn written_quantities_are_read_unchanged() {
        for text in ["0 s", "1 ns", "1500 us", "5 ms", "90 s", "5 min", "168 h"] {
            assert_eq!(parse_duration(text).map(format_duration), Ok(text.to_owned()));
        }
        for text in ["0 B", "1460 B", "3 KiB", "4 MiB", "1 GiB"] {
            assert_eq!(parse_octets(text).map(format_octets), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_quantity_without_its_unit_or_below_zero_is_refused() {
        for bad in [
            "",
            "11",
            "11 MB/s",
            "11 e3 Mbit/s",
            "1e Mbit/s",
            "-1 Mbit/s",
            "0 bit/s",
            "nan Mbit/s",
            "inf bit/s",
            "1e400 bit/s",
            "Mbit/s",
            "99999999999999999999 Gbit/s",
        ] {
            assert!(bad.parse::<Bitrate>().is_err(), "{bad}");
        }
        for bad in ["101%", "-1%", "1", "1.5", "many", "1 permille"] {
            assert!(bad.parse::<Probability>().is_err(), "{bad}");
        }
        for bad in ["5", "-5 ms", "5 m", "1.2.3 s", "999999999999 h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        for bad in ["5", "5 Mbit", "-1 B"] {
            assert!(parse_octets(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_quantity_that_is_too_large_is_reported_as_such() {
        let message = |error: Option<UnitError>| error.expect("too large").to_string();
        assert_eq!(
            message(parse_duration("1000000 h").err()),
            "\"1000000 h\" is not a duration of at most 100 years"
        );
        assert!(message(parse_octets("10000000 GB").err()).ends_with("data below \"9000000 GB\""));
        assert!(message("1e30 Gbit/s".parse::<Bitrate>().err()).ends_with("at most \"1000 Gbit/s\""));
    }

    #[test]
    fn a_unit_of_another_tool_is_refused_with_the_probable_meaning() {
        let rate = |text: &str| text.parse::<Bitrate>().err().and_then(|error| error.meant);
        let data = |text: &str| parse_octets(text).err().and_then(|error| error.meant);
        let duration = |text: &str| parse_duration(text).err().and_then(|error| error.meant);
        let probability = |text: &str| text.parse::<Probability>().err().and_then(|error| error.meant);
        for (text, meant) in [
            ("1", Some("\"1%\" or \"100%\"")),
            ("1.0", Some("\"1%\" or \"100%\"")),
            ("01", Some("\"1%\" or \"100%\"")),
            ("1e0", Some("\"1%\" or \"100%\"")),
            ("2.5", Some("\"2.5%\"")),
            ("100", Some("\"100%\"")),
            ("101", None),
            ("101%", None),
        ] {
            assert_eq!(probability(text).as_deref(), meant, "{text}");
        }
        for (text, meant) in [
            ("1mb", Some("\"1 Mbit/s\"")),
            ("1.5m", Some("\"1.5 Mbit/s\"")),
            ("100 kbits/s", Some("\"100 kbit/s\"")),
            ("1 MB/s", Some("\"8 Mbit/s\"")),
            ("1MBps", Some("\"8 Mbit/s\"")),
            ("2 kbytes/s", Some("\"16 kbit/s\"")),
            ("11", None),
            ("0mb", None),
            ("1 parsec", None),
        ] {
            assert_eq!(rate(text).as_deref(), meant, "{text}");
        }
        for (text, meant) in [
            ("1mb", Some("\"1 MB\"")),
            ("16 KB", Some("\"16 kB\"")),
            ("64k", Some("\"64 kB\"")),
            ("64kib", Some("\"64 KiB\"")),
            ("9 bytes", Some("\"9 B\"")),
            ("5", None),
            ("5 Mbit", None),
        ] {
            assert_eq!(data(text).as_deref(), meant, "{text}");
        }
        for (text, meant) in [
            ("5m", Some("\"5 min\" or \"5 ms\"")),
            ("5 seconds", Some("\"5 s\"")),
            ("20MS", Some("\"20 ms\"")),
            ("5", None),
            ("5 days", None),
        ] {
            assert_eq!(duration(text).as_deref(), meant, "{text}");
        }
        let message = parse_octets("1mb").expect_err("another unit").to_string();
        assert!(message.ends_with("\"16 KiB\" (did you mean \"1 MB\"?)"), "{message}");
    }

    #[test]
    fn transmission_time_is_exact_to_the_nanosecond_and_rounds_up() {
        assert_eq!(Bitrate::mbps(1).transmission_time(1024), Duration::from_micros(8192));
        assert_eq!(Bitrate::mbps(11).transmission_time(1), Duration::from_nanos(728));
        assert_eq!(Bitrate::mbps(10).transmission_time(1 << 40), Duration::from_nanos((1u64 << 43) * 100));
        for octets in [2_305_843_010, u64::MAX] {
            assert_eq!(Bitrate(1).transmission_time(octets), Duration::from_nanos(u64::MAX));
        }
    }

    #[test]
    fn the_rest_of_a_tick_is_cut_off_for_any_number_of_ticks() {
        let (ms, ns) = (Duration::from_millis(1), Duration::from_nanos(1));
        assert_eq!(cut_to_ticks(Duration::from_micros(8_999), ms), Duration::from_millis(8));
        assert_eq!(cut_to_ticks(Duration::from_micros(999), ms), Duration::ZERO);
        assert_eq!(cut_to_ticks(Duration::from_secs(100), ns), Duration::from_secs(100));
        assert_eq!(cut_to_ticks(Duration::from_micros(7), Duration::ZERO), Duration::from_micros(7));
    }

    #[test]
    fn a_duration_reads_back_as_it_was_written() {
        for nanos in [0, 1, 999, 1_000, 1_500_000, 2_000_000_000, 90_000_000_000] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
