//! Checks of a gateway's listeners, which are its control socket and its metrics address, and of
//! the limit of open files.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};

use super::finding::{Findings, Grade};
use super::gateways::Running;
use super::port::holders_of;
use super::rights::Rights;
use crate::config::{Backend, Config};
use crate::{descriptors, listeners};
use lasthop_linux::peer::{self, Peer};

/// Checks the control socket and the metrics address.
pub(super) fn check(rights: Rights, config: &Config, running: Option<Running>, found: &mut Findings) {
    if let Some(path) = &config.control {
        check_control(rights, path, running, found);
    }
    if let Some(at) = config.metrics {
        check_metrics(at, running, found);
    }
}

fn check_control(rights: Rights, path: &Path, running: Option<Running>, found: &mut Findings) {
    let (name, shown) = ("control socket", path.display());
    let key = "[control] socket";
    match UnixStream::connect(path) {
        Ok(stream) => {
            let peer = Peer::from_socket(stream);
            let pid = peer.as_ref().ok().and_then(|peer| peer.pid);
            if running.is_some_and(|Running(ours)| pid == Some(ours)) {
                found.add(name, Grade::Ok, format!("{shown}, of the gateway that is running"));
            } else {
                let who = peer.map_or_else(|_| "another process".to_owned(), |peer| peer.to_string());
                found.advise(
                    name,
                    Grade::Problem,
                    format!("{who} listens on {shown}"),
                    format!("stop it first, or set another {key}"),
                );
            }
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            found.add(name, Grade::Skipped, format!("not checked: this user may not use {shown}"));
        }
        Err(_) if listeners::is_no_socket(path) => found.advise(
            name,
            Grade::Problem,
            format!("{shown} exists and is not a socket"),
            format!("remove it, or set another {key}"),
        ),
        // The socket does not exist, or a gateway that was killed has left it.
        Err(_) => match can_be_created(path) {
            Ok(()) => found.add(name, Grade::Ok, format!("{shown} can be opened")),
            Err(_) if !rights.may_look() => {
                found.add(name, Grade::Skipped, format!("not checked: only root can open {shown}"));
            }
            Err(why) => found.advise(
                name,
                Grade::Problem,
                format!("{shown} cannot be opened: {why}"),
                format!("set another {key}"),
            ),
        },
    }
}

/// Whether a file can be created at this path, with all missing directories.
pub(super) fn can_be_created(path: &Path) -> Result<(), String> {
    let there = path.ancestors().skip(1).find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    if !there.is_dir() {
        return Err(format!("{} is not a directory", there.display()));
    }
    rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("{}: {error}", there.display()))
}

fn check_metrics(at: SocketAddr, running: Option<Running>, found: &mut Findings) {
    let name = "metrics";
    let error = match listeners::may_listen(at) {
        Ok(()) => return found.add(name, Grade::Ok, format!("{at} is free")),
        Err(error) => error,
    };
    let is_in_use = error.kind() == io::ErrorKind::AddrInUse;
    let holders = if is_in_use { holders_of(at) } else { Vec::new() };
    let why = match (holders.first(), running) {
        (Some(_), Some(Running(ours))) if holders.contains(&ours) => {
            return found.add(name, Grade::Ok, format!("{at}, of the gateway that is running"));
        }
        (None, Some(_)) if is_in_use => {
            let finding = format!("{at} is in use; only root can see whether by the gateway that is running");
            return found.add(name, Grade::Skipped, finding);
        }
        (Some(holder), _) => format!("{} listens there", peer::shown(*holder)),
        (None, _) => error.to_string(),
    };
    found.advise(
        name,
        Grade::Problem,
        format!("cannot listen on the metrics address {at}: {why}"),
        "set another [metrics] listen, or \"off\"",
    );
}

/// Checks the limit of open files. Only an upper bound of the need is known, so a lower limit does
/// not prove that a start fails.
pub(super) fn open_files(config: &Config, backend: Option<Backend>, radio: usize, found: &mut Findings) {
    let name = "open files";
    // With tun, one thread handles all packets.
    let threads = if backend == Some(Backend::Tun) { 1 } else { config.threads };
    let needed = descriptors::needed(threads, radio);
    match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < needed => found.advise(
            name,
            Grade::Warning,
            format!("at most {most}; a gateway may need up to {needed}"),
            "raise the hard limit (systemd: LimitNOFILE=16384)",
        ),
        Some(most) => found.add(name, Grade::Ok, format!("at most {most}; a gateway needs up to {needed}")),
        None => found.add(name, Grade::Ok, format!("no limit; a gateway needs up to {needed}")),
    }
}
