//! Questions to the registry, on a thread of their own, because it may be slow or away; and the lease of this access
//! point, which the thread renews.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_handoff::Query;
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, Entry, Error, LeaseId, Refusal, Registry};
use tracing::{info, warn};

use super::outside::{Holder, RegistryAnswer};
use super::source::RegistrySource;
use crate::frame::MacAddress;
use crate::trouble::{Notice, Trouble};

/// How long a lease lasts that is not renewed.
pub(super) const LEASE: Duration = Duration::from_secs(30);

/// When an attempt to renew a lease, or to join, is repeated.
const SOON: Duration = Duration::from_secs(2);

/// A question about a client, and its number.
type Question = (MacAddress, u64, Query);

/// A queue of questions, which end with it. Dropping it waits until this access point has left the registry, so that
/// this is done before the process ends: about as long as the registry may take to answer twice.
pub(super) struct Questions {
    /// There until it is dropped.
    to: Option<Sender<Question>>,
    thread: Option<JoinHandle<()>>,
}

impl Questions {
    /// Starts to ask the registry, on behalf of this access point. `answer` gets the client, the number of the
    /// question and the answer.
    pub(super) fn start(
        registry: Arc<RegistrySource>,
        access_point: AccessPoint,
        answer: impl Fn(MacAddress, u64, RegistryAnswer) + Send + 'static,
    ) -> io::Result<Self> {
        let (to, questions) = channel();
        let mut asker =
            Asker { registry, access_point, lease: None, due: clock::now(), away: Trouble::default() };
        let thread =
            thread::Builder::new().name("registry".into()).spawn(move || asker.run(&questions, answer))?;
        Ok(Self { to: Some(to), thread: Some(thread) })
    }

    /// Asks. A question replaces earlier ones about the client that were not asked yet.
    pub(super) fn ask(&self, client: MacAddress, number: u64, query: Query) {
        // The thread ends only with the queue.
        let _ = self.to.as_ref().map(|to| to.send((client, number, query)));
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Asker {
    registry: Arc<RegistrySource>,
    access_point: AccessPoint,
    lease: Option<LeaseId>,
    /// When the lease is to be renewed, or joined.
    due: Instant,
    away: Trouble,
}

impl Asker {
    fn run(&mut self, questions: &Receiver<Question>, answer: impl Fn(MacAddress, u64, RegistryAnswer)) {
        let mut latest = BTreeMap::new();
        let mut order = VecDeque::new();
        loop {
            let wait = if order.is_empty() { self.due.since(clock::now()) } else { Duration::ZERO };
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
        self.note(&outcome);
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

    /// Reports whether the registry answers.
    fn note<T>(&mut self, outcome: &Result<T, Error>) {
        let failure = match outcome {
            Err(Error::Failed(error)) => Some(error),
            _ => None,
        };
        match (self.away.is(failure.is_some(), clock::now()), failure) {
            (Some(Notice::Begin { .. }), Some(error)) => warn!(
                %error,
                "the registry does not answer: clients that come are served as far as others give their state"
            ),
            (Some(Notice::End { lasted }), _) => {
                info!(after_s = lasted.as_secs_f64(), "the registry answers again");
            }
            _ => {}
        }
    }

    fn call(&mut self, client: Client, query: Query) -> Result<RegistryAnswer, Error> {
        let registry = self.registry.get(clock::now())?;
        let expected = match query {
            Query::Lookup => return Ok(found(registry.get(&client, clock::now())?.as_ref())),
            Query::Claim { expected } => expected,
        };
        let lease = self.lease(&*registry)?;
        match registry.claim(&client, lease, expected, clock::now()) {
            Err(Error::Refused(Refusal::Expired)) => {
                self.lease = None;
                let lease = self.lease(&*registry)?;
                Ok(RegistryAnswer::Won(registry.claim(&client, lease, expected, clock::now())?))
            }
            claimed => Ok(RegistryAnswer::Won(claimed?)),
        }
    }

    /// The lease; a new one if there is none.
    fn lease(&mut self, registry: &dyn Registry) -> Result<LeaseId, Error> {
        if let Some(lease) = self.lease {
            return Ok(lease);
        }
        let now = clock::now();
        let lease = registry.join(&self.access_point, LEASE, now)?;
        (self.lease, self.due) = (Some(lease), now + LEASE / 3);
        info!("this access point has joined the registry");
        Ok(lease)
    }

    /// An access point has a lease also before it has clients: others learn its key from the registry.
    fn renew_when_due(&mut self) {
        let now = clock::now();
        if now < self.due {
            return;
        }
        let renewed = self.registry.get(now).and_then(|registry| match self.lease {
            Some(lease) => registry.renew(lease, now),
            None => self.lease(&*registry).map(drop),
        });
        self.note(&renewed);
        self.due = match renewed {
            Ok(()) => now + LEASE / 3,
            Err(Error::Refused(why)) => {
                warn!(%why, "the registry has ended the lease of this access point");
                if self.lease.take().is_some() { now } else { now + SOON }
            }
            // The lease lasts for several attempts.
            Err(Error::Failed(_)) => now + SOON,
        };
    }

    fn leave(&self) {
        if let Some(lease) = self.lease
            && let Ok(registry) = self.registry.get(clock::now())
        {
            let _ = registry.leave(lease, clock::now());
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::mpsc::sync_channel;

    use lasthop_registry::{Durability, Embedded, Limits};

    use super::*;

    #[test]
    fn when_the_questions_end_the_access_point_has_left_the_registry() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry");
        let registry = Embedded::open(&path, Limits::default(), Durability::ProcessEnd, clock::now());
        let registry: Arc<dyn Registry> = Arc::new(registry.expect("it is new"));
        let hall = AccessPoint::new("hall", SocketAddr::from(([10, 0, 0, 1], 9479)));
        let (to, answers) = sync_channel(1);
        let source = Arc::new(RegistrySource::of(Arc::clone(&registry)));
        let answer = move |_, _, answer| to.send(answer).expect("it is awaited");
        let questions = Questions::start(source, hall, answer).expect("a thread");
        questions.ask(MacAddress([2, 0, 0, 0, 0, 1]), 1, Query::Claim { expected: None });
        let won = answers.recv().expect("an answer");
        assert!(matches!(won, RegistryAnswer::Won(_)), "{won:?}");
        assert_eq!(registry.access_points(clock::now()).expect("it is open").len(), 1);
        drop(questions);
        assert_eq!(registry.access_points(clock::now()).expect("it is open").len(), 0);
    }
}
