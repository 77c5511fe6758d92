//! What link layers learn of their frames, for agents that are not in the world: a gateway in this
//! process.

use lasthop_agent::LinkEvent;
use lasthop_packet::Instant;
use lasthop_sim::{Interest, LinkId, NodeId, Observer, TraceEvent};

/// What a link layer learned of one frame, and which link layer it was.
#[derive(Clone, Copy, Debug)]
pub struct FateOfFrame<'a> {
    /// When, on the model's clock.
    pub at: Instant,
    /// The link.
    pub link: LinkId,
    /// The node that transmitted the frame.
    pub from: NodeId,
    /// As an agent hears of it.
    pub event: LinkEvent<'a>,
}

/// Tells a listener.
pub(super) struct FateObserver<F>(pub(super) F);

impl<F: FnMut(&FateOfFrame<'_>) + Send> Observer for FateObserver<F> {
    fn interest(&self) -> Interest {
        Interest::FATES
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::FrameFate { link, from, event } = *event {
            (self.0)(&FateOfFrame { at: now, link, from, event });
        }
    }
}
