//! The counters of a run, by name.

use std::collections::BTreeMap;

use lasthop_aodv::AodvCounters;
use lasthop_scenario::Built;
use lasthop_sim::DropCause;

const IN_TRANSIT: &str = "packets_in_transit";
const HELD_BY_AGENTS: &str = "packets_held_by_agents";
/// Counters of the present state, not of events since the start.
pub(super) const LEVELS: [&str; 2] = [IN_TRANSIT, HELD_BY_AGENTS];

/// All counters of a world.
pub(super) fn counters(built: &Built) -> BTreeMap<String, u64> {
    let world = &built.world;
    let accounts = world.accounts();
    let packets = [
        ("packets_originated", accounts.originated),
        ("packets_consumed", accounts.consumed),
        ("packets_absorbed", accounts.absorbed),
        (IN_TRANSIT, accounts.in_transit),
        (HELD_BY_AGENTS, world.held_by_agents()),
    ];
    let aodv = world.aodv_counters();
    let marked = world.packets_marked().map(|marked| ("packets_marked_ce", marked));
    let faults = [
        ("packets_duplicated", accounts.duplicated),
        ("packets_corrupted", accounts.corrupted),
        ("packets_unselected", accounts.unselected),
        ("connections_reset", accounts.connections_reset),
        ("connections_refused", accounts.connections_refused),
    ];
    let faults = faults.into_iter().filter(|(_, count)| *count > 0);
    let broadcasts = [("packets_broadcast", accounts.broadcast), ("broadcasts_heard", accounts.heard)];
    let counters = world.counters();
    let counted = counters.iter().chain(world.reported().iter());
    let counted = counted.chain(aodv.iter().flat_map(AodvCounters::iter));
    let counted =
        counted.map(|(counter, count)| (counter.name, count)).chain(packets).chain(marked).chain(faults);
    let counted = counted.chain(aodv.iter().flat_map(|_| broadcasts));
    let name = |cause: DropCause| match cause {
        DropCause::Agent(reason) => reason.name.to_owned(),
        _ => format!("dropped_{}", cause.name().replace(' ', "_")),
    };
    let dropped = accounts.dropped.iter().map(|(cause, count)| (name(*cause), *count));
    counted.map(|(name, count)| (name.to_owned(), count)).chain(dropped).collect()
}
