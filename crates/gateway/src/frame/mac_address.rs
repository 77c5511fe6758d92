//! MAC addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The MAC address of a station (IEEE 802-2014, section 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress(pub [u8; 6]);

/// A text is not the address of one station.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a client's MAC address; expected one such as 02:00:00:00:00:01")]
pub struct NotAnAddress(String);

/// Six groups of two hexadecimal digits, separated by colons or by hyphens; not a group address.
impl FromStr for MacAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress(text.chars().take(40).collect());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut groups = text.trim().split(separator);
        let mut octets = [0; 6];
        for octet in &mut octets {
            let group = groups.next().filter(|group| group.len() == 2 && !group.starts_with('+'));
            *octet = group.and_then(|group| u8::from_str_radix(group, 16).ok()).ok_or_else(wrong)?;
        }
        let is_one_station = groups.next().is_none() && octets[0] & 1 == 0 && octets != [0; 6];
        if is_one_station { Ok(Self(octets)) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for MacAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(address: MacAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|octet| write!(f, ":{octet:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_address_of_one_station_or_refused() {
        let address = MacAddress([2, 0, 0, 0xab, 0, 1]);
        assert_eq!("02:00:00:ab:00:01".parse(), Ok(address));
        assert_eq!("02-00-00-AB-00-01".parse(), Ok(address));
        assert_eq!(address.to_string(), "02:00:00:ab:00:01");
        for wrong in [
            "",
            "02:00:00:ab:00",
            "02:00:00:ab:00:01:02",
            "2:0:0:ab:0:1",
            "01:00:5e:00:00:01",
            "ff:ff:ff:ff:ff:ff",
            "00:00:00:00:00:00",
            "+2:00:00:ab:00:01",
            "02:00:00-ab:00:01",
        ] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }
}
