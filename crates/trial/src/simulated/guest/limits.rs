//! The limits of a guest's hosts, which their kernel would derive from its few MiB of memory: those of a machine with some
//! GiB, as Linux has them there (tcp(7)). Otherwise they would bound the windows of the hosts.

use std::fs;
use std::io;

use lasthop_linux::namespace::Namespace;

/// Those of each host.
const OF_HOSTS: [(&str, &str); 2] =
    [("ipv4/tcp_rmem", "4096 131072 6291456"), ("ipv4/tcp_wmem", "4096 16384 4194304")];
/// That of all hosts together, in pages.
const OF_GUEST: &str = "92160 122880 184320";

/// Sets the limits.
pub(super) fn set(hosts: &[Namespace]) -> io::Result<()> {
    let of = |path: &str, error| io::Error::other(format!("/proc/sys/net/{path}: {error}"));
    for host in hosts {
        for (path, value) in OF_HOSTS {
            host.sysctl(path, value).map_err(|error| of(path, error))?;
        }
    }
    fs::write("/proc/sys/net/ipv4/tcp_mem", OF_GUEST).map_err(|error| of("ipv4/tcp_mem", error))
}
