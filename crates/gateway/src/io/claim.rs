//! Claims on interfaces: at most one gateway uses an interface. Two would redirect each frame to
//! each other forever, and remove each other's rules.
//!
//! A claim is a TUN device named after the interface's index, which stays down. Only a process that
//! may administer the network namespace can create one. Its name is unique in the namespace,
//! whatever file system a process sees, and it vanishes with its process, however that ends, so
//! that no cleanup is needed. The device's alias identifies the process.

use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;

use lasthop_linux::clock;
use lasthop_linux::device::{Device, DeviceError, Interface, Kind};
use lasthop_linux::peer;

/// The maximum time to wait for a gateway that is shutting down. With many workers that takes a
/// second: the kernel removes one device after another.
pub(super) const ENDING: Duration = Duration::from_secs(2);

/// The interfaces that this process has claimed, in the network namespace of the calling thread.
/// They are released when the last clone is dropped; a clone must outlive all users of the
/// interfaces.
#[derive(Clone, Debug, Default)]
pub struct Claims(Arc<Mutex<Vec<Claim>>>);

#[derive(Debug)]
struct Claim {
    interface: String,
    index: u32,
    _device: Device,
}

/// Why an interface cannot be claimed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// The interface does not exist.
    #[error("unknown interface {name}: {error}")]
    NoInterface {
        /// The name.
        name: String,
        /// The kernel's error.
        #[source]
        error: io::Error,
    },
    /// Another gateway has claimed it.
    #[error("another gateway is using the interface {name}: {holder}; stop it first")]
    Taken {
        /// The interface.
        name: String,
        /// The process of that gateway, as far as it is known.
        holder: String,
    },
    /// The device of the claim cannot be created.
    #[error("cannot claim the interface {name}: {error}")]
    Device {
        /// The interface.
        name: String,
        /// The cause.
        #[source]
        error: DeviceError,
    },
}

impl Claims {
    /// Claims all of these interfaces, or none. Waits for a gateway that is shutting down.
    pub fn take(interfaces: &[String]) -> Result<Self, ClaimError> {
        let claims = interfaces.iter().map(|name| Claim::take(name)).collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Mutex::new(claims))))
    }

    /// Claims additional interfaces.
    pub(crate) fn add(&self, interfaces: &[String]) -> Result<(), ClaimError> {
        let more = interfaces.iter().map(|name| Claim::take(name)).collect::<Result<Vec<_>, _>>()?;
        self.with(|claims| claims.extend(more));
        Ok(())
    }

    /// Whether this interface is one of these.
    pub(super) fn has(&self, interface: &str) -> bool {
        self.with(|claims| claims.iter().any(|claim| claim.interface == interface))
    }

    /// Renews the claim on an interface that was recreated under its name. Does not wait.
    pub(super) fn renew(&self, name: &str) -> Result<(), ClaimError> {
        let index = index_of(name)?;
        self.with(|claims| {
            if claims.iter().any(|claim| claim.interface == name && claim.index == index) {
                return Ok(());
            }
            claims.retain(|claim| claim.interface != name);
            claims.push(Claim::try_take(name, index)?);
            Ok(())
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Vec<Claim>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A process that has claimed an interface, as far as it can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A process in this PID namespace.
    Process(NonZeroU32),
    /// A process in another PID namespace.
    Hidden,
    /// A process that has not set the alias yet.
    Unknown,
}

impl Holder {
    /// Its process ID; `None` if that is not known in this PID namespace.
    pub(crate) const fn pid(self) -> Option<NonZeroU32> {
        match self {
            Self::Process(pid) => Some(pid),
            Self::Hidden | Self::Unknown => None,
        }
    }

    /// Parses an alias.
    fn parse(alias: &str) -> Self {
        let mut words = alias.split(' ');
        let pid = words.find(|word| *word == "process").and_then(|_| words.next()?.parse().ok());
        match (pid, pid_namespace()) {
            (Some(pid), Some(here)) if words.any(|word| word == here) => Self::Process(pid),
            (Some(_), _) => Self::Hidden,
            (None, _) => Self::Unknown,
        }
    }
}

/// The alias for a claim of this process on an interface.
fn alias(interface: &str) -> String {
    let here = pid_namespace().unwrap_or_default();
    format!("lasthop gateway on {interface}: process {} of {here}", std::process::id())
}

/// The PID namespace of this process, such as `pid:[4026531836]`, in which a process ID is unique.
fn pid_namespace() -> Option<String> {
    fs::metadata("/proc/self/ns/pid").ok().map(|namespace| format!("pid:[{}]", namespace.ino()))
}

/// For example `process 1234 (lasthop)`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => f.write_str(&peer::shown(*pid)),
            Self::Hidden => f.write_str("a process of another container"),
            Self::Unknown => f.write_str("process unknown"),
        }
    }
}

