//! The values of a link's flags at one time.

use std::collections::BTreeMap;

use lasthop_config::words::did_you_mean;
use toml::{Table, Value};

use crate::commands::emulate::value::{self, Meant};

/// The values of a link's flags at one time: for each flag, the values for the download and the
/// upload.
#[derive(Clone)]
pub(super) struct Values(BTreeMap<&'static str, [String; 2]>);

impl Values {
    /// The values of an unimpaired link. With `has_trace`, its rate is that of the trace.
    pub(super) fn unimpaired(has_trace: bool) -> Self {
        let rate = if has_trace { "trace" } else { value::UNLIMITED };
        let defaults = [
            ("rate", rate),
            ("delay", "0 s"),
            ("jitter", "0 s"),
            ("delay-correlation", "0%"),
            ("loss", "0%"),
            ("duplicate", "0%"),
            ("corrupt", "0%"),
            ("reorder", "0%"),
            ("queue", "100 packets"),
            ("only", "all"),
            ("except", "none"),
            ("connections", "kept"),
        ];
        Self(defaults.into_iter().map(|(flag, value)| (flag, [value.to_owned(), value.to_owned()])).collect())
    }

    /// Sets `VALUE`, or for most keys `DOWN:UP`, and returns the key.
    pub(super) fn set(&mut self, flag: &str, text: &str) -> Result<&'static str, String> {
        let known = || self.0.keys().copied().collect::<Vec<_>>().join(", ");
        let similar = || did_you_mean(flag, &self.0.keys().copied().collect::<Vec<_>>());
        let meant = value::meant_by(flag).map_or_else(similar, Meant::suffix);
        let unknown = format!("unknown key {flag:?}{meant}; expected one of: {}", known());
        let key = self.0.keys().copied().find(|key| *key == flag).ok_or(unknown)?;
        let values = if value::OF_BOTH_DIRECTIONS.contains(&key) {
            [text, text].map(str::to_owned)
        } else {
            value::of_directions(flag, text)?
        };
        self.0.insert(key, values);
        Ok(key)
    }

    /// The rates of the download and of the upload.
    pub(super) fn of_rate(&self) -> &[String; 2] {
        &self.0["rate"]
    }

    /// The keys of each direction in a scenario.
    pub(super) fn ways(&self) -> [Table; 2] {
        [0, 1].map(|way| {
            let keys =
                self.0.iter().map(|(key, values)| ((*key).to_owned(), Value::from(values[way].as_str())));
            keys.collect()
        })
    }
}
