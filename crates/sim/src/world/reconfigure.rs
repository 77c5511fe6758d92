//! Changes of a link while packets are on it.

use std::time::Duration;

use lasthop_packet::Probability;
use thiserror::Error;

use super::{Egress, World};
use crate::capacity::{Capacity, Pace};
use crate::config::{Jitter, QueueLimit};
use crate::id::{HopId, LinkId, PipeId};
use crate::schedule::Event;
use crate::wireless::{ChannelConfig, Feedback, LinkLayer};

/// Which directions of a link a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From its first node to its second.
    Forward,
    /// From its second node to its first.
    Backward,
    /// Both.
    Both,
}

/// A change of a link. It is for what starts its transmission from now on, unless it says
/// otherwise; packets stay in order.
#[derive(Clone, Debug)]
pub enum Change {
    /// How fast it is.
    Capacity(Capacity),
    /// Propagation delay, with the jitter around it.
    Delay(Duration, Jitter),
    /// Loss; on a wired link, of packets that are sent into it from now on.
    Loss(Probability),
    /// How much may wait; what waits already stays.
    Queue(QueueLimit),
    /// The error process, from its good state on; always for both directions.
    Channel(ChannelConfig),
}

/// Why a link cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// Only wireless links have channels.
    #[error("a wired link has no channel")]
    NoChannel,
    /// An 802.11 cell has no such settings a link.
    #[error("a link of an 802.11 cell cannot be changed so")]
    Radio,
    /// The sender would not know how long to wait.
    #[error("a stop-and-wait link layer has no jitter, and a rate that is fixed")]
    StopAndWait,
}

impl World {
    /// Changes a link, now. After an error nothing has changed.
    pub fn reconfigure_link(&mut self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        self.can_reconfigure_link(link, way, change)?;
        if let Change::Channel(config) = change {
            return self.replace_channel(link, config);
        }
        for egress in self.egresses(link, way).into_iter().flatten() {
            match egress {
                Egress::Pipe(pipe) => self.change_pipe(pipe, change),
                Egress::Hop(hop) => self.change_hop(hop, change),
                Egress::Radio(_) => {}
            }
        }
        Ok(())
    }

    /// Whether a link can be changed so. No other change makes this one impossible: several of
    /// which each is possible can all be made.
    pub fn can_reconfigure_link(&self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        if self.ports.iter().any(|port| port.link == link) {
            return Err(ChangeError::Radio);
        }
        if matches!(change, Change::Channel(_)) {
            return self.channel_of(link).map(drop);
        }
        for egress in self.egresses(link, way).into_iter().flatten() {
            if let Egress::Hop(hop) = egress {
                self.check_hop(hop, change)?;
            }
        }
        Ok(())
    }

    fn egresses(&self, link: LinkId, way: Way) -> [Option<Egress>; 2] {
        let (first, second) = self.links[link.index()].ends;
        let egress = |node: crate::NodeId| {
            let interfaces = &self.nodes[node.index()].interfaces;
            interfaces.iter().find(|interface| interface.link == link).map(|interface| interface.egress)
        };
        match way {
            Way::Forward => [egress(first), None],
            Way::Backward => [None, egress(second)],
            Way::Both => [egress(first), egress(second)],
        }
    }

    fn channel_of(&self, link: LinkId) -> Result<usize, ChangeError> {
        self.channels.iter().position(|of_link| of_link.link == link).ok_or(ChangeError::NoChannel)
    }

    fn change_pipe(&mut self, id: PipeId, change: &Change) {
        let now = self.now;
        let pipe = &mut self.pipes[id.index()];
        let expected = pipe.next_arrival();
        match change {
            Change::Capacity(capacity) => pipe.set_capacity(capacity, now),
            Change::Delay(delay, jitter) => pipe.set_delay(*delay, *jitter, now),
            Change::Loss(loss) => pipe.set_loss(*loss),
            Change::Queue(limit) => pipe.set_limit(*limit),
            Change::Channel(_) => {}
        }
        // The event that was scheduled finds nothing to do unless it comes at the right time.
        if let Some(next) = pipe.next_arrival().filter(|next| Some(*next) != expected) {
            self.schedule.push(next, Event::PipeArrival(id));
        }
    }

    fn check_hop(&self, id: HopId, change: &Change) -> Result<(), ChangeError> {
        let waits = matches!(self.hops[id.index()].layer.feedback, Feedback::Acknowledged { .. });
        let senseless = match change {
            Change::Capacity(capacity) => matches!(capacity, Capacity::Trace(_)),
            Change::Delay(_, jitter) => *jitter != Jitter::None,
            _ => false,
        };
        if waits && senseless { Err(ChangeError::StopAndWait) } else { Ok(()) }
    }

    fn change_hop(&mut self, id: HopId, change: &Change) {
        let hop = &mut self.hops[id.index()];
        let way = acknowledgment_way(&hop.pace, hop.delay, hop.layer);
        match change {
            Change::Capacity(capacity) => hop.pace = hop.pace.replaced(capacity),
            Change::Delay(delay, jitter) => (hop.delay, hop.jitter) = (*delay, *jitter),
            Change::Loss(loss) => hop.loss = *loss,
            Change::Queue(limit) => hop.limit = *limit,
            Change::Channel(_) => {}
        }
        // A sender that waits for acknowledgments knows its link: it goes on waiting as much longer
        // than one takes as before.
        let new_way = acknowledgment_way(&hop.pace, hop.delay, hop.layer);
        if let Feedback::Acknowledged { timeout, .. } = &mut hop.layer.feedback {
            *timeout = timeout.saturating_sub(way).saturating_add(new_way);
        }
    }

    fn replace_channel(&mut self, link: LinkId, config: &ChannelConfig) -> Result<(), ChangeError> {
        let index = self.channel_of(link)?;
        self.look_at_channel(index);
        let now = self.now;
        let channel = &mut self.channels[index].channel;
        let was_good = channel.is_good();
        *channel = channel.replaced(config.clone(), now);
        if !was_good {
            self.emit(&crate::TraceEvent::ChannelState { link, at: now, good: true });
        }
        Ok(())
    }
}

/// From the end of a frame's transmission to the end of its acknowledgment's arrival.
fn acknowledgment_way(pace: &Pace, delay: Duration, layer: LinkLayer) -> Duration {
    match layer.feedback {
        Feedback::Acknowledged { ack_octets, .. } => delay * 2 + pace.exact_time(ack_octets as usize),
        Feedback::None | Feedback::Immediate => Duration::ZERO,
    }
}
