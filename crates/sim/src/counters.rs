//! What is counted whether or not anybody observes.

lasthop_agent::counters! {
    /// What a world counts itself; what its agents report is beside it
    /// ([`World::reported`](crate::World::reported)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counters {
        /// Events handled.
        events: EVENTS = "events",
        /// Transmissions of frames on wireless links.
        frames_sent: FRAMES_SENT = "frames_sent",
        /// Of these, transmissions that were lost.
        frames_lost: FRAMES_LOST = "frames_lost",
        /// Frames given up by a link layer.
        frames_given_up: FRAMES_GIVEN_UP = "frames_given_up",
        /// Link-layer acknowledgments lost.
        link_acks_lost: LINK_ACKS_LOST = "link_acks_lost",
        /// Frames that a link layer received twice.
        duplicate_frames: DUPLICATE_FRAMES = "duplicate_frames",
    }
}
