//! The processes that listen on a TCP port.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;

use lasthop_linux::listening::listeners;

/// The processes whose listeners prevent others from listening at `at`, in the calling thread's
/// network namespace; without root, only this user's processes.
pub(super) fn holders_of(at: SocketAddr) -> Vec<NonZeroU32> {
    let in_the_way = listeners().unwrap_or_default().into_iter().filter(|one| excludes(one.address, at));
    let sockets: Vec<String> = in_the_way.map(|one| format!("socket:[{}]", one.inode)).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let has_one = |process: &Path| {
        let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
    };
    let holders = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        has_one(&process.path()).then_some(pid)
    });
    holders.collect()
}

/// Whether a listener at one address prevents another at the other address.
fn excludes(theirs: SocketAddr, ours: SocketAddr) -> bool {
    let overlap = theirs.ip() == ours.ip() || theirs.ip().is_unspecified() || ours.ip().is_unspecified();
    theirs.port() == ours.port() && overlap
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_listener_of_this_process_is_found_for_each_address_that_it_excludes() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).expect("a free port");
            let at = listener.local_addr().expect("it is bound");
            let own = NonZeroU32::new(std::process::id()).expect("a process");
            assert_eq!(holders_of(at), [own], "{at}");
            assert_eq!(holders_of(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), at.port())), [own], "{at}");
        }
    }

    #[test]
    fn an_address_excludes_itself_and_wildcard_addresses_at_the_same_port() {
        let is_in_the_way = |theirs: &str, ours: &str| {
            excludes(theirs.parse().expect("an address"), ours.parse().expect("an address"))
        };
        assert!(is_in_the_way("127.0.0.1:9477", "127.0.0.1:9477"));
        assert!(is_in_the_way("127.0.0.1:9477", "0.0.0.0:9477"));
        assert!(is_in_the_way("0.0.0.0:9478", "127.0.0.1:9478"));
        assert!(!is_in_the_way("127.0.0.2:9477", "127.0.0.1:9477"));
        assert!(!is_in_the_way("127.0.0.1:9477", "127.0.0.1:80"));
    }
}
