//! The life cycle of a gateway: each packet loop runs on a thread of its own, housekeeping on
//! another.

use std::fmt;
#[cfg(feature = "roaming")]
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
#[cfg(feature = "roaming")]
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

#[cfg(feature = "roaming")]
use lasthop_agent::Side;
use lasthop_packet::FlowKey;
use tracing::info;

use super::allocator;
#[cfg(feature = "roaming")]
use super::config::SiteConfig;
use super::config::{Backend, Config};
use super::descriptors;
use super::engine::{EngineReport, FlowReport};
use super::error::GatewayError;
use super::housekeeping::Housekeeping;
use super::link::LinkReporter;
use super::listeners::Listeners;
use super::notify::Notifier;
use super::packet_loop::LoopReport;
use super::plan::Plan;
use super::ports::{self, OpenPorts};
use super::pseudonyms::Pseudonyms;
use super::requests::{Requests, Unanswered};
#[cfg(feature = "roaming")]
use super::roaming::driver::Joining;
#[cfg(feature = "roaming")]
use super::roaming::{Parts, Roaming, setup};
use super::workers::{self, Ready};
use crate::io::Port;
use lasthop_linux::namespace::Namespace;

/// The parameters of a gateway's start.
pub struct Start {
    /// The configuration.
    pub config: Config,
    /// The file to read again on a reload; `None` for a gateway without one.
    pub file: Option<PathBuf>,
    /// Whether the gateway handles SIGTERM, SIGINT and SIGHUP, and notifies systemd: for a process
    /// whose only task is a gateway.
    pub owns_process: bool,
}

/// A running gateway, with threads of its own. Dropping it stops the gateway.
pub struct Gateway {
    requests: Requests,
    ports: Vec<Port>,
    backend: Backend,
    packets: Option<JoinHandle<Result<LoopReport, GatewayError>>>,
    housekeeping: Option<JoinHandle<()>>,
    #[cfg(feature = "roaming")]
    roaming: Arc<OnceLock<Roaming>>,
}

impl Start {
    /// Starts a gateway with the ports that the configuration names, in the caller's network
    /// namespace.
    pub fn here(self) -> Result<Gateway, GatewayError> {
        #[cfg(feature = "roaming")]
        {
            let site = self.config.roaming.clone();
            let join = |ports: &[Port], backend| join_site(site.as_ref(), ports, backend);
            let (gateway, joining) = self.run_after(ports::claim, join)?;
            gateway.start_roaming(joining)
        }
        #[cfg(not(feature = "roaming"))]
        self.run(ports::claim)
    }

    /// Starts a gateway with the ports that the configuration names, in another network namespace.
    pub fn inside(self, namespace: &Namespace) -> Result<Gateway, GatewayError> {
        let its_own = namespace.try_clone().map_err(GatewayError::Listeners)?;
        let claim = move |config: &Config| {
            its_own.move_into().map_err(GatewayError::Listeners)?;
            ports::claim(config)
        };
        #[cfg(feature = "roaming")]
        {
            let site = self.config.roaming.clone();
            let join = |ports: &[Port], backend| {
                namespace
                    .enter(|| join_site(site.as_ref(), ports, backend))
                    .map_err(GatewayError::Listeners)?
            };
            let (gateway, joining) = self.run_after(claim, join)?;
            namespace.enter(|| gateway.start_roaming(joining)).map_err(GatewayError::Listeners)?
        }
        #[cfg(not(feature = "roaming"))]
        self.run(claim)
    }

    /// Starts a gateway with the ports that `claim` claims, and that the function it returns opens.
    /// Both run on the first packet loop's thread, which may first enter another namespace: ports
    /// belong to the namespace of the thread that opened them. Returns once the loops are running.
    /// After an error, everything is closed.
    pub fn run<Open>(
        self,
        claim: impl FnOnce(&Config) -> Result<Open, GatewayError> + Send + 'static,
    ) -> Result<Gateway, GatewayError>
    where
        Open: FnOnce() -> Result<OpenPorts, GatewayError>,
    {
        self.run_after(claim, |_, _| Ok(())).map(|(gateway, ())| gateway)
    }

