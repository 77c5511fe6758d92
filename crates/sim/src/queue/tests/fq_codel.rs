//! FQ-CoDel's scheduler (RFC 8290, section 4).

use std::time::Duration;

use lasthop_packet::{Ecn, Instant};

use super::support::{Left, Site, datagram, ms};
use crate::accounts::DropCause;
use crate::packets::{PacketKey, Packets};
use crate::queue::{CoDelConfig, Discipline, FqCoDel, FqCoDelConfig, Pushed, QueueLimit, Rules, Waiting};

/// Whose CoDel never drops.
fn patient() -> FqCoDelConfig {
    let codel = CoDelConfig { target: Duration::from_secs(1000), ..CoDelConfig::default() };
    FqCoDelConfig { codel, ..FqCoDelConfig::default() }
}

fn site(config: FqCoDelConfig) -> Site {
    Site::new(Discipline::FqCoDel(config), QueueLimit::Packets(10_240))
}

fn put(site: &mut Site, flow: u16, len: u32) -> Pushed {
    site.push(flow, len, Ecn::NotEct, Instant::ZERO)
}

fn order(site: &mut Site) -> Vec<u16> {
    std::iter::from_fn(|| site.pop(Instant::ZERO)).map(|Left { flow, .. }| flow).collect()
}

// RFC 8290, section 4.2: new queues first; one that has used up its quantum gets another one, and goes
// to the end of the old ones.
#[test]
fn a_new_flow_goes_first_for_one_quantum_and_then_takes_turns() {
    let mut site = site(patient());
    for flow in [1, 1, 1, 1, 1, 2, 2, 2, 2, 2] {
        put(&mut site, flow, 1000);
    }
    // A quantum of 1514: two packets of 1000, and it owes 486; so are two the next time, and it owes
    // 972; one the time after.
    assert_eq!(order(&mut site), [1, 1, 2, 2, 1, 1, 2, 2, 1, 2]);
}

#[test]
fn a_sparse_flow_passes_those_that_stand() {
    let mut site = site(patient());
    for _ in 0..20 {
        put(&mut site, 1, 1500);
        put(&mut site, 2, 1500);
    }
    for _ in 0..6 {
        site.pop(Instant::ZERO);
    }
    for _ in 0..5 {
        put(&mut site, 3, 200);
        assert_eq!(site.pop(Instant::ZERO).map(|left| left.flow), Some(3));
        let others = [site.pop(Instant::ZERO), site.pop(Instant::ZERO)].map(|left| left.map(|l| l.flow));
        assert!(others.contains(&Some(1)) && others.contains(&Some(2)), "{others:?}");
    }
}

//= RFC 8290, section 4.2: if the queue selected for dequeue came from the list of new queues, it is
//= moved to the end of the list of old queues.
#[test]
fn a_flow_that_comes_again_before_its_turn_is_over_is_not_new_again() {
    let mut site = site(patient());
    for _ in 0..10 {
        put(&mut site, 1, 1500);
    }
    site.pop(Instant::ZERO);
    site.pop(Instant::ZERO);
    put(&mut site, 2, 1500);
    assert_eq!(site.pop(Instant::ZERO).map(|left| left.flow), Some(2));
    // Its queue is empty, and found so: it goes behind the other, and may not pass it again.
    assert_eq!(site.pop(Instant::ZERO).map(|left| left.flow), Some(1));
    put(&mut site, 2, 1500);
    put(&mut site, 2, 1500);
    let next: Vec<_> = (0..4).filter_map(|_| site.pop(Instant::ZERO)).map(|left| left.flow).collect();
    assert_eq!(next.iter().filter(|flow| **flow == 1).count(), 2, "{next:?}");
}

#[test]
fn flows_of_different_packets_get_the_same_octets() {
    let mut site = site(patient());
    for _ in 0..3000 {
        put(&mut site, 1, 1500);
        put(&mut site, 2, 300);
        put(&mut site, 2, 300);
        put(&mut site, 3, 700);
    }
    let mut octets = [0_i64; 4];
    for _ in 0..3000 {
        let left = site.pop(Instant::ZERO).expect("there are enough");
        octets[usize::from(left.flow)] += i64::from(left.len);
        // Deficit round robin: never further apart than a quantum and a packet each.
        let most = octets[1..].iter().max().expect("three");
        let least = octets[1..].iter().min().expect("three");
        assert!(most - least <= 2 * (1514 + 1500), "{octets:?}");
    }
}

// RFC 8290, section 4.1.3: over the limit, half of the longest queue is dropped from its head.
#[test]
fn over_the_limit_the_longest_flow_loses_half_from_its_head_and_64_packets_at_most() {
    let full = |longest: u64| {
        let mut site = Site::new(Discipline::FqCoDel(patient()), QueueLimit::Packets(longest + 10));
        for number in 0..longest {
            site.push(1, 1000, Ecn::NotEct, ms(number));
        }
        for _ in 0..10 {
            assert_eq!(put(&mut site, 2, 1000), Pushed::Waits);
        }
        assert_eq!(put(&mut site, 3, 1000), Pushed::Displaces);
        site
    };
    for (longest, dropped) in [(30, 15), (1000, 64)] {
        let mut site = full(longest);
        assert_eq!(site.dropped(), vec![(1, DropCause::QueueFull); dropped]);
        let first = site.pop(ms(2000)).expect("it is not empty");
        assert_eq!((first.flow, first.since), (1, ms(dropped as u64)), "the oldest have gone");
    }
}

