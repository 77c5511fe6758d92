//! From a configuration to open ports.

use std::path::Path;

use lasthop_agent::Side;
use tracing::{info, warn};

use super::config::{Backend, Config};
use super::daemon::GatewayError;
use super::detect::{DetectError, Kernel};
use crate::io::claim::Claims;
use crate::io::divert::{Attachment, Divert, DivertError};
use crate::io::policy::Policy;
use crate::io::{PacketIo, Port};

/// Ports that frames come from and go to.
pub struct OpenPorts {
    /// The ports.
    pub io: Box<dyn PacketIo>,
    /// How frames are taken out of the kernel's path: never [`Backend::Auto`], but for ports in memory.
    pub backend: Backend,
}

/// Finds the ports that a configuration names or leaves to be found, in the calling thread's network namespace, and claims them, so that no
/// other gateway touches them. What is returned opens them.
pub fn claim(
    config: &Config,
) -> Result<impl FnOnce() -> Result<OpenPorts, GatewayError> + use<>, GatewayError> {
    // `/proc/net` is the process's; this thread may be in another namespace.
    let kernel = Kernel { sys: Path::new("/sys/class/net"), proc: Path::new("/proc/thread-self/net") };
    let radio = found("radio", config.radio.as_ref(), || kernel.radio())?;
    let claims = Claims::take(&radio).map_err(refused)?;
    let (backend, named_core) = (config.backend, config.core.clone());
    let selection = config.plan.traffic.selection();
    Ok(move || {
        let by_tc = |io| OpenPorts { io: Box::new(io), backend: Backend::TcBpf };
        let divert = || Divert::over(claims.clone(), &radio, &selection, Attachment::Newest);
        // Frames are taken where they come in, so this one has to know both sides.
        let policy = || {
            let core = found("core", named_core.as_ref(), || kernel.core(&radio))?;
            let claims = claims.and(&core).map_err(refused)?;
            let sides = [(core, Side::Core), (radio.clone(), Side::Radio)];
            let of_side = |(names, side): (Vec<String>, Side)| {
                names.into_iter().map(move |name| Port { name, side, ethernet: true, copies_of: None })
            };
            let ports = sides.into_iter().flat_map(of_side).collect();
            let io = Policy::over(claims, ports, &selection).map_err(refused)?;
            Ok(OpenPorts { io: Box::new(io), backend: Backend::Tun })
        };
        match backend {
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
    })
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
