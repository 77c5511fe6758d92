//! The rules of the registry, without clock and file.
//!
//! A [`Command`] is checked against the state, and becomes an [`Event`] or a [`Refusal`]. An event
//! says what happens, not what was asked: applying the same events gives the same state. So a log of
//! events is enough to restore it, and an event can be made durable before anyone sees its effect:
//!
//! 1. [`State::expired`] until there is none: apply each.
//! 2. [`State::decide`], write the event, [`State::apply`].
//!
//! A lease's end is an event as well. When it has taken place is never judged twice. Renewals are no
//! events: they are not written, and all leases begin anew when the state is restored. (etcd does the
//! same when its leader changes.)

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::entry::{AccessPoint, Change, Entry, LeaseId, Snapshot};
use super::error::Refusal;
use super::history::History;
use super::limits::Limits;

/// What an access point asks for. [`Registry`](super::Registry) has the same calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Begins a lease.
    Join {
        /// Who joins.
        access_point: AccessPoint,
        /// How long the lease lasts without being renewed.
        duration: Duration,
    },
    /// Ends a lease.
    Leave(LeaseId),
    /// Moves a client.
    Claim {
        /// Who moves.
        client: Client,
        /// The lease of the new access point.
        lease: LeaseId,
        /// The client's epoch so far; none if it is nowhere.
        expected: Option<u64>,
    },
    /// Removes a client.
    Release {
        /// Who leaves.
        client: Client,
        /// The client's epoch.
        epoch: u64,
    },
}

/// What happens. Each event raises the revision by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An access point's lease began. The event's revision is its number.
    Joined {
        /// Who joined.
        access_point: AccessPoint,
        /// How long the lease lasts without being renewed.
        duration: Duration,
    },
    /// A lease ended, and all clients of its access point are free.
    Ended(LeaseId),
    /// A client moved. The event's revision is its epoch.
    Claimed {
        /// Who moved.
        client: Client,
        /// The lease of the new access point.
        lease: LeaseId,
    },
    /// A client left.
    Released(Client),
}

/// Which access point each client is at.
#[derive(Clone, Debug)]
pub struct State {
    limits: Limits,
    /// The number of events so far.
    revision: u64,
    leases: BTreeMap<LeaseId, Lease>,
    /// Every lease here is in `leases`.
    clients: BTreeMap<Client, Place>,
    history: History,
}

#[derive(Clone, Debug)]
struct Lease {
    access_point: Arc<AccessPoint>,
    duration: Duration,
    /// The lease has ended at this time.
    end: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    lease: LeaseId,
    epoch: u64,
}

impl State {
    /// No access points, no clients, revision 0.
    pub fn new(limits: Limits) -> Self {
        Self::at(limits, 0)
    }

    fn at(limits: Limits, revision: u64) -> Self {
        let history = History::new(limits.backlog, revision);
        Self { limits, revision, leases: BTreeMap::new(), clients: BTreeMap::new(), history }
    }

    /// The state at a revision, from its [`records`](Self::records). All leases begin at `now`.
    ///
    /// # Errors
    /// The refusal of the first event that would not have been possible, or that the limits do not
    /// admit.
    pub fn from_records(
        limits: Limits,
        revision: u64,
        records: impl IntoIterator<Item = (u64, Event)>,
        now: Instant,
    ) -> Result<Self, Refusal> {
        let mut state = Self::at(limits, revision);
        for (revision, event) in records {
            state.check(&event)?;
            match event {
                Event::Joined { access_point, duration } => {
                    state.insert_lease(LeaseId::new(revision), access_point, duration, now);
                }
                Event::Claimed { client, lease } => {
                    state.clients.insert(client, Place { lease, epoch: revision });
                }
                // What has ended is not in the state.
                Event::Ended(_) | Event::Released(_) => {}
            }
        }
        Ok(state)
    }

    /// The events that lead to this state, each with its revision: first those of access points.
    pub fn records(&self) -> impl Iterator<Item = (u64, Event)> {
        let leases = self.leases.iter().map(|(id, lease)| {
            let access_point = (*lease.access_point).clone();
            (id.number(), Event::Joined { access_point, duration: lease.duration })
        });
        let clients = self
            .clients
            .iter()
            .map(|(client, place)| (place.epoch, Event::Claimed { client: *client, lease: place.lease }));
        leases.chain(clients)
    }

    /// The number of events so far.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// When the next lease ends unless it is renewed; none if there is no lease.
    pub fn next_end(&self) -> Option<Instant> {
        self.leases.values().map(|lease| lease.end).min()
    }

    /// The end of a lease that has run out; none if there is no more.
    pub fn expired(&self, now: Instant) -> Option<Event> {
        let (id, lease) = self.leases.iter().min_by_key(|(id, lease)| (lease.end, **id))?;
        (lease.end <= now).then_some(Event::Ended(*id))
    }

