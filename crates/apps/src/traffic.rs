//! Traffic sources: when a flow sends, and how much, independent of the transport, TCP or UDP.
//!
//! | module | application |
//! |---|---|
//! | [`bulk`] | all data at once: a file of a given size, or without end (FTP); over UDP, as fast as the first queue accepts it |
//! | [`constant`] | a message at regular intervals (CBR), with or without jitter |
//! | [`on_off`] | the same in bursts, with random or fixed on and off periods |
//!
//! Sources of sessions ([`crate::session`]), which have packets of several sizes with RTP headers
//! ([`media`]):
//!
//! | module | application |
//! |---|---|
//! | [`voice`] | a packet of speech at regular intervals, always or in talkspurts |
//! | [`video`] | packets at a constant rate, or frames of several packets whose sizes vary |
//!
//! A new kind of application needs a file here, a variant of [`Application`] and one of [`Source`],
//! which returns how much the application writes now, and when it writes next.

pub mod bulk;
pub mod constant;
pub mod media;
pub mod on_off;
pub mod sample;
pub mod video;
pub mod voice;
mod write;

use lasthop_packet::{Instant, Rng};

pub use bulk::Bulk;
pub use constant::{Beat, Constant};
pub use media::Media;
pub use on_off::{OnOff, Shape, Span};
pub use video::{Frames, Video};
pub use voice::{Codec, Spurts, Voice};
pub use write::{Next, Write};

/// The application of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Application {
    /// All data at once.
    Bulk(Bulk),
    /// Messages at regular intervals.
    Constant(Constant),
    /// Messages at regular intervals, in bursts.
    OnOff(OnOff),
}

impl Application {
    /// A TCP transfer of `size` octets; without end if `None`.
    pub const fn transfer(size: Option<u64>) -> Self {
        Self::Bulk(Bulk { size, ..Bulk::ENDLESS })
    }

    /// The total number of octets to send; `None` without end.
    pub const fn size(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => bulk.size,
            Self::Constant(_) | Self::OnOff(_) => None,
        }
    }

    /// The octets of a write: over UDP, a datagram's payload.
    pub const fn message(&self) -> u32 {
        match self {
            Self::Bulk(bulk) => bulk.message,
            Self::Constant(constant) => constant.message,
            Self::OnOff(on_off) => on_off.constant.message,
        }
    }
}

/// The state of a running application.
#[derive(Debug)]
pub enum Source {
    /// All data at once.
    Bulk(bulk::Source),
    /// Messages at regular intervals.
    Constant(constant::Source),
    /// Messages at regular intervals, in bursts.
    OnOff(on_off::Source),
}

impl Source {
    /// Creates the source of an application that starts at `start`. `rng` is used only by this
    /// source.
    pub fn new(application: &Application, start: Instant, rng: Rng) -> Self {
        match application {
            Application::Bulk(bulk) => Self::Bulk(bulk::Source::new(bulk)),
            Application::Constant(constant) => Self::Constant(constant::Source::new(constant, start, rng)),
            Application::OnOff(on_off) => Self::OnOff(on_off::Source::new(on_off, start, rng)),
        }
    }

    /// Returns the next write. Called at the start, and then at the time of [`Write::next`].
    pub fn write(&mut self) -> Write {
        match self {
            Self::Bulk(source) => source.write(),
            Self::Constant(source) => source.write(),
            Self::OnOff(source) => source.write(),
        }
    }
}
