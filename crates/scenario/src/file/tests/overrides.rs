//! Keys with values from the command line.

use std::path::Path;

use super::GOOD;
use crate::Scenario;
use crate::file::{FileError, Overrides, parse};

fn with(settings: &[&str]) -> Result<Scenario, FileError> {
    let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    parse(GOOD, "x.toml", Path::new("."), &Overrides { settings, ..Overrides::default() })
}

#[test]
fn a_setting_overrides_the_files_value_and_needs_no_quotes() {
    let scenario =
        with(&["duration=7 s", "seeds=[4, 5]", "try.congestion=[\"reno\", \"bbr\"]"]).expect("good");
    assert_eq!(scenario.duration.as_secs(), 7);
    assert_eq!(scenario.seeds, [4, 5]);
    assert_eq!(scenario.trial.congestion, ["reno", "bbr"]);
    assert_eq!(with(&["duration=7 s", "duration = \"8 s\""]).expect("good").duration.as_secs(), 8);
}

#[test]
fn the_error_about_a_setting_names_it() {
    for (setting, problem) in [
        ("duration", "a key and a value with ="),
        ("duration=soon", "--set"),
        ("links.nonesuch.loss=3%", "unknown name \"nonesuch\" in links"),
        ("=3", "--set"),
        ("duration=\"1 s\"\nlinks.air.loss=\"100%\"", "sets several keys"),
        ("links.air.loss=\"1%\"\nlinks.air.rate=\"1 Mbit/s\"", "sets several keys"),
        ("try.settle=1 h", "less than try.duration"),
        ("try.duration=0 s", "out of range"),
        ("try.congestion=[]", "expected 1 to"),
        ("try.flows=\"both\"", "\"one-by-one\""),
        ("try.congestion=[\"../x\"]", "congestion control"),
        ("try.sysctl={ \"ipv4..x\" = \"1\" }", "below net."),
        ("try.kernels.serve=6.1", "unknown node \"serve\" (did you mean \"server\"?)"),
        ("try.kernels.server=", "the path of a kernel"),
    ] {
        let error = with(&[setting]).expect_err(setting).to_string();
        assert!(error.contains(problem), "{setting}: {error}");
    }
}

#[test]
fn the_version_of_a_kernel_needs_no_quotes_although_it_looks_like_a_number() {
    let kernels = |settings: &[&str]| with(settings).expect("good").trial.kernels;
    assert!(kernels(&[]).is_empty());
    let of_one = |node: &str, kernel: &str| {
        let node = with(&[]).expect("good").nodes.iter().position(|known| known.name == node);
        [(node.expect("a node"), kernel.to_owned())].into()
    };
    assert_eq!(kernels(&["try.kernels.server=6.10"]), of_one("server", "6.10"));
    assert_eq!(kernels(&["try.kernels.server=\"6.1\""]), of_one("server", "6.1"));
    assert_eq!(kernels(&["try.kernels={ server = \"./linux\" }"]), of_one("server", "./linux"));
    assert!(with(&["try.kernels={ server = 6.10 }"]).is_err(), "it may be 6.1");
}

#[test]
fn flows_together_use_their_own_congestion_control_by_default() {
    let alone = with(&[]).expect("good").trial;
    assert_eq!((alone.together, &alone.congestion[..]), (false, &["cubic".to_owned()][..]));
    let together = with(&["try.flows=together"]).expect("good").trial;
    assert!(together.together && together.congestion.is_empty());
    let given = with(&["try.flows=together", "try.congestion=[\"bbr\"]"]).expect("good").trial;
    assert_eq!(given.congestion, ["bbr"]);
}

#[test]
fn the_error_about_a_setting_has_the_full_key_and_the_allowed_values() {
    const CELL: &str = r#"[nodes.ap]
kind = "host"
[nodes.phone]
kind = "host"
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["phone"]
[flows.up]
from = "phone"
to = "ap"
"#;
    for (setting, key, expected) in [
        // The table is not in the file.
        ("wlans.cell.power-save.ageing=5", "wlans.cell.power-save.ageing", "expected a duration"),
        (
            "wlans.cell.power-save.age=\"5 s\"",
            "wlans.cell.power-save.age",
            "expected one of `beacon-interval`",
        ),
        ("wlans.cell.power-save={ ageing = 5 }", "wlans.cell.power-save.ageing", "expected a duration"),
        (
            "wlans.cell.power-save={ stations = [\"ap\"], ageing = 5 }",
            "wlans.cell.power-save.ageing",
            "duration",
        ),
        ("wlans.cell.except.phone.rate=5", "wlans.cell.except.phone.rate", "expected a rate"),
        ("wlans.cell.except.phone.queue=\"0 packets\"", "wlans.cell.except.phone.queue", "room for a packet"),
        ("wlans.cell.queue=\"0 B\"", "wlans.cell.queue", "room for a packet"),
        ("wlans.cell.stations.1=phone", "wlans.cell.stations.1", "is a list of length 1; expected the index"),
        ("wlans.cell.stations.0=nonesuch", "wlans.cell.stations[0]", "nonesuch"),
        ("flows.up.tcp.window=5", "flows.up.tcp.window", "expected a window"),
        ("try.sysctl.x=5", "try.sysctl.x", "expected a string"),
        // The table is there.
        ("wlans.cell.standard=802.11x", "wlans.cell.standard", "expected one of"),
        ("links.web.rate=5", "links.web.rate", "unknown name \"web\" in links; expected one of: none"),
        ("flows.down.to=ap", "flows.down.to", "unknown name \"down\" in flows; expected one of: up"),
        ("wlans.cell.standard.x=1", "wlans.cell.standard.x", "\"standard\" is not a table"),
    ] {
        let overrides = Overrides { settings: vec![setting.to_owned()], ..Overrides::default() };
        let error = parse(CELL, "x.toml", Path::new("."), &overrides).expect_err(setting);
        assert_eq!((error.file, error.key.as_str()), (format!("--set {setting}"), key), "{setting}");
        assert!(error.problem.contains(expected), "{setting}: {}", error.problem);
    }
}

#[test]
fn an_element_of_a_list_is_set_by_its_number() {
    let scenario = with(&["seeds=[1, 2]", "seeds.1=7"]).expect("good");
    assert_eq!(scenario.seeds, [1, 7]);
}
