//! Tells the gateways of access points which clients have associated, as the daemon of an access point does
//! (`lasthop gateway client-joined`), and observes when they serve them.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_gateway::control::{Command, Noted, ask};
use lasthop_gateway::roaming::RoamingReport;
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_sim::{Interest, NodeId, Observer, TraceEvent};

use super::files::name;
use super::{Served, Stations};
use crate::error::TrialError;

/// The time between two questions whether a client is served. Its gateway answers since when, so this is not the
/// precision.
const INTERVAL: Duration = Duration::from_millis(20);

/// The stations of a cell, and the control sockets of its gateways.
pub(crate) struct Followed {
    /// The stations.
    pub(crate) stations: Stations,
    /// The control socket of each access point's gateway, in their order.
    pub(crate) sockets: Vec<PathBuf>,
}

/// A thread that tells the gateways of associations, until the world that it observes is dropped.
pub(crate) struct Associations(JoinHandle<Result<Vec<Served>, TrialError>>);

/// A client has joined an access point.
#[derive(Clone, Copy)]
struct Joined {
    client: NodeId,
    access_point: NodeId,
    at: Instant,
}

impl Associations {
    /// Starts the thread. Also returns the observer of the emulated world.
    pub(crate) fn follow(followed: Followed) -> Result<(Self, Box<dyn Observer>), TrialError> {
        let (to, inbox) = channel();
        let thread = thread::Builder::new()
            .name("associations".into())
            .spawn(move || Follower::new(followed).run(&inbox));
        let thread = thread.map_err(|error| TrialError::Transfer { what: "a thread".to_owned(), error })?;
        Ok((Self(thread), Box::new(Reporter(to))))
    }

    /// All associations. The observed world must have been dropped.
    pub(crate) fn finish(self) -> Result<Vec<Served>, TrialError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Reporter(Sender<Joined>);

impl Observer for Reporter {
    fn interest(&self) -> Interest {
        Interest::ASSOCIATIONS
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::Joined { client, access_point } = *event {
            // Without the thread, `finish` returns its error.
            let _ = self.0.send(Joined { client, access_point, at: now });
        }
    }
}

struct Follower {
    followed: Followed,
    all: Vec<Served>,
    /// The associations that wait to be served: indices of `all`, and when they were reported.
    waiting: Vec<(usize, Instant)>,
}

impl Follower {
    const fn new(followed: Followed) -> Self {
        Self { followed, all: Vec::new(), waiting: Vec::new() }
    }

    fn run(mut self, inbox: &Receiver<Joined>) -> Result<Vec<Served>, TrialError> {
        loop {
            let wait = if self.waiting.is_empty() { Duration::MAX } else { INTERVAL };
            match inbox.recv_timeout(wait) {
                Ok(joined) => self.tell(joined)?,
                Err(RecvTimeoutError::Timeout) => self.look()?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.look()?;
                    return Ok(self.all);
                }
            }
        }
    }

    /// Tells a gateway that a client has come, and where from.
    fn tell(&mut self, Joined { client, access_point, at }: Joined) -> Result<(), TrialError> {
        let reported = clock::now();
        let Some(address) = self.followed.stations.clients.get(&client).copied() else { return Ok(()) };
        let before =
            self.all.iter().rfind(|served| served.client == client).map(|served| served.access_point);
        let before = before.filter(|before| *before != access_point);
        let from = before.and_then(|before| self.followed.stations.number(before)).map(name);
        let told = |from: Option<String>| -> Result<Noted, TrialError> {
            self.ask(access_point, &Command::ClientJoined { client: address, from })
        };
        // A gateway that does not know the other one yet asks the registry.
        if told(from).is_err() {
            told(None)?;
        }
        let all = &self.all;
        self.waiting.retain(|(index, _)| all[*index].client != client);
        self.waiting.push((self.all.len(), reported));
        self.all.push(Served { client, access_point, joined: at, after: None });
        Ok(())
    }

    /// Looks which clients are served by now.
    fn look(&mut self) -> Result<(), TrialError> {
        for (index, reported) in std::mem::take(&mut self.waiting) {
            let Served { client, access_point, .. } = self.all[index];
            let report: RoamingReport = self.ask(access_point, &Command::Roaming)?;
            let now = clock::now();
            let address = self.followed.stations.clients.get(&client);
            let mut places = report.clients.iter().map(|row| &row.place);
            match places.find(|place| Some(&place.client) == address && place.is_here) {
                None => self.waiting.push((index, reported)),
                Some(place) => {
                    let since = Duration::from_secs_f64(place.since_s.max(0.0));
                    self.all[index].after = Some(now.since(reported).saturating_sub(since));
                }
            }
        }
        Ok(())
    }

    fn ask<T: serde::de::DeserializeOwned>(
        &self,
        access_point: NodeId,
        command: &Command,
    ) -> Result<T, TrialError> {
        let Followed { stations, sockets } = &self.followed;
        // The model has associations with these access points only.
        let socket = &sockets[stations.number(access_point).unwrap_or_default()];
        ask(socket, command).map_err(TrialError::Unanswered)
    }
}
