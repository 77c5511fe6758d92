//! Name resolution for one command on the client side of a hop: a hosts file and, where the client
//! cannot reach this machine's resolver, the address of another one.

#![expect(unsafe_code, reason = "rustix marks unshare unsafe because of UnshareFlags::FILES")]

use std::ffi::{CStr, CString};
use std::fs::{self, Permissions};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::client_side::ClientSide;
use super::directory::Directory;
use super::machine::Machine;

const HOSTS: &CStr = c"/etc/hosts";
const RESOLVERS: &CStr = c"/etc/resolv.conf";
/// The number of resolvers that the C library queries (`MAXNS`).
const MAX_RESOLVERS: usize = 3;

/// Files that replace those of this machine. They are removed when this value is dropped. A command
/// that is still running keeps them, but cannot start an emulation any more: nothing can be mounted
/// over a file that has been removed.
#[derive(Debug)]
pub struct Names {
    files: Vec<(PathBuf, &'static CStr)>,
    resolvers: Vec<SocketAddr>,
}

impl Names {
    /// Creates the files for the client side of a hop. There, `host.lasthop` and `server` resolve
    /// to this machine.
    pub fn new(hop: &ClientSide, machine: &Machine) -> io::Result<Self> {
        let v4 = hop.gateway;
        let mut names = Self { files: Vec::new(), resolvers: Vec::new() };
        hop.directory.make()?;
        let [hosts_file, resolvers_file] = files_of(std::process::id(), &hop.directory);
        let addresses = [v4.to_string()].into_iter().chain(hop.gateway_v6.map(|v6| v6.to_string()));
        let own: Vec<String> = addresses.map(|address| format!("{address} host.lasthop server\n")).collect();
        names.add(HOSTS, hosts_file, &hosts_with(&own.concat()))?;
        let settings = fs::read("/etc/resolv.conf").unwrap_or_default();
        let settings = String::from_utf8_lossy(&settings);
        if !machine.is_here() || all_are_on_this_machine(&settings) {
            names.add(RESOLVERS, resolvers_file, with_resolver(&settings, v4.into()).as_bytes())?;
            names.resolvers = addresses_of_resolvers(&settings);
        }
        Ok(names)
    }

    /// The resolvers of this machine that are relayed at the gateway's address: those on the
    /// loopback device, or all for an emulator outside this machine's network; else none.
    pub fn resolvers(&self) -> &[SocketAddr] {
        &self.resolvers
    }

    fn add(&mut self, target: &'static CStr, path: PathBuf, octets: &[u8]) -> io::Result<()> {
        self.files.push((path, target));
        let (path, _) = &self.files[self.files.len() - 1];
        fs::write(path, octets)?;
        // Independent of this process's umask(2).
        fs::set_permissions(path, Permissions::from_mode(0o644))
    }

