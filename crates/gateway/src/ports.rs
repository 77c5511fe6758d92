//! Opens the ports of a configuration.

use std::path::Path;

use lasthop_agent::Side;
use tracing::{info, warn};

use super::backend_choice::{Choice, choose};
use super::config::{Backend, Config, TxStatus};
use super::detect::{DetectError, Kernel};
use super::error::GatewayError;
use super::radio_probe;
use super::translation::{self, Translation};
use crate::io::claim::Claims;
use crate::io::divert::{Attachment, Divert, DivertError};
use crate::io::policy::{self, Policy};
use crate::io::{PacketIo, Port, Selection};
use lasthop_linux::device::Interface;

/// Open ports.
pub struct OpenPorts {
    /// The same ports for each worker. With several workers, a client's frames are diverted to its
    /// worker ([`worker_of`](crate::io::steering::worker_of)).
    pub workers: Vec<Box<dyn PacketIo + Send>>,
    /// The backend in use: never [`Backend::Auto`], except for ports in memory.
    pub backend: Backend,
    /// Notices to the operator about the backend, one sentence each.
    pub notes: Vec<String>,
}

/// The directories of the calling thread's network namespace. `/proc/net` is that of the process,
/// and this thread may be in another namespace.
pub(super) fn kernel() -> Kernel<'static> {
    Kernel { sys: Path::new("/sys/class/net"), proc: Path::new("/proc/thread-self/net") }
}

/// Claims the ports that a configuration names, or the detected ones, in the calling thread's
/// network namespace, so that no other gateway uses them. Returns a function that opens them.
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
        // Frames are taken at ingress only, so this backend needs the interfaces of both sides.
        core = found("core", config.core.as_ref(), || kernel().core(&radio))?;
        claims.add(&core).map_err(refused)?;
    }
    let threads = config.threads;
    let tx_status = config.tx_status != TxStatus::Off;
    if tx_status {
        radio_probe::check(config.tx_status, &radio).map_err(GatewayError::Ports)?;
    }
    let selection = Selection { tx_status, ..config.plan.selection(threads) };
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

/// The backend that a start uses with these radio interfaces, with notices to the operator. `tried`
/// tests whether tc-bpf works; the error is the reason why no backend can be used.
pub(super) fn choice(
    config: &Config,
    radio: &[String],
    tried: impl FnOnce() -> Result<(), DivertError>,
) -> Result<Choice, String> {
    let mut choice = choose(config.backend, tried, || translation::detect(kernel().proc))?;
    if config.plan.passive && choice.backend == Backend::Tun {
        let why = choice.notes.first().filter(|_| config.backend == Backend::Auto);
        let why = why.map(|note| format!(": {note}")).unwrap_or_default();
        return Err(format!(
            "a passive gateway needs the backend tc-bpf; with tun, all packets go through the gateway{why}"
        ));
    }
    if config.tx_status != TxStatus::Off && choice.backend == Backend::Tun {
        let why = choice.notes.first().map(|note| format!(": {note}")).unwrap_or_default();
        return Err(format!("ports.tx-status needs the backend tc-bpf{why}"));
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

/// Tests whether tc-bpf works with these radio interfaces. No traffic is affected.
pub(super) fn try_tc(radio: &[String]) -> Result<(), DivertError> {
    radio.iter().try_for_each(|name| is_ethernet(name))?;
    Divert::try_out()
}

/// The address translation in the calling thread's network namespace; `None` if there is none, or
/// it is unknown.
pub(super) fn translation() -> Option<String> {
    match translation::detect(kernel().proc) {
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

/// The interfaces that the file names for a side, or otherwise the detected ones.
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
