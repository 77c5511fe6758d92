//! A gateway from its start to its end: each packet loop on a thread of its own, housekeeping on
//! another.

use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use lasthop_packet::FlowKey;
use tracing::info;

use super::allocator;
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
use super::requests::{Requests, Unanswered};
use super::workers::{self, Ready};
use crate::io::Port;
use lasthop_linux::namespace::Namespace;

/// What starts a gateway.
pub struct Start {
    /// What it is to do.
    pub config: Config,
    /// The file to read again on a reload; `None` for a gateway without one.
    pub file: Option<PathBuf>,
    /// Whether it obeys SIGTERM, SIGINT and SIGHUP, and speaks to systemd: for a process that is
    /// nothing but a gateway.
    pub owns_process: bool,
}

/// A gateway that runs on threads of its own. Dropping it stops it.
pub struct Gateway {
    requests: Requests,
    ports: Vec<Port>,
    backend: Backend,
    packets: Option<JoinHandle<Result<LoopReport, GatewayError>>>,
    housekeeping: Option<JoinHandle<()>>,
}

impl Start {
    /// Starts a gateway over the ports that the configuration names, in the network namespace that
    /// the caller is in.
    pub fn here(self) -> Result<Gateway, GatewayError> {
        self.run(ports::claim)
    }

    /// Starts a gateway over the ports that the configuration names, in another network namespace.
    pub fn inside(self, namespace: &Namespace) -> Result<Gateway, GatewayError> {
        let namespace = namespace.try_clone().map_err(GatewayError::Listeners)?;
        self.run(move |config| {
            namespace.move_into().map_err(GatewayError::Listeners)?;
            ports::claim(config)
        })
    }

    /// Starts a gateway over the ports that `claim` makes ours, and that what it returns opens.
    /// Both run on the first packet loop's thread, which may first enter another namespace: ports
    /// belong to the namespace of the thread that opened them. Returns once the loops are running.
    /// After an error nothing is left.
    pub fn run<Open>(
        self,
        claim: impl FnOnce(&Config) -> Result<Open, GatewayError> + Send + 'static,
    ) -> Result<Gateway, GatewayError>
    where
        Open: FnOnce() -> Result<OpenPorts, GatewayError>,
    {
        let Self { config, file, owns_process } = self;
        if owns_process {
            descriptors::raise_the_limit();
            allocator::give_back_large_tables();
        }
        let (opened, all_open) = channel();
        let (go, gate) = channel();
        let (ended, end) = UnixStream::pair().map_err(GatewayError::Listeners)?;
        let in_force = config.clone();
        let packets = thread::Builder::new().name("packets".into()).spawn(move || {
            let _tell_housekeeping_at_the_end = end;
            // Sockets, too, belong to the namespace that the thread is in once it has claimed its
            // ports.
            let open = || {
                let open_ports = claim(&config)?;
                let listeners =
                    Listeners::open(config.control.as_deref(), config.metrics, owns_process, ended)
                        .map_err(GatewayError::Listeners)?;
                Ok((listeners, open_ports()?))
            };
            // Before all that takes descriptors: a service manager that hears nothing would wait for ever.
            let notifier = if owns_process { Notifier::from_environment() } else { Notifier::default() };
            let (listeners, ports) = open()?;
            workers::run(ports, &config, notifier, |ready| {
                let _ = opened.send((listeners, ready));
                // The first heartbeat, and the word to the service manager, are for when nothing can
                // fail any more.
                gate.recv().is_ok()
            })
        });
        let packets = packets.map_err(GatewayError::Thread)?;
        // From here on its thread is waited for, whatever happens.
        let Ok((listeners, ready)) = all_open.recv() else {
            let outcome = packets.join().map_err(|_| GatewayError::Ended)?;
            return Err(outcome.err().unwrap_or(GatewayError::Ended));
        };
        let Ready { requests, ports, backend } = ready;
        let gateway_ports = ports.clone();
        let housekeeping = Housekeeping {
            requests: requests.clone(),
            file,
            ports,
            in_force,
            backend,
            listeners,
            is_with_ports: owns_process,
        };
        let housekeeping =
            thread::Builder::new().name("housekeeping".into()).spawn(move || housekeeping.run());
        match housekeeping {
            Ok(housekeeping) => {
                // A loop that is gone already says why when it is waited for.
                let _ = go.send(());
                let housekeeping = Some(housekeeping);
                let packets = Some(packets);
                Ok(Gateway { requests, ports: gateway_ports, backend, packets, housekeeping })
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
    /// Its ports.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// How it takes frames out of the kernel's path: never [`Backend::Auto`], but for ports in
    /// memory.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// What it has counted, its processor time among it.
    pub fn report(&self) -> Result<LoopReport, GatewayError> {
        self.requests.report().map_err(unanswered)
    }

    /// Its connections, at most so many.
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

    /// Has it follow another plan.
    pub fn reload(&self, plan: &Plan) -> Result<(), GatewayError> {
        self.requests.reload(plan).map(drop).map_err(unanswered)
    }

    /// Has the agents send on what they hold, and from then on everything pass untouched.
    pub fn drain(&self) -> Result<EngineReport, GatewayError> {
        self.requests.drain().map_err(unanswered)
    }

    /// Sets a connection aside. `false` if there is none.
    pub fn set_aside(&self, flow: FlowKey) -> Result<bool, GatewayError> {
        self.requests.set_aside(flow).map_err(unanswered)
    }

    /// For a link layer in this process that tells what becomes of the frames that the gateway's
    /// host transmits on its radio ports. At most `room` events wait for a packet loop; further
    /// ones are lost, and counted. The last link layer that asked is the one that is heard.
    ///
    /// Agents hear of an event at the time at which the packet loop does, on the gateway's clock,
    /// as of a frame: whatever clock the link layer has, the times that events carry are durations.
    pub fn link_layer(&self, room: usize) -> Result<LinkReporter, GatewayError> {
        self.requests.link_reporter(room).map_err(unanswered)
    }

    /// Drains it, closes its ports, and returns what it counted.
    pub fn stop(mut self) -> Result<LoopReport, GatewayError> {
        self.requests.stop();
        self.join().inspect(|_| info!("ended"))
    }

    /// Waits until it ends: by a signal, or because its ports broke.
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

/// Whoever asks can do no more about a loop that does not answer than about one that has ended.
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
