//! The TCP sockets that listen in a network namespace, and the unconnected UDP sockets, from the
//! kernel's tables (proc(5)).

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The state of a listening socket.
const LISTEN: &str = "0A";
/// The state of a UDP socket that is not connected.
const UNCONNECTED: &str = "07";

/// A listening or unconnected socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its local address.
    pub address: SocketAddr,
    /// Its number, as in the targets `socket:[NUMBER]` of `/proc/PID/fd`.
    pub inode: u64,
}

/// All listening TCP sockets, those of IPv6 first.
pub fn listeners() -> io::Result<Vec<Listener>> {
    listeners_of("thread-self")
}

/// The listening TCP sockets in the network namespace of a process: a directory of `/proc`.
pub fn listeners_of(process: &str) -> io::Result<Vec<Listener>> {
    in_tables(process, "tcp", LISTEN)
}

/// The unconnected UDP sockets in the network namespace of a process.
pub fn unconnected_of(process: &str) -> io::Result<Vec<Listener>> {
    in_tables(process, "udp", UNCONNECTED)
}

fn in_tables(process: &str, protocol: &str, state: &str) -> io::Result<Vec<Listener>> {
    let read = |table: &str| fs::read_to_string(format!("/proc/{process}/net/{table}"));
    let v4 = read(protocol)?;
    let v6 = match read(&format!("{protocol}6")) {
        // A kernel without IPv6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut all = in_table(&v6, state);
    all.extend(in_table(&v4, state));
    Ok(all)
}

fn in_table(table: &str, wanted: &str) -> Vec<Listener> {
    let listener = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, address, _, state, _, _, _, _, _, inode, ..] = columns.as_slice() else { return None };
        let is_wanted = *state == wanted;
        is_wanted.then_some(Listener { address: socket_address(address)?, inode: inode.parse().ok()? })
    };
    table.lines().filter_map(listener).collect()
}

/// Reads an address such as `0100007F:2505`.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    Some(SocketAddr::new(ip_address(address)?, u16::from_str_radix(port, 16).ok()?))
}

/// An address as words of 32 bits in this machine's byte order.
fn ip_address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => word(0).map(IpAddr::from),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Some(octets.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listening_socket_is_found_and_a_connected_one_is_not() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let at = listener.local_addr().expect("it is bound");
            let there = || listeners().expect("Linux has them");
            assert!(there().iter().any(|listener| listener.address == at), "{at}");
        }
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 00000000:2505 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1\n   \
                     1: 00000000:2505 0200007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 12 1\n";
        let address = "0.0.0.0:9477".parse().expect("an address");
        assert_eq!(in_table(table, LISTEN), [Listener { address, inode: 11 }]);
    }
}
