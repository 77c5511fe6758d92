//! `lasthop emulate --pcap`: the capture of a run. Its own thread writes it, because the emulator's
//! thread must not wait for a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use lasthop_lab::capture::Capture;
use lasthop_linux::results::ResultFile;
use lasthop_packet::{Instant, Packet};
use lasthop_scenario::Built;
use lasthop_sim::{DropCause, Interest, LinkId, NodeId, Observer, TraceEvent};
use portable_atomic::AtomicU64;

use crate::output;

/// The maximum number of packets that wait for the disk: those of a second at 200 Mbit/s, at both
/// ends.
const MAX_QUEUED: usize = 1 << 15;

/// What happens to a packet while the maximum number waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is not recorded: real time goes on.
    Drop,
    /// It waits, and simulated time with it.
    Wait,
}

/// A capture in progress.
pub struct Recording {
    thread: JoinHandle<Capture>,
    missed: Arc<AtomicU64>,
}

impl Recording {
    /// Starts to record the packets of the world of `built`.
    pub fn start(file: ResultFile, built: &mut Built, when_full: WhenFull) -> io::Result<Self> {
        let capture = Capture::new(file, built)?;
        let (packets, recorded) = sync_channel(MAX_QUEUED);
        let missed = Arc::new(AtomicU64::new(0));
        built.world.observe(Box::new(Recorder { packets, missed: Arc::clone(&missed), when_full }));
        let thread =
            thread::Builder::new().name("capture".to_owned()).spawn(move || write(capture, &recorded))?;
        Ok(Self { thread, missed })
    }

    /// Waits until all packets are written. Must be called after the world has been dropped.
    pub fn finish(self) -> io::Result<()> {
        let mut capture = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        capture.finish()?;
        let missed = self.missed.load(Ordering::Relaxed);
        if missed > 0 {
            output::complain(&format!(
                "lasthop: --pcap: {missed} packets are missing: the disk was too slow"
            ));
        }
        Ok(())
    }

    /// Discards the capture, and keeps an earlier file. Must be called after the world has been
    /// dropped.
    pub fn discard(self) {
        // An unfinished capture is removed.
        drop(self.thread.join());
    }
}

/// An event of a packet.
struct Event {
    at: Instant,
    node: NodeId,
    kind: EventKind,
    packet: Packet,
}

/// The kind of a packet's event at a node.
#[derive(Clone, Copy)]
enum EventKind {
    Out(LinkId),
    In(LinkId),
    MadeByLink(LinkId),
    Dropped(Option<LinkId>, DropCause),
}

/// Sends the events of packets to the thread that writes them.
struct Recorder {
    packets: SyncSender<Event>,
    missed: Arc<AtomicU64>,
    when_full: WhenFull,
}

impl Observer for Recorder {
    fn interest(&self) -> Interest {
        Interest::INTERFACES.union(Interest::DROPS)
    }

    fn on_event(&mut self, at: Instant, event: &TraceEvent<'_>) {
        let (node, kind, packet) = match *event {
            TraceEvent::InterfaceOut { node, link, packet } => (node, EventKind::Out(link), packet),
            TraceEvent::InterfaceIn { node, link, packet } => (node, EventKind::In(link), packet),
            TraceEvent::MadeByLink { node, link, packet } => (node, EventKind::MadeByLink(link), packet),
            TraceEvent::Dropped { node, link, cause, packet } => {
                (node, EventKind::Dropped(link, cause), packet)
            }
            _ => return,
        };
        let event = Event { at, node, kind, packet: packet.clone() };
        let is_sent = match self.when_full {
            WhenFull::Drop => self.packets.try_send(event).is_ok(),
            WhenFull::Wait => self.packets.send(event).is_ok(),
        };
        if !is_sent {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(mut capture: Capture, packets: &Receiver<Event>) -> Capture {
    for Event { at, node, kind, packet } in packets {
        let packet = &packet;
        let event = match kind {
            EventKind::Out(link) => TraceEvent::InterfaceOut { node, link, packet },
            EventKind::In(link) => TraceEvent::InterfaceIn { node, link, packet },
            EventKind::MadeByLink(link) => TraceEvent::MadeByLink { node, link, packet },
            EventKind::Dropped(link, cause) => TraceEvent::Dropped { node, link, cause, packet },
        };
        capture.on_event(at, &event);
    }
    capture
}
