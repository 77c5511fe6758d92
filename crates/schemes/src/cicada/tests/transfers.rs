//! Transfers end as they would without an agent.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::drawn;
use super::world::{Opener, Scene, World};

/// Rare: the same cases in each run, enough of them.
#[test]
fn an_agent_with_obligations_has_a_running_timer() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let settings = ProptestConfig { cases: 12_000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(settings, rng);
    let result = runner.run(&drawn::scene(1), |scene| World::new(&scene).run().map(drop));
    assert!(result.is_ok(), "{}", result.expect_err("a fault"));
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn a_plain_connection_passes_the_same_tests(scene in drawn::scene(0)) {
        let mut world = World::new(&scene);
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn everything_arrives_once_and_in_order_and_both_ends_close(scene in drawn::scene(1)) {
        let mut world = World::new(&scene);
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn a_path_with_a_smaller_mtu_works(
        scene in prop_oneof![drawn::narrow_scene(0), drawn::narrow_scene(1), drawn::narrow_scene(2)],
    ) {
        let mut world = World::new(&scene);
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn two_agents_in_a_row_do_no_harm(scene in drawn::scene(2)) {
        let mut world = World::new(&scene);
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn simultaneous_open_is_left_alone(scene in drawn::scene(1)) {
        let mut world = World::new(&Scene { opener: Opener::Both, ..scene });
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn after_an_abort_no_closed_stream_lacks_octets(
        scene in drawn::aborting_scene(),
    ) {
        World::new(&scene).run()?;
    }
}
