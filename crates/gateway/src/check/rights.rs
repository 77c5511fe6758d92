//! Checks of the rights of this process.

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use super::finding::{Findings, Grade};
use crate::config::{Backend, Config};
use lasthop_linux::realtime::PRIORITY;

/// The rights of this process that checks and a start need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rights {
    capabilities: CapabilitySet,
    is_root: bool,
}

impl Rights {
    pub(super) fn current() -> Self {
        let capabilities = capabilities(None).map_or_else(|_| CapabilitySet::empty(), |sets| sets.effective);
        Self { capabilities, is_root: lasthop_linux::is_root() }
    }

    /// Whether the process may query the network configuration and create devices; otherwise most
    /// checks cannot be made.
    pub(super) const fn may_look(self) -> bool {
        self.capabilities.contains(CapabilitySet::NET_ADMIN)
    }

    fn may_load_programs(self) -> bool {
        // Before Linux 5.8 there is no CAP_BPF.
        self.capabilities.intersects(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN)
    }

    /// The name of these rights, for a process with `may_look`.
    fn named(self) -> &'static str {
        match (self.is_root, self.may_load_programs()) {
            (true, true) => "root",
            (true, false) => "root without CAP_BPF, which the backend tun does not need",
            (false, true) if self.capabilities.contains(CapabilitySet::BPF) => "CAP_NET_ADMIN and CAP_BPF",
            (false, true) => "CAP_NET_ADMIN and CAP_SYS_ADMIN",
            (false, false) => "CAP_NET_ADMIN; the backend tun does not need CAP_BPF",
        }
    }
}

/// Why a check is skipped without these rights.
pub(super) const UNKNOWN: &str = "not checked: only root can look";

pub(super) fn check(rights: Rights, config: &Config, found: &mut Findings) {
    let name = "privileges";
    if !rights.may_look() {
        if rights.is_root {
            found.advise(
                name,
                Grade::Problem,
                "root without CAP_NET_ADMIN: this process may not take frames out of the kernel's path",
                "give the container or the service CAP_NET_ADMIN and CAP_BPF",
            );
        } else {
            found.advise(
                name,
                Grade::Skipped,
                "this user is not root and has no CAP_NET_ADMIN: not all checks can be made",
                "run `sudo lasthop gateway --check FILE` for all checks",
            );
        }
        return;
    }
    if !rights.may_load_programs() && config.backend != Backend::Tun {
        found.advise(
            name,
            Grade::Warning,
            "CAP_NET_ADMIN, but no CAP_BPF: the kernel refuses the programs of the backend tc-bpf",
            "give the container or the service CAP_BPF",
        );
    } else {
        found.add(name, Grade::Ok, rights.named());
    }
    if config.realtime {
        check_realtime(rights, found);
    }
}

fn check_realtime(rights: Rights, found: &mut Findings) {
    let allows = |resource, least: u64| getrlimit(resource).maximum.is_none_or(|most| most >= least);
    let may_be_realtime =
        rights.capabilities.contains(CapabilitySet::SYS_NICE) || allows(Resource::Rtprio, PRIORITY as u64);
    let may_lock =
        rights.capabilities.contains(CapabilitySet::IPC_LOCK) || allows(Resource::Memlock, u64::MAX);
    if may_be_realtime && may_lock {
        found.add("realtime", Grade::Ok, "real-time scheduling and locked memory are allowed");
    } else {
        found.advise(
            "realtime",
            Grade::Warning,
            "process.realtime = true, but real-time scheduling or locked memory is not allowed: a busy machine delays packets",
            "give the service CAP_SYS_NICE, or LimitRTPRIO=40 and LimitMEMLOCK=infinity",
        );
    }
}
