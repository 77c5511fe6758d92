//! The reproduction of the 1997 thesis, with fewer seeds than `lasthop reproduce goel` takes.

use lasthop_lab::goel::tables::{REFINED_TOLERANCE, measure, settings};
use lasthop_lab::progress::Silent;

#[test]
fn refined_icmp_improves_as_published() {
    let cells = measure(&settings(), &[1, 2, 3, 4, 5, 6], &Silent).expect("the thesis's network runs");
    let distances: Vec<f64> = cells
        .iter()
        .map(|cell| {
            let ours = cell.improvement(&cell.refined).expect("every transfer completes");
            let distance = (ours.mean - cell.setting.refined).abs();
            assert!(distance <= REFINED_TOLERANCE, "{:?}: {}", cell.setting, ours.mean);
            distance
        })
        .collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    assert!(mean <= 4.0, "{mean} points from the published improvements on average");
}

#[test]
fn simple_icmp_harms_where_the_thesis_says_so() {
    let harmful: Vec<_> = settings().into_iter().filter(|setting| setting.simple < -10.0).collect();
    for cell in measure(&harmful, &[1, 2, 3, 4, 5, 6], &Silent).expect("the thesis's network runs") {
        let ours = cell.improvement(&cell.simple).expect("every transfer completes");
        assert!(ours.mean < 0.0, "{:?}: {}", cell.setting, ours.mean);
    }
}
