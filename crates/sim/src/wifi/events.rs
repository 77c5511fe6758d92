//! The state machine's own event queue.

use lasthop_packet::Instant;

/// What can happen. Of events at one moment, what ends comes first and what begins by contention
/// last; within those, the lower station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A transmission ends.
    FrameEnd(u32),
    /// The data frame of a domain's settled exchange ends, intact.
    SettledData(u32),
    /// A domain's settled exchange is over.
    SettledEnd(u32),
    /// A station has waited in vain for a response.
    Timeout(u32),
    /// A SIFS after a frame a station responds to this initiator, with a CTS.
    SendCts(u32, u32),
    /// The same with an ACK.
    SendAck(u32, u32),
    /// A SIFS after its guard an initiator sends its data frame.
    SendData(u32),
    /// An access point is to send a beacon.
    Tbtt(u32),
    /// Somebody in a domain may transmit.
    Access(u32),
    /// A station transmits, whatever it has sensed since this was decided.
    Begin(u32),
}

impl Event {
    const fn class(self) -> u64 {
        match self {
            Self::FrameEnd(_) | Self::SettledData(_) | Self::SettledEnd(_) => 0,
            Self::Timeout(_) => 1,
            Self::SendCts(..) | Self::SendAck(..) | Self::SendData(_) => 2,
            Self::Tbtt(_) => 3,
            Self::Access(_) => 4,
            Self::Begin(_) => 5,
        }
    }
}

/// Few wait at a time, and most of what comes is due before them: a sorted list is faster than a
/// heap.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The next one is the last.
    waiting: Vec<(Instant, u64, Event)>,
}

impl Events {
    /// `of` is the station whose doing it is. What comes first at one moment depends on no more
    /// than the event itself, so that stations that share a domain act in the same order as
    /// stations that do not.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, of: u32, event: Event) {
        let new = (at, event.class() << 32 | u64::from(of), event);
        let mut place = self.waiting.len();
        while place > 0 && self.waiting[place - 1] < new {
            place -= 1;
        }
        self.waiting.insert(place, new);
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.waiting.last().map(|(at, ..)| *at)
    }

    #[inline]
    pub(crate) fn pop_until(&mut self, now: Instant) -> Option<(Instant, Event)> {
        self.waiting.pop_if(|(at, ..)| *at <= now).map(|(at, _, event)| (at, event))
    }
}
