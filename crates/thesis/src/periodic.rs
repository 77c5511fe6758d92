//! The periodic trace of the state of every node (appendix B.3.1, `print_interval`).

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::observe::End;
use lasthop_sim::{Interest, TraceEvent};

use super::naming::Names;

/// The state of each node, updated by events. It does not change between events, so that the state
/// at the end of an interval is known at the first event after it. Of successive intervals without
/// events, only the first is reported.
#[derive(Debug)]
pub(super) struct Periodic {
    interval: Duration,
    next: Instant,
    nodes: Vec<NodeState>,
}

#[derive(Clone, Debug, Default)]
struct NodeState {
    role: Option<TcpState>,
    arrived: u64,
    left: u64,
    dropped: u64,
}

#[derive(Clone, Copy, Debug)]
enum TcpState {
    Source { acknowledged: u32, next: u32, sent: u32, cwnd: u32, ssthresh: u32 },
    Sink { expected: u32 },
}

impl Periodic {
    /// The events that it needs.
    pub(super) const INTEREST: Interest =
        Interest::SEGMENTS.union(Interest::WINDOW).union(Interest::INTERFACES).union(Interest::DROPS);

    pub(super) fn new(names: &Names, interval: Duration) -> Self {
        Self {
            interval,
            next: Instant::ZERO + interval,
            nodes: vec![NodeState::default(); names.nodes().len()],
        }
    }

    /// The end of an interval that is over now, if any; [`Self::lines`] returns the state at that
    /// time.
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        if now < self.next {
            return None;
        }
        let due = self.next;
        // The first end of an interval after now.
        self.next = (now + Duration::from_nanos(1)).round_up_to(self.interval);
        Some(due)
    }

    pub(super) fn on_event(&mut self, event: &TraceEvent<'_>, names: &Names) {
        match *event {
            TraceEvent::Window { flow, sender } => {
                let flight = sender.flight();
                self.nodes[names.flow(flow).from.index()].role = Some(TcpState::Source {
                    acknowledged: names.seq_of_flow(flow, flight.una),
                    next: names.seq_of_flow(flow, flight.nxt),
                    sent: names.seq_of_flow(flow, flight.max),
                    cwnd: flight.cwnd,
                    ssthresh: flight.ssthresh,
                });
            }
            TraceEvent::SegmentSent { flow, end: End::Receiver, packet, .. } => {
                if let Some(expected) = names.ack(packet) {
                    self.nodes[names.flow(flow).to.index()].role = Some(TcpState::Sink { expected });
                }
            }
            TraceEvent::InterfaceIn { node, .. } => self.nodes[node.index()].arrived += 1,
            TraceEvent::InterfaceOut { node, .. } => self.nodes[node.index()].left += 1,
            TraceEvent::Dropped { node, .. } => self.nodes[node.index()].dropped += 1,
            _ => {}
        }
    }

    /// One line per node.
    pub(super) fn lines<'a>(&'a self, names: &'a Names) -> impl Iterator<Item = String> + 'a {
        names.nodes().iter().zip(&self.nodes).map(|(name, node)| {
            let NodeState { role, arrived, left, dropped } = node;
            let packets = format!("at {name} packets: {arrived} in, {left} out, {dropped} dropped");
            match role {
                None => packets,
                Some(TcpState::Source { acknowledged, next, sent, cwnd, ssthresh }) => format!(
                    "{packets}; source: acknowledged {acknowledged}, next {next}, sent {sent}, cwnd {cwnd}, ssthresh {ssthresh}"
                ),
                Some(TcpState::Sink { expected }) => format!("{packets}; sink: expected {expected}"),
            }
        })
    }
}
