//! Values that are written as text.

mod cut;
mod loss;
mod radio;
mod traffic;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use lasthop_config::quantity::Count;
use lasthop_config::words::similar;
use lasthop_packet::units::{
    EXPECTED_DATA, EXPECTED_DURATION, EXPECTED_PROBABILITY, EXPECTED_RATE, UnitError, did_you_mean,
    meant_data, meant_probability, meant_rate, parse_duration, parse_octets,
};
use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::QueueLimit;
use lasthop_sim::delay::Correlation;
use lasthop_sim::queue::DriverQueue;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

pub(super) use radio::{ChannelWidth, DataRate, Decibels, Guard, Hertz, Metres, Speed, Watts, WrittenMcs};

/// A whole number from `LEAST` to `MOST`, which fits into 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole<const LEAST: u64, const MOST: u64>(pub(super) u32);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Count::<LEAST, MOST>::deserialize(deserializer).map(Self)
    }
}

impl<const LEAST: u64, const MOST: u64> JsonSchema for Whole<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Count::<LEAST, MOST>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Count::<LEAST, MOST>::json_schema(generator)
    }
}

/// The longest delay of packets.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// The form of an amount of data.
pub(super) const DATA: &str = r"[0-9.]+([eE][+-]?[0-9]+)?\s*(B|kB|MB|GB|KiB|MiB|GiB)";
/// The form of a number of packets.
pub(super) const PACKETS: &str = r"[0-9]+\s*packets?";
/// The form of a number of aggregates.
const AGGREGATES: &str = r"[0-9]+\s*aggregates?";
/// The form of a rate.
const RATE: &str = r"[0-9.]+([eE][+-]?[0-9]+)?\s*[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])";
/// The form of a number of segments.
const SEGMENTS: &str = r"[0-9]+\s*segments?";

/// A value that files write as a string.
pub(super) trait Written: Sized {
    /// Its name in the JSON schema.
    const NAME: &'static str;
    /// The expected values, with examples: the end of the sentence "... is not".
    const EXPECTED: &'static str;
    /// Its forms, as regular expressions for editors; [`Written::read`] may accept fewer.
    const FORMS: &'static [&'static str];
    /// The range of numbers that may be written without quotes, such as 0 for `"0"`: a command line
    /// has no quotes. A number is read as its text.
    const NUMBERS: Option<RangeInclusive<i64>> = None;

    /// Reads it; the error is a sentence.
    fn read(text: &str) -> Result<Self, String>;

    /// The probable meaning of a text of another form, in quotes. A form that is a word needs none
    /// for its typing errors.
    fn meant(_: &str) -> Option<String> {
        None
    }
}

/// A value that is written as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<T>(pub(super) T);

impl<'de, T: Written> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading<T>(PhantomData<T>);
        impl<T: Written> Visitor<'_> for Reading<T> {
            type Value = Text<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::read(text).map(Text).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                match T::NUMBERS {
                    Some(_) => self.visit_str(&number.to_string()),
                    None => Err(E::invalid_type(Unexpected::Signed(number), &self)),
                }
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                match T::NUMBERS {
                    // With its decimal point: 1.0 is not 1.
                    Some(_) => self.visit_str(&format!("{number:?}")),
                    None => Err(E::invalid_type(Unexpected::Float(number), &self)),
                }
            }
        }
        deserializer.deserialize_str(Reading(PhantomData))
    }
}

impl<T: Written> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let expected = T::EXPECTED;
        let pattern = match T::FORMS {
            [form] => format!(r"^\s*{form}\s*$"),
            forms => format!(r"^\s*({})\s*$", forms.join("|")),
        };
        let description = format!("Expected: {expected}.");
        match T::NUMBERS.map(RangeInclusive::into_inner) {
            None => json_schema!({ "type": "string", "description": description, "pattern": pattern }),
            Some((least, most)) => json_schema!({
                "type": ["string", "number"], "description": description,
                "pattern": pattern, "minimum": least, "maximum": most,
            }),
        }
    }
}

