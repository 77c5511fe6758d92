//! The addresses that an access point gives to its clients, by the rules of a DHCP server (RFC 2131, section
//! 4.3), without the messages.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_packet::Instant;
use thiserror::Error;

/// The maximum number of addresses of a pool.
pub const MAX_POOL: u32 = 65_536;

/// A client: its MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub [u8; 6]);

/// The addresses of a pool, each given to one client at most. A client gets the same address again as long
/// as no other client has needed it.
#[derive(Debug)]
pub struct Leases {
    first: Ipv4Addr,
    count: u32,
    time: Duration,
    by_client: BTreeMap<ClientId, Lease>,
    by_address: BTreeMap<Ipv4Addr, ClientId>,
}

/// An address that a client has or had.
#[derive(Clone, Copy, Debug)]
struct Lease {
    address: Ipv4Addr,
    expires: Instant,
}

/// Why a client gets no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LeaseError {
    /// The pool is empty, or has more than [`MAX_POOL`] addresses.
    #[error("a pool has 1 to {MAX_POOL} addresses")]
    Pool,
    /// All addresses are leased.
    #[error("no address is free")]
    Exhausted,
    /// The address is leased to another client, or is not one of the pool's.
    #[error("{0} is not the client's")]
    NotYours(Ipv4Addr),
}

