//! The choice of outside ports.

use std::net::{Ipv4Addr, SocketAddrV4};

use lasthop_packet::Rng;

use crate::config::NatConfig;
use crate::endpoint::{Endpoint, Protocol};
use crate::table::Table;

/// A free outside endpoint at this address for an inside endpoint; `None` if there is none. The inside port
/// is kept if it is free and the settings say so. Otherwise the search begins at a port that is drawn (RFC
/// 7857, section 9), and takes at most one step for each port of the range.
pub(crate) fn choose(
    config: &NatConfig,
    table: &Table,
    (inside, address): (Endpoint, Ipv4Addr),
    rng: &mut Rng,
) -> Option<Endpoint> {
    let at = |port: u16| Endpoint::new(inside.protocol, SocketAddrV4::new(address, port));
    let is_free = |port: u16| table.inside(at(port)).is_none();
    if config.keeps_ports && config.ports.contains(&inside.port) && is_free(inside.port) {
        return Some(at(inside.port));
    }
    let keeps_parity = config.keeps_parity && inside.protocol == Protocol::Udp;
    let (first, last) = (u32::from(*config.ports.start()), u32::from(*config.ports.end()));
    let count = last - first + 1;
    let start = rng.below(u64::from(count)) as u32;
    let ports = (0..count).map(|step| (first + (start + step) % count) as u16);
    let mut suitable = ports.filter(|port| !keeps_parity || port % 2 == inside.port % 2);
    suitable.find(|port| is_free(*port)).map(at)
}