impl Written for Duration {
    const NAME: &'static str = "Time";
    const EXPECTED: &'static str = EXPECTED_DURATION;
    const FORMS: &'static [&'static str] =
        &[r"[0-9.]+([eE][+-]?[0-9]+)?\s*(ns|[uµμ]s|usec|ms|msec|s|sec|min|h)"];

    fn read(text: &str) -> Result<Self, String> {
        parse_duration(text).map_err(|error| error.to_string())
    }
}

impl Written for Probability {
    const NAME: &'static str = "Probability";
    const EXPECTED: &'static str = EXPECTED_PROBABILITY;
    const FORMS: &'static [&'static str] = &[r"[0-9.]+([eE][+-]?[0-9]+)?\s*%?"];
    const NUMBERS: Option<RangeInclusive<i64>> = Some(0..=1);

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: UnitError| error.to_string())
    }
}

/// The shortest time in which a correlated delay may move from its minimum to its maximum.
const FASTEST_DELAY: Duration = Duration::from_millis(1);

impl Written for Correlation {
    const NAME: &'static str = "DelayCorrelation";
    const EXPECTED: &'static str = "a correlation of successive delays from \"0%\" to below \"100%\", such as \"25%\", or the \
                                    time in which the delay moves from its shortest to its longest, from \"1 ms\" to \
                                    \"1 h\", such as \"1 s\"";
    const FORMS: &'static [&'static str] = &[Probability::FORMS[0], Duration::FORMS[0]];
    const NUMBERS: Option<RangeInclusive<i64>> = Probability::NUMBERS;

    fn read(text: &str) -> Result<Self, String> {
        if let Ok(time) = parse_duration(text) {
            let is_in_range = (FASTEST_DELAY..=LONGEST_DELAY).contains(&time);
            return if is_in_range { Ok(Self::Time(time)) } else { Err(not::<Self>(text)) };
        }
        match text.parse::<Probability>() {
            Ok(none) if none.is_zero() => Ok(Self::None),
            Ok(share) if share.value() < 1.0 => Ok(Self::Packets(share)),
            _ => Err(not::<Self>(text)),
        }
    }

    fn meant(text: &str) -> Option<String> {
        // 100% is out of its range.
        meant_probability(text).filter(|meant| !meant.contains("100%"))
    }
}

/// An amount of data, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octets(pub(super) u64);

impl Written for Octets {
    const NAME: &'static str = "Data";
    const EXPECTED: &'static str = EXPECTED_DATA;
    const FORMS: &'static [&'static str] = &[DATA];

    fn read(text: &str) -> Result<Self, String> {
        parse_octets(text).map(Self).map_err(|error| error.to_string())
    }
}

/// The highest rate. The work per simulated second grows with the rate, and times are whole
/// nanoseconds.
const FASTEST_BPS: u64 = 1_000_000_000_000;

impl Written for Bitrate {
    const NAME: &'static str = "Rate";
    const EXPECTED: &'static str = EXPECTED_RATE;
    const FORMS: &'static [&'static str] = &[RATE];

    fn read(text: &str) -> Result<Self, String> {
        match text.parse::<Self>() {
            Ok(rate) if rate.as_bps() > FASTEST_BPS => {
                Err(format!("{text:?} is too fast; expected at most \"1000 Gbit/s\""))
            }
            read => read.map_err(|error: UnitError| error.to_string()),
        }
    }
}

/// The rate of a link direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkRate {
    Fixed(Bitrate),
    /// Nothing is transmitted.
    Stalled,
    /// That of the trace that the scenario or the command line names.
    Trace,
}

impl Written for LinkRate {
    const NAME: &'static str = "LinkRate";
    const EXPECTED: &'static str = "a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as \"11 Mbit/s\", \"0\" (a stalled link), or \"trace\"";
    const FORMS: &'static [&'static str] = &[RATE, "0", "trace"];
    const NUMBERS: Option<RangeInclusive<i64>> = Some(0..=0);

    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "trace" => Ok(Self::Trace),
            zero if is_zero_rate(zero) => Ok(Self::Stalled),
            _ if text.parse::<Bitrate>().is_err_and(|error| error.expected == EXPECTED_RATE) => {
                Err(not::<Self>(text))
            }
            _ => Bitrate::read(text).map(Self::Fixed),
        }
    }

    fn meant(text: &str) -> Option<String> {
        meant_rate(text)
    }
}

