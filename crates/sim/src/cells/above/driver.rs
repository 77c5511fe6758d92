//! What the driver of a station has of the packets that wait above it.

use lasthop_wifi::{Aggregate, MacFrame, Receiver};

use crate::queue::DriverQueue;

pub(super) struct Driver {
    most: DriverQueue,
    /// The number of packets that it has.
    packets: usize,
    /// What it is to transmit together: numbers, and the packets that are not done with.
    aggregates: Vec<(u32, usize)>,
    /// The number of the next of these.
    next: u32,
    /// The last of these while packets may be added: its receiver, and the length of the last packet.
    open: Option<(Receiver, Aggregate, u32)>,
    /// By key: the aggregate of a packet.
    numbers: Vec<u32>,
}

impl Driver {
    pub(super) const fn new(most: DriverQueue) -> Self {
        Self { most, packets: 0, aggregates: Vec::new(), next: 0, open: None, numbers: Vec::new() }
    }

    /// It looks for packets to take: those that it has go without new ones.
    pub(super) const fn begin_round(&mut self) {
        self.open = None;
    }

    /// Whether it may take a packet of a receiver whose turn begins.
    pub(super) const fn may_begin(&self) -> bool {
        match self.most {
            DriverQueue::Unlimited => true,
            DriverQueue::Packets(most) => self.packets < most,
            DriverQueue::Aggregates(most) => self.aggregates.len() < most,
        }
    }

    /// Whether it may take another packet of the receiver whose turn it is.
    pub(super) fn may_continue(&self) -> bool {
        match self.most {
            DriverQueue::Unlimited | DriverQueue::Packets(_) => self.may_begin(),
            // The next packet is as long as the last one, for all that is known.
            DriverQueue::Aggregates(_) => {
                self.open.is_some_and(|(_, aggregate, octets)| aggregate.with(octets).is_some())
            }
        }
    }

    /// It takes a packet. `first`: what that goes into, if the turn of its receiver begins with it.
    pub(super) fn take(&mut self, MacFrame { to, key, octets }: MacFrame, first: impl FnOnce() -> Aggregate) {
        self.packets += 1;
        if !matches!(self.most, DriverQueue::Aggregates(_)) {
            return;
        }
        let open = self.open.take().filter(|(receiver, ..)| *receiver == to);
        let joined = open.and_then(|(_, aggregate, _)| aggregate.with(octets));
        if joined.is_none() {
            self.aggregates.push((self.next, 0));
            self.next = self.next.wrapping_add(1);
        }
        self.open = Some((to, joined.unwrap_or_else(first), octets));
        let index = key as usize;
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, 0);
        }
        if let Some((number, packets)) = self.aggregates.last_mut() {
            *packets += 1;
            self.numbers[index] = *number;
        }
    }

    /// It is done with a packet.
    pub(super) fn complete(&mut self, key: u32) {
        self.packets = self.packets.saturating_sub(1);
        let Some(number) = self.numbers.get(key as usize) else { return };
        if let Some(place) = self.aggregates.iter().position(|(of, _)| of == number) {
            self.aggregates[place].1 -= 1;
            if self.aggregates[place].1 == 0 {
                self.aggregates.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_wifi::{Standard, StationConfig, StationId, Wlan, WlanConfig};

    use super::*;

    /// A packet to a station of a cell of 802.11n whose A-MPDUs have two packets at most.
    fn aggregate() -> Aggregate {
        let mut config = WlanConfig::new(Standard::Ht);
        config.mac.aggregation.as_mut().expect("802.11n has it").window = 2;
        let mut wlan = Wlan::new(config, 1);
        let [from, to] = std::array::from_fn(|_| wlan.add_station(&StationConfig::default()));
        wlan.aggregate(from, to, 1_500)
    }

    fn take(driver: &mut Driver, key: u32, to: usize) {
        let to = Receiver::Station(StationId::from_index(to));
        driver.take(MacFrame { to, key, octets: 1_500 }, aggregate);
    }

    #[test]
    fn an_aggregate_is_done_with_when_its_packets_are() {
        let mut driver = Driver::new(DriverQueue::Aggregates(1));
        driver.begin_round();
        assert!(driver.may_begin());
        take(&mut driver, 5, 1);
        assert!(driver.may_continue() && !driver.may_begin());
        take(&mut driver, 6, 1);
        assert!(!driver.may_continue());
        driver.complete(5);
        assert!(!driver.may_begin());
        driver.complete(6);
        assert!(driver.may_begin());
    }

    #[test]
    fn an_aggregate_has_one_receiver_and_ends_with_the_round() {
        let mut driver = Driver::new(DriverQueue::Aggregates(3));
        driver.begin_round();
        take(&mut driver, 0, 1);
        take(&mut driver, 1, 2);
        assert!(driver.may_begin());
        driver.begin_round();
        assert!(!driver.may_continue());
        take(&mut driver, 2, 2);
        assert!(!driver.may_begin());
    }

    #[test]
    fn packets_are_counted_without_regard_to_receivers() {
        let mut driver = Driver::new(DriverQueue::Packets(2));
        take(&mut driver, 0, 1);
        assert!(driver.may_continue());
        take(&mut driver, 1, 2);
        assert!(!driver.may_begin() && !driver.may_continue());
        driver.complete(0);
        assert!(driver.may_begin());
    }
}
