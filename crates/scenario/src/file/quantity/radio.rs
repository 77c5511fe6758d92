//! Values of radios: rates of IEEE 802.11, positions and speeds, powers and frequencies.

use lasthop_packet::Bitrate;
use lasthop_wifi::{Format, GuardInterval, Rate, Width};

use super::{Written, not};

/// A rate of IEEE 802.11, as it is written.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) enum DataRate {
    /// Of DSSS, CCK or OFDM.
    NonHt(Rate),
    /// Of HT, VHT or HE.
    Mcs(WrittenMcs),
}

/// A modulation and coding scheme, as it is written. What is left out is the cell's.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::file) struct WrittenMcs {
    /// HT counts on from one stream to the next.
    pub(in crate::file) index: u8,
    pub(in crate::file) format: Option<Format>,
    pub(in crate::file) streams: Option<u8>,
    pub(in crate::file) width: Option<Width>,
    pub(in crate::file) guard_interval: Option<GuardInterval>,
}

impl Written for DataRate {
    const NAME: &'static str = "DataRate";
    const EXPECTED: &'static str =
        "a rate of IEEE 802.11, such as \"11 Mbit/s\", \"MCS 7\" or \"HE MCS 11, 2 streams, 80 MHz, 800 ns\"";
    const FORMS: &'static [&'static str] = &[
        r"(1|2|5\.5|6|9|11|12|18|24|36|48|54)\s*[mM]([bB][iI][tT](/[sS])?|[bB][pP][sS])",
        r"((HT|VHT|HE)\s+)?MCS\s*[0-9]+(\s*,\s*([1-8]\s+streams?|(20|40|80|160)\s*MHz|(400|800|1600|3200)\s*ns))*",
    ];

    fn read(text: &str) -> Result<Self, String> {
        if text.contains("MCS") {
            return WrittenMcs::read(text).map(Self::Mcs).ok_or_else(|| not::<Self>(text));
        }
        let rate = text.parse::<Bitrate>().map_err(|error| error.to_string())?;
        let found = Rate::all_non_ht().find(|known| known.kbps() * 1000 == rate.as_bps());
        found.map(Self::NonHt).ok_or_else(|| not::<Self>(text))
    }
}

impl WrittenMcs {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(',').map(str::trim);
        let (format, index) = parts.next()?.split_once("MCS")?;
        let format = match format.trim() {
            "" => None,
            "HT" => Some(Format::Ht),
            "VHT" => Some(Format::Vht),
            "HE" => Some(Format::He),
            _ => return None,
        };
        let mut mcs = Self { index: index.trim().parse().ok()?, format, ..Self::default() };
        for part in parts {
            let (number, unit) = whole_and_unit(part)?;
            let is_new = match unit {
                "stream" | "streams" => {
                    let streams = u8::try_from(number).ok().filter(|streams| (1..=8).contains(streams))?;
                    mcs.streams.replace(streams).is_none()
                }
                "MHz" => mcs.width.replace(ChannelWidth::of_mhz(number)?).is_none(),
                "ns" => mcs.guard_interval.replace(Guard::of_nanos(number)?).is_none(),
                _ => return None,
            };
            if !is_new {
                return None;
            }
        }
        Some(mcs)
    }
}

/// The width of a channel.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct ChannelWidth(pub(in crate::file) Width);

impl ChannelWidth {
    fn of_mhz(mhz: u64) -> Option<Width> {
        Width::ALL.into_iter().find(|width| u64::from(width.mhz()) == mhz)
    }
}

impl Written for ChannelWidth {
    const NAME: &'static str = "ChannelWidth";
    const EXPECTED: &'static str =
        "the width of a channel: \"20 MHz\", \"40 MHz\", \"80 MHz\" or \"160 MHz\"";
    const FORMS: &'static [&'static str] = &[r"(20|40|80|160)\s*MHz"];

    fn read(text: &str) -> Result<Self, String> {
        let mhz = whole_and_unit(text).filter(|(_, unit)| *unit == "MHz").map(|(mhz, _)| mhz);
        mhz.and_then(Self::of_mhz).map(Self).ok_or_else(|| not::<Self>(text))
    }

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("MHz", &[])])
    }
}

/// The guard interval of HT, VHT or HE.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Guard(pub(in crate::file) GuardInterval);

impl Guard {
    fn of_nanos(nanos: u64) -> Option<GuardInterval> {
        GuardInterval::ALL.into_iter().find(|guard_interval| guard_interval.nanos() == nanos)
    }
}

impl Written for Guard {
    const NAME: &'static str = "GuardInterval";
    const EXPECTED: &'static str = "a guard interval: \"400 ns\", \"800 ns\", \"1600 ns\" or \"3200 ns\"";
    const FORMS: &'static [&'static str] = &[r"(400|800|1600|3200)\s*ns"];

    fn read(text: &str) -> Result<Self, String> {
        let nanos = whole_and_unit(text).filter(|(_, unit)| *unit == "ns").map(|(nanos, _)| nanos);
        nanos.and_then(Self::of_nanos).map(Self).ok_or_else(|| not::<Self>(text))
    }

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("ns", &[])])
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

    fn meant(text: &str) -> Option<String> {
        meant(
            text,
            &[("cm", &["centimeters"]), ("m", &["meter", "meters", "metres"]), ("km", &["kilometers"])],
        )
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

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("m/s", &["mps"]), ("km/h", &["kmh", "kph"])])
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

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("dBm", &[]), ("mW", &[]), ("W", &["watt", "watts"])])
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

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("dB", &[])])
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

    fn meant(text: &str) -> Option<String> {
        meant(text, &[("MHz", &[]), ("GHz", &[])])
    }
}

/// The number in a text such as `-3.5 dB`, times the factor of its unit.
fn signed(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| number * factor)
}

/// The probable meaning of a number whose unit is written in another way, in quotes.
fn meant(text: &str, units: &[(&str, &[&str])]) -> Option<String> {
    let (number, given) = number_and_unit(text)?;
    let lower = given.to_lowercase();
    let is_it = |(unit, others): &&(&str, &[&str])| {
        *unit != given && (unit.to_lowercase() == lower || others.contains(&lower.as_str()))
    };
    units.iter().find(is_it).map(|(unit, _)| format!("\"{number} {unit}\""))
}

fn whole_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    Some((number.parse().ok()?, unit.trim()))
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_written_in_another_way_is_refused_with_the_probable_meaning() {
        fn meant_by<T: Written>(text: &str) -> Option<String> {
            assert!(T::read(text).is_err(), "{text}");
            T::meant(text)
        }
        for (found, meant) in [
            (meant_by::<Metres>("10 meters"), Some("\"10 m\"")),
            (meant_by::<Metres>("-1.5 KM"), Some("\"-1.5 km\"")),
            (meant_by::<Metres>("10"), None),
            (meant_by::<Speed>("0 m/s"), None),
            (meant_by::<Speed>("50 kmh"), Some("\"50 km/h\"")),
            (meant_by::<Watts>("20 dbm"), Some("\"20 dBm\"")),
            (meant_by::<Decibels>("3 db"), Some("\"3 dB\"")),
            (meant_by::<Hertz>("2.4 ghz"), Some("\"2.4 GHz\"")),
        ] {
            assert_eq!(found.as_deref(), meant);
        }
    }
}
