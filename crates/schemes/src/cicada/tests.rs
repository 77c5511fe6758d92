//! Two hosts with a CICADA agent between them, over channels that lose, double, delay and reorder.
//!
//! | module | what is in it |
//! |---|---|
//! | `world` | the hosts, the agents, the channels, and time |
//! | `end`, `application` | a host's connection, and what is written, read and closed there, and when |
//! | `channel` | what becomes of a packet between two nodes |
//! | `seat` | an agent, and all that a world does to it |
//! | `watch`, `ranges` | what an agent says and does, held against what it has seen |
//! | `drawn` | all of these, drawn by proptest |
//! | `transfers`, `deeds`, `forgeries` | the properties |
//! | `scripts`, `bench` | rules, one by one |
//! | `urgent` | marks in the stream |
//! | `presence` | hosts that are gone |
//! | `published` | the windows and duplicate ACKs of the paper |
//! | `changed` | states whose octets were changed on the way |
//! | `memory`, `flood` | what an agent takes, whatever comes |
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
