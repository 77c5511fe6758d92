//! The kinds of events, and their names on the command line.

use bitflags::bitflags;
use lasthop_config::words::did_you_mean;
use lasthop_sim::Interest;
use thiserror::Error;

use super::periodic::Periodic;

bitflags! {
    /// Kinds of events in the event trace. Their names on the command line are those of the
    /// constants, in lower case and with hyphens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EventKinds: u16 {
        /// A transmission of a frame is corrupted by the bad state.
        const CORRUPTED = 1;
        /// The link layer gives up a frame.
        const GIVEN_UP = 1 << 1;
        /// A source retransmits a segment.
        const RETRANSMITTED = 1 << 2;
        /// A source's retransmission timer expires.
        const TIMEOUT = 1 << 3;
        /// A source retransmits on duplicate ACKs.
        const FAST_RETRANSMIT = 1 << 4;
        /// A node sends a control message, or a source receives one.
        const ICMP = 1 << 5;
        /// A source or a sink sends a segment for the first time.
        const SENT = 1 << 6;
        /// A source or a sink receives a segment.
        const RECEIVED = 1 << 7;
        /// A frame's transmission starts and is not corrupted.
        const TRANSMITTED = 1 << 8;
        /// A link-layer acknowledgment is corrupted.
        const LINK_ACK_LOST = 1 << 9;
        /// A packet arrives at a router.
        const ARRIVED = 1 << 10;
        /// A packet is dropped.
        const DROPPED = 1 << 11;
        /// A wireless link changes its state.
        const LINK_STATE = 1 << 12;
        /// A transfer starts or is complete.
        const TRANSFER = 1 << 13;
        /// The state of every node, once per print interval with events.
        const PERIODIC = 1 << 14;
    }
}

/// The name of an event kind is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "unknown event kind {name:?}{}; expected one of: {}",
    did_you_mean(name, &known_names().iter().map(String::as_str).collect::<Vec<_>>()),
    known_names().join(", ")
)]
pub struct UnknownEvent {
    /// The unknown name.
    pub name: String,
}

/// The names of all kinds, and those of sets of them.
fn known_names() -> Vec<String> {
    let sets = ["all", "none", "default"].map(str::to_owned);
    EventKinds::all().names().into_iter().chain(sets).collect()
}

impl EventKinds {
    /// Losses and reactions to them: the kinds in the thesis's sample, and control messages.
    pub const DEFAULT: Self = Self::CORRUPTED
        .union(Self::GIVEN_UP)
        .union(Self::RETRANSMITTED)
        .union(Self::TIMEOUT)
        .union(Self::FAST_RETRANSMIT)
        .union(Self::ICMP);

    /// Reads names with commas between them. `all`, `none` and `default` are also allowed.
    pub fn named(names: &str) -> Result<Self, UnknownEvent> {
        let mut kinds = Self::empty();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            kinds |= match name {
                "all" => Self::all(),
                "none" => Self::empty(),
                "default" => Self::DEFAULT,
                _ => Self::all()
                    .iter()
                    .find(|kind| kind.names() == [name])
                    .ok_or_else(|| UnknownEvent { name: name.to_owned() })?,
            };
        }
        Ok(kinds)
    }

    /// The names of these kinds.
    pub fn names(self) -> Vec<String> {
        self.iter_names().map(|(name, _)| name.to_ascii_lowercase().replace('_', "-")).collect()
    }

    pub(super) fn interest(self) -> Interest {
        let frames = Self::CORRUPTED | Self::GIVEN_UP | Self::TRANSMITTED | Self::LINK_ACK_LOST;
        let needs = [
            // The numbers of frames count all frames.
            (frames, Interest::FRAMES),
            (Self::RETRANSMITTED | Self::SENT | Self::RECEIVED | Self::ICMP, Interest::SEGMENTS),
            (Self::TIMEOUT | Self::FAST_RETRANSMIT, Interest::LOSSES),
            (Self::ICMP, Interest::REPORTS),
            (Self::ARRIVED, Interest::INTERFACES),
            (Self::DROPPED, Interest::DROPS),
            (Self::LINK_STATE, Interest::CHANNEL),
            (Self::TRANSFER, Interest::FLOWS),
            (Self::PERIODIC, Periodic::INTEREST),
        ];
        needs
            .into_iter()
            .filter(|(kinds, _)| self.intersects(*kinds))
            .fold(Interest::empty(), |all, (_, interest)| all | interest)
    }
}
