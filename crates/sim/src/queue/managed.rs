//! A queue under a discipline that drops or marks packets before there is no more room.

use std::collections::VecDeque;

use lasthop_link::QueueLimit;
use lasthop_packet::{Ecn, Instant, Rng};

use super::codel::{CoDel, Leaving, Source};
use super::config::{CoDelConfig, Discipline, QueueConfig};
use super::fq_codel::{FqCoDel, Rules};
use super::red::{Chance, Red};
use super::waiting::{Fifo, Waiting};
use crate::accounts::DropCause;
use crate::capacity::Capacity;
use crate::change::ChangeError;
use crate::packets::{PacketKey, Packets};

/// The fate of a packet that is put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It waits.
    Waits,
    /// It waits unless it is among those that were dropped for it ([`Managed::next_dropped`]).
    Displaces,
    /// It is dropped.
    Dropped(DropCause),
}

#[derive(Debug)]
pub(crate) struct Managed {
    limit: QueueLimit,
    kind: Kind,
    /// Packets that were marked.
    marked: u64,
    /// Packets that were dropped and not yet reported.
    dropped: VecDeque<(PacketKey, DropCause)>,
}

#[derive(Debug)]
enum Kind {
    Red(Red, Fifo),
    CoDel(CoDelFifo),
    FqCoDel(FqCoDel),
}

#[derive(Debug)]
struct CoDelFifo {
    config: CoDelConfig,
    codel: CoDel,
    fifo: Fifo,
    /// The largest packet so far, which stands for the link's MTU.
    largest: u32,
}

impl Managed {
    /// A queue at a link of this capacity; `None` where the configuration is of a plain one.
    pub(crate) fn new(config: &QueueConfig, capacity: &Capacity, mut rng: Rng) -> Option<Self> {
        let kind = match config.discipline {
            Discipline::DropTail => return None,
            Discipline::Red(config) => {
                Kind::Red(Red::new(config, capacity.octet_time(), rng), Fifo::default())
            }
            Discipline::CoDel(config) => {
                Kind::CoDel(CoDelFifo { config, codel: CoDel::default(), fifo: Fifo::default(), largest: 0 })
            }
            Discipline::FqCoDel(config) => {
                Kind::FqCoDel(FqCoDel::new(config, Rules::Discipline, 1, rng.next_u64()))
            }
        };
        Some(Self { limit: config.limit, kind, marked: 0, dropped: VecDeque::new() })
    }

    /// Its discipline with its settings.
    const fn discipline(&self) -> Discipline {
        match &self.kind {
            Kind::Red(red, _) => Discipline::Red(red.config()),
            Kind::CoDel(queue) => Discipline::CoDel(queue.config),
            Kind::FqCoDel(queue) => Discipline::FqCoDel(queue.config()),
        }
    }

    /// Whether it can be set so: it keeps its discipline.
    pub(crate) fn can_be_set(&self, config: &QueueConfig) -> Result<(), ChangeError> {
        let can = self.discipline().can_become(&config.discipline);
        if can { Ok(()) } else { Err(ChangeError::Discipline) }
    }

    /// Another limit, and other settings of the same discipline; what waits already stays.
    pub(crate) const fn set(&mut self, config: &QueueConfig) {
        self.limit = config.limit;
        match (&mut self.kind, config.discipline) {
            (Kind::Red(red, _), Discipline::Red(config)) => red.set(config),
            (Kind::CoDel(queue), Discipline::CoDel(config)) => queue.config = config,
            (Kind::FqCoDel(queue), Discipline::FqCoDel(config)) => queue.set(config),
            _ => {}
        }
    }

    /// The link has another capacity.
    pub(crate) fn set_capacity(&mut self, capacity: &Capacity) {
        if let Kind::Red(red, _) = &mut self.kind {
            red.set_octet_time(capacity.octet_time());
        }
    }

