use std::net::Ipv6Addr;
use std::time::Duration;

use lasthop_peering::Fingerprint;

use super::*;
use crate::client::Client;
use crate::entry::{AccessPoint, LeaseId};

fn frame_length(event: Event) -> u64 {
    let mut octets = Vec::new();
    push_frame(&mut octets, &(u64::MAX, event)).expect("it can be written");
    octets.len() as u64
}

#[test]
fn no_frame_is_larger_than_the_limits_say() {
    let limits = Limits { name_octets: 255, ..Limits::default() };
    let name = "n".repeat(255);
    let address = (Ipv6Addr::from([0xff; 16]), u16::MAX).into();
    let joined = Event::Joined {
        access_point: AccessPoint::new(&name, address).with_key(Fingerprint::new([0xff; 32])),
        duration: Duration::MAX,
    };
    assert!(frame_length(joined) <= limits.largest_record());
    let client = Client::new(&[0xff; 32]).expect("a key");
    let claimed = Event::Claimed { client, lease: LeaseId::new(u64::MAX) };
    assert!(frame_length(claimed) <= Limits::CLAIM);
    assert!(frame_length(Event::Released(client)) <= Limits::RECORD);
    assert!(frame_length(Event::Ended(LeaseId::new(u64::MAX))) <= Limits::RECORD);
    let start = Start { revision: u64::MAX, records: u64::MAX };
    let mut octets = MAGIC.to_vec();
    push_frame(&mut octets, &start).expect("it can be written");
    assert!(octets.len() as u64 <= Limits::RECORD);
}

#[test]
fn octets_that_are_all_zero_are_no_frame() {
    assert_eq!(Frames { octets: &[0; 64], at: 0 }.peek(), None);
}
