//! `lasthop emulate` as its users meet it.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod changes;
mod commands;
mod leftovers;
mod machine;
mod services;
mod unprivileged;

use std::path::Path;
use std::process::{Command, ExitCode};

use lasthop_needs::{namespaces, tests};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces, unshare]:
            commands::the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows,
            commands::a_command_that_is_told_to_end_ends_and_says_by_which_signal,
            commands::a_signal_after_the_end_of_the_command_changes_nothing,
            commands::a_capture_that_cannot_be_written_leaves_the_summary_and_the_exit_code,
            changes::a_link_is_changed_from_behind_it,
            changes::a_change_is_typed_as_the_flags_are_and_shown_by_status,
            changes::a_user_who_is_not_root_cannot_have_root_open_files,
            changes::a_pipe_is_a_trace_at_the_start_and_refused_later,
            commands::what_cannot_be_is_told_with_the_right_exit_code,
            commands::a_command_runs_as_the_user_who_called_sudo,
            leftovers::what_a_command_leaves_running_ends_with_it,
            leftovers::nothing_runs_on_and_nothing_is_left_after_a_kill,
            leftovers::the_process_that_clears_up_holds_the_namespace_whose_processes_it_kills,
            leftovers::emulations_that_start_and_end_at_once_do_not_meet,
            leftovers::an_emulation_takes_no_address_that_this_machine_uses_or_reaches,
            leftovers::where_all_subnets_are_in_use_an_emulation_says_so,
            leftovers::the_addresses_of_ipv6_are_left_to_who_uses_them,
            leftovers::a_purge_of_the_package_leaves_emulations_alone,
            commands::a_quiet_emulation_says_nothing_of_its_own,
            commands::the_emulations_of_this_machine_are_listed;
        [namespaces, unshare, getent]:
            services::a_resolver_on_the_loopback_device_is_asked_through_the_hop;
        [namespaces, unshare, nft]:
            leftovers::forwarding_that_others_have_come_to_need_stays_on,
            leftovers::where_the_rules_cannot_be_listed_forwarding_stays_on_for_the_others;
        [namespaces, unshare, iptables]:
            leftovers::with_iptables_alone_forwarding_is_on_until_the_last_emulation_ends;
        [namespaces, unshare, fish]:
            commands::fish_shows_the_link_in_its_prompt;
        [namespaces, unshare, bash]:
            services::a_service_of_this_machine_is_reached_by_its_name_through_the_link_of_the_flags,
            services::a_service_on_the_loopback_device_is_reached_on_request,
            changes::a_change_of_the_flags_happens_at_its_time,
            changes::a_link_impairs_the_selected_service_alone_until_that_changes,
            changes::a_reset_ends_connections_at_both_ends_and_the_next_one_passes,
            changes::a_connection_that_opens_is_refused_while_another_one_goes_on,
            changes::a_download_is_reset_once_so_much_of_it_has_arrived,
            services::a_capture_has_each_packet_at_both_ends;
        [namespaces, unshare, user_namespaces, bash]:
            unprivileged::a_user_who_is_not_root_reaches_services_of_this_machine_through_a_relay,
            unprivileged::datagrams_reach_this_machine_and_beyond_as_connections_do,
            unprivileged::datagrams_that_nobody_takes_are_refused,
            unprivileged::what_the_command_has_sent_reaches_a_slow_service_after_its_end,
            unprivileged::what_listens_on_the_loopback_device_stays_out_of_a_user_s_reach_without_being_asked_for;
        [namespaces, unshare, user_namespaces, bash, nft_or_iptables]:
            unprivileged::a_user_who_is_not_root_reaches_other_hosts_by_tcp,
            unprivileged::root_behind_a_hop_cannot_send_to_the_loopback_device_of_this_machine,
            unprivileged::a_connection_that_the_other_host_refuses_is_reset;
        [namespaces, unshare, user_namespaces, python3]:
            unprivileged::a_guest_has_the_same_port_towards_all_its_peers;
        [namespaces, unshare, user_namespaces, getent]:
            unprivileged::any_resolver_of_this_machine_is_asked_for_a_user_who_is_not_root;
        [namespaces, unshare, user_namespaces]:
            unprivileged::an_emulation_of_a_user_is_listed_changed_and_cleared_up,
            unprivileged::an_emulation_behind_another_has_a_subnet_of_its_own,
            unprivileged::root_of_an_emulation_has_rights_behind_its_hop_and_nowhere_else,
            unprivileged::what_keeps_a_user_from_an_emulation_is_told_with_its_remedy,
            unprivileged::a_trial_needs_no_root;
    })
}

fn getent() -> Result<(), String> {
    lasthop_needs::program("getent")
}

/// One that every user may run.
fn python3() -> Result<(), String> {
    if Path::new("/usr/bin/python3").exists() { Ok(()) } else { Err("needs /usr/bin/python3".to_owned()) }
}

fn bash() -> Result<(), String> {
    lasthop_needs::program("bash")
}

fn iptables() -> Result<(), String> {
    lasthop_needs::program("iptables")
}

fn fish() -> Result<(), String> {
    lasthop_needs::program("fish")
}

fn unshare() -> Result<(), String> {
    lasthop_needs::program("unshare")
}

fn nft() -> Result<(), String> {
    lasthop_needs::program("nft")
}

fn nft_or_iptables() -> Result<(), String> {
    lasthop_needs::any_program(&["nft", "iptables"])
}

/// Needs a kernel in which users may have namespaces of their own.
fn user_namespaces() -> Result<(), String> {
    lasthop_needs::program("setpriv")?;
    let mut create = Command::new("setpriv");
    create.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "-Urn", "true"]);
    let created = create.output().is_ok_and(|output| output.status.success());
    if created { Ok(()) } else { Err("needs user namespaces for users".to_owned()) }
}
