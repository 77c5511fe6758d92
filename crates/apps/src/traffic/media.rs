//! What is sent over RTP, and what sources of it have in common: packets in real time.

use lasthop_packet::{Instant, Rng};

use super::sample::Sample;
use super::video::{self, Video};
use super::voice::{self, Voice};
use crate::media::Playout;

/// What one end of a call sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Media {
    /// Speech, which who hears it plays from a buffer.
    Voice(Voice, Playout),
    /// Video.
    Video(Video),
}

/// A source at work.
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
    /// A source that starts at `start`; `rng` is its own.
    pub fn new(media: &Media, start: Instant, rng: Rng) -> Self {
        let packets = match media {
            Media::Voice(voice, _) => Packets::Voice(voice::Source::new(voice, start, rng)),
            Media::Video(video) => Packets::Video(video::Source::new(video, start, rng)),
        };
        Self { media: *media, packets }
    }

    /// When the next packet is due.
    pub const fn next(&self) -> Instant {
        match &self.packets {
            Packets::Voice(source) => source.next(),
            Packets::Video(source) => source.next(),
        }
    }

    /// The packet that is due; the next is later.
    pub fn write(&mut self) -> Sample {
        match &mut self.packets {
            Packets::Voice(source) => source.write(),
            Packets::Video(source) => source.write(),
        }
    }

    /// RTP's payload type.
    pub const fn payload_type(&self) -> u8 {
        match self.media {
            Media::Voice(voice, _) => voice.codec.payload_type(),
            Media::Video(_) => Video::PAYLOAD_TYPE,
        }
    }

    /// RTP's clock, in Hz.
    pub const fn clock(&self) -> u32 {
        match self.media {
            Media::Voice(..) => Voice::CLOCK,
            Media::Video(_) => Video::CLOCK,
        }
    }

    /// The speech that it is, if it is.
    pub const fn voice(&self) -> Option<&Voice> {
        match &self.media {
            Media::Voice(voice, _) => Some(voice),
            Media::Video(_) => None,
        }
    }

    /// How what arrives is played, if it is.
    pub const fn playout(&self) -> Option<Playout> {
        match self.media {
            Media::Voice(_, playout) => Some(playout),
            Media::Video(_) => None,
        }
    }
}
