//! The division of stations that move and are tuned, against a division from scratch.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_packet::{Instant, Rng};
use proptest::prelude::*;

use super::domain::Audience;
use super::*;
use crate::{MacConfig, PhyConfig, Standard, TwoRayGround};

/// A station with its place and its channel.
type Station = (u32, (f64, f64), Option<u16>);

#[derive(Clone, Debug)]
struct Case {
    propagation: Propagation,
    capture: Option<Capture>,
    stations: Vec<((f64, f64), Option<u16>)>,
    /// Batches of changes: station, its place and its channel, and whether it moves (else it is tuned).
    changes: Vec<Vec<(Station, bool)>>,
}

fn case() -> impl Strategy<Value = Case> {
    let propagation = prop_oneof![
        Just(Propagation::Everywhere),
        Just(Propagation::Ranges { reception: 100.0, carrier_sense: 100.0 }),
        Just(Propagation::Ranges { reception: 100.0, carrier_sense: 220.0 }),
        Just(Propagation::TwoRayGround(TwoRayGround::WAVELAN)),
    ];
    // Few places, so that several stations hear the same others.
    let place = || (0_u32..8, 0_u32..4).prop_map(|(x, y)| (f64::from(x) * 70.0, f64::from(y) * 70.0));
    let channel = || prop_oneof![3 => Just(Some(0)), 2 => Just(Some(1)), 1 => Just(None)];
    let capture = proptest::option::weighted(0.2, Just(Capture { threshold: 10.0, later_frames: false }));
    let change = ((0_u32..24, place(), channel()), any::<bool>());
    (
        propagation,
        capture,
        proptest::collection::vec((place(), channel()), 2..24),
        proptest::collection::vec(proptest::collection::vec(change, 1..6), 1..12),
    )
        .prop_map(|(propagation, capture, stations, changes)| Case {
            propagation,
            capture,
            stations,
            changes,
        })
}

fn position((x, y): (f64, f64)) -> Position {
    Position::new(x, y)
}

fn medium(case: &Case) -> (Medium, Vec<Contender>) {
    let (phy, mac) = (PhyConfig::new(Standard::HrDsss), MacConfig::new(Standard::HrDsss));
    let times = Times {
        slot: 20_000,
        sifs: 10_000,
        difs: 50_000,
        eifs: 364_000,
        txop: 0,
        timeout: 300_000,
        carrier_sense_delay: 20_000,
        nav_reset: None,
    };
    let mut medium = Medium::new(times, case.propagation, case.capture, true);
    let contender = |config: &StationConfig| Contender::new(config, &phy, &mac, Rng::named(1, "test"));
    let mut contenders = Vec::new();
    for (place, channel) in &case.stations {
        let (position, channel) = (position(*place), channel.map(Channel));
        let config = StationConfig { position, channel, ..StationConfig::default() };
        medium.add(&config);
        contenders.push(contender(&config));
    }
    (medium, contenders)
}

/// Stations that a station hears, and whether it decodes them.
type Heard = BTreeSet<(u32, bool)>;

/// What each station hears.
fn heard_by_all(case: &Case) -> Vec<Heard> {
    let all = || case.stations.iter().enumerate();
    let hears = |(at, to): (usize, &((f64, f64), Option<u16>)), (from, sender): (usize, _)| {
        let &(place, channel): &((f64, f64), Option<u16>) = sender;
        let is_shared = channel.is_some() && channel == to.1;
        let decodes = at == from || is_shared && case.propagation.reaches(position(place), position(to.0));
        let senses = decodes || is_shared && case.propagation.senses(position(place), position(to.0));
        senses.then_some((from as u32, decodes))
    };
    all().map(|to| all().filter_map(|from| hears(to, from)).collect()).collect()
}

/// The members of each domain, in order.
fn divided(medium: &Medium) -> BTreeSet<Vec<u32>> {
    (0..medium.domains() as u32).map(|domain| medium.members(domain).to_vec()).collect()
}

fn check(case: &Case, medium: &Medium, kin: &[u32]) -> Result<(), TestCaseError> {
    let heard = heard_by_all(case);
    let mut scratch: BTreeMap<(&Heard, u32), Vec<u32>> = BTreeMap::new();
    for (station, heard) in heard.iter().enumerate() {
        scratch.entry((heard, kin[station])).or_default().push(station as u32);
    }
    prop_assert_eq!(divided(medium), scratch.into_values().collect::<BTreeSet<_>>());
    for (station, heard) in heard.iter().enumerate() {
        let home = medium.home(station as u32);
        prop_assert!(medium.members(home).contains(&(station as u32)));
        let audience = medium.domains[home as usize].audience();
        prop_assert!(audience.is_sorted_by_key(|audience| audience.domain));
        let members = |it: &Audience| {
            let decodes = it.decodes;
            medium.members(it.domain).iter().map(|member| (*member, decodes)).collect::<Vec<_>>()
        };
        prop_assert_eq!(&audience.iter().flat_map(members).collect::<Heard>(), heard);
        // Off the air nobody contends; all others do, since nobody transmits.
        let is_on_air = case.stations[station].1.is_some();
        prop_assert_eq!(!medium.domains[home as usize].contention().is_busy(), is_on_air);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_division_after_changes_is_the_one_from_scratch(mut case in case()) {
        let (mut medium, mut contenders) = medium(&case);
        medium.divide();
        let first: Vec<u32> = (0..case.stations.len() as u32).collect();
        // Without capture, all stations may share a domain at first.
        let kin = if case.capture.is_some() { first } else { vec![0; case.stations.len()] };
        check(&case, &medium, &kin)?;
        for (step, batch) in case.changes.clone().into_iter().enumerate() {
            let homes: Vec<u32> = (0..case.stations.len() as u32).map(|station| medium.home(station)).collect();
            let before = heard_by_all(&case);
            let (mut moved, mut tuned) = (BTreeSet::new(), BTreeSet::new());
            for ((station, place, channel), moves) in batch {
                let index = station as usize % case.stations.len();
                if moves {
                    moved.insert(index);
                    case.stations[index].0 = place;
                    medium.move_to(index as u32, position(place));
                } else {
                    tuned.insert(index);
                    case.stations[index].1 = channel;
                    medium.tune(index as u32, channel.map(Channel));
                }
            }
            medium.divide_anew(Instant::from_millis(1 + step as u64), &mut contenders);
            let after = heard_by_all(&case);
            // Those that have shared a domain so far may, unless they hear others than before.
            let leaves = |it: &usize| tuned.contains(it) || moved.contains(it) && before[*it] != after[*it];
            let kin = |(index, home): (usize, &u32)| if leaves(&index) { 1_000 + index as u32 } else { *home };
            let kin: Vec<u32> = homes.iter().enumerate().map(kin).collect();
            check(&case, &medium, &kin)?;
        }
    }
}
