//! Fault drills: what happens to other people's connections when something goes wrong with the
//! gateway.
//!
//! `cargo test -p lasthop-cli --test drills -- --nocapture` prints what was measured.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stderr, reason = "what was measured is said")]

mod bounds;
mod checks;
mod commands;
mod deaths;
mod frames;
#[path = "../hosts/mod.rs"]
mod hosts;
mod lists;
mod passive;
mod ports;
mod reload;
mod splits;
mod starts;
mod starved;

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hosts::translation;
use lasthop_needs::{namespaces, tests};
use starved::limited_real_time;

fn main() -> ExitCode {
    if starved::was_busy() {
        return ExitCode::SUCCESS;
    }
    lasthop_needs::run(tests! {
        [namespaces]:
            bounds::with_room_for_eight_connections_fifty_complete,
            bounds::twenty_thousand_syns_stay_within_the_bound_and_a_connection_goes_on,
            bounds::a_client_that_vanishes_is_forgotten_with_all_that_was_held_for_it,
            commands::a_trial_that_is_interrupted_or_killed_leaves_nothing,
            commands::a_trial_that_is_interrupted_prints_the_runs_that_are_done,
            commands::an_emulation_that_is_interrupted_leaves_nothing,
            commands::what_an_emulation_that_was_killed_leaves_is_cleared_away_by_the_next,
            deaths::connections_go_on_when_the_daemon_is_killed_and_nothing_is_left_of_it,
            deaths::connections_go_on_when_the_daemon_hangs_and_through_it_when_it_comes_to,
            deaths::a_daemon_with_real_time_scheduling_that_hangs_is_passed_by_like_any_other,
            deaths::a_hang_that_is_shorter_than_the_heartbeat_costs_nothing_but_time,
            deaths::with_the_tun_backend_connections_go_on_when_it_is_killed_and_the_next_one_clears_up,
            deaths::a_daemon_whose_log_cannot_be_written_runs_on_and_can_be_stopped,
            deaths::a_daemon_that_is_told_to_end_ends_well_and_another_starts_at_once,
            frames::frames_of_every_kind_arrive_unchanged_and_only_tcp_is_seen,
            frames::frames_of_every_kind_arrive_unchanged_through_a_passive_daemon,
            frames::garbage_arrives_unchanged_and_the_daemon_lives,
            lists::commands_show_what_clients_and_connections_carry_while_they_live,
            passive::a_passive_daemon_measures_the_losses_of_a_hop_and_touches_nothing,
            passive::the_gain_of_a_scheme_is_predicted_from_what_a_passive_daemon_measured,
            passive::a_passive_daemon_that_is_killed_costs_nothing_and_the_next_one_goes_on_in_the_middle,
            passive::a_passive_gateway_is_refused_with_the_backend_tun,
            ports::a_port_that_goes_down_and_up_again_costs_that_time,
            ports::a_radio_interface_that_vanishes_is_waited_for_and_taken_up_again,
            ports::a_core_interface_that_vanishes_does_not_end_the_daemon,
            ports::a_device_that_is_set_down_costs_that_time_and_is_told,
            reload::under_load_a_reload_loses_and_corrupts_nothing,
            splits::a_daemon_that_hangs_for_a_while_cuts_no_split_connection_off,
            splits::a_drained_stop_cuts_no_split_connection_off,
            splits::a_reload_cuts_no_split_connection_off,
            starts::a_second_gateway_on_a_port_is_refused_with_the_holder_and_the_first_sees_on,
            starts::gateways_on_different_ports_of_one_machine_leave_each_other_alone,
            starts::a_start_that_fails_at_any_step_is_not_announced_and_leaves_nothing,
            starts::a_start_that_runs_out_of_descriptors_at_any_step_leaves_nothing,
            starts::auto_falls_back_to_tun_and_says_so_where_no_address_is_translated,
            starts::what_a_killed_gateway_with_tun_left_is_removed_by_a_start_with_tc,
            checks::a_check_finds_a_machine_ready_and_changes_nothing,
            checks::a_check_as_json_has_a_grade_and_a_finding_for_each_check,
            checks::a_check_names_interfaces_that_are_missing_or_down,
            checks::a_check_tells_which_doors_cannot_be_opened,
            checks::a_check_tells_the_gateway_that_would_be_restarted_from_another_one,
            checks::a_check_tells_the_metrics_address_of_the_running_gateway_from_one_that_is_taken,
            checks::a_check_finds_gateways_on_interfaces_that_the_file_does_not_name,
            checks::a_check_counts_the_rules_that_tun_needs,
            checks::a_check_bounds_the_files_that_a_gateway_opens;
        [namespaces, nft]:
            starts::auto_does_not_fall_back_beside_nftables,
            starts::a_gateway_that_fell_back_to_tun_ends_when_addresses_are_translated_later;
        [namespaces, iptables_nft]: starts::auto_does_not_fall_back_beside_iptables_over_nftables;
        [namespaces, iptables_legacy]: starts::auto_does_not_fall_back_beside_iptables;
        [namespaces, limited_real_time]:
            starved::beside_a_starved_daemon_the_traffic_goes_on;
        [namespaces, translation]:
            commands::forwarding_that_a_killed_emulation_has_just_switched_on_is_off_after_the_next,
            deaths::behind_address_translation_connections_go_on_when_the_daemon_is_killed,
            deaths::behind_address_translation_connections_go_on_when_the_daemon_hangs,
            deaths::behind_address_translation_a_daemon_that_is_told_to_end_ends_well;
        [namespaces, setpriv]:
            commands::without_root_each_command_says_what_it_needs,
            checks::a_check_without_root_says_which_checks_it_could_not_make,
            checks::a_check_without_root_does_not_take_the_running_gateway_for_another_one,
            checks::a_check_tells_a_missing_privilege_from_a_missing_feature_of_the_kernel;
    })
}

fn nft() -> Result<(), String> {
    lasthop_needs::program("nft")
}

fn iptables_nft() -> Result<(), String> {
    lasthop_needs::program("iptables-nft")
}

fn iptables_legacy() -> Result<(), String> {
    lasthop_needs::program("iptables-legacy")
}

fn setpriv() -> Result<(), String> {
    lasthop_needs::program("setpriv")
}

/// One drill at a time: what they measure is time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A drill that failed is no reason for the next one to.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