#[test]
fn memory_is_limited_by_what_buffers_take() {
    let config = FqCoDelConfig { memory_limit: 100 * 2304, ..patient() };
    let mut site = site(config);
    let admitted = (0..1000).take_while(|_| put(&mut site, 1, 1500) == Pushed::Waits).count();
    // As the packets are counted in a gateway: a buffer of its own for each.
    let buffer = lasthop_packet::buffer::buffer_of(1500);
    assert_eq!(admitted, 100 * 2304 / buffer);
    assert_eq!(site.dropped().len(), (admitted + 1).div_ceil(2));
}

// RFC 8290, section 4.2: each queue has a CoDel state of its own.
#[test]
fn only_the_flow_that_stands_is_dropped_from() {
    let mut site = site(FqCoDelConfig::default());
    for now in 0..3000 {
        if now % 2 == 0 {
            site.push(1, 1000, Ecn::NotEct, ms(now));
            site.push(1, 1000, Ecn::NotEct, ms(now));
            site.push(1, 1000, Ecn::NotEct, ms(now));
        }
        if now % 10 == 0 {
            site.push(2, 200, Ecn::NotEct, ms(now));
        }
        let left = site.pop(ms(now)).expect("it is overloaded");
        if left.flow == 2 {
            assert!(ms(now).since(left.since) <= Duration::from_millis(3), "{left:?}");
        }
    }
    let dropped = site.dropped();
    assert!(dropped.len() > 20 && dropped.iter().all(|(flow, _)| *flow == 1));
}

/// Packets of flows with these numbers for a tin of queues under mac80211's rules.
fn put_for(queue: &mut FqCoDel, packets: &mut Packets, tin: usize, flows: &[u16]) -> Vec<PacketKey> {
    let put = |(number, flow): (u64, &u16)| {
        let key = datagram(packets, *flow);
        let waiting = Waiting { key, len: 1_000, since: ms(number) };
        queue.push(tin, waiting, packets.packet(key));
        key
    };
    (0..).zip(flows).map(put).collect()
}

fn mac80211(flows: u32) -> FqCoDel {
    FqCoDel::new(FqCoDelConfig { flows, ..patient() }, Rules::Mac80211, 2, 7)
}

fn next(queue: &mut FqCoDel, tin: usize) -> Option<PacketKey> {
    queue.pop(tin, ms(1_000), |_| false, |_| {}).map(|leaving| leaving.waiting.key)
}

// `fq_flow_classify`: a flow queue that belongs to one tin is not used by another.
#[test]
fn tins_share_flow_queues_and_not_packets() {
    let (mut queue, mut packets) = (mac80211(1), Packets::default());
    let of_first = put_for(&mut queue, &mut packets, 0, &[1, 2]);
    let of_second = put_for(&mut queue, &mut packets, 1, &[3, 4]);
    assert_eq!((queue.size(), queue.has_packets(0), queue.has_packets(1)), ((4, 4_000), true, true));
    let leaving: Vec<_> = std::iter::from_fn(|| next(&mut queue, 1)).collect();
    assert_eq!((leaving, queue.has_packets(1)), (of_second, false));
    let leaving: Vec<_> = std::iter::from_fn(|| next(&mut queue, 0)).collect();
    assert_eq!((leaving, queue.size()), (of_first, (0, 0)));
}

// `fq_flow_drop`: half of the packets of the longest flow queue, and 32 at most; one at least.
#[test]
fn over_the_limit_mac80211_drops_half_of_the_longest_queue() {
    for (before, dropped) in [(1, 1), (3, 1), (10, 5), (200, 32)] {
        let (mut queue, mut packets) = (mac80211(1_024), Packets::default());
        put_for(&mut queue, &mut packets, 0, &[1]);
        let keys = put_for(&mut queue, &mut packets, 1, &vec![2; before]);
        let mut gone = Vec::new();
        queue.drop_from_longest(|lost| gone.push(lost.key));
        let is_longest = before > 1;
        assert_eq!(gone.len(), dropped, "of {before}");
        assert!(!is_longest || gone == keys[..dropped]);
        assert_eq!(queue.size().0, 1 + before - dropped);
    }
}

#[test]
fn packets_that_are_withdrawn_leave_the_others_in_their_order() {
    let (mut queue, mut packets) = (mac80211(1_024), Packets::default());
    let keys = put_for(&mut queue, &mut packets, 0, &[1, 2, 1, 2]);
    let gone = queue.withdraw(|key| key == keys[0] || key == keys[3]);
    assert_eq!(gone.iter().map(|waiting| waiting.key).collect::<Vec<_>>(), [keys[0], keys[3]]);
    assert_eq!(queue.size(), (2, 2_000));
    assert_eq!(
        [next(&mut queue, 0), next(&mut queue, 0), next(&mut queue, 0)],
        [Some(keys[2]), Some(keys[1]), None]
    );
}