    /// Packets and octets that wait.
    // As with `push`.
    #[cold]
    #[inline(never)]
    pub(crate) fn size(&self) -> (usize, u64) {
        match &self.kind {
            Kind::Red(_, fifo) => fifo.size(),
            Kind::CoDel(queue) => queue.fifo.size(),
            Kind::FqCoDel(queue) => queue.size(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.size().0 == 0
    }

    /// Packets that were marked so far.
    pub(crate) const fn marked(&self) -> u64 {
        self.marked
    }

    /// Queues a packet. What need not wait needs no room.
    // Not the way of a plain queue: what calls it is laid out for that.
    #[cold]
    #[inline(never)]
    pub(crate) fn push(
        &mut self,
        key: PacketKey,
        now: Instant,
        waits: bool,
        packets: &mut Packets,
    ) -> Pushed {
        let waiting = Waiting { key, len: packets.len(key) as u32, since: now };
        let size = self.size();
        let has_room = !waits || self.limit.has_room(size.0, size.1, waiting.len as usize);
        match &mut self.kind {
            Kind::FqCoDel(queue) => {
                let packet = packets.packet(key);
                queue.push(0, waiting, packet);
                if has_room && !(waits && queue.is_over_memory()) {
                    return Pushed::Waits;
                }
                let dropped = &mut self.dropped;
                queue.drop_from_longest(|waiting| dropped.push_back((waiting.key, DropCause::QueueFull)));
                return Pushed::Displaces;
            }
            _ if !has_room => return Pushed::Dropped(DropCause::QueueFull),
            Kind::CoDel(queue) => {
                queue.largest = queue.largest.max(waiting.len);
                queue.fifo.push(waiting);
            }
            Kind::Red(red, fifo) => {
                match red.on_arrival(size, waiting.len, now) {
                    Chance::Passes => {}
                    Chance::Marked if mark(key, packets) => self.marked += 1,
                    Chance::Marked | Chance::Dropped => {
                        return Pushed::Dropped(DropCause::QueueManagement);
                    }
                }
                fifo.push(waiting);
            }
        }
        Pushed::Waits
    }

    /// The next packet to send, if one waits. Packets may have been dropped before it
    /// ([`Self::next_dropped`]), but never all.
    // As with `push`.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop(&mut self, now: Instant, packets: &mut Packets) -> Option<Waiting> {
        let can_mark = |key: PacketKey| packets.packet(key).ip().ecn().is_capable();
        let all_dropped = &mut self.dropped;
        let dropped = |waiting: Waiting| all_dropped.push_back((waiting.key, DropCause::QueueManagement));
        let leaving = match &mut self.kind {
            Kind::Red(red, fifo) => {
                let waiting = fifo.pop()?;
                red.on_departure(waiting.len, now);
                Leaving { waiting, is_marked: false }
            }
            Kind::CoDel(CoDelFifo { config, codel, fifo, largest }) => {
                let mut source = FifoSource { fifo, largest: *largest, can_mark, dropped };
                codel.dequeue(config, now, &mut source)?
            }
            Kind::FqCoDel(queue) => queue.pop(0, now, can_mark, dropped)?,
        };
        if leaving.is_marked && mark(leaving.waiting.key, packets) {
            self.marked += 1;
        }
        Some(leaving.waiting)
    }

    /// Takes out packets for which `is_gone`, in the order of their arrival.
    pub(crate) fn withdraw(&mut self, is_gone: impl Fn(PacketKey) -> bool) -> Vec<Waiting> {
        match &mut self.kind {
            Kind::Red(_, fifo) | Kind::CoDel(CoDelFifo { fifo, .. }) => {
                fifo.withdraw(|waiting| is_gone(waiting.key))
            }
            Kind::FqCoDel(queue) => queue.withdraw(is_gone),
        }
    }

    /// A packet that was dropped, and why; each is reported once, in order.
    pub(crate) fn next_dropped(&mut self) -> Option<(PacketKey, DropCause)> {
        self.dropped.pop_front()
    }

    /// As [`Self::next_dropped`], the last first.
    pub(crate) fn last_dropped(&mut self) -> Option<(PacketKey, DropCause)> {
        self.dropped.pop_back()
    }
}

/// Marks a packet, if it understands ECN.
pub(crate) fn mark(key: PacketKey, packets: &mut Packets) -> bool {
    let can_mark = packets.packet(key).ip().ecn().is_capable();
    if can_mark {
        packets.edit(key, |packet| packet.set_ecn(Ecn::Ce));
    }
    can_mark
}

/// The only queue of a CoDel.
struct FifoSource<'a, M, D> {
    fifo: &'a mut Fifo,
    largest: u32,
    can_mark: M,
    dropped: D,
}

impl<M: Fn(PacketKey) -> bool, D: FnMut(Waiting)> Source for FifoSource<'_, M, D> {
    fn take(&mut self) -> Option<Waiting> {
        self.fifo.pop()
    }

    fn is_short(&self) -> bool {
        self.fifo.size().1 <= u64::from(self.largest)
    }

    fn discard(&mut self, waiting: Waiting) {
        (self.dropped)(waiting);
    }

    fn can_mark(&self, waiting: Waiting) -> bool {
        (self.can_mark)(waiting.key)
    }
}
