//! The first program of a guest. It has the guest for itself: it mounts the file systems that programs expect, gets its job
//! over the control device, does it, and shuts the guest down.
//!
//! | module | what is in it |
//! |---|---|
//! | [`trial`] | the part of the hosts in a run of a trial |
//! | [`gateway`] | a gateway of that, if it is to be killed |
//! | [`programs`] | programs at both ends of a link |
//! | `files` | the files that these programs see |
//! | `limits` | the limits of the hosts' kernel |
//! | `outside` | the control device |

mod files;
pub mod gateway;
mod limits;
mod outside;
pub mod programs;
pub mod trial;

use std::convert::Infallible;
use std::env;
use std::fs;
use std::io;
use std::sync::Arc;

use lasthop_linux::namespace::Namespace;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

use super::control::{FromGuest, GUEST, GUEST_DEVICE};
use super::job::Job;
use outside::Outside;

/// Where a guest has file systems of its own. Not at /tmp, where scenarios may be.
pub const OWN_FOLDERS: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// A guest, from inside.
#[derive(Debug)]
pub struct Guest {
    outside: Arc<Outside>,
    job: Job,
}

impl Guest {
    /// Makes itself at home, and gets the job. Must be the first program of a guest.
    pub fn open() -> io::Result<Self> {
        for (kind, place) in ["proc", "sysfs", "devtmpfs", "tmpfs"].into_iter().zip(OWN_FOLDERS) {
            match mount(kind, place, kind, MountFlags::empty(), None) {
                // A kernel may have mounted it.
                Ok(()) | Err(Errno::BUSY) => {}
                Err(error) => {
                    return Err(io::Error::other(format!("cannot mount {kind} at {place}: {error}")));
                }
            }
        }
        let device = device_with(GUEST_DEVICE)?;
        let here = Namespace::current("the guest")?;
        let set_up = [
            "link set lo up".to_owned(),
            format!("link set {device} arp off up"),
            format!("address add {GUEST}/30 dev {device}"),
        ];
        here.ip(&set_up.each_ref().map(String::as_str)).map_err(io::Error::other)?;
        let outside = Arc::new(Outside::open()?);
        let job: Job = outside.job()?;
        env::set_current_dir(job.directory())
            .map_err(|error| io::Error::other(format!("{}: {error}", job.directory().display())))?;
        Ok(Self { outside, job })
    }

    /// The job.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Reports that the job cannot be done.
    pub fn fail(&self, reason: &str) -> io::Result<()> {
        self.outside.say::<()>(&FromGuest::Failed(reason.to_owned()))
    }
}

/// Shuts the guest down.
pub fn shut_down() -> io::Result<Infallible> {
    reboot(RebootCommand::PowerOff)?;
    Err(io::Error::other("the guest goes on"))
}

/// The name of the network device with this Ethernet address.
fn device_with(address: [u8; 6]) -> io::Result<String> {
    let wanted = address.map(|octet| format!("{octet:02x}")).join(":");
    for device in fs::read_dir("/sys/class/net")? {
        let device = device?;
        if fs::read_to_string(device.path().join("address"))?.trim() == wanted {
            return Ok(device.file_name().to_string_lossy().into_owned());
        }
    }
    Err(io::Error::other(format!("the guest has no device with the address {wanted}")))
}