/// The process that has claimed the interface of this name; `None` if none has.
pub(crate) fn holder(interface: &str) -> Option<Holder> {
    holder_of(Interface::named(interface).ok()?.index())
}

/// All claims in the network namespace of the calling thread: the interfaces' names and holders.
pub(crate) fn holders() -> io::Result<Vec<(String, Holder)>> {
    let devices = fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let indices = names.filter_map(|name| name.strip_prefix(NAME)?.parse().ok());
    let named = |index| {
        let name =
            Interface::name_of(index).unwrap_or_else(|_| format!("an interface that is gone ({index})"));
        Some((name, holder_of(index)?))
    };
    Ok(indices.filter_map(named).collect())
}

impl Claim {
    #[expect(clippy::disallowed_methods, reason = "no packet waits at this point")]
    fn take(name: &str) -> Result<Self, ClaimError> {
        let index = index_of(name)?;
        let began = clock::now();
        loop {
            match Self::try_take(name, index) {
                Err(ClaimError::Taken { .. }) if clock::now().since(began) <= ENDING => {
                    thread::sleep(ENDING / 50);
                }
                taken => return taken,
            }
        }
    }

    fn try_take(name: &str, index: u32) -> Result<Self, ClaimError> {
        let claim = device_of(index);
        match Device::new(&claim, Kind::Tun) {
            Ok(device) => {
                // The claim is valid without an alias, but its holder is then unknown to others.
                let _ = Interface::named(&claim).and_then(|device| device.set_alias(&alias(name)));
                Ok(Self { interface: name.to_owned(), index, _device: device })
            }
            Err(DeviceError::Make { error, .. }) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {
                let holder = holder_of(index).unwrap_or(Holder::Unknown);
                Err(ClaimError::Taken { name: name.to_owned(), holder: holder.to_string() })
            }
            Err(error) => Err(ClaimError::Device { name: name.to_owned(), error }),
        }
    }
}

fn index_of(name: &str) -> Result<u32, ClaimError> {
    let interface = Interface::named(name);
    interface
        .map(|interface| interface.index())
        .map_err(|error| ClaimError::NoInterface { name: name.to_owned(), error })
}

/// The holder of the interface with this index; `None` if it is not claimed.
fn holder_of(index: u32) -> Option<Holder> {
    let device = Interface::named(&device_of(index)).ok()?;
    Some(device.alias().ok().flatten().map_or(Holder::Unknown, |alias| Holder::parse(&alias)))
}

/// The prefix of the name of a claim's device; the interface's index follows.
const NAME: &str = "lhop-";

fn device_of(index: u32) -> String {
    format!("{NAME}{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_identifies_the_process_within_its_pid_namespace() {
        let ours = NonZeroU32::new(std::process::id()).expect("it has a number");
        let alias = alias("wlan 0");
        assert_eq!(Holder::parse(&alias), Holder::Process(ours));
        let elsewhere = alias.rsplit_once(' ').expect("words").0.to_owned() + " pid:[1]";
        assert_eq!(Holder::parse(&elsewhere), Holder::Hidden);
        for unknown in ["", "process", "process 0", "process -1 of pid:[1]", "eth0"] {
            assert_eq!(Holder::parse(unknown), Holder::Unknown, "{unknown:?}");
        }
        assert!(device_of(u32::MAX).len() <= 15, "an interface's name");
    }
}
