//! IPv4 forwarding per device. A packet is forwarded if forwarding is enabled on the device that
//! received it (`conf/DEVICE/forwarding`); `ip_forward` switches all devices at once. It is never
//! written here: if it is enabled at the end, another program needs forwarding, such as a daemon
//! for containers.

use std::fs;
use std::io;

use crate::client_side::is_ours;
use crate::device;
use lasthop_linux::namespace::Namespace;

/// Whether all devices forward, including future ones.
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

/// The indices and names of this machine's devices that do not forward; none if all do.
pub(super) fn off(namespace: &Namespace) -> io::Result<Vec<(u32, String)>> {
    if is_on_for_all(namespace)? {
        return Ok(Vec::new());
    }
    let devices = devices(namespace)?.into_iter().filter(|(_, name)| name != "lo" && !is_ours(name));
    // A device that was removed meanwhile is left out.
    Ok(devices.filter(|(_, name)| is_on(namespace, name).is_ok_and(|is_on| !is_on)).collect())
}

/// Enables forwarding of packets that a device receives.
pub(super) fn switch_on(namespace: &Namespace, device: &str) -> io::Result<()> {
    namespace.sysctl(&key(device), "1")
}

/// Disables forwarding on devices that [`off`] has returned, unless all devices forward by now.
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

/// The indices and names of all devices.
fn devices(namespace: &Namespace) -> io::Result<Vec<(u32, String)>> {
    let listed = namespace.ip(&["link show"]).map_err(io::Error::other)?;
    Ok(listed.lines().filter_map(device::listed).collect())
}
