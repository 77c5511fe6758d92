//! Values of radios: rates of IEEE 802.11, positions and speeds, powers and frequencies.

use lasthop_packet::Bitrate;
use lasthop_wifi::Rate;

use super::{Written, not};

/// A rate of IEEE 802.11.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct DataRate(pub(in crate::file) Rate);

impl Written for DataRate {
    const NAME: &'static str = "DataRate";
    const EXPECTED: &'static str = "a rate of IEEE 802.11, such as \"11 Mbit/s\"";
    const FORMS: &'static [&'static str] =
        &[r"(1|2|5\.5|6|9|11|12|18|24|36|48|54)\s*[mM]([bB][iI][tT](/[sS])?|[bB][pP][sS])"];

    fn read(text: &str) -> Result<Self, String> {
        let rate = text.parse::<Bitrate>().map_err(|error| error.to_string())?;
        let found = Rate::all().find(|known| known.kbps() * 1000 == rate.as_bps());
        found.map(Self).ok_or_else(|| not::<Self>(text))
    }
}

/// A coordinate, or a distance.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Metres(pub(in crate::file) f64);

impl Written for Metres {
    const NAME: &'static str = "Metres";
    const EXPECTED: &'static str = "a place or a distance within 1000 km in cm, m or km, such as \"10 m\"";
    const FORMS: &'static [&'static str] = &[r"-?[0-9.]+\s*(cm|m|km)"];

    fn read(text: &str) -> Result<Self, String> {
        let metres = signed(text, &[("cm", 0.01), ("m", 1.0), ("km", 1e3)]).filter(|it| it.abs() <= 1e6);
        metres.map(Self).ok_or_else(|| not::<Self>(text))
    }
}

/// A speed, in metres a second.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Speed(pub(in crate::file) f64);

impl Written for Speed {
    const NAME: &'static str = "Speed";
    const EXPECTED: &'static str = "a speed of 0.001 m/s to 1000 m/s, such as \"1.5 m/s\" or \"50 km/h\"";
    const FORMS: &'static [&'static str] = &[r"[0-9.]+\s*(m/s|km/h)"];

    fn read(text: &str) -> Result<Self, String> {
        let speed = signed(text, &[("m/s", 1.0), ("km/h", 1.0 / 3.6)]);
        speed.filter(|it| (0.001..=1000.0).contains(it)).map(Self).ok_or_else(|| not::<Self>(text))
    }
}

/// A power, in watts.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Watts(pub(in crate::file) f64);

impl Written for Watts {
    const NAME: &'static str = "Power";
    const EXPECTED: &'static str =
        "a power of -200 dBm to 100 dBm in dBm, mW or W, such as \"20 dBm\" or \"100 mW\"";
    const FORMS: &'static [&'static str] = &[r"-?[0-9.]+\s*(dBm|mW|W)"];

    fn read(text: &str) -> Result<Self, String> {
        let watts = signed(text, &[("mW", 1e-3), ("W", 1.0)])
            .or_else(|| signed(text, &[("dBm", 1.0)]).map(|dbm| libm::exp10(dbm / 10.0 - 3.0)));
        watts.filter(|watts| (1e-23..=1e7).contains(watts)).map(Self).ok_or_else(|| not::<Self>(text))
    }
}

/// A ratio of powers, as a factor.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Decibels(pub(in crate::file) f64);

impl Written for Decibels {
    const NAME: &'static str = "Decibels";
    const EXPECTED: &'static str = "a ratio of powers of -100 dB to 100 dB, such as \"10 dB\"";
    const FORMS: &'static [&'static str] = &[r"-?[0-9.]+\s*dB"];

    fn read(text: &str) -> Result<Self, String> {
        let decibels = signed(text, &[("dB", 1.0)]).filter(|it| it.abs() <= 100.0);
        decibels.map(|it| Self(libm::exp10(it / 10.0))).ok_or_else(|| not::<Self>(text))
    }
}

/// A frequency, in hertz.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Hertz(pub(in crate::file) f64);

impl Written for Hertz {
    const NAME: &'static str = "Frequency";
    const EXPECTED: &'static str = "a frequency of 1 MHz to 1000 GHz, such as \"2.4 GHz\"";
    const FORMS: &'static [&'static str] = &[r"[0-9.]+\s*(MHz|GHz)"];

    fn read(text: &str) -> Result<Self, String> {
        let hertz = signed(text, &[("MHz", 1e6), ("GHz", 1e9)]).filter(|it| (1e6..=1e12).contains(it));
        hertz.map(Self).ok_or_else(|| not::<Self>(text))
    }
}

/// The number in a text such as `-3.5 dB`, times the factor of its unit.
fn signed(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<f64>().ok().map(|number| number * factor)
}
