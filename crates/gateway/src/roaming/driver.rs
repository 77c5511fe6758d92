//! The thread that runs the hand-offs of a gateway: events in, calls of the packet loops, the channel and the
//! registry out. The packet loops never wait for it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use lasthop_handoff::{Config, Query};
use lasthop_linux::bridge_table::BridgeTable;
use lasthop_linux::clock;
use lasthop_registry::AccessPoint;
use rustix::time::{ClockId, clock_gettime};
use tracing::{info, warn};

use super::associations;
use super::channel::{Channel, Destination, Pending};
use super::event::Event;
use super::handoffs::{ClientPlace, Handoffs};
use super::hostapd;
use super::inbox::Inbox;
use super::nat::access_point::TakenUp;
use super::nat::mapping::Moved;
use super::nat::{Nat, Translations, outside_of};
use super::outside::Outside;
use super::questions::Questions;
use super::report::{ClientRow, RoamingReport};
use super::source::RegistrySource;
use super::state;
use crate::engine::{ClientLoad, RoamingCounters, SavedConnection, Served};
use crate::frame::MacAddress;
use crate::io::steering::worker_of;
use crate::requests::Requests;

/// The maximum number of events that wait. Further messages are lost; everything else waits for room.
const MAX_EVENTS: usize = 4096;

/// The maximum number of turns of the packet loops in which the connections of a client are given: enough for more than
/// a state holds.
const MAX_TURNS: u32 = 1024;

/// How long a question of a list waits for its answer.
const PATIENCE: Duration = Duration::from_secs(2);

const NO_ANSWER: &str = "the thread of the hand-offs does not answer";

/// How an access point takes part in a site.
pub struct Parts {
    /// The access point, as others know it.
    pub access_point: AccessPoint,
    /// The maximum number of clients that are handed over.
    pub max_clients: usize,
    /// How long hand-offs wait.
    pub config: Config,
    /// Which access point each client is at.
    pub registry: Arc<RegistrySource>,
    /// The table of the bridge that has the radio interfaces, and the names of these, if clients are to be noticed
    /// by what it learns; they are also noticed by their packets.
    pub bridge: Option<(BridgeTable, Vec<String>)>,
    /// The control sockets of hostapd, if clients are to be noticed by what it reports.
    pub hostapd: Vec<PathBuf>,
    /// Its part in the translation of addresses, if access points translate.
    pub nat: Option<Nat>,
    /// Creates the channel to the others, which puts what it receives into the inbox.
    pub channel: Box<dyn FnOnce(Inbox) -> io::Result<Box<dyn Channel>> + Send>,
}

/// The hand-offs of a gateway, on a thread that ends when all of these are dropped.
#[derive(Clone)]
pub struct Roaming {
    /// This access point's.
    name: Arc<str>,
    events: SyncSender<Event>,
    _end: Arc<End>,
}

