//! The first program of a guest. It has the guest for itself: it mounts the file systems that programs expect, gets its job
//! over the control device, runs the part of the hosts, reports it, and shuts the guest down.

use std::convert::Infallible;
use std::env;
use std::fs;
use std::io;
use std::net::UdpSocket;

use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_scenario::Scenario;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

use super::control::{self, FromGuest, GUEST, GUEST_DEVICE, Inbox, Job, OUTSIDE, PORT};
use super::{address_of, fingerprint, stack};
use crate::error::TrialError;
use crate::gateway::Clock;
use crate::hosts::{HostResults, Hosts};
use crate::options::Options;
use crate::plan::{self, Case};
use crate::site::{self, Site};

/// Where a guest has file systems of its own. Not at /tmp, where scenarios may be.
pub const OWN_FOLDERS: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// A guest, from inside.
#[derive(Debug)]
pub struct Guest {
    control: UdpSocket,
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
        let control = UdpSocket::bind((GUEST, PORT))?;
        control.connect((OUTSIDE, PORT))?;
        say(&control, &FromGuest::Hello)?;
        let mut inbox = Inbox::default();
        let mut datagram = vec![0; 1 << 16];
        let job: Job = loop {
            let len = control.recv(&mut datagram)?;
            if let Some(job) = inbox.add(&datagram[..len]).map_err(io::Error::other)? {
                break job;
            }
        };
        env::set_current_dir(&job.directory)?;
        Ok(Self { control, job })
    }

    /// The command line by which the process outside has read the scenario, without the program and the
    /// subcommand.
    pub fn arguments(&self) -> &[String] {
        &self.job.arguments
    }

    /// The case of the run; `None` if the scenario's files have changed since the process outside has read them.
    pub fn case(&self, scenario: &Scenario) -> Option<Case> {
        let is_same = fingerprint(scenario).ok()? == self.job.fingerprint;
        plan::cases(scenario).into_iter().nth(self.job.case).filter(|_| is_same)
    }

    /// Runs the part of the hosts in a case, and reports it.
    pub fn run(&self, scenario: &Scenario, case: &Case, options: Options<'_>) -> io::Result<()> {
        let options = Options { sample_every: self.job.sample_every, ..options };
        let report = match self.run_hosts(scenario, case, options) {
            Ok(results) => FromGuest::Results(Box::new(results)),
            Err(error) => FromGuest::Failed(error.to_string()),
        };
        say(&self.control, &report)
    }

    /// Reports that the job cannot be done.
    pub fn fail(&self, reason: &str) -> io::Result<()> {
        say(&self.control, &FromGuest::Failed(reason.to_owned()))
    }

    fn run_hosts(
        &self,
        scenario: &Scenario,
        case: &Case,
        options: Options<'_>,
    ) -> Result<HostResults, TrialError> {
        plan::check_kernel(scenario)?;
        let radios = super::radios(scenario, self.job.wifi);
        let site = Site::with_radios(scenario, site::addresses(scenario), radios)?;
        let ends = site::ends_of_devices(scenario, site.radios()).count();
        let devices = (0..ends).map(|end| device_with(address_of(end)));
        let devices = devices.collect::<io::Result<Vec<_>>>().map_err(TrialError::Namespace)?;
        site.adopt(scenario, &devices)?;
        stack::adopt(&site)?;
        stack::associate(scenario, &site)?;
        set_limits(&site).map_err(TrialError::Namespace)?;
        site.configure(scenario)?;
        let hosts = Hosts::start(scenario, case, &site, None, Clock::Simulated, options)?;
        say(&self.control, &FromGuest::Ready)
            .map_err(|error| TrialError::Transfer { what: "the control device".to_owned(), error })?;
        hosts.run(clock::now(), options)
    }
}

/// The limits that a kernel derives from its memory: here those of a machine with some GiB, as Linux has them there
/// (tcp(7)). A guest's few MiB would bound the windows of its hosts.
const OF_HOSTS: [(&str, &str); 2] =
    [("ipv4/tcp_rmem", "4096 131072 6291456"), ("ipv4/tcp_wmem", "4096 16384 4194304")];
/// That of all hosts together, in pages.
const OF_GUEST: &str = "92160 122880 184320";

fn set_limits(site: &Site) -> io::Result<()> {
    let of = |path: &str, error| io::Error::other(format!("/proc/sys/net/{path}: {error}"));
    for host in &site.hosts {
        for (path, value) in OF_HOSTS {
            host.sysctl(path, value).map_err(|error| of(path, error))?;
        }
    }
    fs::write("/proc/sys/net/ipv4/tcp_mem", OF_GUEST).map_err(|error| of("ipv4/tcp_mem", error))
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

fn say(control: &UdpSocket, message: &FromGuest) -> io::Result<()> {
    for datagram in control::datagrams(message)? {
        control.send(&datagram)?;
    }
    Ok(())
}
