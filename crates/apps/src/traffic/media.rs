//! Media over RTP, and the common interface of their sources.

use lasthop_packet::{Instant, Rng};

use super::sample::Sample;
use super::video::{self, Video};
use super::voice::{self, Voice};
use crate::media::Playout;

/// The media that one end of a call sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Media {
    /// Speech, which the receiver plays from a buffer.
    Voice(Voice, Playout),
    /// Video.
    Video(Video),
}

/// A running source.
#[derive(Debug)]
pub struct Source {
    media: Media,
    packets: Packets,
}

#[derive(Debug)]
enum Packets {
    Voice(voice::Source),
    Video(video::Source),
}

impl Source {
    /// Creates a source that starts at `start`. `rng` is used only by this source.
    pub fn new(media: &Media, start: Instant, rng: Rng) -> Self {
        let packets = match media {
            Media::Voice(voice, _) => Packets::Voice(voice::Source::new(voice, start, rng)),
            Media::Video(video) => Packets::Video(video::Source::new(video, start, rng)),
        };
        Self { media: *media, packets }
    }

    /// The time of the next packet.
    pub const fn next(&self) -> Instant {
        match &self.packets {
            Packets::Voice(source) => source.next(),
            Packets::Video(source) => source.next(),
        }
    }

    /// Returns the packet that is due. The next one is later.
    pub fn write(&mut self) -> Sample {
        match &mut self.packets {
            Packets::Voice(source) => source.write(),
            Packets::Video(source) => source.write(),
        }
    }

    /// The RTP payload type.
    pub const fn payload_type(&self) -> u8 {
        match self.media {
            Media::Voice(voice, _) => voice.codec.payload_type(),
            Media::Video(_) => Video::PAYLOAD_TYPE,
        }
    }

    /// The rate of the RTP clock, in Hz.
    pub const fn clock(&self) -> u32 {
        match self.media {
            Media::Voice(..) => Voice::CLOCK,
            Media::Video(_) => Video::CLOCK,
        }
    }

    /// The model of speech; `None` for video.
    pub const fn voice(&self) -> Option<&Voice> {
        match &self.media {
            Media::Voice(voice, _) => Some(voice),
            Media::Video(_) => None,
        }
    }

    /// The receiver's playout buffer; `None` for video.
    pub const fn playout(&self) -> Option<Playout> {
        match self.media {
            Media::Voice(_, playout) => Some(playout),
            Media::Video(_) => None,
        }
    }
}
