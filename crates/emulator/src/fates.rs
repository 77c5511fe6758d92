//! Reports of link layers about their frames, for agents outside the world: a gateway in this
//! process.

use lasthop_agent::LinkEvent;
use lasthop_packet::Instant;
use lasthop_sim::{Interest, LinkId, NodeId, Observer, TraceEvent};

/// The report of a link layer about one frame.
#[derive(Clone, Copy, Debug)]
pub struct FateOfFrame<'a> {
    /// The time of the report, on the model's clock.
    pub at: Instant,
    /// The link.
    pub link: LinkId,
    /// The node that transmitted the frame.
    pub from: NodeId,
    /// The report, as an agent in the world receives it.
    pub event: LinkEvent<'a>,
}

/// Calls a listener for each report.
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
