//! Snoop where it helps and where it does harm, in scenarios of this repository.

use std::path::{Path, PathBuf};

use lasthop_lab::progress::Silent;
use lasthop_lab::{Comparison, compare};
use lasthop_scenario::{Overrides, Scenario, Sweep, file};

fn scenarios(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(name)
}

/// Mean goodput of each row in Mbit/s, over three seeds.
fn goodputs(mut scenario: Scenario) -> Vec<f64> {
    scenario.seeds.truncate(3);
    let Comparison { rows, .. } = compare(&scenario, &Silent).expect("it runs");
    rows.iter().map(|row| row.goodput_bps.mean / 1e6).collect()
}

/// ns-2 has about 1.1 and 0.4 Mbit/s for Reno alone, and at least 1.8 and 1.4 with Snoop.
#[test]
fn snoop_holds_the_goodput_of_ns_2_under_uniform_loss() {
    let sweep =
        Sweep::read(&scenarios("snoop-uniform-loss.sweep.toml"), &Overrides::default()).expect("ours");
    let points: Vec<_> = sweep.points().collect::<Result<_, _>>().expect("a good sweep");
    let expected = [("1", 1.0..1.3, 1.8), ("5", 0.35..0.45, 1.4)];
    assert_eq!(points.len(), expected.len());
    for (index, (scenario, (loss, alone, min))) in points.into_iter().zip(expected).enumerate() {
        assert_eq!(sweep.values(index), [loss]);
        let [none, snoop] = goodputs(scenario)[..] else { panic!("two rows") };
        assert!(alone.contains(&none), "Reno alone at {loss}%: {none} Mbit/s");
        assert!(snoop >= min, "Snoop at {loss}%: {snoop} Mbit/s");
    }
}

#[test]
fn snoop_does_harm_on_a_short_path_with_very_high_loss_except_with_a_quick_timer() {
    let scenario = file::read(&scenarios("snoop-harm.toml"), &Overrides::default()).expect("ours");
    let [none, snoop, quick, _today] = goodputs(scenario)[..] else { panic!("four rows") };
    assert!(snoop < 0.9 * none && quick > none, "{none}, {snoop}, {quick} Mbit/s");
}

/// The purpose of the settings for today's TCP: nearly the full rate of the hop at any loss rate,
/// and no cost without loss.
#[test]
fn snoop_for_todays_tcp_holds_the_rate_of_a_lossy_hop() {
    let sweep = Sweep::read(&scenarios("snoop-today.sweep.toml"), &Overrides::default()).expect("ours");
    let points: Vec<_> = sweep.points().collect::<Result<_, _>>().expect("a good sweep");
    let min = [("0", 19.0), ("1", 18.5), ("3", 18.0), ("5", 17.5)];
    assert_eq!(points.len(), min.len());
    for (index, (scenario, (loss, min))) in points.into_iter().zip(min).enumerate() {
        assert_eq!(sweep.values(index), [loss]);
        let rows = goodputs(scenario);
        let (none, today) = (rows[0], rows[rows.len() - 1]);
        assert!(today >= min && today > 0.99 * none, "at {loss}%: {none} alone, {today} Mbit/s with Snoop");
    }
}
