//! From a configuration to open ports.

use std::path::Path;

use lasthop_agent::Side;
use tracing::{info, warn};

use super::config::{Backend, Config};
use super::daemon::GatewayError;
use super::detect::{DetectError, Kernel};
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
    // `/proc/net` is the process's; this thread may be in another namespace.
    let kernel = Kernel { sys: Path::new("/sys/class/net"), proc: Path::new("/proc/thread-self/net") };
    let radio = found("radio", config.radio.as_ref(), || kernel.radio())?;
    let selection = config.plan.traffic.selection();
    let by_tc = |io| OpenPorts { io: Box::new(io), backend: Backend::TcBpf };
    let divert = || Divert::open(&radio, &selection);
    // Frames are taken where they come in, so this one has to know both sides.
    let policy = || {
        let core = found("core", config.core.as_ref(), || kernel.core(&radio))?;
        let sides = [(core, Side::Core), (radio.clone(), Side::Radio)];
        let of_side = |(names, side): (Vec<String>, Side)| {
            names.into_iter().map(move |name| Port { name, side, ethernet: true, copies_of: None })
        };
        let io = Policy::open(sides.into_iter().flat_map(of_side).collect(), &selection).map_err(refused)?;
        Ok(OpenPorts { io: Box::new(io), backend: Backend::Tun })
    };
    match config.backend {
        Backend::TcBpf => divert().map(by_tc).map_err(refused),
        Backend::Tun => policy(),
        Backend::Auto => match divert() {
            Ok(io) => Ok(by_tc(io)),
            Err(error @ (DivertError::NotEthernet { .. } | DivertError::Program(_))) => {
                warn!(%error, "tc-bpf does not work here; trying tun");
                policy().map_err(|second| GatewayError::Ports(format!("{error}; and by tun: {second}")))
            }
            Err(error) => Err(refused(error)),
        },
    }
}

/// The interfaces of a side that the file names, or else those that are found.
fn found(
    side: &str,
    named: Option<&Vec<String>>,
    find: impl FnOnce() -> Result<Vec<String>, DetectError>,
) -> Result<Vec<String>, GatewayError> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let found = find().map_err(refused)?;
    info!(side, interfaces = found.join(", "), "interfaces were found");
    Ok(found)
}

fn refused(error: impl std::error::Error) -> GatewayError {
    GatewayError::Ports(error.to_string())
}
