//! Power save in 802.11 cells.

use std::time::Duration;

use lasthop_sim::QueueLimit;

use super::{error, read};

/// A cell; tests add a table of power save, whose keys begin in line 16.
const CELL: &str = r#"[nodes.server]
kind = "host"
[nodes.ap]
kind = "router"
[nodes.phone]
kind = "host"
count = 2
[nodes.laptop]
kind = "host"
[links.wire]
between = ["server", "ap"]
rate = "10 Mbit/s"
[flows.download]
from = "server"
to = "laptop"
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["phone", "laptop"]
[tcp]
segment = "1460 B"
[wlans.cell.power-save]
"#;

fn with(keys: &str) -> String {
    format!("{CELL}{keys}\n")
}

#[test]
fn all_stations_except_the_access_point_doze_by_default() {
    let scenario = read(&with("")).expect("a right scenario");
    let power_save = scenario.wlans[0].power_save.as_ref().expect("there is a table");
    assert_eq!(power_save.stations, [1, 2, 3]);
    let config = &power_save.config;
    assert_eq!(config.beacon_interval, Duration::from_micros(102_400));
    assert_eq!((config.dtim_period, config.listen_interval, config.receive_dtims), (1, 1, false));
    assert_eq!((config.buffer, config.ageing), (QueueLimit::Packets(64), Duration::from_secs(10)));
    let without = CELL.replace("[wlans.cell.power-save]\n", "");
    assert!(read(&without).expect("a right scenario").wlans[0].power_save.is_none());
}

#[test]
fn every_parameter_is_a_key() {
    let keys = r#"beacon-interval = "50 ms"
dtim-period = 3
stations = ["phone"]
listen-interval = 2
receive-dtims = true
buffer = "20 packets"
ageing = "1 s""#;
    let scenario = read(&with(keys)).expect("a right scenario");
    let power_save = scenario.wlans[0].power_save.as_ref().expect("there is a table");
    assert_eq!(power_save.stations, [1, 2], "a group is written out");
    let config = &power_save.config;
    assert_eq!(config.beacon_interval, Duration::from_millis(50));
    assert_eq!((config.dtim_period, config.listen_interval, config.receive_dtims), (3, 2, true));
    assert_eq!((config.buffer, config.ageing), (QueueLimit::Packets(20), Duration::from_secs(1)));
}

#[test]
fn errors_name_the_key_and_what_was_expected() {
    let line = CELL.lines().count() + 1;
    for (keys, key, says) in [
        ("beacon-interval = \"1 ms\"", "beacon-interval", "5 ms"),
        ("beacon-interval = \"2 min\"", "beacon-interval", "5 ms to"),
        ("dtim-period = 0", "dtim-period", "1 to 255"),
        ("listen-interval = 70000", "listen-interval", "1 to 65535"),
        ("buffer = \"0 packets\"", "buffer", "room for a packet"),
        ("ageing = \"2 h\"", "ageing", "1 h"),
        ("stations = [\"server\"]", "stations[0]", "not a station of this cell"),
        ("stations = [\"laptop\", \"ap\"]", "stations[1]", "never dozes"),
        ("stations = [\"laptop\", \"laptop\"]", "stations[1]", "twice"),
    ] {
        let error = error(&with(keys));
        assert!(error.starts_with(&format!("x.toml:{line}: wlans.cell.power-save.{key}: ")), "{error}");
        assert!(error.contains(says), "expected {says:?} in: {error}");
    }
    let error = error(&with("beacons = 1"));
    assert!(error.starts_with(&format!("x.toml:{line}: ")) && error.contains("beacons"), "{error}");
}

#[test]
fn power_save_requires_an_access_point() {
    let ad_hoc = with("").replace("access-point = \"ap\"\nstations = [", "stations = [\"ap\", ");
    let error = error(&ad_hoc);
    assert!(
        error.contains("wlans.cell.power-save: ") && error.contains("requires an `access-point`"),
        "{error}"
    );
}
