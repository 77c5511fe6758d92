//! From a configuration to open ports.

use std::path::Path;

use lasthop_agent::Side;
use tracing::{info, warn};

use super::choice::{Choice, choose};
use super::config::{Backend, Config};
use super::detect::{DetectError, Kernel};
use super::error::GatewayError;
use super::translation::{self, Translation};
use crate::io::claim::Claims;
use crate::io::divert::{Attachment, Divert, DivertError};
use crate::io::policy::{self, Policy};
use crate::io::{PacketIo, Port};
use lasthop_linux::device::Interface;

/// Ports that frames come from and go to.
pub struct OpenPorts {
    /// The same ports for each worker; where there are several, a client's frames come to the worker
    /// that has it ([`worker_of`](crate::io::steering::worker_of)).
    pub workers: Vec<Box<dyn PacketIo + Send>>,
    /// How frames are taken out of the kernel's path: never [`Backend::Auto`], but for ports in
    /// memory.
    pub backend: Backend,
    /// What the operator should know about that; each a sentence.
    pub notes: Vec<String>,
}

/// The calling thread's network: `/proc/net` is the process's, and this thread may be in another
/// namespace.
pub(super) fn kernel() -> Kernel<'static> {
    Kernel { sys: Path::new("/sys/class/net"), proc: Path::new("/proc/thread-self/net") }
}

/// Finds the ports that a configuration names or leaves to be found, in the calling thread's
/// network namespace, and claims them, so that no other gateway touches them. What is returned
/// opens them.
pub fn claim(
    config: &Config,
) -> Result<impl FnOnce() -> Result<OpenPorts, GatewayError> + use<>, GatewayError> {
    let radio = found("radio", config.radio.as_ref(), || kernel().radio())?;
    let claims = Claims::take(&radio).map_err(refused)?;
    let Choice { backend, notes } = choice(config, &radio, || try_tc(&radio)).map_err(GatewayError::Ports)?;
    for note in &notes {
        warn!("{note}");
    }
    let mut core = Vec::new();
    if backend == Backend::Tun {
        // Frames are taken where they come in, so this one has to know both sides.
        core = found("core", config.core.as_ref(), || kernel().core(&radio))?;
        claims.add(&core).map_err(refused)?;
    }
    let threads = config.threads;
    let selection = config.plan.selection(threads);
    Ok(move || {
        let workers: Vec<Box<dyn PacketIo + Send>> = if backend == Backend::Tun {
            let sides = [(core, Side::Core), (radio, Side::Radio)];
            let of_side = |(names, side): (Vec<String>, Side)| {
                names.into_iter().map(move |name| Port { name, side, ethernet: true, copies_of: None })
            };
            let ports = sides.into_iter().flat_map(of_side).collect();
            vec![Box::new(Policy::over(claims, ports, &selection).map_err(refused)?)]
        } else {
            policy::clear_away(&claims);
            let workers = Divert::for_workers(threads, &claims, &radio, &selection, Attachment::Newest);
            workers.map_err(refused)?.into_iter().map(|io| Box::new(io) as _).collect()
        };
        Ok(OpenPorts { workers, backend, notes })
    })
}

/// Which backend a start uses over these radio interfaces, and what the operator should know about
/// it. `tried` tests whether tc-bpf works; the error says why no backend can be used.
pub(super) fn choice(
    config: &Config,
    radio: &[String],
    tried: impl FnOnce() -> Result<(), DivertError>,
) -> Result<Choice, String> {
    let mut choice = choose(config.backend, tried, || translation::look(kernel().proc))?;
    if config.plan.passive && choice.backend == Backend::Tun {
        let why = choice.notes.first().filter(|_| config.backend == Backend::Auto);
        let why = why.map(|note| format!(": {note}")).unwrap_or_default();
        return Err(format!(
            "a passive gateway needs the backend tc-bpf; with tun, all packets go through the gateway{why}"
        ));
    }
    let bridges = radio.iter().filter(|name| kernel().is_bridge(name));
    choice.notes.extend(bridges.map(|name| {
        format!("{name} is a bridge: traffic between its members does not cross it; name the members that are radios")
    }));
    if choice.backend == Backend::Tun && config.threads > 1 {
        choice.notes.push(
            "process.threads has no effect with the backend tun: one thread takes all packets".to_owned(),
        );
    }
    if choice.backend == Backend::TcBpf && config.threads > 1 && config.plan.takes_datagrams() {
        choice.notes.push(
            "with several threads, a call holds back only the downloads of clients on its own thread"
                .to_owned(),
        );
    }
    if choice.backend == Backend::Tun && config.plan.takes_datagrams() {
        choice.notes.push("with tun, the daemon receives no datagrams: calls are not recognized".to_owned());
    }
    Ok(choice)
}

/// Tests whether tc-bpf works over these radio interfaces. No traffic is affected.
pub(super) fn try_tc(radio: &[String]) -> Result<(), DivertError> {
    radio.iter().try_for_each(|name| is_ethernet(name))?;
    Divert::try_out()
}

/// What translates addresses in the calling thread's network namespace; `None` if nothing does, or
/// it cannot be told.
pub(super) fn translation() -> Option<String> {
    match translation::look(kernel().proc) {
        Translation::Found(place) => Some(place.to_string()),
        Translation::None | Translation::Unknown(_) => None,
    }
}

fn is_ethernet(name: &str) -> Result<(), DivertError> {
    let is_ethernet = Interface::named(name).and_then(|interface| interface.is_ethernet());
    match is_ethernet {
        Ok(true) => Ok(()),
        Ok(false) => Err(DivertError::NotEthernet { name: name.to_owned() }),
        Err(error) => Err(DivertError::Interface { name: name.to_owned(), error }),
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
    info!(side, interfaces = found.join(", "), "interfaces detected");
    Ok(found)
}

fn refused(error: impl std::error::Error) -> GatewayError {
    GatewayError::Ports(error.to_string())
}
