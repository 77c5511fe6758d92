//! Names for clients in place of their addresses, in the log and on the metrics page.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};

/// Names for addresses. An address keeps its name as long as this value exists, and has another one under another value:
/// the names come from a hash with a random key, so that an address cannot be found by trying all of them.
#[derive(Clone, Debug, Default)]
pub struct Pseudonyms(RandomState);

/// The name of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudonym(u64);

impl fmt::Display for Pseudonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client-{:012x}", self.0)
    }
}

impl Pseudonyms {
    /// The name of the client with this address.
    pub fn of(&self, address: &impl Hash) -> Pseudonym {
        Pseudonym(self.0.hash_one(address) >> 16)
    }

    /// A text with a name in the place of each MAC address: of six pairs of hexadecimal digits, with colons.
    pub fn without_mac_addresses(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        let mut is_inside = false;
        while let Some(next) = rest.chars().next() {
            let len = match rest.get(..MAC_ADDRESS) {
                Some(address) if !is_inside && is_mac_address(address) && ends(&rest[MAC_ADDRESS..]) => {
                    replaced += &self.of(&address.to_ascii_lowercase()).to_string();
                    MAC_ADDRESS
                }
                _ => {
                    replaced.push(next);
                    next.len_utf8()
                }
            };
            is_inside = continues(next);
            rest = &rest[len..];
        }
        replaced
    }
}

/// The length of a MAC address.
const MAC_ADDRESS: usize = "00:00:00:00:00:00".len();

fn is_mac_address(text: &str) -> bool {
    let mut octets = text.bytes().enumerate();
    octets.all(|(index, octet)| if index % 3 == 2 { octet == b':' } else { octet.is_ascii_hexdigit() })
}

/// Whether an address ends before this text.
fn ends(text: &str) -> bool {
    !text.chars().next().is_some_and(continues)
}

/// Whether a character may be in the middle of an address or a longer number.
fn continues(character: char) -> bool {
    character == ':' || character.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn an_address_has_one_name_which_is_another_one_in_another_process() {
        let (here, there) = (Pseudonyms::default(), Pseudonyms::default());
        let [seven, eight] = [7, 8].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
        assert_eq!(here.of(&seven), here.of(&seven));
        assert_ne!(here.of(&seven), here.of(&eight));
        assert_ne!(here.of(&seven), there.of(&seven));
        let name = here.of(&seven).to_string();
        assert!(name.len() == "client-".len() + 12 && !name.contains('.'), "{name}");
    }

    #[test]
    fn a_log_line_has_names_in_place_of_mac_addresses_and_is_the_same_otherwise() {
        let names = Pseudonyms::default();
        let seven = names.of(&"02:00:00:00:00:07".to_owned());
        let replaced =
            names.without_mac_addresses("client=02:00:00:00:00:07 {\"client\":\"02:00:00:00:00:07\"} é");
        assert_eq!(replaced, format!("client={seven} {{\"client\":\"{seven}\"}} é"));
        assert_eq!(
            names.without_mac_addresses("02:00:00:00:00:0F"),
            names.without_mac_addresses("02:00:00:00:00:0f")
        );
        for other in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:07:08",
            "aa02:00:00:00:00:07",
            "2001:db8:00:00:00:00:00:07",
            "10.0.0.1:9479 after_ms=3.5 é:00:00:00",
        ] {
            assert_eq!(names.without_mac_addresses(other), other);
        }
    }
}
