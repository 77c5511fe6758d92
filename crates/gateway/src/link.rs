//! Events of a link layer in this process: a bounded queue to the packet loop, and a wake-up.
//!
//! Without a [`LinkReporter`] the packet loop has no queue to poll. If the link layer is too fast,
//! or the loop is delayed, events are lost and counted; a link layer never waits for the packet
//! loop.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent, LinkSenses};
use lasthop_packet::{Instant, Packet};
use portable_atomic::AtomicU64;
use serde::{Deserialize, Serialize};

use crate::io::Wake;
use crate::io::steering::worker_of;
use lasthop_linux::clock;
use lasthop_linux::lateness::{Lateness, LatenessSummary};

/// Reports link-layer events to a gateway, from the link layer's own thread.
pub struct LinkReporter {
    /// One queue per packet loop.
    queues: Vec<LinkQueue>,
}

/// The link layer's end of the queue to a packet loop.
pub(super) struct LinkQueue {
    to: SyncSender<Queued>,
    shared: Arc<Shared>,
    wake: Wake,
}

/// The packet loop's end of the queue.
#[derive(Debug)]
pub(super) struct LinkInbox {
    queue: Receiver<Queued>,
    shared: Arc<Shared>,
    room: usize,
    counted: LinkReport,
    delays: Lateness,
}

/// The counters of link-layer events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkReport {
    /// Frames whose fate a Wi-Fi driver was asked for; 0 for another link layer. A frame of which nothing was heard is in a
    /// queue, or was dropped there.
    pub asked: u64,
    /// Events received by the packet loop.
    pub heard: u64,
    /// Events lost because the queue was full.
    pub lost: u64,
    /// Frames that were delivered, of those heard of.
    pub delivered: u64,
    /// Frames that were given up, of those heard of.
    pub given_up: u64,
    /// The delay from the report of an event to the packet loop's turn; its `count` is `heard`.
    pub delay: LatenessSummary,
}

impl LinkReport {
    /// Counts an event.
    pub(super) const fn count(&mut self, fate: Fate) {
        self.heard += 1;
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::GivenUp => self.given_up += 1,
            Fate::FirstTransmissionFailed => {}
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether the loop was woken since it last read the queue: one wake-up is enough for all
    /// events until then.
    is_woken: AtomicBool,
    lost: AtomicU64,
}

/// A [`LinkEvent`] that can be sent.
#[derive(Debug)]
struct Queued {
    /// The time of the report, on the gateway's clock.
    at: Instant,
    packet: Packet,
    fate: Fate,
    transmissions: u32,
    queueing: Duration,
    access: Option<Duration>,
    air_time: Duration,
}

/// Creates a queue for this number of events, at least one.
pub(super) fn queue(room: usize) -> (LinkInbox, impl FnOnce(Wake) -> LinkQueue) {
    let room = room.max(1);
    let (sender, queue) = sync_channel(room);
    let shared = Arc::new(Shared::default());
    let of_sender = Arc::clone(&shared);
    let inbox = LinkInbox { queue, shared, room, counted: LinkReport::default(), delays: Lateness::new() };
    (inbox, move |wake| LinkQueue { to: sender, shared: of_sender, wake })
}

impl LinkReporter {
    /// The events that are reported; others are ignored.
    pub const SENSES: LinkSenses = LinkSenses::FRAME_FATE.union(LinkSenses::RETRIES);

    /// Creates a reporter with these queues to the packet loops, in the order of the workers.
    pub(super) const fn to(queues: Vec<LinkQueue>) -> Self {
        Self { queues }
    }

    /// Reports a frame's fate, at the time of this call; ignores other events. Does not wait: if
    /// the queue is full or the gateway has ended, the event is lost.
    pub fn report(&self, event: &LinkEvent<'_>) {
        let LinkEvent::Frame { packet, fate, transmissions, queueing, access, air_time } = *event else {
            return;
        };
        // The destination of a packet that this node transmits is the client.
        let worker = worker_of(packet.ip().destination, self.queues.len());
        let Some(queue) = self.queues.get(worker) else { return };
        let packet = packet.clone();
        let queued = Queued { at: clock::now(), packet, fate, transmissions, queueing, access, air_time };
        if queue.to.try_send(queued).is_err() {
            queue.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        if !queue.shared.is_woken.swap(true, Ordering::AcqRel) {
            (queue.wake)();
        }
    }
}

impl LinkInbox {
    /// Calls `on_event` for the queued events in order, at most as many as the queue holds, so that
    /// a turn's work is bounded.
    pub(super) fn receive(&mut self, now: Instant, mut on_event: impl FnMut(&LinkEvent<'_>)) {
        // Before the queue is read, so that each later event wakes the loop again.
        self.shared.is_woken.swap(false, Ordering::AcqRel);
        for queued in self.queue.try_iter().take(self.room) {
            self.counted.count(queued.fate);
            self.delays.record(now.since(queued.at));
            on_event(&LinkEvent::Frame {
                packet: &queued.packet,
                fate: queued.fate,
                transmissions: queued.transmissions,
                queueing: queued.queueing,
                access: queued.access,
                air_time: queued.air_time,
            });
        }
    }

    pub(super) fn report(&self) -> LinkReport {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        LinkReport { lost, delay: self.delays.summary(), ..self.counted }
    }
}
