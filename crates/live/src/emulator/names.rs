//! The names that resolve behind a hop: a hosts file and, where the resolver of this machine cannot
//! be reached from there, a resolver's address, for one command alone.

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

use super::behind::BehindHop;
use super::directory::Directory;
use super::machine::Machine;

const HOSTS: &CStr = c"/etc/hosts";
const RESOLVERS: &CStr = c"/etc/resolv.conf";

/// Files that stand in for those of this machine. They are removed with this value. A command that
/// has been started keeps them, but cannot have an emulation of its own any more: nothing can be
/// mounted over a file that is removed.
#[derive(Debug)]
pub struct Names {
    files: Vec<(PathBuf, &'static CStr)>,
    resolver: Option<SocketAddr>,
}

impl Names {
    /// Behind this hop `host.lasthop` and `server` are this machine.
    pub fn behind(hop: &BehindHop, machine: &Machine) -> io::Result<Self> {
        let (v4, v6) = (hop.gateway, hop.gateway_v6);
        let mut names = Self { files: Vec::new(), resolver: None };
        hop.directory.make()?;
        let [hosts_file, resolvers_file] = files_of(std::process::id(), &hop.directory);
        let own = format!("{v4} host.lasthop server\n{v6} host.lasthop server\n");
        // Neither file needs to be UTF-8.
        let hosts = fs::read("/etc/hosts").unwrap_or_default();
        names.add(HOSTS, hosts_file, &[own.as_bytes(), hosts.as_slice()].concat())?;
        let resolvers = fs::read("/etc/resolv.conf").unwrap_or_default();
        let resolvers = String::from_utf8_lossy(&resolvers);
        let resolver =
            if machine.is_here() { only_on_this_machine(&resolvers) } else { Some(first(&resolvers)) };
        if let Some(resolver) = resolver {
            names.add(RESOLVERS, resolvers_file, with_resolver(&resolvers, v4.into()).as_bytes())?;
            names.resolver = Some(SocketAddr::new(resolver, 53));
        }
        Ok(names)
    }

    /// This machine's resolver, if it is to be found at the gateway's address instead of its own: one
    /// on the loopback device, or any for an emulator outside this machine's network.
    pub const fn resolver(&self) -> Option<SocketAddr> {
        self.resolver
    }

    fn add(&mut self, target: &'static CStr, path: PathBuf, octets: &[u8]) -> io::Result<()> {
        self.files.push((path, target));
        let (path, _) = &self.files[self.files.len() - 1];
        fs::write(path, octets)?;
        // Whatever this process would keep from others (umask(2)).
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
            // A file that is gone needs no removal.
            let _ = fs::remove_file(path);
        }
    }
}

/// The files that the process with this number makes there.
pub(super) fn files_of(pid: u32, directory: &Directory) -> [PathBuf; 2] {
    ["hosts", "resolv"].map(|kind| directory.path().join(format!("{kind}-{pid}")))
}

/// Files to be seen in the place of others.
#[derive(Debug)]
pub(super) struct Mounts(Vec<(CString, &'static CStr)>);

impl Mounts {
    /// Gives the calling thread, and its children, files of their own. Allocates nothing.
    pub(super) fn mount(&self) -> io::Result<()> {
        // SAFETY: only this thread's mounts change; no file descriptor table is unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        for (file, target) in &self.0 {
            match mount_bind(file.as_c_str(), *target) {
                // A machine without this file has no place for another one; names of hosts resolve
                // all the same.
                Err(Errno::NOENT) if *target == RESOLVERS => {}
                mounted => mounted?,
            }
        }
        Ok(())
    }
}

/// The first resolver, if none can be reached from another network namespace.
fn only_on_this_machine(text: &str) -> Option<IpAddr> {
    // One whose address is not read here, such as fe80::1%eth0, is another machine.
    let is_here = |resolver: &str| resolver.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    resolvers(text).all(is_here).then(|| first(text))
}

/// The first resolver whose address tells where it is. Without any, the C library asks the one at
/// 127.0.0.1 (resolv.conf(5)).
fn first(text: &str) -> IpAddr {
    let first = resolvers(text).find_map(|resolver| resolver.parse().ok());
    first.unwrap_or(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))
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
    fn a_resolver_on_the_loopback_device_gives_way_to_the_gateway_s_address() {
        let stub = "# systemd-resolved\nnameserver 127.0.0.53\noptions edns0\nsearch example.org\n";
        assert_eq!(only_on_this_machine(stub), Some("127.0.0.53".parse().expect("an address")));
        let gateway = "100.64.0.1".parse().expect("an address");
        let expected = "nameserver 100.64.0.1\n# systemd-resolved\noptions edns0\nsearch example.org\n";
        assert_eq!(with_resolver(stub, gateway), expected);
        assert_eq!(only_on_this_machine("nameserver ::1\n"), Some("::1".parse().expect("an address")));
        let both = "nameserver fe80::1%eth0\nnameserver 192.0.2.53\nnameserver 127.0.0.1\n";
        assert_eq!(only_on_this_machine(both), None);
        assert_eq!(first(both), "192.0.2.53".parse::<IpAddr>().expect("an address"));
        assert_eq!(only_on_this_machine("nameserver fe80::1%eth0\n"), None);
        assert_eq!(only_on_this_machine(""), Some("127.0.0.1".parse().expect("an address")));
    }
}
