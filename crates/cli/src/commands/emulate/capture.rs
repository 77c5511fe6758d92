//! `lasthop emulate --pcap`: the capture of a run, written on a thread of its own, because the
//! emulator's thread must not wait for a disk.

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

/// Packets that may wait for the disk: a second at 200 Mbit/s, seen at both ends.
const MOST_WAITING: usize = 1 << 15;

/// A capture under way.
pub struct Recording {
    thread: JoinHandle<Capture>,
    missed: Arc<AtomicU64>,
}

impl Recording {
    /// Starts to write what the world of `built` does from now on.
    pub fn start(file: ResultFile, built: &mut Built) -> io::Result<Self> {
        let capture = Capture::new(file, built)?;
        let (packets, seen) = sync_channel(MOST_WAITING);
        let missed = Arc::new(AtomicU64::new(0));
        built.world.observe(Box::new(Witness { packets, missed: Arc::clone(&missed) }));
        let thread =
            thread::Builder::new().name("capture".to_owned()).spawn(move || write(capture, &seen))?;
        Ok(Self { thread, missed })
    }

    /// Waits until everything is written; to be called once the world is gone.
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

    /// Leaves the file as it was before; to be called once the world is gone.
    pub fn discard(self) {
        // A capture that is not finished vanishes.
        drop(self.thread.join());
    }
}

/// What happened to a packet.
struct Seen {
    at: Instant,
    node: NodeId,
    what: What,
    packet: Packet,
}

/// What happens to a packet at a node.
#[derive(Clone, Copy)]
enum What {
    Out(LinkId),
    In(LinkId),
    MadeByLink(LinkId),
    Dropped(Option<LinkId>, DropCause),
}

/// Passes on what the world does.
struct Witness {
    packets: SyncSender<Seen>,
    missed: Arc<AtomicU64>,
}

impl Observer for Witness {
    fn interest(&self) -> Interest {
        Interest::INTERFACES.union(Interest::DROPS)
    }

    fn on_event(&mut self, at: Instant, event: &TraceEvent<'_>) {
        let (node, what, packet) = match *event {
            TraceEvent::InterfaceOut { node, link, packet } => (node, What::Out(link), packet),
            TraceEvent::InterfaceIn { node, link, packet } => (node, What::In(link), packet),
            TraceEvent::MadeByLink { node, link, packet } => (node, What::MadeByLink(link), packet),
            TraceEvent::Dropped { node, link, cause, packet } => (node, What::Dropped(link, cause), packet),
            _ => return,
        };
        if self.packets.try_send(Seen { at, node, what, packet: packet.clone() }).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(mut capture: Capture, packets: &Receiver<Seen>) -> Capture {
    for Seen { at, node, what, packet } in packets {
        let packet = &packet;
        let event = match what {
            What::Out(link) => TraceEvent::InterfaceOut { node, link, packet },
            What::In(link) => TraceEvent::InterfaceIn { node, link, packet },
            What::MadeByLink(link) => TraceEvent::MadeByLink { node, link, packet },
            What::Dropped(link, cause) => TraceEvent::Dropped { node, link, cause, packet },
        };
        capture.on_event(at, &event);
    }
    capture
}
