//! Refined ICMP with a wireless link that is not the last hop of a download (thesis, section 5.5.4;
//! issue "works in the middle of the path, too"). In each network two consecutive segments of a
//! window of four are lost, which costs unmodified TCP a time-out.

mod bench;

use bench::{Run, TempDir};

const SIMULATOR: &str = "simulator {
    system_simulation_time = 30000
    print_interval = 1000
    read_from_trace = 2
}
";

fn source(component: &str, id: u32, sink: u32) -> String {
    format!(
        "{component} {{\n node_id = {id}\n dest_id = {sink}\n num_of_pkts_to_send = 60\n pkt_size = 1024\n recv_wnd_size = 4\n}}\n"
    )
}

fn sink(component: &str, id: u32) -> String {
    format!("{component} {{\n node_id = {id}\n}}\n")
}

fn base_station(id: u32) -> String {
    format!("base_station {{\n node_id = {id}\n buffer_size = 512000\n processing_delay = 0\n}}\n")
}

fn wired(id: u32, (first, second): (u32, u32)) -> String {
    format!(
        "wired_link {{\n link_id = {id}\n bandwidth = 8000000\n latency = 85\n node_id1 = {first}\n node_id2 = {second}\n \
         loss_probability = 0\n random_seed = 1\n}}\n"
    )
}

fn wireless(id: u32, (first, second): (u32, u32)) -> String {
    format!(
        "wireless_link {{\n link_id = {id}\n bandwidth = 1000000\n latency = 1\n node_id1 = {first}\n node_id2 = {second}\n \
         mean_exp_distrib_good_state = 5\n mean_exp_distrib_bad_state = 0\n random_seed = 2\n}}\n"
    )
}

fn runs(network: &[String]) -> [Run; 3] {
    let lost = 20 * 1024;
    let directory = TempDir::new()
        .with("datafile.dat", format!("{SIMULATOR}{}", network.concat()))
        .with("drops.dat", format!("{lost}\n{}\n", lost + 1024));
    ["none", "simple-icmp", "refined-icmp"]
        .map(|scheme| Run::from_path(&directory.path().join("datafile.dat"), scheme))
}

fn assert_refined_recovers_without_time_outs([unmodified, simple, refined]: &[Run; 3], notifier: &str) {
    assert_eq!(unmodified.sender().timeouts, 1);
    assert!(simple.sender().timeouts > 1, "section 5.4.3: one for each loss");
    let sender = refined.sender();
    assert_eq!((sender.timeouts, sender.scheme_retransmits, sender.retransmits), (0, 2, 2));
    assert!(refined.outcome.completion < unmodified.outcome.completion);
    let notices = refined.events("icmp");
    assert!(notices.contains(&format!(
        "{} icmp at {notifier} sent ICMP-RETRANSMIT",
        clock_of(&notices, "sent ICMP-RETRANSMIT")
    )));
}

fn clock_of(events: &[String], what: &str) -> String {
    let event = events.iter().find(|event| event.contains(what)).expect("it happened");
    event.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn a_wireless_link_in_the_middle_of_the_path_works_as_one_at_its_end() {
    let runs = runs(&[
        source("wired_source_node", 1, 4),
        base_station(2),
        base_station(3),
        sink("wired_sink_node", 4),
        wired(101, (1, 2)),
        wireless(102, (2, 3)),
        wired(103, (3, 4)),
    ]);
    assert_refined_recovers_without_time_outs(&runs, "2");
}

#[test]
fn a_sending_wireless_host_receives_messages_about_its_losses() {
    let runs = runs(&[
        source("wireless_source_node", 1, 3),
        base_station(2),
        sink("wired_sink_node", 3),
        wireless(101, (1, 2)),
        wired(102, (2, 3)),
    ]);
    assert_refined_recovers_without_time_outs(&runs, "1");
}
