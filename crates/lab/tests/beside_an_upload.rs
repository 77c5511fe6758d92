//! The effect of agents on a download whose ACKs wait behind an upload. `docs/src/schemes.md`,
//! asymmetric hops, has the figures, also of downloads that agents slow down.

use std::path::Path;

use lasthop_lab::progress::Silent;
use lasthop_lab::run;
use lasthop_scenario::{Overrides, file};

/// The throughput of a download in Mbit/s, without an agent and with each of three agents. The
/// uplink has `back` Mbit/s.
fn downloads(back: &str, loss: &str, congestion: &str) -> [f64; 4] {
    let settings = [
        format!("links.air.backward.rate=\"{back} Mbit/s\""),
        format!("links.air.loss=\"{loss}\""),
        format!("tcp.congestion=\"{congestion}\""),
        "duration=32 s".to_owned(),
        "schemes=[\"none\", \"snoop\", \"i-tcp\", \"cicada\"]".to_owned(),
    ];
    let overrides = Overrides { settings: settings.into(), ..Overrides::default() };
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/try.toml"));
    let scenario = file::read(path, &overrides).expect("ours");
    [0, 1, 2, 3].map(|place| {
        let summary = run(&scenario, &scenario.schemes[place], 1, &Silent).expect("it runs");
        assert_eq!(summary.flows[0].name, "download");
        summary.flows[0].goodput_bps / 1e6
    })
}

#[test]
fn acks_that_wait_behind_an_upload_do_not_reduce_the_local_window() {
    let [none, snoop, itcp, cicada] = downloads("0.5", "0%", "reno");
    assert!(snoop > none && itcp > none && cicada > 0.8 * none, "{none}, {snoop}, {itcp}, {cicada}");
    let [none, snoop, itcp, cicada] = downloads("0.2", "0%", "cubic");
    assert!(snoop > 0.9 * none && itcp > none && cicada > none, "{none}, {snoop}, {itcp}, {cicada}");
    let [none, snoop, itcp, cicada] = downloads("0.1", "0%", "cubic");
    assert!(snoop > 0.9 * none && itcp > 0.9 * none && cicada > none, "{none}, {snoop}, {itcp}, {cicada}");
}

#[test]
fn agents_help_a_download_with_late_acks_over_a_lossy_hop() {
    for congestion in ["cubic", "reno"] {
        let [none, snoop, itcp, cicada] = downloads("0.5", "1%", congestion);
        assert!(
            snoop > 2.0 * none && itcp > none && cicada > 2.0 * none,
            "{none}, {snoop}, {itcp}, {cicada}"
        );
    }
}
