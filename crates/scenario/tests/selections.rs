//! Schemes on links that impair a part of the traffic.

use std::path::Path;

use lasthop_scenario::{Overrides, SchemeChoice, file};

const GOOD: &str = r#"
[nodes.server]
kind = "host"
[nodes.ap]
kind = "router"
[nodes.phone]
kind = "host"
[links.wire]
between = ["server", "ap"]
rate = "10 Mbit/s"
[links.air]
kind = "wireless"
between = ["ap", "phone"]
rate = "2 Mbit/s"
link-layer = { kind = "stop-and-wait" }
[flows.download]
from = "server"
to = "phone"
"#;

/// Otherwise an agent would wait for the fates of packets that cross the link without frames.
#[test]
fn a_scheme_that_requires_fates_is_refused_on_a_link_with_a_selection() {
    let with_only = |key: &str| GOOD.replacen("[links.air]", &format!("[links.air]\n{key}"), 1);
    let at_a_time = "[[changes]]\nat = \"1 s\"\nset = { \"links.air.except\" = \"udp\" }\n";
    let later = "[[changes]]\nat = \"1 s for 1 s\"\nset = { \"links.air.except\" = \"udp\" }\n";
    for (text, is_refused) in [
        (GOOD.to_owned(), false),
        (with_only("only = \"all\""), false),
        (with_only("only = \"tcp\""), true),
        (format!("{GOOD}{at_a_time}"), true),
        (format!("{GOOD}{later}"), true),
    ] {
        let scenario = file::parse(&text, "x.toml", Path::new("."), &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let fates = SchemeChoice::new("lle-tcp", toml::Table::new()).expect("a scheme");
        let none = SchemeChoice::new("none", toml::Table::new()).expect("a scheme");
        assert!(scenario.build(&none, 1).is_ok(), "{text}");
        let told = scenario.build(&fates, 1).map(drop).map_err(|error| error.to_string());
        let is_told =
            told.as_ref().is_err_and(|told| told.contains("the link impairs a part of the traffic"));
        assert_eq!(is_told, is_refused, "{told:?}: {text}");
    }
}
