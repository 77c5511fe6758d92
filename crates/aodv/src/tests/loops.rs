//! There are no loops, whatever is lost and whichever nodes move; and no message causes a panic.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_agent::FrameTimes;
use lasthop_packet::{Instant, Packet, Rng};
use proptest::prelude::*;

use super::support::{at, packet};
use crate::message::Message;
use crate::{Aodv, AodvConfig, Metric, Output, RouteLookup};

/// A network whose links change, whose frames are lost or late, and whose nodes all send to each
/// other.
struct Net {
    nodes: Vec<Aodv>,
    linked: Vec<Vec<bool>>,
    /// Frames in flight: their arrival and their receiver.
    flights: BTreeMap<(Instant, u64), (usize, Packet)>,
    sent: u64,
    rng: Rng,
    loss: u64,
    /// Frames that were given up, with their sender and its neighbor.
    broken: Vec<(usize, Ipv4Addr, Packet)>,
}

fn number(address: Ipv4Addr) -> usize {
    usize::from(address.octets()[3]) - 1
}

impl Net {
    fn new(size: usize, config: AodvConfig, seed: u64) -> Self {
        let mut rng = Rng::named(seed, "net");
        let nodes = (0..size)
            .map(|index| {
                let rng = Rng::named(seed, &format!("aodv {index}"));
                Aodv::new(at(index as u8 + 1), config, rng)
            })
            .collect();
        let loss = [0, 0, 10, 40][rng.below(4) as usize];
        let linked = vec![vec![false; size]; size];
        let mut net =
            Self { nodes, linked, flights: BTreeMap::new(), sent: 0, rng, loss, broken: Vec::new() };
        for _ in 0..2 * size {
            net.flip_a_link();
        }
        net
    }

    fn flip_a_link(&mut self) {
        let size = self.nodes.len() as u64;
        let (one, other) = (self.rng.below(size) as usize, self.rng.below(size) as usize);
        if one != other {
            let link = !self.linked[one][other];
            (self.linked[one][other], self.linked[other][one]) = (link, link);
        }
    }

    fn transmit(&mut self, from: usize, to: usize, packet: &Packet, now: Instant) -> bool {
        if !self.linked[from][to] || self.rng.below(100) < self.loss {
            return false;
        }
        self.sent += 1;
        let late = now.after_nanos(1_000 + self.rng.below(30_000_000));
        self.flights.insert((late, self.sent), (to, packet.clone()));
        true
    }

    fn drain(&mut self, index: usize, now: Instant) {
        while let Some(output) = self.nodes[index].poll() {
            let Output::Send(packet) = output else { continue };
            let std::net::IpAddr::V4(to) = packet.ip().destination else { continue };
            if to == Ipv4Addr::BROADCAST {
                for other in 0..self.nodes.len() {
                    self.transmit(index, other, &packet, now);
                }
            } else if !self.transmit(index, number(to), &packet, now) {
                self.broken.push((index, to, packet));
            }
        }
        while let Some((index, neighbor, packet)) = self.broken.pop() {
            // Messages about the loss are sent in the node's next turn.
            self.nodes[index].on_given_up(neighbor, Some(&packet), now);
        }
    }

    /// Processes all events up to a time.
    fn run(&mut self, until: Instant) -> Result<(), TestCaseError> {
        loop {
            let flight = self.flights.first_key_value().map(|((at, _), _)| *at);
            let deadlines = self.nodes.iter().filter_map(Aodv::deadline);
            let Some(now) = deadlines.chain(flight).min().filter(|at| *at <= until) else { break };
            if flight == Some(now)
                && let Some((_, (to, packet))) = self.flights.pop_first()
            {
                self.nodes[to].on_message(&packet, now);
            }
            for index in 0..self.nodes.len() {
                self.nodes[index].on_deadline(now);
                self.drain(index, now);
            }
            self.check()?;
        }
        Ok(())
    }

    /// The times of a frame that arrives now, after some time in the queue and some at its head.
    fn times(&mut self, now: Instant) -> FrameTimes {
        let [queued, head] = [100, 10].map(|most| self.rng.below(most * 1_000_000));
        let before = |nanos: u64| Instant::from_nanos(now.as_nanos().saturating_sub(nanos));
        let (departed, queued) = (before(head), before(head + queued));
        FrameTimes { queued, departed, began: now, over: now.after_nanos(1_000_000) }
    }

