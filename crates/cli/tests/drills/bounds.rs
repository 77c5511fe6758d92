//! More than there is room for, and clients that vanish.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::control::Command;
use lasthop_gateway::listing::Query;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, echo, open, soon};

pub fn with_room_for_eight_connections_fifty_complete() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let daemon = Daemon::start(&site.gateway, "[bounds]\nflows = 8\n");
    echo(&site, 50, 300_000);
    assert!(daemon.count("/engine/connections") <= 8);
    assert!(daemon.count("/engine/counters/passed/table_full") > 0, "{}", daemon.status());
    assert_eq!(daemon.count("/lost"), 0);
}

/// Many connections that nobody answers.
pub fn twenty_thousand_syns_stay_within_the_bound_and_a_connection_goes_on() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    // No host is there: each SYN is forwarded, and nobody says no.
    site.server.ip(&["neigh replace 10.77.1.9 lladdr 02:00:00:00:00:09 dev eth"]).expect("a neighbour");
    site.gateway.ip(&["neigh replace 10.77.1.9 lladdr 02:00:00:00:00:09 dev core"]).expect("a neighbour");
    let daemon = Daemon::start(&site.gateway, "[bounds]\nflows = 1_000\n[idle]\nopening = \"1 s\"\n");
    let pulse = Pulse::start(&site);
    thread::sleep(Duration::from_millis(200));
    let resident = daemon.resident();
    let before = daemon.received();
    let began = Instant::now();
    site.client
        .enter(|| {
            for number in 0..20_000_u32 {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
                let socket = socket.expect("a socket");
                let to = std::net::SocketAddr::from(([10, 77, 1, 9], 1_000 + (number % 50_000) as u16));
                // It is under way.
                let _ = connect(&socket, &to);
                set_socket_linger(&socket, Some(Duration::ZERO)).expect("an option");
            }
        })
        .expect("enter");
    soon(|| {
        let came = daemon.received() - before;
        if came >= 20_000 { Ok(()) } else { Err(format!("only {came}")) }
    });
    eprintln!(
        "20,000 SYNs in {:?}; resident {resident} kB before, {} kB after; {} connections",
        began.elapsed(),
        daemon.resident(),
        daemon.count("/engine/connections")
    );
    assert!(daemon.count("/engine/connections") <= 1_000);
    assert!(daemon.resident() < resident + 4_000);
    pulse.assert_it_goes_on();
    let beats = pulse.end();
    eprintln!("meanwhile: {beats:?}");
    soon(|| match daemon.count("/engine/connections") {
        0..=1 => Ok(()),
        more => Err(format!("{more} connections")),
    });
}

pub fn a_client_that_vanishes_is_forgotten_with_all_that_was_held_for_it() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let idle = "[idle]\nopening = \"1 s\"\nestablished = \"1 s\"\nhalf-closed = \"1 s\"\nclosing = \"1 s\"\ngrace = \"100 ms\"\n";
    let daemon = Daemon::start(&site.gateway, idle);
    let flows =
        || daemon.ask(&Command::Flows(Query::default())).expect("it runs").as_array().expect("a list").len();
    let (client, server) = open(&site).expect("the server is reachable");
    let ends = [
        thread::spawn(move || {
            server.set_write_timeout(Some(Duration::from_millis(300))).expect("a timeout");
            let _ = io::copy(&mut io::repeat(7), &mut &server);
            server
        }),
        thread::spawn(move || {
            client.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
            let _ = io::copy(&mut &client, &mut io::sink());
            client
        }),
    ];
    thread::sleep(Duration::from_millis(300));
    assert_eq!(flows(), 1);
    site.client.ip(&["link set eth down"]).expect("it is there");
    let ends = ends.map(|end| end.join().expect("it is well"));
    // The sender's own attempts become rare, until there is a second without one.
    soon(|| {
        let held = daemon.count("/engine/held");
        if (flows(), held) == (0, 0) { Ok(()) } else { Err(format!("{} flows, {held} held", flows())) }
    });
    assert_eq!(daemon.count("/engine/connections"), 0);
    drop(ends);
}
