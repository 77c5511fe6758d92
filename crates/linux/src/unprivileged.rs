//! Networks without root: a user namespace, in which this process may create hosts and devices that
//! are invisible outside (`user_namespaces(7)`).

#![expect(unsafe_code, reason = "rustix marks unshare unsafe because of UnshareFlags::FILES")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use thiserror::Error;

use crate::namespace::{IpError, Namespace};

/// The identity of this process before it [entered](enter) a user namespace: the only user and
/// group there.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user map that restores a process's own user ID.
    users: CString,
    /// The group map that restores its own group ID.
    groups: CString,
}

/// Why a user namespace cannot be entered.
#[derive(Debug, Error)]
pub enum UnprivilegedError {
    /// Only root may use devices.
    #[error("without root's rights, this requires access to /dev/net/tun: {0}; {advice}", advice = how_to_open(.0))]
    Device(#[source] io::Error),
    /// The system does not allow it.
    #[error("without root's rights, this requires a user namespace, which this system does not allow: {0}; {hint}{sudo}", hint = hint(), sudo = with_rights())]
    UserNamespace(#[source] io::Error),
    /// The new network cannot be set up.
    #[error(transparent)]
    Ip(#[from] IpError),
}

/// Moves this process, which has one thread, into a user namespace and an empty network namespace
/// of its own. There it has all rights, as root of these namespaces; outside it has its previous
/// rights.
pub fn enter() -> Result<Caller, UnprivilegedError> {
    File::options().read(true).write(true).open("/dev/net/tun").map_err(UnprivilegedError::Device)?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    become_root_of_namespaces(user, group).map_err(UnprivilegedError::UserNamespace)?;
    let own = Namespace::current("this user namespace").map_err(UnprivilegedError::UserNamespace)?;
    own.ip(&["link set lo up"])?;
    let back = |number: u32| CString::new(format!("{number} 0 1")).unwrap_or_default();
    Ok(Caller { users: back(user), groups: back(group) })
}

fn become_root_of_namespaces(user: u32, group: u32) -> io::Result<()> {
    // SAFETY: no file descriptor table is unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?;
    // Otherwise groups could not be mapped: a process that can leave a group gains access where
    // that group is denied it.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// In a user namespace, the user ID that stands for all users without one there
/// (`/proc/PID/uid_map`, `user_namespaces(7)`); the kernel reports it for the other end of a
/// socket. `None` outside a user namespace.
pub fn stand_in_for_others() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let has_all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let number = || fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok();
    if has_all { None } else { number() }
}

impl Caller {
    /// Permanently turns the calling process, which runs as root of the namespace, back into the
    /// caller, without rights over any of our namespaces. Uses only calls that are safe between
    /// fork and exec.
    pub fn become_it(&self) -> io::Result<()> {
        // SAFETY: no file descriptor table is unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
        for (file, map) in [(c"/proc/self/uid_map", &self.users), (c"/proc/self/gid_map", &self.groups)] {
            let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            // The kernel accepts only complete maps.
            rustix::io::write(&file, map.as_bytes())?;
        }
        Ok(())
    }
}

/// Advice to an operator about the device.
fn how_to_open(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        format!("allow it with `sudo chmod 0666 /dev/net/tun`, or {}", with_rights())
    } else {
        "load the kernel module `tun`, or let the container have the device (--device /dev/net/tun)"
            .to_owned()
    }
}

/// Advice on how to obtain root's rights, where required: root of a container may lack them.
fn with_rights() -> &'static str {
    if crate::is_root() { "give the container CAP_SYS_ADMIN and CAP_NET_ADMIN" } else { "use sudo" }
}

/// The setting that allows user namespaces, for the distributions that forbid them.
fn hint() -> String {
    let is = |setting: &str, value: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(setting)).is_ok_and(|text| text.trim() == value)
    };
    let settings = [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ];
    let forbids = settings.into_iter().find(|(setting, value, _)| is(setting, value));
    forbids.map_or_else(String::new, |(.., remedy)| format!("allow it with `sudo sysctl {remedy}`, or "))
}
