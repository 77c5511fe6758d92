//! Numbers and quantities in files. The range of each is checked when the file is read, and is part
//! of the JSON schema.
//!
//! A field keeps its plain type and names its reader with the range:
//!
//! ```
//! # use std::time::Duration;
//! use lasthop_config::quantity::{Count, HOUR, MS, Time};
//!
//! #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
//! struct Settings {
//!     #[serde(with = "Time::<MS, HOUR>")]
//!     timeout: Duration,
//!     #[serde(with = "Count::<1, 10>")]
//!     tries: u32,
//! }
//! let read = |text| toml::from_str::<Settings>(text);
//! let settings = read("timeout = '100 ms'\ntries = 3")?;
//! assert_eq!((settings.timeout, settings.tries), (Duration::from_millis(100), 3));
//! let error = read("timeout = '2 h'\ntries = 3").unwrap_err();
//! assert_eq!(error.message(), "2 h is out of range; expected 1 ms to 1 h");
//! let error = read("timeout = '1 s'\ntries = 11").unwrap_err();
//! assert_eq!(error.message(), "invalid value: integer `11`, expected a whole number from 1 to 10");
//! # Ok::<(), toml::de::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::time::Duration;

use lasthop_packet::units::{UnitError, format_duration, format_octets};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};

/// Microseconds in a millisecond, for [`Time`].
pub const MS: u64 = 1_000;
/// Microseconds in one second.
pub const SECOND: u64 = 1_000 * MS;
/// Microseconds in a minute.
pub const MINUTE: u64 = 60 * SECOND;
/// Microseconds in an hour.
pub const HOUR: u64 = 60 * MINUTE;
/// Microseconds in a week.
pub const WEEK: u64 = 7 * 24 * HOUR;
/// Octets in a gibibyte, for [`Octets`].
pub const GIB: u64 = 1 << 30;
/// Octets in a tebibyte.
pub const TIB: u64 = 1 << 40;

/// A whole number from `LEAST` to `MOST`.
#[derive(Debug)]
pub struct Count<const LEAST: u64, const MOST: u64>;

/// A duration from `LEAST` to `MOST` microseconds, with its unit.
#[derive(Debug)]
pub struct Time<const LEAST: u64, const MOST: u64>;

/// An amount of data from `LEAST` to `MOST` octets, with its unit.
#[derive(Debug)]
pub struct Octets<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> Count<LEAST, MOST> {
    /// Reads `7`.
    pub fn deserialize<'de, D: Deserializer<'de>, N: TryFrom<u64>>(deserializer: D) -> Result<N, D::Error> {
        struct Reading<const LEAST: u64, const MOST: u64>;
        impl<const LEAST: u64, const MOST: u64> Visitor<'_> for Reading<LEAST, MOST> {
            type Value = u64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LEAST} to {MOST}")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
                let within = u64::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
                within.ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
                let within = Some(number).filter(|number| (LEAST..=MOST).contains(number));
                within.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }
        let number = deserializer.deserialize_any(Reading::<LEAST, MOST>)?;
        N::try_from(number)
            .map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(number), &Reading::<LEAST, MOST>))
    }

    /// Writes `7`.
    pub fn serialize<S: Serializer, N: Copy + TryInto<u64>>(
        count: &N,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (*count).try_into().unwrap_or(MOST).serialize(serializer)
    }
}

impl<const LEAST: u64, const MOST: u64> Time<LEAST, MOST> {
    const RANGE: (Duration, Duration) = (Duration::from_micros(LEAST), Duration::from_micros(MOST));

    /// Reads `"100 ms"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let given = duration::deserialize(deserializer)?;
        let (least, most) = Self::RANGE;
        if (least..=most).contains(&given) {
            return Ok(given);
        }
        Err(out_of_range(format_duration(given), format_duration(least), format_duration(most)))
    }

    /// Writes `"100 ms"`.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        duration::serialize(duration, serializer)
    }
}

impl<const LEAST: u64, const MOST: u64> Octets<LEAST, MOST> {
    /// Reads `"64 MiB"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        let given = octets::deserialize(deserializer)?;
        if (LEAST..=MOST).contains(&(given as u64)) {
            return Ok(given);
        }
        Err(out_of_range(format_octets(given as u64), format_octets(LEAST), format_octets(MOST)))
    }

    /// Writes `"64 MiB"`.
    pub fn serialize<S: Serializer>(octets: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        octets::serialize(octets, serializer)
    }
}

