//! Hosts joined by bridges: `lan` joins the access points to the wire, and `air` those that have the client to the client.

use lasthop_linux::namespace::Namespace;

/// A host without IPv6, whose own packets would be noticed.
pub fn host(name: &str) -> Namespace {
    let host = Namespace::new(name).expect("root may make namespaces");
    host.sysctl("ipv6/conf/default/disable_ipv6", "1").expect("a setting");
    host
}

/// A host that is only a bridge.
pub fn bridge(name: &str) -> Namespace {
    let bridge = host(name);
    bridge.ip(&["link add lan0 type bridge", "link set lan0 up"]).expect("a bridge");
    bridge
}

/// Joins a host to a bridge, with its interface `eth`, which is down.
pub fn join(bridge: &Namespace, host: &Namespace) {
    let add = format!("link add end type veth peer name eth netns {}", host.path());
    bridge.ip(&[&add, "link set end up master lan0"]).expect("veth");
}

/// The host of an access point, with the interfaces `core`, which is at `lan`, and `radio`, which is at `air` once the
/// client is [there](move_client). Both are down.
pub fn access_point(name: &str, lan: &Namespace, air: &Namespace) -> Namespace {
    let host = host(name);
    for (bridge, port) in [(lan, "core"), (air, "radio")] {
        let add = format!("link add {name} type veth peer name {port} netns {}", host.path());
        bridge.ip(&[&add, &format!("link set {name} up")]).expect("veth");
    }
    lan.ip(&[&format!("link set {name} master lan0")]).expect("a port");
    host
}

/// The client is at the access point with the name `to`, and no longer at `from`.
pub fn move_client(air: &Namespace, from: &str, to: &str) {
    air.ip(&[&format!("link set {from} nomaster"), &format!("link set {to} master lan0")]).expect("a port");
}