    /// As [`run`](Self::run). Before the loops start and the service manager is told, `prepare` does what else may fail
    /// of the start, on the calling thread.
    pub(super) fn run_after<Open, Prepared>(
        self,
        claim: impl FnOnce(&Config) -> Result<Open, GatewayError> + Send + 'static,
        prepare: impl FnOnce(&[Port], Backend) -> Result<Prepared, GatewayError>,
    ) -> Result<(Gateway, Prepared), GatewayError>
    where
        Open: FnOnce() -> Result<OpenPorts, GatewayError>,
    {
        let Self { config, file, owns_process } = self;
        if owns_process {
            descriptors::raise_the_limit();
            allocator::return_large_tables();
        }
        let (opened, all_open) = channel();
        let (go, gate) = channel();
        let (ended, end) = UnixStream::pair().map_err(GatewayError::Listeners)?;
        let in_force = config.clone();
        let packets = thread::Builder::new().name("packets".into()).spawn(move || {
            let _ends_housekeeping_when_dropped = end;
            // Sockets, like ports, belong to the namespace of the thread, which it has entered once
            // it has claimed its ports.
            let open = || {
                let open_ports = claim(&config)?;
                let listeners =
                    Listeners::open(config.control.as_deref(), config.metrics, owns_process, ended)
                        .map_err(GatewayError::Listeners)?;
                Ok((listeners, open_ports()?))
            };
            // Before anything else that needs descriptors: without the notifier, the service
            // manager would wait forever.
            let notifier = if owns_process { Notifier::from_environment() } else { Notifier::default() };
            let (listeners, ports) = open()?;
            workers::run(ports, &config, notifier, |ready| {
                let _ = opened.send((listeners, ready));
                // The first heartbeat and the notification of the service manager wait until the
                // start can no longer fail.
                gate.recv().is_ok()
            })
        });
        let packets = packets.map_err(GatewayError::Thread)?;
        // From here on, every path joins the thread.
        let Ok((listeners, ready)) = all_open.recv() else {
            let outcome = packets.join().map_err(|_| GatewayError::Ended)?;
            return Err(outcome.err().unwrap_or(GatewayError::Ended));
        };
        let Ready { requests, ports, backend } = ready;
        let prepared = match prepare(&ports, backend) {
            Ok(prepared) => prepared,
            Err(error) => {
                drop(go);
                let _ = packets.join();
                return Err(error);
            }
        };
        let gateway_ports = ports.clone();
        #[cfg(feature = "roaming")]
        let roaming = Arc::new(OnceLock::new());
        let housekeeping = Housekeeping {
            requests: requests.clone(),
            file,
            ports,
            pseudonyms: in_force.pseudonyms_in_metrics.then(Pseudonyms::default),
            in_force,
            backend,
            listeners,
            is_with_ports: owns_process,
            #[cfg(feature = "roaming")]
            roaming: Arc::clone(&roaming),
        };
        let housekeeping =
            thread::Builder::new().name("housekeeping".into()).spawn(move || housekeeping.run());
        match housekeeping {
            Ok(housekeeping) => {
                // A loop that has already ended returns its error when it is joined.
                let _ = go.send(());
                let housekeeping = Some(housekeeping);
                let packets = Some(packets);
                let gateway = Gateway {
                    requests,
                    ports: gateway_ports,
                    backend,
                    packets,
                    housekeeping,
                    #[cfg(feature = "roaming")]
                    roaming,
                };
                Ok((gateway, prepared))
            }
            Err(error) => {
                drop(go);
                let _ = packets.join();
                Err(GatewayError::Thread(error))
            }
        }
    }
}

impl Gateway {
    /// The gateway's ports.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The backend in use: never [`Backend::Auto`], except for ports in memory.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// The gateway's counters and processor time.
    pub fn report(&self) -> Result<LoopReport, GatewayError> {
        self.requests.report().map_err(unanswered)
    }

