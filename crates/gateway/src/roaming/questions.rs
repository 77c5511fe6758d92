//! Questions to the registry, on a thread of their own, because it may be slow or away; and the lease of this access
//! point, which the thread renews.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use lasthop_handoff::Query;
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, Entry, Error, LeaseId, Refusal, Registry};
use tracing::{info, warn};

use super::handoffs::{Holder, RegistryAnswer};
use crate::frame::MacAddress;
use crate::trouble::{Notice, Trouble};

/// How long a lease lasts that is not renewed.
const LEASE: Duration = Duration::from_secs(30);

/// A question about a client, and its number.
type Question = (MacAddress, u64, Query);

/// A queue of questions, which end with it.
pub(super) struct Questions(Sender<Question>);

impl Questions {
    /// Starts to ask the registry, on behalf of this access point. `answer` gets the client, the number of the
    /// question and the answer.
    pub(super) fn start(
        registry: Arc<dyn Registry>,
        access_point: AccessPoint,
        answer: impl Fn(MacAddress, u64, RegistryAnswer) + Send + 'static,
    ) -> io::Result<Self> {
        let (to, questions) = channel();
        let mut asker = Asker { registry, access_point, lease: None, away: Trouble::default() };
        thread::Builder::new().name("registry".into()).spawn(move || asker.run(&questions, answer))?;
        Ok(Self(to))
    }

    /// Asks. A question replaces earlier ones about the client that were not asked yet.
    pub(super) fn ask(&self, client: MacAddress, number: u64, query: Query) {
        // The thread ends only with the queue.
        let _ = self.0.send((client, number, query));
    }
}

struct Asker {
    registry: Arc<dyn Registry>,
    access_point: AccessPoint,
    /// The lease, and when it is to be renewed.
    lease: Option<(LeaseId, Instant)>,
    away: Trouble,
}

impl Asker {
    fn run(&mut self, questions: &Receiver<Question>, answer: impl Fn(MacAddress, u64, RegistryAnswer)) {
        let mut latest = BTreeMap::new();
        let mut order = VecDeque::new();
        loop {
            let renewal = self.lease.map_or(LEASE / 3, |(_, at)| at.since(clock::now()));
            let wait = if order.is_empty() { renewal } else { Duration::ZERO };
            match questions.recv_timeout(wait) {
                Ok((client, number, query)) => {
                    // One entry for each client, so the queue is as long as there are clients.
                    if latest.insert(client, (number, query)).is_none() {
                        order.push_back(client);
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.leave(),
            }
            self.renew_when_due();
            if let Some(client) = order.pop_front()
                && let Some((number, query)) = latest.remove(&client)
            {
                answer(client, number, self.answer(client, query));
            }
        }
    }

    fn answer(&mut self, client: MacAddress, query: Query) -> RegistryAnswer {
        let outcome = self.call(client.0.into(), query);
        let is_away = matches!(outcome, Err(Error::Failed(_)));
        match self.away.is(is_away, clock::now()) {
            Some(Notice::Begin { .. }) => {
                warn!(
                    "the registry does not answer: clients that come are served as far as others give their state"
                );
            }
            Some(Notice::End { lasted }) => {
                info!(after_s = lasted.as_secs_f64(), "the registry answers again");
            }
            None => {}
        }
        match outcome {
            Ok(answer) => answer,
            Err(Error::Refused(Refusal::Stale(entry))) => found(entry.as_ref()),
            Err(Error::Refused(why)) => {
                warn!(%client, %why, "the registry refuses a client");
                RegistryAnswer::Away
            }
            Err(Error::Failed(_)) => RegistryAnswer::Away,
        }
    }

    fn call(&mut self, client: Client, query: Query) -> Result<RegistryAnswer, Error> {
        let expected = match query {
            Query::Lookup => return Ok(found(self.registry.get(&client, clock::now())?.as_ref())),
            Query::Claim { expected } => expected,
        };
        let lease = self.lease()?;
        match self.registry.claim(&client, lease, expected, clock::now()) {
            Err(Error::Refused(Refusal::Expired)) => {
                self.lease = None;
                let lease = self.lease()?;
                Ok(RegistryAnswer::Won(self.registry.claim(&client, lease, expected, clock::now())?))
            }
            claimed => Ok(RegistryAnswer::Won(claimed?)),
        }
    }

    /// The lease; a new one if there is none.
    fn lease(&mut self) -> Result<LeaseId, Error> {
        if let Some((lease, _)) = self.lease {
            return Ok(lease);
        }
        let now = clock::now();
        let lease = self.registry.join(&self.access_point, LEASE, now)?;
        self.lease = Some((lease, now + LEASE / 3));
        Ok(lease)
    }

    fn renew_when_due(&mut self) {
        let now = clock::now();
        let Some((lease, _)) = self.lease.filter(|(_, at)| *at <= now) else { return };
        match self.registry.renew(lease, now) {
            Ok(()) => self.lease = Some((lease, now + LEASE / 3)),
            Err(Error::Refused(why)) => {
                warn!(%why, "this access point joins the registry again");
                self.lease = None;
            }
            // Soon again: the lease lasts for three intervals.
            Err(Error::Failed(_)) => self.lease = Some((lease, now + LEASE / 10)),
        }
    }

    fn leave(&self) {
        if let Some((lease, _)) = self.lease {
            let _ = self.registry.leave(lease, clock::now());
        }
    }
}

fn found(entry: Option<&Entry>) -> RegistryAnswer {
    RegistryAnswer::Found(entry.map(|entry| Holder {
        name: entry.access_point.name().to_owned(),
        address: entry.access_point.address(),
        epoch: entry.epoch,
    }))
}
