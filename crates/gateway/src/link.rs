//! What a link layer in this process tells a gateway: a bounded queue to the packet loop, and a
//! call that ends its wait.
//!
//! Without a [`LinkReporter`] the packet loop has no queue to look at. One that tells too fast, or a
//! loop that is held up, loses events and counts them; a link layer never waits for its listener.

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

/// Tells a gateway what a link layer saw, from the link layer's own thread.
pub struct LinkReporter {
    /// To each packet loop.
    queues: Vec<LinkQueue>,
}

/// The link layer's end of the queue to a packet loop.
pub(super) struct LinkQueue {
    to: SyncSender<Queued>,
    shared: Arc<Shared>,
    wake: Wake,
}

/// The packet loop's end of it.
#[derive(Debug)]
pub(super) struct LinkInbox {
    queue: Receiver<Queued>,
    shared: Arc<Shared>,
    room: usize,
    heard: u64,
    delays: Lateness,
}

/// What the packet loop heard of a link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkReport {
    /// Events that came to the packet loop.
    pub heard: u64,
    /// Events that found the queue full and were lost.
    pub lost: u64,
    /// From the link layer's word to the packet loop's turn; its `count` is `heard`.
    pub delay: LatenessSummary,
}

#[derive(Debug, Default)]
struct Shared {
    /// Somebody has called since the loop last looked: one call is enough for all that comes until
    /// then.
    is_called: AtomicBool,
    lost: AtomicU64,
}

/// A [`LinkEvent`] that can be sent.
#[derive(Debug)]
struct Queued {
    /// On the gateway's clock.
    at: Instant,
    packet: Packet,
    fate: Fate,
    transmissions: u32,
    queueing: Duration,
    access: Option<Duration>,
    air_time: Duration,
}

/// A queue for so many events, at least one.
pub(super) fn queue(room: usize) -> (LinkInbox, impl FnOnce(Wake) -> LinkQueue) {
    let room = room.max(1);
    let (sender, queue) = sync_channel(room);
    let shared = Arc::new(Shared::default());
    let told = Arc::clone(&shared);
    let inbox = LinkInbox { queue, shared, room, heard: 0, delays: Lateness::new() };
    (inbox, move |wake| LinkQueue { to: sender, shared: told, wake })
}

impl LinkReporter {
    /// What is told: other events are not.
    pub const SENSES: LinkSenses = LinkSenses::FRAME_FATE;

    /// By these queues to the packet loops, in the order of the workers.
    pub(super) const fn to(queues: Vec<LinkQueue>) -> Self {
        Self { queues }
    }

    /// Tells of a frame's fate, at the time of this call; other events are not told. Does not wait:
    /// where the queue is full or the gateway has ended, the event is lost.
    pub fn report(&self, event: &LinkEvent<'_>) {
        let LinkEvent::Frame { packet, fate, transmissions, queueing, access, air_time } = *event else {
            return;
        };
        // What this node transmits is for the client.
        let worker = worker_of(packet.ip().destination, self.queues.len());
        let Some(queue) = self.queues.get(worker) else { return };
        let packet = packet.clone();
        let queued = Queued { at: clock::now(), packet, fate, transmissions, queueing, access, air_time };
        if queue.to.try_send(queued).is_err() {
            queue.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        if !queue.shared.is_called.swap(true, Ordering::AcqRel) {
            (queue.wake)();
        }
    }
}

impl LinkInbox {
    /// Gives `on_event` all that was told, in order; at most as many as the queue has room for, so that
    /// a turn's work is bounded.
    pub(super) fn receive(&mut self, now: Instant, mut on_event: impl FnMut(&LinkEvent<'_>)) {
        // First this: what is told from here on calls anew.
        self.shared.is_called.swap(false, Ordering::AcqRel);
        for queued in self.queue.try_iter().take(self.room) {
            self.heard += 1;
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
        LinkReport { heard: self.heard, lost, delay: self.delays.summary() }
    }
}