    /// The event that a command leads to.
    ///
    /// # Errors
    /// As the calls of [`Registry`](super::Registry).
    pub fn decide(&self, command: Command) -> Result<Event, Refusal> {
        let event = match command {
            Command::Join { access_point, duration } => Event::Joined { access_point, duration },
            Command::Leave(lease) => Event::Ended(lease),
            Command::Claim { client, lease, expected } => {
                self.compare(&client, expected)?;
                Event::Claimed { client, lease }
            }
            Command::Release { client, epoch } => {
                self.compare(&client, Some(epoch))?;
                Event::Released(client)
            }
        };
        self.check(&event)?;
        Ok(event)
    }

    fn compare(&self, client: &Client, expected: Option<u64>) -> Result<(), Refusal> {
        let epoch = self.clients.get(client).map(|place| place.epoch);
        if epoch == expected { Ok(()) } else { Err(Refusal::Stale(self.get(client))) }
    }

    /// Whether an event is possible in this state, as for one that was read.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, event: &Event) -> Result<(), Refusal> {
        let Limits { clients, access_points, name_octets, .. } = self.limits;
        let has_lease = |lease| self.leases.contains_key(lease);
        let is_known = |client| self.clients.contains_key(client);
        match event {
            Event::Joined { access_point, .. } if access_point.name().len() > usize::from(name_octets) => {
                Err(Refusal::NameTooLong(name_octets))
            }
            Event::Joined { .. } if self.leases.len() >= access_points as usize => {
                Err(Refusal::Full { what: "access points", limit: access_points })
            }
            Event::Ended(lease) | Event::Claimed { lease, .. } if !has_lease(lease) => Err(Refusal::Expired),
            Event::Claimed { client, .. } if !is_known(client) && self.clients.len() >= clients as usize => {
                Err(Refusal::Full { what: "clients", limit: clients })
            }
            Event::Released(client) if !is_known(client) => Err(Refusal::Stale(None)),
            _ => Ok(()),
        }
    }

    /// Changes the state, and returns the event's revision. The event is possible
    /// ([`check`](Self::check)): it was decided in this state.
    pub fn apply(&mut self, event: Event, now: Instant) -> u64 {
        self.revision += 1;
        match event {
            Event::Joined { access_point, duration } => {
                self.insert_lease(LeaseId::new(self.revision), access_point, duration, now);
            }
            Event::Ended(lease) => {
                self.leases.remove(&lease);
                let there = self.clients.iter().filter(|(_, place)| place.lease == lease);
                let freed: Vec<Client> = there.map(|(client, _)| *client).collect();
                for client in freed {
                    self.clients.remove(&client);
                    self.note_change(client);
                }
            }
            Event::Claimed { client, lease } => {
                self.clients.insert(client, Place { lease, epoch: self.revision });
                self.note_change(client);
            }
            Event::Released(client) => {
                self.clients.remove(&client);
                self.note_change(client);
            }
        }
        self.revision
    }

    fn insert_lease(&mut self, id: LeaseId, access_point: AccessPoint, duration: Duration, now: Instant) {
        let lease = Lease { access_point: Arc::new(access_point), duration, end: now + duration };
        self.leases.insert(id, lease);
    }

    fn note_change(&mut self, client: Client) {
        self.history.push(Change { revision: self.revision, client, entry: self.get(&client) });
    }

    /// Lets a lease last for its whole duration again. Its end never moves back.
    ///
    /// # Errors
    /// [`Refusal::Expired`].
    pub fn renew(&mut self, lease: LeaseId, now: Instant) -> Result<(), Refusal> {
        let lease = self.leases.get_mut(&lease).ok_or(Refusal::Expired)?;
        lease.end = lease.end.max(now + lease.duration);
        Ok(())
    }

    /// The access points that have a lease, in the order of their leases.
    pub fn access_points(&self) -> impl Iterator<Item = (LeaseId, Arc<AccessPoint>)> {
        self.leases.iter().map(|(id, lease)| (*id, Arc::clone(&lease.access_point)))
    }

    /// The access point of a lease; none if the lease has ended.
    pub fn access_point(&self, lease: LeaseId) -> Option<Arc<AccessPoint>> {
        self.leases.get(&lease).map(|lease| Arc::clone(&lease.access_point))
    }

    /// Where a client is; none if it is nowhere.
    pub fn get(&self, client: &Client) -> Option<Entry> {
        self.clients.get(client).and_then(|place| self.entry(*place))
    }

    /// Where all clients are.
    pub fn snapshot(&self) -> Snapshot {
        let entries = self.clients.iter();
        let entries = entries.filter_map(|(client, place)| Some((*client, self.entry(*place)?))).collect();
        Snapshot { revision: self.revision, entries }
    }

    fn entry(&self, Place { lease, epoch }: Place) -> Option<Entry> {
        let access_point = Arc::clone(&self.leases.get(&lease)?.access_point);
        Some(Entry { access_point, lease, epoch })
    }

    /// The changes after a revision, in order.
    ///
    /// # Errors
    /// [`Refusal::NotKept`].
    pub fn changes(&self, after: u64) -> Result<impl Iterator<Item = &Change>, Refusal> {
        let (oldest, newest) = (self.history.complete_after(), self.revision);
        if (oldest..=newest).contains(&after) {
            Ok(self.history.after(after))
        } else {
            Err(Refusal::NotKept { oldest, newest })
        }
    }
}
