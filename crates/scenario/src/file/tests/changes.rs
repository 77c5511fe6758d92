//! Changes of links at given times.

use std::time::Duration;

use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{Capacity, Delay, Order};

use super::{GOOD, error, read};
use crate::model::{Link, Scenario};

/// `GOOD` with these changes.
fn with(changes: &str) -> String {
    format!("{GOOD}{changes}")
}

fn good(changes: &str) -> Scenario {
    read(&with(changes)).unwrap_or_else(|error| panic!("{error}"))
}

/// The changes of a valid scenario for its world: seconds, index of the link, direction, and
/// change.
fn planned(scenario: &Scenario, without_loss: bool) -> Vec<(u64, usize, LinkDirection, Change)> {
    let links = scenario.build(&scenario.schemes[0], 1).expect("it can run").links;
    let planned = scenario.planned_changes(&links, without_loss).into_iter();
    let index = |link| links.iter().position(|other| *other == link).expect("it is one of them");
    planned
        .map(|change| (change.at.as_millis() / 1000, index(change.link), change.way, change.change))
        .collect()
}

const SPIKE: &str = r#"
[[changes]]
at = "5 s"
set = { "links.wire.delay" = "6 s" }
[[changes]]
at = "11 s"
set = { "links.wire.delay" = "170 ms", "links.wire.order" = "overtake" }
"#;

