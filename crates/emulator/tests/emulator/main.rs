//! The emulator between real hosts.

mod control;
mod hosts;
mod leftovers;
mod stream;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use lasthop_needs::{namespaces, tests};

use lasthop_emulator::Options;

use hosts::{Hosts, direction, world};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            tcp_through_a_lossy_hop_arrives_intact_over_ipv4_and_ipv6,
            control::a_link_is_changed_through_the_socket_while_packets_cross_it,
            control::a_value_set_after_a_planned_change_holds_until_the_next_one,
            control::no_change_is_made_if_the_world_refuses_a_later_one_of_the_request,
            control::a_stalled_run_is_not_trusted_and_does_not_catch_up_in_a_burst,
            control::incomplete_requests_do_not_delay_other_clients_and_are_closed,
            control::a_command_with_an_unknown_key_is_refused,
            leftovers::a_device_that_is_down_or_gone_loses_packets_and_nothing_else,
            leftovers::dropping_the_client_side_removes_all_its_traces,
            stream::delay_and_rate_are_those_asked_for_and_packets_stay_in_order,
            stream::packets_overtake_each_other_and_their_delays_are_those_of_the_distribution,
            stream::fates_of_frames_are_reported_to_agents_outside_the_world,
            stream::the_model_s_losses_are_the_only_ones_and_a_seed_repeats_them;
        [namespaces, iptables]:
            leftovers::the_next_start_removes_iptables_rules_of_killed_emulations;
    })
}

fn iptables() -> Result<(), String> {
    lasthop_needs::program("iptables")
}

/// Sends `octets` over a TCP connection from the far host to the near one, and returns the octets
/// received.
fn download(hosts: &Hosts, address: &'static str, octets: &[u8]) -> Vec<u8> {
    let listener = hosts.far.enter(|| TcpListener::bind(address).expect("a free port")).expect("enter");
    std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().expect("a connection").0.write_all(octets).expect("a reader"));
        let mut stream = hosts.near.enter(|| TcpStream::connect(address).expect("reachable")).expect("enter");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("a whole stream");
        received
    })
}

fn tcp_through_a_lossy_hop_arrives_intact_over_ipv4_and_ipv6() {
    let (world, ends, _) = world(1, &direction(50, 1.0), Duration::from_millis(2));
    let (hosts, emulator) = Hosts::around(world, ends, true);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let octets: Vec<u8> = (0..500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for address in ["192.0.2.2:5000", "[2001:db8::2]:5000"] {
        assert!(download(&hosts, address, &octets) == octets, "{address}");
    }
    let summary = running.stop().expect("it ran");
    assert!(summary.dropped["wired loss"] > 0 && summary.packets_refused == 0, "{summary:?}");
    assert_eq!(summary.lateness.count, summary.packets_handed_out);
}
