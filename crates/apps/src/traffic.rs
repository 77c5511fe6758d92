//! Applications: what a flow has to send, and when. What carries it, TCP or UDP, is another
//! idea.
//!
//! | module | application |
//! |---|---|
//! | [`bulk`] | everything at once: a file of a given size, or without end (FTP); over UDP, as fast as the first queue takes it |
//! | [`constant`] | a message at regular intervals (CBR), with or without jitter |
//! | [`on_off`] | the same in bursts, with random or fixed times on and off |
//!
//! And of sessions ([`crate::session`]), which have packets of several sizes with RTP's headers
//! ([`media`]):
//!
//! | module | application |
//! |---|---|
//! | [`voice`] | a packet of speech at regular intervals, always or in talkspurts |
//! | [`video`] | packets at a constant rate, or frames of several packets whose sizes vary |
//!
//! A new kind is a file here, a variant of [`Application`] and one of `Source`: an answer to "how
//! much does it write now, and when does it write again?".

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

/// What a flow has to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Application {
    /// Everything at once.
    Bulk(Bulk),
    /// Messages at regular intervals.
    Constant(Constant),
    /// Messages at regular intervals, in bursts.
    OnOff(OnOff),
}

impl Application {
    /// A TCP transfer of so many octets; without end if `None`.
    pub const fn transfer(size: Option<u64>) -> Self {
        Self::Bulk(Bulk { size, ..Bulk::ENDLESS })
    }

    /// Octets to send in all, if there is an end to them.
    pub const fn size(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => bulk.size,
            Self::Constant(_) | Self::OnOff(_) => None,
        }
    }

    /// Octets that it writes at a time: over UDP, a datagram's payload.
    pub const fn message(&self) -> u32 {
        match self {
            Self::Bulk(bulk) => bulk.message,
            Self::Constant(constant) => constant.message,
            Self::OnOff(on_off) => on_off.constant.message,
        }
    }
}

/// An application at work.
#[derive(Debug)]
pub enum Source {
    /// Everything at once.
    Bulk(bulk::Source),
    /// Messages at regular intervals.
    Constant(constant::Source),
    /// The same in bursts.
    OnOff(on_off::Source),
}

impl Source {
    /// An application that starts at `start`; `rng` is its own.
    pub fn new(application: &Application, start: Instant, rng: Rng) -> Self {
        match application {
            Application::Bulk(bulk) => Self::Bulk(bulk::Source::new(bulk)),
            Application::Constant(constant) => Self::Constant(constant::Source::new(constant, start, rng)),
            Application::OnOff(on_off) => Self::OnOff(on_off::Source::new(on_off, start, rng)),
        }
    }

    /// Its turn has come: at its start, and then whenever it said.
    pub fn write(&mut self) -> Write {
        match self {
            Self::Bulk(source) => source.write(),
            Self::Constant(source) => source.write(),
            Self::OnOff(source) => source.write(),
        }
    }
}
