//! Observes when the gateways of access points serve clients that have associated. Where nothing else tells them of
//! associations, this does, as the daemon of an access point does (`lasthop gateway client-joined`).

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_gateway::control::{Command, Noted, ask};
use lasthop_gateway::frame::MacAddress;
use lasthop_gateway::roaming::RoamingReport;
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_sim::{Interest, Observer, TraceEvent};

use super::files::name;
use super::{Joined, Served, Stations};
use crate::error::TrialError;

/// The time between two questions whether a client is served. Its gateway answers since when, so this is not the
/// precision.
const INTERVAL: Duration = Duration::from_millis(20);

/// The clients of a cell, and its gateways.
pub(crate) struct Followed {
    /// The address of each client.
    pub(crate) clients: Vec<MacAddress>,
    /// The control socket of each access point's gateway.
    pub(crate) sockets: Vec<PathBuf>,
    /// Who tells the gateways of associations.
    pub(crate) teller: Teller,
}

/// Who tells gateways of associations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Teller {
    /// The thread that follows them.
    This,
    /// Their own hostapd.
    Hostapd,
}

/// A thread that follows associations, until the sender of the last is dropped.
pub(crate) struct Associations(JoinHandle<Result<Vec<Served>, TrialError>>);

impl Associations {
    /// Starts the thread. Also returns where it learns of associations.
    pub(crate) fn follow(followed: Followed) -> Result<(Self, Sender<Joined>), TrialError> {
        let (to, inbox) = channel();
        let thread = thread::Builder::new()
            .name("associations".into())
            .spawn(move || Follower::new(followed).run(&inbox));
        let thread = thread.map_err(|error| TrialError::Transfer { what: "a thread".to_owned(), error })?;
        Ok((Self(thread), to))
    }

    /// All associations. The senders must have been dropped.
    pub(crate) fn finish(self) -> Result<Vec<Served>, TrialError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Has the associations of an emulated world followed.
pub(crate) struct Reporter {
    pub(crate) stations: Stations,
    pub(crate) to: Sender<Joined>,
}

impl Observer for Reporter {
    fn interest(&self) -> Interest {
        Interest::ASSOCIATIONS
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::Joined { client, access_point } = *event
            && let Some(joined) = self.stations.joined(client, access_point, now)
        {
            // Without the thread, `finish` returns its error.
            let _ = self.to.send(joined);
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
                Ok(joined) => self.add(joined)?,
                Err(RecvTimeoutError::Timeout) => self.look()?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.look()?;
                    return Ok(self.all);
                }
            }
        }
    }

    /// A client has come to an access point.
    fn add(&mut self, joined: Joined) -> Result<(), TrialError> {
        let reported = clock::now();
        if self.followed.teller == Teller::This {
            self.tell(joined)?;
        }
        let all = &self.all;
        self.waiting.retain(|(index, _)| all[*index].joined.client != joined.client);
        self.waiting.push((self.all.len(), reported));
        self.all.push(Served { joined, after: None });
        Ok(())
    }

    /// Tells a gateway that a client has come, and where from.
    fn tell(&self, Joined { client, access_point, .. }: Joined) -> Result<(), TrialError> {
        let mut before = self.all.iter().map(|served| served.joined).filter(|joined| joined.client == client);
        let before = before.next_back().map(|joined| joined.access_point);
        let from = before.filter(|before| *before != access_point).map(name);
        let told = |from: Option<String>| -> Result<Noted, TrialError> {
            let client = self.followed.clients[client];
            self.ask(access_point, &Command::ClientJoined { client, from })
        };
        // A gateway that does not know the other one yet asks the registry.
        if told(from).is_err() {
            told(None)?;
        }
        Ok(())
    }

    /// Looks which clients are served by now.
    fn look(&mut self) -> Result<(), TrialError> {
        for (index, reported) in std::mem::take(&mut self.waiting) {
            let Joined { client, access_point, .. } = self.all[index].joined;
            let report: RoamingReport = self.ask(access_point, &Command::Roaming)?;
            let now = clock::now();
            let address = self.followed.clients[client];
            let mut places = report.clients.iter().map(|row| &row.place);
            match places.find(|place| place.client == address && place.is_here) {
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
        access_point: usize,
        command: &Command,
    ) -> Result<T, TrialError> {
        ask(&self.followed.sockets[access_point], command).map_err(TrialError::Unanswered)
    }
}