    pub(super) fn mounts(&self) -> io::Result<Mounts> {
        let mount = |(path, target): &(PathBuf, &'static CStr)| {
            Ok((CString::new(path.as_os_str().as_bytes())?, *target))
        };
        self.files.iter().map(mount).collect::<io::Result<_>>().map(Mounts)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for (path, _) in &self.files {
            // The file may be gone already.
            let _ = fs::remove_file(path);
        }
    }
}

/// The files that the process with this ID creates in a directory.
pub(super) fn files_of(pid: u32, directory: &Directory) -> [PathBuf; 2] {
    ["hosts", "resolv"].map(|kind| directory.path().join(format!("{kind}-{pid}")))
}

/// Files, and the paths over which they are mounted.
#[derive(Debug)]
pub(super) struct Mounts(Vec<(CString, &'static CStr)>);

impl Mounts {
    /// Mounts the files for the calling thread and its children only. Does not allocate.
    pub(super) fn mount(&self) -> io::Result<()> {
        // SAFETY: only this thread's mounts change; no file descriptor table is unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        for (file, target) in &self.0 {
            match mount_bind(file.as_c_str(), *target) {
                // Nothing can be mounted over a file that does not exist; the hosts file still
                // works.
                Err(Errno::NOENT) if *target == RESOLVERS => {}
                mounted => mounted?,
            }
        }
        Ok(())
    }
}

/// This machine's hosts file behind lines for the hosts of an emulation. It need not be UTF-8.
pub fn hosts_with(own: &str) -> Vec<u8> {
    let hosts = without_ours(&fs::read("/etc/hosts").unwrap_or_default());
    [own.as_bytes(), hosts.as_slice()].concat()
}

/// A hosts file without the lines of an enclosing emulation.
fn without_ours(hosts: &[u8]) -> Vec<u8> {
    let is_ours = |line: &[u8]| {
        line.split(u8::is_ascii_whitespace).any(|word| word == b"host.lasthop") && !line.starts_with(b"#")
    };
    hosts.split_inclusive(|octet| *octet == b'\n').filter(|line| !is_ours(line)).collect::<Vec<_>>().concat()
}

/// Whether all resolvers are on the loopback device, which other network namespaces cannot reach.
fn all_are_on_this_machine(text: &str) -> bool {
    // An address that does not parse here, such as fe80::1%eth0, is another machine's.
    let is_here = |resolver: &str| resolver.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    resolvers(text).all(is_here)
}

/// The resolvers with an address without a zone. If there is none, the one at 127.0.0.1, which is
/// the C library's default (resolv.conf(5)).
fn addresses_of_resolvers(text: &str) -> Vec<SocketAddr> {
    let addresses = resolvers(text).filter_map(|resolver| resolver.parse().ok());
    let mut all: Vec<SocketAddr> =
        addresses.map(|address: IpAddr| SocketAddr::new(address, 53)).take(MAX_RESOLVERS).collect();
    if all.is_empty() {
        all.push((std::net::Ipv4Addr::LOCALHOST, 53).into());
    }
    all
}

fn resolvers(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver").and(words.next())
    })
}

fn with_resolver(text: &str, resolver: IpAddr) -> String {
    let others = text.lines().filter(|line| line.split_whitespace().next() != Some("nameserver"));
    std::iter::once(format!("nameserver {resolver}"))
        .chain(others.map(str::to_owned))
        .map(|line| line + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_s_address_replaces_a_resolver_on_the_loopback_device() {
        let stub = "# systemd-resolved\nnameserver 127.0.0.53\noptions edns0\nsearch example.org\n";
        assert!(all_are_on_this_machine(stub) && all_are_on_this_machine("nameserver ::1\n"));
        let gateway = "100.64.0.1".parse().expect("an address");
        let expected = "nameserver 100.64.0.1\n# systemd-resolved\noptions edns0\nsearch example.org\n";
        assert_eq!(with_resolver(stub, gateway), expected);
        assert!(!all_are_on_this_machine("nameserver 127.0.0.1\nnameserver 192.0.2.53\n"));
        assert!(!all_are_on_this_machine("nameserver fe80::1%eth0\n"));
        assert!(all_are_on_this_machine(""));
    }

    #[test]
    fn the_names_of_an_enclosing_emulation_are_left_out() {
        let hosts = b"100.64.0.1 host.lasthop server\n127.0.0.1\tlocalhost\n# host.lasthop\n192.0.2.1 server";
        let left = b"127.0.0.1\tlocalhost\n# host.lasthop\n192.0.2.1 server";
        assert_eq!(without_ours(hosts), left);
    }

    #[test]
    fn all_resolvers_with_an_address_are_used_and_without_any_the_default() {
        let addresses = |text: &str| -> Vec<String> {
            addresses_of_resolvers(text).iter().map(ToString::to_string).collect()
        };
        let several = "nameserver fe80::1%eth0\nnameserver 192.0.2.53\nnameserver ::1\n";
        assert_eq!(addresses(several), ["192.0.2.53:53", "[::1]:53"]);
        assert_eq!(addresses(""), ["127.0.0.1:53"]);
    }
}