#[test]
fn a_delay_spike_becomes_two_changes_of_both_directions() {
    let planned = planned(&good(SPIKE), false);
    let delays: Vec<_> = planned
        .iter()
        .map(|(at, link, way, change)| match change {
            Change::Delay(delay) => {
                (*at, *link, *way, delay.constant().expect("constant").as_millis(), delay.order)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let (kept, overtake) = (Order::Kept, Order::Overtake);
    let (forward, backward) = (LinkDirection::Forward, LinkDirection::Backward);
    let expected = [
        (5, 0, forward, 6_000, kept),
        (5, 0, backward, 6_000, kept),
        (11, 0, forward, 170, overtake),
        (11, 0, backward, 170, overtake),
    ];
    assert_eq!(delays, expected);
}

#[test]
fn changes_accumulate_in_order_of_time_not_of_the_file() {
    let changes = r#"
[[changes]]
at = "9 s"
set = { "links.wire.forward.rate" = "1 Mbit/s", "links.wire.loss" = "1%" }
[[changes]]
at = "3 s"
set = { "links.wire.rate" = "5 Mbit/s", "links.wire.delay" = "7 ms" }
"#;
    let scenario = good(changes);
    let times: Vec<_> = scenario.changes.iter().map(|change| (change.at.as_secs(), change.link)).collect();
    assert_eq!(times, [(3, 0), (9, 0)]);
    let Link::Wired(config) = &scenario.changes[1].model.link else { panic!("it is wired") };
    let rate = |capacity: &Capacity| match capacity {
        Capacity::Fixed(rate) => rate.as_bps(),
        Capacity::Trace(_) | Capacity::Stalled => 0,
    };
    assert_eq!([&config.forward, &config.backward].map(|way| rate(&way.capacity)), [1_000_000, 5_000_000]);
    assert_eq!(config.forward.delay, Delay::from(Duration::from_millis(7)));
    let times: Vec<_> = planned(&scenario, false).iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [3, 3, 3, 3, 9, 9, 9], "rates and delays; a rate and two losses");
    assert_eq!(planned(&scenario, true).len(), 5, "a row without loss stays so");
}

#[test]
fn a_change_of_a_link_also_replaces_values_of_its_directions() {
    let changes = r#"
[[changes]]
at = "3 s"
set = { "links.wire.forward.rate" = "5 Mbit/s" }
[[changes]]
at = "9 s"
set = { "links.wire.rate" = "1 Mbit/s" }
"#;
    let scenario = good(changes);
    let Link::Wired(config) = &scenario.changes[1].model.link else { panic!("it is wired") };
    assert_eq!(config.forward.capacity, config.backward.capacity);
    let times: Vec<_> = planned(&scenario, false).iter().map(|(at, _, way, _)| (*at, *way)).collect();
    assert_eq!(
        times,
        [(3, LinkDirection::Forward), (9, LinkDirection::Forward), (9, LinkDirection::Backward)]
    );
}

#[test]
fn within_one_change_values_of_directions_take_precedence() {
    for way in ["forward", "backward"] {
        let changes = format!(
            "[[changes]]\nat = \"3 s\"\n\
             set = {{ \"links.wire.{way}.delay\" = \"50 ms\", \"links.wire.delay\" = \"5 ms\", \
             \"links.wire.rate\" = \"1 Mbit/s\", \"links.wire.{way}.rate\" = \"2 Mbit/s\" }}\n"
        );
        let scenario = good(&changes);
        let Link::Wired(config) = &scenario.changes[0].model.link else { panic!("it is wired") };
        let [own, other] = if way == "forward" {
            [&config.forward, &config.backward]
        } else {
            [&config.backward, &config.forward]
        };
        for (direction, delay, rate) in [(own, 50, 2_000_000), (other, 5, 1_000_000)] {
            assert_eq!(direction.delay, Delay::from(Duration::from_millis(delay)), "{way}");
            let Capacity::Fixed(capacity) = &direction.capacity else { panic!("it is fixed") };
            assert_eq!(capacity.as_bps(), rate, "{way}");
        }
    }
}

#[test]
fn a_change_takes_effect_at_its_time() {
    let goodput = |changes: &str| {
        let scenario = good(changes);
        let mut built = scenario.build(&scenario.schemes[0], 1).expect("it can run");
        built.world.run(lasthop_packet::Instant::from_secs(20), false);
        assert!(built.world.accounts().balance());
        built.world.outcome(built.flows[0]).octets
    };
    let slower =
        |at: &str| format!("[[changes]]\nat = \"{at}\"\nset = {{ \"links.wire.rate\" = \"50 kbit/s\" }}\n");
    let (never, late, early) = (goodput(""), goodput(&slower("10 s")), goodput(&slower("1 s")));
    assert!(early * 3 < late && late * 5 < never * 4, "{early} {late} {never}");
    assert_eq!(goodput(&slower("20.1 s")), never);
}

#[test]
fn the_error_about_a_change_has_its_place_and_the_expected_value() {
    let set = |set: &str| with(&format!("[[changes]]\nat = \"5 s\"\nset = {{ {set} }}\n"));
    for (keys, place, says) in [
        (
            "\"links.moon.delay\" = \"6 s\"",
            "27: changes[0].set.\"links.moon.delay\"",
            "unknown name \"moon\" in links",
        ),
        ("\"air.delay\" = \"6 s\"", "27: changes[0].set.\"air.delay\"", "expected links.NAME.KEY"),
        ("\"links.air\" = \"6 s\"", "27: changes[0].set.\"links.air\"", "no key; expected links.air.KEY"),
        (
            "\"links.air.link-layer\" = \"none\"",
            "27: changes[0].set.\"links.air.link-layer\"",
            "one of: rate, delay",
        ),
        ("\"links.air.between\" = []", "27: changes[0].set.\"links.air.between\"", "cannot be changed"),
        ("\"links.wire.delay\" = \"6\"", "27: links.wire.delay", "with the changes up to 5 s: "),
        ("\"links.wire.delay\" = 6", "27: links.wire.delay", "or a table with a distribution"),
        ("\"links.wire.delay.min\" = \"6 ms\"", "27: links.wire.delay", "expected a `distribution`"),
        ("\"links.wire.jitter\" = \"6 ms\"", "27: links.wire.jitter", "at most the delay, 0 s"),
        (
            "\"links.air.jitter\" = \"0 s\", \"links.air.order\" = \"overtake\"",
            "27: links.air.order",
            "with acknowledgments",
        ),
        (
            "\"links.wire.queue\" = \"codel\"",
            "27: changes[0].set",
            "link \"wire\": the discipline of a queue",
        ),
        ("\"links.wire.channel.good.mean\" = \"1 s\"", "27: links.wire.channel", "wired"),
    ] {
        let error = error(&set(keys));
        assert!(error.starts_with(&format!("x.toml:{place}: ")), "{keys}: expected {place} in: {error}");
        assert!(error.contains(says), "{keys}: expected {says:?} in: {error}");
    }
    for (changes, place, says) in [
        ("[[changes]]\nset = {}\n", "25: changes[0].at", "missing"),
        ("[[changes]]\nat = \"-1 s\"\nset = {}\n", "26: changes[0].at", "a duration"),
        ("[[changes]]\nat = \"1 s\"\n", "25: changes[0].set", "missing"),
        ("[[changes]]\nat = \"1 s\"\nset = {}\n[[changes]]\nset = {}\n", "28: changes[1].at", "missing"),
        ("[[changes]]\nat = \"1 s\"\nset = {}\nfor = 1\n", "28: changes[0].for", "expected"),
        (
            "[[changes]]\nat = \"every 15 s\"\nset = {}\n",
            "26: changes[0].at",
            "how long does it last? expected a length, such as \"every 15 s for 1 s\"",
        ),
        (
            &"[[changes]]\nat = \"1 s for 1 s\"\nset = { \"links.wire.loss\" = \"1%\" }\n".repeat(101),
            "326: changes[100].at",
            "more than 100 changes of a link that end again",
        ),
        (
            "[[changes]]\nat = \"every 1 s for 100 ms\"\nset = { \"links.wire.order\" = \"overtake\" }\n\
             [[changes]]\nat = \"5 s\"\nset = { \"links.wire.delay\" = \"10 ms\" }\n",
            "27: changes[0].set",
            "order of link \"wire\" is changed for a time, and delay by another change",
        ),
        (
            "[[changes]]\nat = \"every 1 s for 100 ms\"\nset = { \"links.wire.channel.good.mean\" = \"1 s\" }\n",
            "27: links.wire.channel",
            "with this change: ",
        ),
        (&"[[changes]]\nat = \"1 s\"\nset = {}\n".repeat(10_001), "25: changes", "at most 10000"),
    ] {
        let error = error(&with(changes));
        assert!(error.starts_with(&format!("x.toml:{place}: ")), "expected {place} in: {error}");
        assert!(error.contains(says), "expected {says:?} in: {error}");
    }
}

#[test]
fn a_change_after_the_end_of_the_run_is_refused() {
    let at = |at: &str| {
        let set = "set = { \"links.wire.delay\" = \"7 ms\" }";
        format!("duration = \"20 s\"\n{}", with(&format!("[[changes]]\nat = \"{at}\"\n{set}\n")))
    };
    assert!(read(&at("19.9 s")).is_ok());
    let unsaid = at("15 min").replacen("duration = \"20 s\"\n", "", 1);
    assert!(error(&unsaid).contains("15 min: the run ends at 10 min"), "the default");
    // A trial has its own duration, and an emulation needs none.
    assert!(read(&format!("{unsaid}[try]\n")).is_ok());
    assert!(
        read(&unsaid.replacen("\"host\"", "\"external\"", 2).replacen(
            "[flows.download]\nfrom = \"server\"\nto = \"phone\"\n",
            "",
            1
        ))
        .is_ok()
    );
    for late in ["20 s", "25 s"] {
        let expected =
            format!("x.toml:27: changes[0].at: {late}: the run ends at 20 s; expected a time before its end");
        assert_eq!(error(&at(late)), expected);
    }
}

#[test]
fn a_link_of_a_cell_does_not_change() {
    let cell = GOOD.replace(
        "[links.air]\nkind = \"wireless\"\nbetween = [\"ap\", \"phone\"]\nrate = \"2 Mbit/s\"\nlink-layer = { kind = \"stop-and-wait\" }\n[links.air.channel]\ngood = { mean = \"5 s\" }\nbad = { mean = \"1 s\" }\n",
        "[wlans.air]\nstandard = \"802.11b\"\naccess-point = \"ap\"\nstations = [\"phone\"]\n",
    );
    assert!(read(&cell).is_ok());
    let change = "[[changes]]\nat = \"1 s\"\nset = { \"links.air.phone.rate\" = \"1 Mbit/s\" }\n";
    assert!(error(&format!("{cell}{change}")).contains("unknown name \"air\" in links"));
}

#[test]
fn a_rate_of_zero_stalls_a_link() {
    let at = |rate: &str| {
        let set = format!("set = {{ \"links.wire.rate\" = \"{rate}\", \"links.air.rate\" = \"{rate}\" }}");
        with(&format!("[[changes]]\nat = \"5 s\"\n{set}\n"))
    };
    for zero in ["0", "0 Mbit/s", "0.0kbit", "00 bps"] {
        let planned = planned(&read(&at(zero)).unwrap_or_else(|error| panic!("{error}")), false);
        assert_eq!(planned.len(), 4, "{zero}");
        for (.., change) in planned {
            assert!(matches!(change, Change::Capacity(Capacity::Stalled)), "{zero}: {change:?}");
        }
    }
    // A command line has no quotes.
    assert!(read(&at("0").replace("\"0\"", "0")).is_ok());
    for (wrong, says) in [
        ("0 parsec", "is not a rate"),
        ("-0", "is not a rate"),
        ("0.5 bit/s", "is not a rate"),
        ("", "is not a rate"),
        ("2000 Gbit/s", "too fast"),
    ] {
        let error = error(&at(wrong));
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn changes_that_end_again_affect_only_the_directions_and_properties_that_they_set() {
    let changes = r#"
[[changes]]
at = "every 15 s for 1 s"
set = { "links.wire.loss" = "100%", "links.air.backward.rate" = "0" }
[[changes]]
at = "2 s for 1 s"
set = { "links.air.channel.bad.loss" = "0%" }
"#;
    let scenario = good(changes);
    assert!(scenario.changes.is_empty());
    let links = scenario.build(&scenario.schemes[0], 1).expect("it can run").links;
    let planned_with = |without_loss| {
        let planned = scenario.planned_intervals(&links, without_loss).into_iter();
        let index = |link| links.iter().position(|other| *other == link).expect("it is one of them");
        let one = |planned: lasthop_sim::world::PlannedInterval| {
            let kind = match planned.within {
                Change::Loss(_) => "loss",
                Change::Capacity(Capacity::Stalled) => "stalled",
                Change::Capacity(_) => "rate",
                Change::Channel(_) => "channel",
                other => panic!("{other:?}"),
            };
            let period = planned.period.map(|period| period.as_secs());
            (index(planned.link), planned.way, kind, planned.first.as_millis() / 1000, period)
        };
        planned.map(one).collect::<Vec<_>>()
    };
    let (forward, backward) = (LinkDirection::Forward, LinkDirection::Backward);
    let mut all = planned_with(false);
    all.sort_by_key(|(link, way, kind, ..)| (*link, *kind, *way == backward));
    assert_eq!(
        all,
        [
            (0, forward, "loss", 15, Some(15)),
            (0, backward, "loss", 15, Some(15)),
            (1, forward, "channel", 2, None),
            (1, forward, "rate", 15, Some(15)),
            (1, backward, "stalled", 15, Some(15)),
        ]
    );
    assert_eq!(planned_with(true).len(), 2, "a row without loss stays so");
}
