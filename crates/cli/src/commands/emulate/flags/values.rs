//! What flags say of the link at one time.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_packet::units::{format_duration, parse_duration};
use lasthop_schemes::words::did_you_mean;
use toml::{Table, Value};

use crate::commands::emulate::value;

/// What flags say of the link at one time: for each, its values for the download and the upload.
#[derive(Clone)]
pub(super) struct Values(BTreeMap<&'static str, [String; 2]>);

impl Values {
    /// An unimpaired link; its rate is that of a trace, if there is one.
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
        ];
        Self(defaults.into_iter().map(|(flag, value)| (flag, [value.to_owned(), value.to_owned()])).collect())
    }

    /// Takes `VALUE` or `DOWN:UP`. Returns the key of a scenario that the flag is, if it is one.
    pub(super) fn set(&mut self, flag: &str, text: &str) -> Result<Option<&'static str>, String> {
        let known = || self.0.keys().copied().collect::<Vec<_>>().join(", ");
        let meant = value::meant_by(flag).unwrap_or(flag);
        let meant = did_you_mean(meant, &self.0.keys().copied().collect::<Vec<_>>());
        let unknown = format!("unknown key {flag:?}{meant}; expected one of: {}", known());
        let values = self.0.get_mut(flag).ok_or(unknown)?;
        let (down, up) = text.split_once(':').unwrap_or((text, text));
        if [down, up].iter().any(|value| value.trim().is_empty()) {
            return Err("a value is missing; expected VALUE or DOWN:UP".to_owned());
        }
        *values = [value::in_a_file(flag, down)?, value::in_a_file(flag, up)?];
        let known = self.0.keys().find(|known| **known == flag && **known != "reorder");
        Ok(known.copied())
    }

    /// The rates of the download and of the upload.
    pub(super) fn of_rate(&self) -> &[String; 2] {
        &self.0["rate"]
    }

    /// The keys of each direction in a scenario.
    pub(super) fn ways(&self) -> Result<[Table; 2], String> {
        Ok([self.way(0)?, self.way(1)?])
    }

    fn way(&self, way: usize) -> Result<Table, String> {
        let value = |flag| self.0[flag][way].as_str();
        let mut keys: Table = ["rate", "queue", "loss", "duplicate", "corrupt", "delay-correlation"]
            .map(|key| (key.to_owned(), Value::from(value(key))))
            .into_iter()
            .collect();
        let skipping: Probability =
            value("reorder").parse().map_err(|error| format!("--reorder: {error}"))?;
        refuse_negative_delays(value("delay"), value("jitter"))?;
        if !skipping.is_zero() && value("delay-correlation") != "0%" {
            return Err("--delay-correlation: not together with --reorder, by which each packet has a delay of its own"
                .to_owned());
        }
        let (delay, jitter, order) = if skipping.is_zero() {
            (Value::from(value("delay")), value("jitter"), "kept")
        } else {
            (skipped_by((skipping, value("reorder")), value("delay"), value("jitter"))?, "0 s", "overtake")
        };
        keys.insert("delay".to_owned(), delay);
        keys.insert("jitter".to_owned(), Value::from(jitter));
        keys.insert("order".to_owned(), Value::from(order));
        Ok(keys)
    }
}

/// A jitter above the delay would need negative delays. Values that are no durations are reported where
/// they are read.
fn refuse_negative_delays(delay: &str, jitter: &str) -> Result<(), String> {
    match (parse_duration(delay), parse_duration(jitter)) {
        (Ok(mean), Ok(spread)) if spread > mean => {
            Err(format!("--jitter: {jitter} is out of range; expected at most the delay, {delay}"))
        }
        _ => Ok(()),
    }
}

/// A delay that a share of the packets, also given as text, does not have.
fn skipped_by((share, text): (Probability, &str), delay: &str, jitter: &str) -> Result<Value, String> {
    let mean = parse_duration(delay).map_err(|error| format!("--delay: {error}"))?;
    let spread = parse_duration(jitter).map_err(|error| format!("--jitter: {error}"))?;
    if mean.is_zero() {
        return Err(
            "--reorder: requires a delay, such as --delay 20ms: without one there is nothing to skip"
                .to_owned(),
        );
    }
    // As one would write it: floating-point arithmetic makes 100 - 7.1 into 92.9 and a little.
    let rest = (100.0 - share.value() * 100.0) * 1e9;
    let rest = rest.round() / 1e9;
    let bands = [
        (share.value(), text.to_owned(), Duration::ZERO, Duration::ZERO),
        (rest, format!("{rest}%"), mean.saturating_sub(spread), mean + spread),
    ];
    let bands = bands.into_iter().filter(|(share, ..)| *share > 0.0).map(|(_, share, min, max)| {
        let keys = [("share", share), ("min", format_duration(min)), ("max", format_duration(max))];
        Value::Table(keys.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect())
    });
    let keys = [("distribution", Value::from("bands")), ("bands", Value::Array(bands.collect()))];
    Ok(Value::Table(keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()))
}
