//! Gateways that are killed.

use super::{goodput, wifi_downloads};

/// LLE-TCP owes what mac80211 still delivers; a split loses what it has acknowledged, and its connection.
pub(super) fn a_gateway_that_is_killed_corrupts_nothing_and_what_it_owed_is_counted() {
    let options = ["--set", "try.gateway-crash=4 s", "--set", "wlans.cell.errors={packet-error-rate='30%'}"];
    let runs = wifi_downloads("['none', 'lle-tcp', 'i-tcp']", &options);
    let [none, lle, split] = &runs[..] else { panic!("three rows: {runs:?}") };
    for run in &runs {
        assert_eq!((&run["intact"], &run["trusted"]), (&true.into(), &true.into()), "{run}");
    }
    let octets = |run: &serde_json::Value, key: &str| run["crash"][key].as_u64().expect("a count");
    let figures = |run| (octets(run, "owed_octets"), octets(run, "undelivered_octets"));
    println!("owed, undelivered: LLE-TCP {:?}, I-TCP {:?}", figures(lle), figures(split));
    assert!(none["crash"].is_null(), "there is no gateway: {none}");
    assert!(figures(lle).0 > 0, "it acknowledges ahead: {lle}");
    assert_eq!(figures(lle).1, 0, "all of it was in the driver's queue: {lle}");
    let (owed, undelivered) = figures(split);
    assert!(undelivered > 0 && undelivered <= owed, "{split}");
    // It had two of the four seconds that count.
    assert!((0.4..0.6).contains(&(goodput(split) / goodput(none))), "{split}");
}
