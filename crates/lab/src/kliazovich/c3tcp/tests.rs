//! Claims that hold with few runs.

use super::*;
use crate::progress::Silent;
use crate::reproduce::Reference;

fn find<'a>(rows: &'a [Row], metric: &str, scheme: &str) -> &'a Row {
    rows.iter().find(|row| row.metric == metric && row.scheme == scheme).expect("there is such a row")
}

#[test]
fn the_stations_measure_what_the_path_carries_and_queues_stay_short() {
    let rows = string::rows(2, &Silent).expect("it runs");
    let bandwidth: Vec<_> = rows.iter().filter(|row| row.item == "figure 4.11").collect();
    assert_eq!(bandwidth.len(), 2);
    for row in bandwidth {
        assert!(row.measured.is_some_and(|ratio| (0.8..1.2).contains(&ratio)), "{row:?}");
    }
    // Without cross traffic, a window that is not smoothed leaves them as they are with TCP.
    let has_cross_traffic = |row: &&Row| row.parameters.get("cross_traffic").is_none_or(|with| with == true);
    for row in rows.iter().filter(|row| row.item == "figure 4.12").filter(has_cross_traffic) {
        assert!(row.agrees, "{row:?}");
    }
    assert!(find(&rows, "longest queue of N2 with cross traffic", "c3tcp").agrees);
}

#[test]
fn the_two_flows_of_the_grid_share_what_the_text_says_within_a_fifth() {
    let rows = grid::rows(2, &Silent).expect("it runs");
    for row in rows.iter().filter(|row| row.scheme == "tcp") {
        let Reference::Number(published) = row.published else { panic!("{row:?}") };
        assert!(row.measured.is_some_and(|ours| (ours / published - 1.0).abs() < 0.2), "{row:?}");
    }
}
