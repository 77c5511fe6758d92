//! A law for every agent of the catalogue: over a hop whose way back has room for few ACKs, a download takes
//! about as long as without an agent. What is sent to a host must not have it send more of them.

use lasthop_schemes::Scheme;
use lasthop_schemes::catalogue::CATALOGUE;

use super::world::{Device, Trouble, World};

#[test]
fn a_download_over_a_hop_with_a_narrow_way_back_takes_no_longer() {
    // 0.1 to 0.5 Mbit/s.
    for rate in [12_500, 25_000, 62_500] {
        let time = |scheme: Option<&Scheme>| {
            let devices = vec![Device::new(0, Trouble::None, 0, 10_000_000)];
            World::new(scheme, devices).with_way_back(rate).last_download()
        };
        let without = time(None).expect("it ends");
        for scheme in CATALOGUE {
            let with = time(Some(scheme));
            assert!(
                with.is_some_and(|with| with <= without.mul_f64(1.25)),
                "{}, {rate} octets a second back: {with:?} instead of {without:?}",
                scheme.name
            );
        }
    }
}
