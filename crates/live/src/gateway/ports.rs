//! From a configuration to open ports.

use std::path::Path;

use lasthop_agent::Side;
use tracing::{info, warn};

use super::config::{Backend, Config};
use super::daemon::GatewayError;
use super::detect::{Interfaces, detect};
use crate::io::divert::{Divert, DivertError};
use crate::io::policy::Policy;
use crate::io::{PacketIo, Port};

/// Ports that frames come from and go to.
pub struct OpenPorts {
    /// The ports.
    pub io: Box<dyn PacketIo>,
    /// How frames are taken out of the kernel's path: never [`Backend::Auto`], but for ports in memory.
    pub backend: Backend,
}

/// Opens the ports that a configuration names or leaves to be found, in the calling thread's network namespace.
pub fn open_ports(config: &Config) -> Result<OpenPorts, GatewayError> {
    let found = find(config)?;
    let side =
        |names: Vec<String>, side| names.into_iter().map(move |name| Port { name, side, ethernet: true });
    let ports: Vec<Port> = side(found.core, Side::Core).chain(side(found.radio, Side::Radio)).collect();
    let selection = config.plan.traffic.selection();
    let refused = |error: &dyn std::error::Error| GatewayError::Ports(error.to_string());
    let divert = || Divert::open(ports.clone(), &selection);
    let policy = || Policy::open(ports.clone(), &selection);
    Ok(match config.backend {
        Backend::TcBpf => {
            OpenPorts { io: Box::new(divert().map_err(|error| refused(&error))?), backend: Backend::TcBpf }
        }
        Backend::Tun => {
            OpenPorts { io: Box::new(policy().map_err(|error| refused(&error))?), backend: Backend::Tun }
        }
        Backend::Auto => match divert() {
            Ok(io) => OpenPorts { io: Box::new(io), backend: Backend::TcBpf },
            Err(error @ (DivertError::NotEthernet { .. } | DivertError::Program(_))) => {
                warn!(%error, "tc-bpf does not work here; trying tun");
                let io = policy()
                    .map_err(|second| GatewayError::Ports(format!("{error}; and by tun: {second}")))?;
                OpenPorts { io: Box::new(io), backend: Backend::Tun }
            }
            Err(error) => return Err(refused(&error)),
        },
    })
}

/// The interfaces that the configuration names, and those that it leaves to be found.
fn find(config: &Config) -> Result<Interfaces, GatewayError> {
    let (core, radio) = (config.core.as_deref(), config.radio.as_deref());
    // `/proc/net` is the process's; this thread may be in another namespace.
    let proc = Path::new("/proc/thread-self/net");
    let found = detect(core, radio, Path::new("/sys/class/net"), proc);
    let found = found.map_err(|error| GatewayError::Ports(error.to_string()))?;
    if core.is_none() || radio.is_none() {
        info!(core = found.core.join(", "), radio = found.radio.join(", "), "interfaces were found");
    }
    Ok(found)
}
