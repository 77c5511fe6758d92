//! Which processes listen on a TCP port.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::Path;

/// The state of a socket that listens, in the kernel's tables.
const LISTENS: &str = "0A";

/// The processes that listen where they keep others from listening at `at`, in the calling thread's
/// network namespace; without root, only this user's.
pub(super) fn holders_of(at: SocketAddr) -> Vec<NonZeroU32> {
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/thread-self/net/{table}")));
    let sockets: Vec<String> = tables.iter().flatten().flat_map(|table| listening(table, at)).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let has_one = |process: &Path| {
        let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets
            .into_iter()
            .any(|target| target.to_str().is_some_and(|name| sockets.iter().any(|s| s == name)))
    };
    let holders = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        has_one(&process.path()).then_some(pid)
    });
    holders.collect()
}

/// The sockets in a table of the kernel that listen at `at` or at an address that includes it, as
/// `/proc/PID/fd` has them.
fn listening(table: &str, at: SocketAddr) -> Vec<String> {
    let is_in_the_way = |address: SocketAddr| {
        let (theirs, ours) = (address.ip(), at.ip());
        address.port() == at.port() && (theirs == ours || theirs.is_unspecified() || ours.is_unspecified())
    };
    let rows = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, address, _, LISTENS, _, _, _, _, _, inode, ..] = columns.as_slice() else { return None };
        read_address(address).filter(|address| is_in_the_way(*address)).map(|_| format!("socket:[{inode}]"))
    });
    rows.collect()
}

/// Reads an address such as `0100007F:2505`: each 32 bits are in the order of this processor.
fn read_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Option<Vec<u32>> = (0..address.len())
        .step_by(8)
        .map(|start| u32::from_str_radix(address.get(start..start + 8)?, 16).ok())
        .collect();
    let octets: Vec<u8> = words?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip = match <[u8; 4]>::try_from(octets.as_slice()) {
        Ok(octets) => IpAddr::V4(Ipv4Addr::from(octets)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets.as_slice()).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_that_this_process_listens_on_is_found_at_each_address_that_it_excludes() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).expect("a free port");
            let at = listener.local_addr().expect("it is bound");
            let own = NonZeroU32::new(std::process::id()).expect("a process");
            assert_eq!(holders_of(at), [own], "{at}");
            assert_eq!(holders_of(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), at.port())), [own], "{at}");
        }
    }

    #[test]
    fn of_a_table_only_sockets_that_listen_at_the_address_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:2505 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1\n   \
                     1: 0100007F:2505 0200007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 12 1\n   \
                     2: 0200007F:2505 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1\n   \
                     3: 00000000:2506 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1\n";
        if cfg!(target_endian = "big") {
            return;
        }
        let at = |text: &str| listening(table, text.parse().expect("an address"));
        assert_eq!(at("127.0.0.1:9477"), ["socket:[11]"]);
        assert_eq!(at("0.0.0.0:9477"), ["socket:[11]", "socket:[13]"]);
        assert_eq!(at("127.0.0.1:9478"), ["socket:[14]"]);
        assert!(at("127.0.0.1:80").is_empty());
    }
}
