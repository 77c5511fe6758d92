//! Private hosts.

use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use lasthop_needs::{namespaces, tests};

use lasthop_linux::namespace::Namespace;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            two_hosts_are_connected_by_a_wire_that_no_other_host_sees;
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
