//! Access to other hosts for an emulator in an empty network namespace: a rule redirects the
//! client's TCP connections over IPv4 to a socket of the emulator, which relays them.

use std::io;
use std::net::TcpListener;

use super::client_side::ClientSide;
use lasthop_linux::tool::{found, run};

/// Starts to redirect connections to other hosts to the returned socket, with `nft` or, if that
/// fails, with `iptables`. The error is a sentence for the user.
pub fn start(hop: &ClientSide) -> Result<TcpListener, String> {
    let unreached = |why: String| format!("no TCP is relayed to other hosts: {why}");
    let listen = || {
        // Packets that are not relayed are rejected, not dropped silently.
        hop.outside.sysctl("ipv4/ip_forward", "1")?;
        hop.outside.ip(&["route add prohibit default"]).map_err(io::Error::other)?;
        let listener = TcpListener::bind((hop.gateway, 0))?;
        listener.set_nonblocking(true)?;
        Ok((listener.local_addr()?.port(), listener))
    };
    let (port, listener) = listen().map_err(|error: io::Error| unreached(error.to_string()))?;
    if let Err(nft) = by_nft(hop, port) {
        by_iptables(hop, port).map_err(|iptables| unreached(format!("{nft}; {iptables}")))?;
    }
    Ok(listener)
}

fn by_nft(hop: &ClientSide, port: u16) -> Result<(), String> {
    let ClientSide { device, gateway, .. } = hop;
    let rules = format!(
        "table ip {device} {{\n chain prerouting {{\n type nat hook prerouting priority dstnat;\n \
         iifname \"{device}\" ip daddr != {gateway} meta l4proto tcp redirect to :{port}\n }}\n}}\n"
    );
    run(&hop.outside, &["nft", "-f", "-"], &rules).map(drop)
}

fn by_iptables(hop: &ClientSide, port: u16) -> Result<(), String> {
    let (gateway, port) = (hop.gateway.to_string(), port.to_string());
    // Only root can open the default lock file. No other program changes the rules of this
    // namespace.
    let lock = format!("XTABLES_LOCKFILE={}", hop.directory.lock_file().display());
    let program = found("iptables").to_string_lossy().into_owned();
    let what = [
        "env",
        &lock,
        &program,
        "-w",
        "-t",
        "nat",
        "-A",
        "PREROUTING",
        "-i",
        &hop.device,
        "!",
        "-d",
        &gateway,
    ];
    let rule = [&what[..], &["-p", "tcp", "-j", "REDIRECT", "--to-ports", &port]].concat();
    run(&hop.outside, &rule, "").map(drop)
}
