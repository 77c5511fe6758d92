//! A queue of either kind.

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Rng};

use super::config::{Discipline, QueueConfig};
use super::managed::{Managed, Pushed};
use super::waiting::{Fifo, Waiting};
use crate::accounts::DropCause;
use crate::capacity::Capacity;
use crate::change::ChangeError;
use crate::packets::{PacketKey, Packets};

/// A queue: plain, or managed.
#[derive(Debug)]
pub(crate) enum Queue {
    /// First in, first out, up to a limit.
    Plain(QueueLimit, Fifo),
    Managed(Box<Managed>),
}

impl Queue {
    pub(crate) fn new(config: &QueueConfig, capacity: &Capacity, rng: Rng) -> Self {
        match Managed::new(config, capacity, rng) {
            None => Self::Plain(config.limit, Fifo::default()),
            Some(managed) => Self::Managed(Box::new(managed)),
        }
    }

    /// As [`Managed::can_be_set`].
    pub(crate) fn can_be_set(&self, config: &QueueConfig) -> Result<(), ChangeError> {
        match self {
            Self::Plain(..) if config.discipline == Discipline::DropTail => Ok(()),
            Self::Plain(..) => Err(ChangeError::Discipline),
            Self::Managed(managed) => managed.can_be_set(config),
        }
    }

    /// As [`Managed::set`].
    pub(crate) fn set(&mut self, config: &QueueConfig) {
        match self {
            Self::Plain(limit, _) => *limit = config.limit,
            Self::Managed(managed) => managed.set(config),
        }
    }

    /// Its managed kind.
    pub(crate) fn managed(&self) -> Option<&Managed> {
        match self {
            Self::Plain(..) => None,
            Self::Managed(managed) => Some(managed),
        }
    }

    /// As [`Self::managed`].
    pub(crate) fn managed_mut(&mut self) -> Option<&mut Managed> {
        match self {
            Self::Plain(..) => None,
            Self::Managed(managed) => Some(managed),
        }
    }

    /// Packets and octets that wait.
    #[inline]
    pub(crate) fn size(&self) -> (usize, u64) {
        match self {
            Self::Plain(_, fifo) => fifo.size(),
            Self::Managed(managed) => managed.size(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(_, fifo) => fifo.is_empty(),
            Self::Managed(managed) => managed.is_empty(),
        }
    }

    /// As [`Managed::push`].
    #[inline]
    pub(crate) fn push(
        &mut self,
        key: PacketKey,
        now: Instant,
        waits: bool,
        packets: &mut Packets,
    ) -> Pushed {
        let (limit, fifo) = match self {
            Self::Plain(limit, fifo) => (limit, fifo),
            Self::Managed(managed) => return managed.push(key, now, waits, packets),
        };
        let len = packets.len(key);
        let (waiting, octets) = fifo.size();
        if waits && !limit.has_room(waiting, octets, len) {
            return Pushed::Dropped(DropCause::QueueFull);
        }
        fifo.push(Waiting { key, len: len as u32, since: now });
        Pushed::Waits
    }

    /// As [`Managed::pop`].
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant, packets: &mut Packets) -> Option<Waiting> {
        match self {
            Self::Plain(_, fifo) => fifo.pop(),
            Self::Managed(managed) => managed.pop(now, packets),
        }
    }
}