/// Whether this is `0`, or zero with a unit.
fn is_zero_rate(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    number.parse() == Ok(0.0) && (unit.is_empty() || format!("1{unit}").parse::<Bitrate>().is_ok())
}

impl Written for QueueLimit {
    const NAME: &'static str = "QueueLimit";
    const EXPECTED: &'static str = "a queue limit, such as \"50 packets\", \"64 KiB\" or \"unlimited\"";
    const FORMS: &'static [&'static str] = &[PACKETS, DATA, "unlimited"];

    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        }
        match counted(text, "packet") {
            Some(packets) => Ok(Self::Packets(packets)),
            None => parse_octets(text).map(Self::Octets).map_err(|_| not::<Self>(text)),
        }
    }

    fn meant(text: &str) -> Option<String> {
        meant_data(text)
    }
}

impl Written for DriverQueue {
    const NAME: &'static str = "DriverQueue";
    const EXPECTED: &'static str =
        "what a driver may have, such as \"2 aggregates\", \"123 packets\" or \"unlimited\"";
    const FORMS: &'static [&'static str] = &[AGGREGATES, PACKETS, "unlimited"];

    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let number = |unit| counted(text, unit).and_then(|number| usize::try_from(number).ok());
        let aggregates = number("aggregate").map(Self::Aggregates);
        aggregates.or_else(|| number("packet").map(Self::Packets)).ok_or_else(|| not::<Self>(text))
    }
}

/// A TCP window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Window {
    Octets(u64),
    Segments(u64),
    Unlimited,
}

impl Written for Window {
    const NAME: &'static str = "Window";
    const EXPECTED: &'static str = "a window, such as \"64 KiB\", \"42 segments\" or \"unlimited\"";
    const FORMS: &'static [&'static str] = &[SEGMENTS, DATA, "unlimited"];

    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        }
        match counted(text, "segment") {
            Some(segments) => Ok(Self::Segments(segments)),
            None => parse_octets(text).map(Self::Octets).map_err(|_| not::<Self>(text)),
        }
    }

    fn meant(text: &str) -> Option<String> {
        meant_data(text)
    }
}

/// A receiver's window.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReceiveWindow {
    Fixed(Window),
    /// It grows with the data that arrives per round trip.
    Auto,
}

impl Written for ReceiveWindow {
    const NAME: &'static str = "ReceiveWindow";
    const EXPECTED: &'static str =
        "a window, such as \"64 KiB\", \"42 segments\" or \"unlimited\", or \"auto\"";
    const FORMS: &'static [&'static str] = &[SEGMENTS, DATA, "unlimited", "auto"];

    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        Window::read(text).map(Self::Fixed).map_err(|_| not::<Self>(text))
    }

    fn meant(text: &str) -> Option<String> {
        Window::meant(text)
    }
}

/// The arbitration of a shared medium.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mac {
    Ideal,
}

impl Written for Mac {
    const NAME: &'static str = "Mac";
    const EXPECTED: &'static str = "the arbitration of a shared medium, \"ideal\"";
    const FORMS: &'static [&'static str] = &["ideal"];

    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "ideal" => Ok(Self::Ideal),
            _ if text.starts_with("802.11") => Err(format!(
                "{text:?}: an IEEE 802.11 cell has a table of its own, with its stations: [wlans.NAME], standard = \"802.11b\""
            )),
            _ => Err(not::<Self>(text)),
        }
    }
}

/// `"50 packets"`, `"1 packet"`, `"50packets"`: the number.
fn counted(text: &str, unit: &str) -> Option<u64> {
    let text = text.trim();
    let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let rest = rest.trim();
    let right = rest == unit || rest.strip_suffix('s') == Some(unit);
    number.parse().ok().filter(|_| right)
}

pub(super) fn not<T: Written>(text: &str) -> String {
    let shown: String = text.chars().take(80).collect();
    let is_word = |form: &&str| form.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
    let words: Vec<&str> = T::FORMS.iter().copied().filter(is_word).collect();
    let word = || similar(text.trim(), &words).map(|word| format!("{word:?}"));
    let meant = T::meant(text).or_else(word);
    format!("{shown:?} is not {}{}", T::EXPECTED, did_you_mean(meant.as_deref()))
}