    /// Forwards a data packet as far as possible.
    fn send(&mut self, from: usize, to: usize, now: Instant) -> Result<bool, TestCaseError> {
        let mut place = from;
        for _ in 0..=self.nodes.len() {
            if place == to {
                return Ok(true);
            }
            let way = self.nodes[place].route(at(from as u8 + 1), at(to as u8 + 1), now);
            self.drain(place, now);
            let RouteLookup::Next(next) = way else { return Ok(false) };
            if !self.linked[place][number(next)] || self.rng.below(100) < self.loss / 4 {
                self.nodes[place].on_given_up(next, None, now);
                self.drain(place, now);
                return Ok(false);
            }
            if self.nodes[place].config().metric == Metric::BandwidthDelay {
                let times = self.times(now);
                self.nodes[place].on_transmission(next, 1_000, &times, now);
            }
            place = number(next);
        }
        Err(TestCaseError::fail(format!("a packet from {from} to {to} went in circles")))
    }

    /// Checks that no active routes to a destination form a loop.
    fn check(&self) -> Result<(), TestCaseError> {
        for destination in 0..self.nodes.len() {
            for start in 0..self.nodes.len() {
                let mut place = start;
                for hops in 0.. {
                    let Some(route) = self.nodes[place].active_route(at(destination as u8 + 1)) else {
                        break;
                    };
                    place = number(route.next_hop);
                    prop_assert!(
                        hops <= self.nodes.len(),
                        "routes to {} go in circles at {}",
                        destination,
                        place
                    );
                    if place == destination {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn routes_never_close_a_circle(seed in any::<u64>(), size in 3usize..9, hellos in any::<bool>(), gratuitous in any::<bool>(), by_hops in any::<bool>()) {
        // Short times, so that routes expire while they are in use.
        let config = AodvConfig {
            active_route_timeout: Duration::from_millis(400),
            node_traversal_time: Duration::from_millis(30),
            net_diameter: 8,
            rreq_retries: 1,
            gratuitous_replies: gratuitous,
            metric: if by_hops { Metric::Hops } else { Metric::BandwidthDelay },
            hello_interval: hellos.then_some(Duration::from_millis(300)),
            ..AodvConfig::default()
        };
        let mut net = Net::new(size, config, seed);
        let mut arrived = 0;
        for step in 0..300u64 {
            let now = Instant::from_millis(step * 20);
            net.run(now)?;
            if net.rng.below(8) == 0 {
                net.flip_a_link();
            }
            let (from, to) = (net.rng.below(size as u64) as usize, net.rng.below(size as u64) as usize);
            arrived += u32::from(net.send(from, to, now)?);
            net.check()?;
        }
        // The rule does not hold only for lack of routes.
        prop_assert!(arrived > 10, "{}", arrived);
    }

    #[test]
    fn no_message_of_a_neighbor_causes_a_panic(
        sent in prop::collection::vec((2u8..5, any::<bool>(), 0u8..4, prop::collection::vec(any::<u8>(), 0..60)), 1..60),
    ) {
        let config = AodvConfig { metric: Metric::BandwidthDelay, ..AodvConfig::default() };
        let mut node = Aodv::new(at(1), config, Rng::named(1, "aodv"));
        let mut now = Instant::ZERO;
        for (from, to_all, kind, mut octets) in sent {
            if let Some(first) = octets.first_mut() {
                *first = kind + 1;
            }
            // Small addresses, so that messages are about existing nodes.
            for octet in octets.iter_mut().skip(8) {
                *octet %= 12;
            }
            let to = if to_all { Ipv4Addr::BROADCAST } else { at(1) };
            let mut sent = packet(from, to, kind * 9, &Message::ReplyAck);
            sent.set_payload(lasthop_packet::Payload::Bytes(octets.into()));
            node.on_message(&sent, now);
            node.route(at(from), at(9), now);
            node.route(at(1), at(kind), now);
            now = now.after_nanos(300_000_000);
            node.on_deadline(now);
            while node.poll().is_some() {}
        }
    }
}