/// Ends the thread when dropped, and waits for it.
struct End {
    events: SyncSender<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.events.send(Event::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An access point whose channel is open, and whose hand-offs have not started. What it receives waits.
pub(crate) struct Joining {
    access_point: AccessPoint,
    max_clients: usize,
    config: Config,
    registry: Arc<RegistrySource>,
    bridge: Option<(BridgeTable, Vec<String>)>,
    hostapd: Vec<PathBuf>,
    nat: Option<Nat>,
    channel: Box<dyn Channel>,
    events: SyncSender<Event>,
    inbox: Receiver<Event>,
}

impl Joining {
    /// Opens the channel.
    pub(crate) fn open(parts: Parts) -> io::Result<Self> {
        let Parts { access_point, max_clients, config, registry, bridge, hostapd, nat, channel } = parts;
        let (events, inbox) = sync_channel(MAX_EVENTS);
        let channel = channel(Inbox::new(events.clone()))?;
        Ok(Self { access_point, max_clients, config, registry, bridge, hostapd, nat, channel, events, inbox })
    }
}

impl Roaming {
    /// Starts the hand-offs of a gateway with these packet loops.
    pub(crate) fn start(joining: Joining, requests: Requests) -> io::Result<Self> {
        let Joining {
            access_point,
            max_clients,
            config,
            registry,
            bridge,
            hostapd,
            nat,
            channel,
            events,
            inbox,
        } = joining;
        let answers = events.clone();
        let name = access_point.name().to_owned();
        let questions = Questions::start(registry, access_point, move |client, number, answer| {
            let _ = answers.send(Event::Answer { client, number, answer });
        })?;
        let unanswered = |why: crate::requests::Unanswered| io::Error::other(why.to_string());
        let arrivals = events.clone();
        let report = move |clients| {
            // A packet loop does not wait. A client that is not reported now is reported with a later packet.
            let _ = arrivals.try_send(Event::Arrived(clients));
        };
        // The hosts behind a gateway that translates the site are access points, not clients.
        if !matches!(nat, Some(Nat::Central(_))) {
            requests.report_arrivals(report).map_err(unanswered)?;
            requests.engines(move |_, engine, _, _| engine.roam(max_clients)).map_err(unanswered)?;
        }
        let workers = requests.workers();
        let since_1970 = clock_gettime(ClockId::Realtime);
        let first_attempt = (since_1970.tv_sec as u64) * 1_000_000_000 + since_1970.tv_nsec as u64;
        let mut handoffs = Handoffs::new(&name, max_clients, config, first_attempt, clock::now());
        if let Some(Nat::AccessPoint { central, .. }) = &nat {
            handoffs = handoffs.with_central(central);
        }
        info!(access_point = name, "clients may roam");
        let around = Around { requests, questions, channel, nat, workers };
        let own_name = Arc::from(name.as_str());
        let driver = Driver { name, handoffs, around };
        let thread = thread::Builder::new().name("roaming".into()).spawn(move || driver.run(inbox))?;
        let end = Arc::new(End { events: events.clone(), thread: Some(thread) });
        if let Some((table, radio)) = bridge {
            associations::start(table, radio, events.clone(), Arc::downgrade(&end))?;
        }
        for socket in hostapd {
            hostapd::start(socket, events.clone(), Arc::downgrade(&end))?;
        }
        Ok(Self { name: own_name, events, _end: end })
    }

    /// A client has associated; it comes from the access point with this name, if that is known. It may be this one.
    ///
    /// # Errors
    /// A message, if there is no access point with this name, as far as this one knows. The client has associated
    /// nevertheless.
    pub fn joined(&self, client: MacAddress, from: Option<&str>) -> Result<(), String> {
        let from = from.filter(|name| *name != &*self.name);
        let is_known = match from {
            None => true,
            Some(name) => {
                let (to, answer) = channel();
                self.put(Event::Asked { name: name.to_owned(), is_known: to });
                answer.recv_timeout(PATIENCE).map_err(|_| NO_ANSWER.to_owned())?
            }
        };
        self.put(Event::Joined { client, from: from.filter(|_| is_known).map(str::to_owned) });
        match from {
            Some(name) if !is_known => Err(format!(
                "{client} is here, but no access point with the name {name:?} is known; expected one that the registry or [[roaming.peer]] lists, or none"
            )),
            _ => Ok(()),
        }
    }

    /// A client is no longer associated.
    pub fn left(&self, client: MacAddress) {
        self.put(Event::Left { client });
    }

    /// The clients, and what was counted.
    ///
    /// # Errors
    /// A message, if the thread does not answer.
    pub fn report(&self) -> Result<RoamingReport, String> {
        let (to, answer) = channel();
        self.put(Event::Report(to));
        answer.recv_timeout(PATIENCE).map_err(|_| NO_ANSWER.to_owned())
    }

    fn put(&self, event: Event) {
        // After the end of the thread, nothing is handed over any more.
        let _ = self.events.send(event);
    }
}

struct Driver {
    name: String,
    handoffs: Handoffs,
    around: Around,
}

impl Driver {
    fn run(mut self, events: Receiver<Event>) {
        loop {
            let now = clock::now();
            let wait = self.handoffs.deadline().map_or(Duration::MAX, |at| at.since(now));
            let event = match events.recv_timeout(wait) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => {
                    self.handoffs.on_deadline(clock::now(), &mut self.around);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = clock::now();
            let Self { handoffs, around, .. } = &mut self;
            match event {
                Event::Joined { client, from } => handoffs.on_join(client, from.as_deref(), now, around),
                Event::Asked { name, is_known } => {
                    let _ = is_known.send(around.channel.address_of(&name).is_some());
                }
                Event::Noticed { client } => handoffs.on_notice(client, now, around),
                Event::Left { client } => handoffs.on_leave(client, around),
                Event::Arrived(clients) => {
                    for client in clients {
                        handoffs.on_notice(client, now, around);
                    }
                }
                Event::Message { from, octets, waiting } => {
                    waiting.fetch_sub(octets.len(), Relaxed);
                    handoffs.on_message(&from, &octets, now, around);
                }
                Event::Answer { client, number, answer } => {
                    handoffs.on_answer(client, number, answer, now, around);
                }
                Event::Report(to) => {
                    let _ = to.send(self.report());
                }
                Event::End => {
                    // The threads that end with `self` may wait for room among the events.
                    drop(events);
                    return;
                }
            }
            // Events without end do not put off what is due.
            self.handoffs.on_deadline(clock::now(), &mut self.around);
        }
    }

    fn report(&self) -> RoamingReport {
        let loads = self.around.loads();
        let row = |place: ClientPlace| {
            let load = loads.get(&place.client).copied().unwrap_or_default();
            ClientRow { place, load }
        };
        RoamingReport {
            access_point: self.name.clone(),
            clients: self.handoffs.places(clock::now()).map(row).collect(),
            counters: self.handoffs.counters(),
            engine: self.around.counters(),
            channel: self.around.channel.counters(),
        }
    }
}

/// The packet loops, the registry and the channel.
struct Around {
    requests: Requests,
    questions: Questions,
    channel: Box<dyn Channel>,
    nat: Option<Nat>,
    workers: usize,
}

impl Around {
    /// The translations of clients, if this access point translates.
    const fn translations(&mut self) -> Option<&mut Translations> {
        match &mut self.nat {
            Some(Nat::AccessPoint { translations, .. }) => Some(translations),
            _ => None,
        }
    }

    fn loads(&self) -> BTreeMap<MacAddress, ClientLoad> {
        let mut all = BTreeMap::<MacAddress, ClientLoad>::new();
        let loads = self.requests.engines(|_, engine, _, _| engine.client_loads());
        for (client, load) in loads.into_iter().flatten().flatten() {
            let sum = all.entry(client).or_default();
            *sum = sum.plus(load);
        }
        all
    }

    fn counters(&self) -> RoamingCounters {
        let counters = self.requests.engines(|_, engine, _, _| engine.roaming_counters().unwrap_or_default());
        counters.into_iter().flatten().fold(RoamingCounters::default(), RoamingCounters::plus)
    }

    /// The connections of a state for each worker. A state that cannot be read has none.
    fn shares(&self, client: MacAddress, octets: Option<Bytes>) -> Vec<Vec<SavedConnection>> {
        let saved = octets.map_or(Ok(Vec::new()), |octets| state::decode(&octets));
        let saved = saved.unwrap_or_else(|why| {
            warn!(%client, %why, "the state of a client's connections is not used");
            Vec::new()
        });
        let mut shares = vec![Vec::new(); self.workers];
        for connection in saved {
            shares[worker_of(connection.client(), self.workers)].push(connection);
        }
        shares
    }
}

impl Outside for Around {
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending {
        self.channel.send(to, octets)
    }

    fn arrived_from(&self, name: &str) -> u64 {
        self.channel.arrived_from(name)
    }

    fn ask(&mut self, client: MacAddress, number: u64, query: Query) {
        self.questions.ask(client, number, query);
    }

    fn await_state(&mut self, client: MacAddress) {
        let _ = self.requests.engines(move |_, engine, now, out| engine.await_client(client, now, out));
    }

    fn serve(&mut self, client: MacAddress, octets: Option<Bytes>) {
        if let Some(translations) = self.translations() {
            translations.serve(client);
        }
        let shares = self.shares(client, octets);
        let served = self
            .requests
            .engines(move |worker, engine, now, out| engine.serve_client(client, &shares[worker], now, out));
        let all = served.into_iter().flatten().fold(Served::default(), Served::and);
        let Served { connections, refused, why } = all;
        if let Some(why) = why {
            warn!(%client, connections, refused, %why, "not all connections of a client go on with their state");
        } else if connections > 0 {
            info!(%client, connections, "connections of a client go on here");
        }
    }

    fn give(&mut self, client: MacAddress) -> Bytes {
        let mappings = self.translations().map(|translations| translations.give(client)).unwrap_or_default();
        let mut saved = Vec::new();
        for turn in 1.. {
            let given =
                self.requests.engines(move |_, engine, now, out| engine.give_client(client, now, out));
            let given = given.unwrap_or_else(|why| {
                warn!(%client, %why, "the state of a client's connections is not given");
                Vec::new()
            });
            let is_all = given.iter().all(|given| given.is_all);
            saved.extend(given.into_iter().flat_map(|given| given.saved));
            if is_all || turn == MAX_TURNS {
                break;
            }
        }
        let (octets, left_out) = state::encode(saved, &mappings);
        if !left_out.is_empty() {
            warn!(%client, connections = left_out.len(), "connections are left out of a state that is too large");
        }
        octets
    }

    fn lose(&mut self, client: MacAddress) {
        let _ = self.requests.engines(move |_, engine, now, out| engine.lose_client(client, now, out));
    }

    fn forget(&mut self, client: MacAddress) {
        self.release(client);
        let _ = self.requests.engines(move |_, engine, _, out| engine.forget_client(client, out));
    }

    fn take_up(&mut self, client: MacAddress, state: &Bytes) -> TakenUp {
        let Some(translations) = self.translations() else { return TakenUp::default() };
        // A state that cannot be read is reported when the client is served.
        let mappings = state::mappings(state).unwrap_or_default();
        translations.take_up(client, &mappings)
    }

    fn release(&mut self, client: MacAddress) {
        if let Some(translations) = self.translations() {
            translations.release(client);
        }
    }

    fn redirect(&mut self, client: MacAddress, to: &str, epoch: u64, moved: &[Moved]) -> Option<u64> {
        let Self { nat: Some(Nat::Central(central)), channel, .. } = self else { return None };
        let to = channel.address_of(to).and_then(outside_of)?;
        let mut former = moved.iter().map(Moved::former_address);
        let are_of_access_points = former.all(|address| channel.has_at(address.into()));
        if are_of_access_points && !moved.is_empty() {
            central.redirect(client, epoch, moved, to)
        } else {
            None
        }
    }
}
