//! Forwarding of IPv4, device by device. A packet is forwarded if the device that it came in by does so
//! (`conf/DEVICE/forwarding`); `ip_forward` switches all devices at once. That one is left alone: if it
//! is on in the end, somebody else has come to need forwarding, such as a daemon for containers.

use std::fs;
use std::io;

use crate::client_side::is_ours;
use crate::device;
use lasthop_linux::namespace::Namespace;

/// Whether all devices forward, those to come among them.
fn is_on_for_all(namespace: &Namespace) -> io::Result<bool> {
    is_on(namespace, "all")
}

fn is_on(namespace: &Namespace, device: &str) -> io::Result<bool> {
    let path = format!("/proc/sys/net/{}", key(device));
    Ok(namespace.enter(|| fs::read_to_string(path))??.trim() != "0")
}

fn key(device: &str) -> String {
    format!("ipv4/conf/{device}/forwarding")
}

/// The devices of this machine that do not forward, by number and name; none where all do.
pub(super) fn off(namespace: &Namespace) -> io::Result<Vec<(u32, String)>> {
    if is_on_for_all(namespace)? {
        return Ok(Vec::new());
    }
    let devices = devices(namespace)?.into_iter().filter(|(_, name)| name != "lo" && !is_ours(name));
    // One that has gone meanwhile needs nothing.
    Ok(devices.filter(|(_, name)| is_on(namespace, name).is_ok_and(|is_on| !is_on)).collect())
}

/// Has a device forward what comes in there.
pub(super) fn switch_on(namespace: &Namespace, device: &str) -> io::Result<()> {
    namespace.sysctl(&key(device), "1")
}

/// Switches off again what [`off`] said, unless all devices are to forward by now.
pub(super) fn switch_off(namespace: &Namespace, numbers: &[u32]) -> io::Result<()> {
    if is_on_for_all(namespace)? {
        return Ok(());
    }
    let devices = devices(namespace)?.into_iter().filter(|(number, _)| numbers.contains(number));
    for (_, name) in devices {
        namespace.sysctl(&key(&name), "0")?;
    }
    Ok(())
}

/// All devices, by number and name.
fn devices(namespace: &Namespace) -> io::Result<Vec<(u32, String)>> {
    let listed = namespace.ip(&["link show"]).map_err(io::Error::other)?;
    Ok(listed.lines().filter_map(device::listed).collect())
}
