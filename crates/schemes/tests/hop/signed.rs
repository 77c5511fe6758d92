//! An invariant of every agent in the catalog: hosts that sign their segments, as with TCP-AO
//! (RFC 5925), get their data as soon as without an agent, since no agent edits, cuts or generates
//! packets that it cannot sign.

use std::time::Duration;

use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::CATALOG;

use super::world::{Device, Trouble, World};

#[test]
fn signed_data_arrives_as_soon_as_without_an_agent() {
    // Losses on the hop are left to the sender.
    for trouble in [Trouble::None, Trouble::Loses(2)] {
        let time = |scheme: Option<&Scheme>| {
            let devices = vec![Device::new(0, trouble, 0, 3_000_000)];
            World::new(scheme, devices).signed().last_download()
        };
        let without = time(None).expect("it ends");
        for scheme in CATALOG {
            let with = time(Some(scheme));
            assert!(
                with.is_some_and(|with| with <= without.mul_f64(1.1) + Duration::from_millis(100)),
                "{}, {trouble:?}: {with:?} instead of {without:?}",
                scheme.name
            );
        }
    }
}
