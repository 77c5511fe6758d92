//! The access points of a site. In the registry and in messages they have names; hand-offs have numbers for them,
//! which are those of this table.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use lasthop_handoff::Peer;

/// The maximum number of access points.
pub const MAX_ACCESS_POINTS: usize = 1024;

/// The maximum length of a name, in octets.
pub const MAX_NAME: usize = 63;

/// The access point of this gateway.
pub const SELF: Peer = Peer(0);

/// The known access points. They are never forgotten: a number stays valid.
#[derive(Clone, Debug)]
pub struct AccessPoints {
    names: Vec<Box<str>>,
    addresses: Vec<Option<SocketAddr>>,
    numbers: BTreeMap<Box<str>, Peer>,
}

impl AccessPoints {
    /// This access point, by its name, and no others.
    pub fn new(own_name: &str) -> Self {
        let mut known = Self { names: Vec::new(), addresses: Vec::new(), numbers: BTreeMap::new() };
        known.insert(own_name);
        known
    }

    /// The number of an access point, by its name. `None` if the name is empty or too long, or there are too many.
    pub fn number(&mut self, name: &str) -> Option<Peer> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let is_name = (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(char::is_control);
        (is_name && self.names.len() < MAX_ACCESS_POINTS).then(|| self.insert(name))
    }

    /// The number of an access point that is reached at this address.
    pub fn number_at(&mut self, name: &str, address: SocketAddr) -> Option<Peer> {
        let number = self.number(name)?;
        self.addresses[number.0 as usize] = Some(address);
        Some(number)
    }

    /// The name of an access point.
    pub fn name(&self, number: Peer) -> &str {
        self.names.get(number.0 as usize).map_or("", |name| name)
    }

    /// Where an access point is reached; `None` if that is unknown.
    pub fn address(&self, number: Peer) -> Option<SocketAddr> {
        *self.addresses.get(number.0 as usize)?
    }

    fn insert(&mut self, name: &str) -> Peer {
        let number = Peer(self.names.len() as u32);
        self.names.push(name.into());
        self.addresses.push(None);
        self.numbers.insert(name.into(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_keeps_its_number_and_the_table_is_bounded() {
        let mut known = AccessPoints::new("hall");
        assert_eq!(known.number("hall"), Some(SELF));
        let address = SocketAddr::from(([10, 0, 0, 2], 9479));
        let other = known.number_at("stairs", address).expect("there is room");
        assert_eq!(
            (known.number("stairs"), known.name(other), known.address(other)),
            (Some(other), "stairs", Some(address))
        );
        for wrong in ["", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            assert_eq!(known.number(wrong), None, "{wrong:?}");
        }
        let accepted = (0..2 * MAX_ACCESS_POINTS).filter(|index| known.number(&index.to_string()).is_some());
        assert_eq!(accepted.count(), MAX_ACCESS_POINTS - 2);
        assert_eq!(known.number("stairs"), Some(other));
    }
}