    /// The gateway's connections, at most `most`.
    pub fn flows(&self, most: usize) -> Result<Vec<FlowReport>, GatewayError> {
        let (mut flows, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next.filter(|_| flows.len() < most) {
            let page = self.requests.flows(from).map_err(unanswered)?;
            flows.extend(page.flows);
            next = page.next;
        }
        flows.truncate(most);
        Ok(flows)
    }

    /// Applies another plan.
    pub fn reload(&self, plan: &Plan) -> Result<(), GatewayError> {
        self.requests.reload(plan).map(drop).map_err(unanswered)
    }

    /// Has the agents send the packets that they hold, and all later traffic pass unchanged.
    pub fn drain(&self) -> Result<EngineReport, GatewayError> {
        self.requests.drain().map_err(unanswered)
    }

    /// Sets a connection aside. `false` if it is unknown.
    pub fn set_aside(&self, flow: FlowKey) -> Result<bool, GatewayError> {
        self.requests.set_aside(flow).map_err(unanswered)
    }

    /// Attaches a link layer in this process, which reports the fate of frames that the gateway's
    /// host transmits on its radio ports. At most `room` events wait for a packet loop; further
    /// events are lost and counted. A link layer replaces the one attached before.
    ///
    /// Agents receive an event at the time at which the packet loop does, on the gateway's clock,
    /// as they receive a frame. Events carry durations, not times of the link layer's clock.
    pub fn link_layer(&self, room: usize) -> Result<LinkReporter, GatewayError> {
        self.requests.link_reporter(room).map_err(unanswered)
    }

    /// Lets clients roam between this gateway and others of its site, until the gateway ends. The control socket and
    /// the metrics page then have what is known of them.
    ///
    /// # Errors
    /// Those of the channel, and of starting a thread; `AlreadyExists` at the second call.
    #[cfg(feature = "roaming")]
    pub fn roam(&self, parts: Parts) -> io::Result<&Roaming> {
        if self.roaming.get().is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let roaming = Roaming::start(Joining::open(parts)?, self.requests.clone())?;
        Ok(self.roaming.get_or_init(|| roaming))
    }

    /// Starts to take part in a site that was joined, if there is one.
    #[cfg(feature = "roaming")]
    fn start_roaming(self, joining: Option<Joining>) -> Result<Self, GatewayError> {
        if let Some(joining) = joining {
            let roaming = Roaming::start(joining, self.requests.clone());
            let roaming = roaming.map_err(|error| GatewayError::Roaming(error.to_string()))?;
            self.roaming.get_or_init(|| roaming);
        }
        Ok(self)
    }

    /// Drains the gateway, closes its ports, and returns its counters.
    pub fn stop(mut self) -> Result<LoopReport, GatewayError> {
        self.requests.stop();
        self.join().inspect(|_| info!("ended"))
    }

    /// Waits until the gateway ends, by a signal or because of a port error.
    pub fn wait(mut self) -> Result<LoopReport, GatewayError> {
        self.join().inspect(|_| info!("ended"))
    }

    fn join(&mut self) -> Result<LoopReport, GatewayError> {
        let packets = self.packets.take().ok_or(GatewayError::Ended)?;
        let outcome = packets.join().map_err(|_| GatewayError::Ended);
        if let Some(housekeeping) = self.housekeeping.take() {
            let _ = housekeeping.join();
        }
        outcome?
    }
}

/// Opens the files and the channel of a site, if there is one, in the network namespace of the calling thread.
#[cfg(feature = "roaming")]
fn join_site(
    site: Option<&SiteConfig>,
    ports: &[Port],
    backend: Backend,
) -> Result<Option<Joining>, GatewayError> {
    let Some(site) = site else { return Ok(None) };
    let failed = |why: String| GatewayError::Roaming(why);
    if backend == Backend::Tun {
        let why = "the backend tun, which is in use, sees no MAC addresses, by which clients are known";
        return Err(failed(why.to_owned()));
    }
    let is_radio = |port: &&Port| port.side == Side::Radio;
    let mut radio: Vec<String> = ports.iter().filter(is_radio).map(|port| port.name.clone()).collect();
    radio.dedup();
    let parts = setup::open(site, radio).map_err(failed)?;
    Joining::open(parts).map(Some).map_err(|error| failed(error.to_string()))
}

/// For the caller, a loop that does not answer is no different from one that has ended.
const fn unanswered(why: Unanswered) -> GatewayError {
    match why {
        Unanswered::Pending => GatewayError::Pending,
        Unanswered::Ended | Unanswered::Late => GatewayError::Ended,
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if self.packets.is_some() {
            self.requests.stop();
            let _ = self.join();
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("ports", &self.ports).finish_non_exhaustive()
    }
}
