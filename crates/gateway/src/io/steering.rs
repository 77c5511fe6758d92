//! The assignment of clients to workers. The BPF programs compute the same.

use std::net::IpAddr;

use lasthop_packet::prefix::mapped;

/// The maximum number of workers.
pub const MAX_WORKERS: usize = 16;

/// The multiplier of Fibonacci hashing, which spreads consecutive addresses evenly: 2^32 divided by
/// the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
pub(super) const GOLDEN: u32 = 0x9e37_79b1;

/// The index of the worker, of `workers`, that serves this client address. All connections of an
/// address have the same worker, because agents have state for a client's hop as well as for each
/// connection.
///
/// # Panics
///
/// If there are more than [`MAX_WORKERS`].
pub fn worker_of(client: IpAddr, workers: usize) -> usize {
    assert!(workers <= MAX_WORKERS, "{workers} workers");
    let octets = mapped(client);
    let words = octets.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word));
    let mixed = u64::from(words.fold(0, |words, word| words ^ word).wrapping_mul(GOLDEN));
    ((mixed * workers as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn consecutive_addresses_are_spread_evenly_in_both_families() {
        let v4 = |host: u16| IpAddr::from(Ipv4Addr::from(0x0a00_0000 + u32::from(host)));
        let v6 = |host: u16| IpAddr::from(Ipv6Addr::from(0xfd00_u128 << 112 | u128::from(host)));
        for workers in 1..=MAX_WORKERS {
            for client in [v4 as fn(u16) -> IpAddr, v6] {
                let mut clients = vec![0; workers];
                for host in 1..=240 {
                    clients[worker_of(client(host), workers)] += 1;
                }
                let fair = 240 / workers;
                assert!(
                    clients.iter().all(|count| (fair * 4 / 5..=fair * 6 / 5).contains(count)),
                    "{clients:?}"
                );
            }
        }
    }

    #[test]
    fn an_ipv4_mapped_ipv6_address_has_the_worker_of_the_ipv4_address() {
        let v4 = Ipv4Addr::new(192, 0, 2, 1);
        assert_eq!(worker_of(v4.into(), MAX_WORKERS), worker_of(v4.to_ipv6_mapped().into(), MAX_WORKERS));
    }
}
