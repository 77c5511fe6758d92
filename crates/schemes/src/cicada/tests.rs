//! Two hosts with a CICADA agent between them, over channels that lose, duplicate, delay and
//! reorder.
//!
//! | module | contents |
//! |---|---|
//! | `world` | the hosts, the agents, the channels, and time |
//! | `end`, `application` | a host's connection, and when its application writes, reads and closes |
//! | `channel` | the fate of a packet between two nodes |
//! | `seat` | an agent, and the actions of a world on it |
//! | `watch`, `ranges` | an independent check of an agent's reports and packets |
//! | `drawn` | random values of all of these, for proptest |
//! | `transfers`, `deeds`, `forgeries` | the properties |
//! | `scripts`, `bench` | single rules |
//! | `rest` | states of which a part follows |
//! | `urgent` | urgent data |
//! | `presence` | hosts that are gone |
//! | `published` | the windows and duplicate ACKs of the paper |
//! | `changed` | exported states with changed octets |
//! | `memory`, `flood` | an agent's memory under any input |
//!
//! `PROPTEST_CASES=20000 cargo test -p lasthop-schemes --lib cicada::tests` runs more cases of each
//! property.

mod application;
mod bench;
mod changed;
mod channel;
mod code_points;
mod deeds;
mod drawn;
mod end;
mod flood;
mod forgeries;
mod memory;
mod passed_by;
mod presence;
mod published;
mod ranges;
mod real_cost;
mod rest;
mod scripts;
mod seat;
mod shared;
mod timestamps;
mod transfers;
mod urgent;
mod watch;
mod world;

/// Settings of a property: `PROPTEST_CASES` cases if that is set, else `cases`.
fn cases(cases: u32) -> proptest::prelude::ProptestConfig {
    let mut settings = proptest::prelude::ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        settings.cases = cases;
    }
    settings
}