fn out_of_range<E: Error>(given: impl Display, least: impl Display, most: impl Display) -> E {
    E::custom(format_args!("{given} is out of range; expected {least} to {most}"))
}

/// Reads a quantity that is written as text.
struct Text<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, UnitError>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

/// Reads and writes a `Duration` of any length as `"100 ms"`
/// ([`lasthop_packet::units::parse_duration`]); zero or more, at most 100 years.
pub mod duration {
    use std::time::Duration;

    use lasthop_packet::units::{EXPECTED_DURATION, format_duration, parse_duration};
    use serde::{Deserializer, Serializer};

    use super::Text;

    /// Reads `"100 ms"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(Text { expected: EXPECTED_DURATION, parse: parse_duration })
    }

    /// Writes `"100 ms"`.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(*duration))
    }
}

/// Reads and writes a number of octets as `"64 MiB"` ([`lasthop_packet::units::parse_octets`]).
pub mod octets {
    use lasthop_packet::units::{EXPECTED_DATA, format_octets, parse_octets};
    use serde::{Deserializer, Serializer};

    use super::Text;

    /// Reads `"64 MiB"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        let octets = deserializer.deserialize_any(Text { expected: EXPECTED_DATA, parse: parse_octets })?;
        usize::try_from(octets).map_err(serde::de::Error::custom)
    }

    /// Writes `"64 MiB"`.
    pub fn serialize<S: Serializer>(octets: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_octets(*octets as u64))
    }
}

/// The JSON schema of a field that [`duration`] reads.
#[derive(Debug)]
pub struct DurationText;

/// The JSON schema of a field that [`octets`] reads.
#[derive(Debug)]
pub struct OctetsText;

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A duration with its unit, such as \"5 ms\".",
            "pattern": r"^\s*[0-9.]+\s*(ns|us|ms|s|min|h)\s*$",
        })
    }
}

impl JsonSchema for OctetsText {
    fn schema_name() -> Cow<'static, str> {
        "Octets".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An amount of data with its unit, such as \"10 MB\" or \"16 KiB\".",
            "pattern": r"^\s*[0-9.]+\s*(B|kB|MB|GB|KiB|MiB|GiB)\s*$",
        })
    }
}

impl<const LEAST: u64, const MOST: u64> JsonSchema for Count<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Count_{LEAST}_to_{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

impl<const LEAST: u64, const MOST: u64> JsonSchema for Time<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Time_{LEAST}_to_{MOST}_us").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (least, most) = Self::RANGE;
        with_range(DurationText::json_schema(generator), format_duration(least), format_duration(most))
    }
}

impl<const LEAST: u64, const MOST: u64> JsonSchema for Octets<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Octets_{LEAST}_to_{MOST}").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_range(OctetsText::json_schema(generator), format_octets(LEAST), format_octets(MOST))
    }
}

/// JSON Schema has no range for text. These two keys are lasthop extensions, for people and for
/// tests.
fn with_range(mut schema: Schema, least: String, most: String) -> Schema {
    schema.insert("x-least".to_owned(), least.into());
    schema.insert("x-most".to_owned(), most.into());
    schema
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Example {
        #[serde(with = "super::duration")]
        wait: Duration,
        #[serde(with = "super::octets")]
        room: usize,
    }

    #[test]
    fn quantities_are_read_with_their_unit_and_read_back_as_written() {
        let example: Example =
            toml::from_str("wait = \"1.5 s\"\nroom = \"2 KiB\"").expect("it is well formed");
        assert_eq!(example, Example { wait: Duration::from_millis(1500), room: 2048 });
        let written = toml::to_string(&example).expect("strings can be written");
        assert_eq!(toml::from_str(&written), Ok(example));
    }

    #[test]
    fn a_quantity_without_its_unit_is_refused_with_what_was_expected() {
        let error = toml::from_str::<Example>("wait = \"5\"\nroom = \"1 B\"").expect_err("no unit");
        assert!(error.to_string().contains("such as \"5 ms\""), "{error}");
        let error = toml::from_str::<Example>("wait = \"5 s\"\nroom = \"-1 B\"").expect_err("below zero");
        assert!(error.to_string().contains("an amount of data"), "{error}");
    }
}