impl Leases {
    /// A pool from one address to another, both included; leases last for `time`.
    pub fn new(first: Ipv4Addr, last: Ipv4Addr, time: Duration) -> Result<Self, LeaseError> {
        let count = last.to_bits().checked_sub(first.to_bits()).map(|beyond| u64::from(beyond) + 1);
        let count = count.filter(|count| *count <= u64::from(MAX_POOL)).ok_or(LeaseError::Pool)?;
        let (by_client, by_address) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { first, count: count as u32, time, by_client, by_address })
    }

    /// How long a lease lasts.
    pub const fn time(&self) -> Duration {
        self.time
    }

    /// A client asks for an address (DISCOVER and REQUEST in one). It gets the one that it has, or had if
    /// that is free; then the one that it asks for, if that is free; then one that no client has had; then
    /// the one that has been free longest. The lease begins now.
    pub fn lease(
        &mut self,
        client: ClientId,
        wanted: Option<Ipv4Addr>,
        now: Instant,
    ) -> Result<Ipv4Addr, LeaseError> {
        let had = self.by_client.get(&client).map(|lease| lease.address);
        let wanted = || wanted.filter(|address| self.contains(*address) && self.is_free(*address, now));
        let address = had.or_else(wanted).or_else(|| self.unused()).or_else(|| self.freed(now));
        let address = address.ok_or(LeaseError::Exhausted)?;
        self.give(client, address, now);
        Ok(address)
    }

    /// A client extends the lease of an address that it has or had: REQUEST in the states RENEWING and
    /// INIT-REBOOT.
    pub fn renew(&mut self, client: ClientId, address: Ipv4Addr, now: Instant) -> Result<(), LeaseError> {
        let is_its_own = self.by_client.get(&client).is_some_and(|lease| lease.address == address);
        if !is_its_own {
            return Err(LeaseError::NotYours(address));
        }
        self.give(client, address, now);
        Ok(())
    }

    /// A client that has roamed keeps the address of another pool. It is refused if this pool has it: the
    /// pools of a site whose clients keep their addresses do not overlap. Counts as one of at most as many
    /// such clients as the pool has addresses.
    pub fn adopt(&mut self, client: ClientId, address: Ipv4Addr, now: Instant) -> Result<(), LeaseError> {
        let owner = self.by_address.get(&address);
        if self.contains(address) || owner.is_some_and(|owner| *owner != client) {
            return Err(LeaseError::NotYours(address));
        }
        if self.by_client.len() as u32 >= 2 * self.count && !self.by_client.contains_key(&client) {
            return Err(LeaseError::Exhausted);
        }
        self.give(client, address, now);
        Ok(())
    }

    /// A client no longer needs its address. It is still kept for it as long as no other client needs it.
    pub fn release(&mut self, client: ClientId, now: Instant) {
        if let Some(lease) = self.by_client.get_mut(&client) {
            lease.expires = now;
        }
    }

    /// The client that has an address now.
    pub fn client_of(&self, address: Ipv4Addr, now: Instant) -> Option<ClientId> {
        let client = self.by_address.get(&address)?;
        self.by_client.get(client).filter(|lease| lease.expires > now).map(|_| *client)
    }

    fn contains(&self, address: Ipv4Addr) -> bool {
        address.to_bits().checked_sub(self.first.to_bits()).is_some_and(|offset| offset < self.count)
    }

    fn is_free(&self, address: Ipv4Addr, now: Instant) -> bool {
        self.client_of(address, now).is_none()
    }

    /// The first address of the pool that no client has or had.
    fn unused(&self) -> Option<Ipv4Addr> {
        let pool = (0..self.count).map(|offset| Ipv4Addr::from_bits(self.first.to_bits() + offset));
        let mut unused = pool.filter(|address| !self.by_address.contains_key(address));
        unused.next()
    }

    /// The address of the pool whose lease has ended longest ago.
    fn freed(&self, now: Instant) -> Option<Ipv4Addr> {
        let leases = self.by_client.values();
        let freed = leases.filter(|lease| lease.expires <= now && self.contains(lease.address));
        freed.min_by_key(|lease| (lease.expires, lease.address)).map(|lease| lease.address)
    }

    fn give(&mut self, client: ClientId, address: Ipv4Addr, now: Instant) {
        if let Some(before) = self.by_client.insert(client, Lease { address, expires: now + self.time })
            && before.address != address
        {
            self.by_address.remove(&before.address);
        }
        if let Some(other) = self.by_address.insert(address, client)
            && other != client
        {
            self.by_client.remove(&other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 1, 0, last)
    }

    fn client(number: u8) -> ClientId {
        ClientId([2, 0, 0, 0, 0, number])
    }

    fn pool(count: u8) -> Leases {
        Leases::new(address(10), address(9 + count), HOUR).expect("a pool")
    }

    fn at(minutes: u64) -> Instant {
        Instant::from_secs(60 * minutes)
    }

    #[test]
    fn each_client_has_an_address_of_its_own_and_the_next_is_refused() {
        let mut leases = pool(3);
        for number in 0..3 {
            assert_eq!(leases.lease(client(number), None, at(0)), Ok(address(10 + number)));
        }
        assert_eq!(leases.lease(client(3), None, at(1)), Err(LeaseError::Exhausted));
        assert_eq!(leases.client_of(address(11), at(1)), Some(client(1)));
    }

    #[test]
    fn a_client_gets_the_same_address_again_even_after_its_lease_has_ended() {
        let mut leases = pool(3);
        let first = leases.lease(client(1), None, at(0)).expect("free");
        assert_eq!(leases.lease(client(2), None, at(0)), Ok(address(11)));
        assert_eq!(leases.client_of(first, at(61)), None);
        assert_eq!(leases.lease(client(1), None, at(100)), Ok(first));
        assert_eq!(leases.renew(client(1), first, at(150)), Ok(()));
        assert_eq!(leases.client_of(first, at(205)), Some(client(1)));
    }

    #[test]
    fn an_address_whose_lease_has_ended_is_given_away_when_no_other_is_left_the_oldest_first() {
        let mut leases = pool(2);
        leases.lease(client(1), None, at(0)).expect("free");
        leases.lease(client(2), None, at(10)).expect("free");
        assert_eq!(leases.lease(client(3), None, at(65)), Ok(address(10)));
        assert_eq!(leases.renew(client(1), address(10), at(66)), Err(LeaseError::NotYours(address(10))));
        assert_eq!(leases.lease(client(1), None, at(75)), Ok(address(11)), "the second one has ended, too");
        leases.release(client(3), at(76));
        assert_eq!(leases.lease(client(4), None, at(77)), Ok(address(10)));
    }

    #[test]
    fn a_wish_is_granted_if_the_address_is_free_and_of_the_pool() {
        let mut leases = pool(3);
        assert_eq!(leases.lease(client(1), Some(address(12)), at(0)), Ok(address(12)));
        assert_eq!(leases.lease(client(2), Some(address(12)), at(0)), Ok(address(10)));
        assert_eq!(leases.lease(client(3), Some(address(99)), at(0)), Ok(address(11)));
    }

    #[test]
    fn a_client_that_has_roamed_keeps_its_address_unless_this_pool_has_it() {
        let mut leases = pool(1);
        assert_eq!(leases.adopt(client(1), address(200), at(0)), Ok(()));
        assert_eq!(leases.adopt(client(2), address(200), at(0)), Err(LeaseError::NotYours(address(200))));
        assert_eq!(leases.adopt(client(2), address(10), at(0)), Err(LeaseError::NotYours(address(10))));
        assert_eq!(leases.lease(client(3), None, at(0)), Ok(address(10)));
        assert_eq!(leases.adopt(client(4), address(201), at(0)), Err(LeaseError::Exhausted));
        assert_eq!(leases.client_of(address(200), at(1)), Some(client(1)));
    }

    #[test]
    fn a_pool_has_a_limit() {
        let new = |first: &str, last: &str| {
            let [first, last] = [first, last].map(|text| text.parse().expect("an address"));
            Leases::new(first, last, HOUR).map(|_| ())
        };
        assert_eq!(new("10.0.0.0", "10.0.255.255"), Ok(()));
        assert_eq!(new("10.0.0.0", "10.1.0.0"), Err(LeaseError::Pool));
        assert_eq!(new("10.0.0.2", "10.0.0.1"), Err(LeaseError::Pool));
        assert_eq!(new("0.0.0.0", "255.255.255.255"), Err(LeaseError::Pool));
    }
}
