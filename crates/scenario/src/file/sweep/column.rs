//! The column of results that a swept parameter fills. It has numbers, with the unit in the
//! column's name, if the values allow it, otherwise texts.

use lasthop_packet::Bitrate;
use lasthop_packet::units::{parse_duration, parse_octets};

/// A column of results, filled by a swept parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The parameter's key, followed by the unit of quantities, such as `links.air.delay_s`.
    pub name: String,
    /// Whether its values are numbers.
    pub is_number: bool,
}

/// A value in the list of a parameter.
pub(super) enum Written {
    /// A string, without its quotes.
    Text(String),
    /// An integer or a floating-point number, as the file writes it.
    Number(String),
    /// Anything else, as the file writes it.
    Other(String),
}

/// Units other than those of durations, rates and data: the name, the suffix of the column, and the
/// number of the column's units as a fraction.
const UNITS: [(&str, &str, f64, f64); 16] = [
    ("%", "percent", 1.0, 1.0),
    ("packets", "packets", 1.0, 1.0),
    ("packet", "packets", 1.0, 1.0),
    ("segments", "segments", 1.0, 1.0),
    ("segment", "segments", 1.0, 1.0),
    ("cm", "m", 1.0, 100.0),
    ("m", "m", 1.0, 1.0),
    ("km", "m", 1e3, 1.0),
    ("m/s", "m_per_s", 1.0, 1.0),
    ("km/h", "m_per_s", 1.0, 3.6),
    ("mW", "w", 1.0, 1e3),
    ("W", "w", 1.0, 1.0),
    ("dBm", "dbm", 1.0, 1.0),
    ("dB", "db", 1.0, 1.0),
    ("MHz", "hz", 1e6, 1.0),
    ("GHz", "hz", 1e9, 1.0),
];

impl Column {
    /// The column of the parameter `key`, and its values there.
    pub(super) fn from_values(key: &str, values: &[Written]) -> (Self, Vec<String>) {
        let numbers: Option<Vec<(&str, f64)>> = values.iter().map(Written::number).collect();
        if let Some(numbers) = numbers
            && let Some((unit, _)) = numbers.first().copied()
            && numbers.iter().all(|(other, _)| *other == unit)
        {
            let name = if unit.is_empty() { key.to_owned() } else { format!("{key}_{unit}") };
            let values = numbers.iter().map(|(_, number)| number.to_string()).collect();
            return (Self { name, is_number: true }, values);
        }
        let texts = values.iter().map(|value| match value {
            Written::Text(text) | Written::Number(text) | Written::Other(text) => text.clone(),
        });
        (Self { name: key.to_owned(), is_number: false }, texts.collect())
    }
}

impl Written {
    /// The suffix of its unit, empty for a bare number, and the number of units.
    fn number(&self) -> Option<(&'static str, f64)> {
        match self {
            Self::Text(text) => quantity(text),
            Self::Number(text) => bare(text).map(|number| ("", number)),
            Self::Other(_) => None,
        }
    }
}

/// A bare number, if a double can represent it exactly.
fn bare(text: &str) -> Option<f64> {
    let value = toml::from_str::<toml::Table>(&format!("x = {text}")).ok()?.remove("x")?;
    match value {
        toml::Value::Integer(integer) => Some(integer as f64).filter(|number| *number as i64 == integer),
        toml::Value::Float(number) => Some(number).filter(|number| number.is_finite()),
        _ => None,
    }
}

/// Reads a quantity: the suffix of its unit, and the number of units.
fn quantity(text: &str) -> Option<(&'static str, f64)> {
    // These are whole numbers of nanoseconds, bits and octets, so that there is at most one
    // rounding.
    if let Ok(duration) = parse_duration(text) {
        return Some(("s", duration.as_nanos() as f64 / 1e9));
    }
    if let Ok(rate) = text.parse::<Bitrate>() {
        return Some(("bps", rate.as_bps() as f64));
    }
    if let Ok(octets) = parse_octets(text) {
        return Some(("octets", octets as f64));
    }
    let text = text.trim();
    UNITS.iter().find_map(|(unit, suffix, times, over)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.is_finite().then_some((*suffix, number * times / over))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[&str]) -> (String, Vec<String>) {
        let values: Vec<Written> = values.iter().map(|text| Written::Text((*text).to_owned())).collect();
        let (column, values) = Column::from_values("key", &values);
        assert_eq!(column.is_number, column.name != "key");
        (column.name, values)
    }

    #[test]
    fn quantities_of_one_dimension_are_numbers_and_the_column_has_the_unit() {
        for (values, name, expected) in [
            (&["9 ms", "0.3 s", "2 min"][..], "key_s", &["0.009", "0.3", "120"][..]),
            (&["153.6 kbit/s", "11Mbps"], "key_bps", &["153600", "11000000"]),
            (&["16 KiB", "1460 B"], "key_octets", &["16384", "1460"]),
            (&["0%", "0.1 %", "3%"], "key_percent", &["0", "0.1", "3"]),
            (&["1 packet", "500 packets"], "key_packets", &["1", "500"]),
            (&["42 segments"], "key_segments", &["42"]),
            (&["-35 cm", "2 km"], "key_m", &["-0.35", "2000"]),
            (&["1.5 m/s", "36 km/h"], "key_m_per_s", &["1.5", "10"]),
            (&["100 mW", "1 W"], "key_w", &["0.1", "1"]),
            (&["-20 dBm"], "key_dbm", &["-20"]),
            (&["10 dB"], "key_db", &["10"]),
            (&["2.4 GHz", "900 MHz"], "key_hz", &["2400000000", "900000000"]),
        ] {
            let expected = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(column(values), (name.to_owned(), expected), "{values:?}");
        }
    }

    #[test]
    fn texts_and_quantities_of_several_dimensions_stay_as_they_are_written() {
        for values in [
            &["5 ms", "64 KiB"][..],
            &["16 KiB", "unlimited"],
            &["20 dBm", "100 mW"],
            &["0.01", "1%"],
            &["reno", "cubic"],
            &["inf m", "NaN m"],
            &["m", ""],
        ] {
            let expected = values.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(column(values), ("key".to_owned(), expected));
        }
    }

    #[test]
    fn bare_numbers_stay_numbers_and_everything_else_stays_a_text() {
        let number = |text: &str| Written::Number(text.to_owned());
        let of = |values: &[Written]| {
            let (column, values) = Column::from_values("key", values);
            assert_eq!(column.name, "key");
            (column.is_number, values.join(" "))
        };
        assert_eq!(of(&[number("1_000"), number("0x10"), number("2.5")]), (true, "1000 16 2.5".to_owned()));
        assert_eq!(of(&[number("9007199254740993")]), (false, "9007199254740993".to_owned()));
        assert_eq!(of(&[number("1"), number("inf")]), (false, "1 inf".to_owned()));
        assert_eq!(of(&[number("1"), Written::Text("1 ms".to_owned())]), (false, "1 1 ms".to_owned()));
        assert_eq!(of(&[Written::Other("[1, 2]".to_owned())]), (false, "[1, 2]".to_owned()));
    }
}
