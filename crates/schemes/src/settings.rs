//! How a scheme's settings write quantities: strings with a unit, checked when the file is read.
//!
//! A field keeps its plain type and names the module that reads it:
//!
//! ```
//! # use std::time::Duration;
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Settings {
//!     #[serde(with = "lasthop_schemes::settings::duration")]
//!     #[schemars(with = "lasthop_schemes::settings::DurationText")]
//!     timeout: Duration,
//! }
//! let settings: Settings = toml::from_str(r#"timeout = "100 ms""#)?;
//! assert_eq!(settings.timeout, Duration::from_millis(100));
//! # Ok::<(), toml::de::Error>(())
//! ```

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Reads and writes a `Duration` as `"100 ms"` ([`lasthop_packet::units::parse_duration`]); zero or more, at most 100 years.
pub mod duration {
    use std::time::Duration;

    use lasthop_packet::units::{format_duration, parse_duration};
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Reads `"100 ms"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map_err(serde::de::Error::custom)
    }

    /// Writes `"100 ms"`.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(*duration))
    }
}

/// Reads and writes a number of octets as `"64 MiB"` ([`lasthop_packet::units::parse_octets`]).
pub mod octets {
    use lasthop_packet::units::parse_octets;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Reads `"64 MiB"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        let text = String::deserialize(deserializer)?;
        let octets = parse_octets(&text).map_err(serde::de::Error::custom)?;
        usize::try_from(octets).map_err(serde::de::Error::custom)
    }

    /// Writes `"1024 B"`.
    pub fn serialize<S: Serializer>(octets: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{octets} B"))
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
