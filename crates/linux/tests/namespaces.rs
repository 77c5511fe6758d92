//! Private hosts.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use lasthop_needs::{namespaces, tests};

use lasthop_linux::conntrack::{Conntrack, Entry, Protocol, Status, TcpEnd, TcpState, Tuple};
use lasthop_linux::namespace::Namespace;
use lasthop_linux::neighbours::{Neighbour, Neighbours};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            two_hosts_are_connected_by_a_wire_that_no_other_host_sees,
            a_connection_is_created_with_its_translation_and_removed,
            the_hosts_on_a_link_are_known_by_both_addresses;
    })
}

fn two_hosts_are_connected_by_a_wire_that_no_other_host_sees() {
    let (left, right) = (Namespace::new("left").expect("root"), Namespace::new("right").expect("root"));
    left.ip(&[
        &format!("link add wire type veth peer name wire netns {}", right.path()),
        "address add 10.77.0.1/24 dev wire",
        "link set wire up",
    ])
    .expect("veth");
    right.ip(&["address add 10.77.0.2/24 dev wire", "link set wire up"]).expect("veth");
    left.sysctl("ipv4/ip_forward", "1").expect("sysctl");

    let listener = right.enter(|| TcpListener::bind("10.77.0.2:5000")).expect("enter").expect("bind");
    left.enter(|| TcpStream::connect("10.77.0.2:5000")).expect("enter").expect("reachable");
    drop(listener);
    assert!(TcpListener::bind("10.77.0.2:5000").is_err(), "the address is not ours");
    let error = left.ip(&["link set nonesuch up"]).expect_err("there is none").to_string();
    assert!(error.contains("left") && error.contains("nonesuch"), "{error}");
}

fn a_connection_is_created_with_its_translation_and_removed() {
    let host = Namespace::new("router").expect("root");
    // The socket belongs to the namespace, whoever uses it.
    let mut table = host.enter(Conntrack::open).expect("enter").expect("a socket");
    let end = |address: [u8; 4], port| SocketAddrV4::new(address.into(), port);
    let client = |port| end([10, 77, 2, 2], port);
    let (server, outside) = (end([192, 0, 2, 9], 443), end([192, 0, 2, 1], 1024));
    let original = Tuple { protocol: Protocol::Tcp, source: client(40_000), destination: server };
    let of_end = |window_scale| TcpEnd { window_scale, flags: TcpEnd::LASTING };
    let entry = Entry {
        original,
        reply: Tuple { destination: outside, ..original.reversed() },
        status: Status { is_answered: true, is_assured: true },
        timeout: Duration::from_secs(1000),
        mark: 7,
        tcp: Some(TcpState { state: 3, ends: [of_end(7), of_end(9)] }),
    };
    table.create(&entry).expect("it is new");
    let without_time = |entry: Entry| Entry { timeout: Duration::ZERO, ..entry };
    let found = table.with_original(&original).expect("an answer").expect("it is there");
    assert_eq!(without_time(found), without_time(entry));
    assert!((990..=1000).contains(&found.timeout.as_secs()), "{found:?}");

    // Two connections cannot have the same outside end.
    let second = Entry { original: Tuple { source: client(40_001), ..original }, ..entry };
    for taken in [entry, second] {
        assert_eq!(table.create(&taken).expect_err("it is taken").kind(), ErrorKind::AlreadyExists);
    }
    let reply = Tuple { destination: end([192, 0, 2, 1], 1025), ..entry.reply };
    table.create(&Entry { reply, ..second }).expect("another port is free");
    let udp = Tuple { protocol: Protocol::Udp, source: client(50_000), destination: server };
    let udp = Entry { original: udp, reply: udp.reversed(), tcp: None, ..entry };
    table.create(&udp).expect("it is new");
    let other = Tuple { source: end([10, 77, 2, 3], 40_000), ..original };
    table.create(&Entry { original: other, reply: other.reversed(), ..entry }).expect("it is new");

    let mut listed = table.opened_by(*client(0).ip()).expect("a list");
    listed.sort_by_key(|entry| entry.original);
    assert_eq!(
        listed.iter().map(Entry::outside).collect::<Vec<_>>(),
        [Some(outside), Some(reply.destination), None]
    );
    assert!(table.delete(&original).expect("an answer") && !table.delete(&original).expect("an answer"));
    assert!(table.delete_by_reply(&reply).expect("an answer"));
    assert_eq!(table.opened_by(*client(0).ip()).expect("a list").len(), 1);
    assert_eq!(table.with_original(&original).expect("an answer"), None);
}

fn the_hosts_on_a_link_are_known_by_both_addresses() {
    let (left, right) = (Namespace::new("left").expect("root"), Namespace::new("right").expect("root"));
    let mac = [2, 0, 0, 0, 0, 7];
    left.ip(&[
        &format!("link add wire type veth peer name wire netns {}", right.path()),
        "address add 10.77.0.1/24 dev wire",
        "link set wire up",
    ])
    .expect("veth");
    right
        .ip(&["link set wire address 02:00:00:00:00:07 up", "address add 10.77.0.2/24 dev wire"])
        .expect("veth");
    let mut table = left.enter(Neighbours::open).expect("enter").expect("a socket");
    let ip = Ipv4Addr::new(10, 77, 0, 2);
    assert_eq!(table.list().expect("a list"), []);
    let listener = right.enter(|| TcpListener::bind("10.77.0.2:5000")).expect("enter").expect("bind");
    left.enter(|| TcpStream::connect("10.77.0.2:5000")).expect("enter").expect("reachable");
    // Nobody has this address.
    let socket = left.enter(|| UdpSocket::bind("10.77.0.1:0")).expect("enter").expect("bind");
    socket.send_to(b"?", "10.77.0.3:9").expect("it is queued");
    drop(listener);
    assert_eq!(table.list().expect("a list"), [Neighbour { ip, mac, is_stale: false }]);
}
