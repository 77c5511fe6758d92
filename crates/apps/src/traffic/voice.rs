//! Voice: a packet of speech at regular intervals, always or in talkspurts.
//!
//! Talkspurts and pauses are exponentially distributed, with the means of ITU-T P.59 (03/1993),
//! table 1: 1.004 s and 1.587 s. The directions are independent: the model has no turn taking, and
//! not P.59's mutual silence and double talk.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use super::sample::Sample;
use crate::mos::Robustness;
use lasthop_packet::time::nanos;

/// The speech of one party of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voice {
    /// The codec.
    pub codec: Codec,
    /// The duration of the speech in a packet: a multiple of the codec's frame, above zero.
    pub packet_time: Duration,
    /// The talkspurts, outside of which no packets are sent; with `None`, packets are always sent.
    pub spurts: Option<Spurts>,
}

/// A speech codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// G.711 (mu-law), 64 kbit/s; with or without the packet loss concealment of its appendix I.
    G711 {
        /// Whether the receiver conceals lost packets.
        concealment: bool,
    },
    /// G.729A, 8 kbit/s; rated as with voice activity detection, with talkspurts or without.
    G729,
}

/// The mean durations of talkspurts and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spurts {
    /// The mean duration of a talkspurt.
    pub talk: Duration,
    /// The mean duration of a pause.
    pub pause: Duration,
}

impl Spurts {
    /// The values of ITU-T P.59.
    pub const P59: Self = Self { talk: Duration::from_millis(1004), pause: Duration::from_millis(1587) };
}

impl Codec {
    /// The RTP payload type (RFC 3551, table 4).
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::G711 { .. } => 0,
            Self::G729 => 18,
        }
    }

    /// The duration of a frame. G.711 has single samples, which are sent in units of a millisecond.
    pub const fn frame(self) -> Duration {
        match self {
            Self::G711 { .. } => Duration::from_millis(1),
            Self::G729 => Duration::from_millis(10),
        }
    }

    /// The octets of a millisecond of speech.
    const fn octets_a_millisecond(self) -> u32 {
        match self {
            Self::G711 { .. } => 8,
            Self::G729 => 1,
        }
    }

    /// The look-ahead of the coder: 5 ms (ITU-T G.729), none for G.711.
    const fn look_ahead(self) -> Duration {
        match self {
            Self::G711 { .. } => Duration::ZERO,
            Self::G729 => Duration::from_millis(5),
        }
    }

    /// The codec's impairment, and its robustness against loss.
    pub const fn robustness(self) -> Robustness {
        match self {
            Self::G711 { concealment: false } => Robustness::G711,
            Self::G711 { concealment: true } => Robustness::G711_CONCEALED,
            Self::G729 => Robustness::G729A,
        }
    }
}

impl Voice {
    /// RTP's clock for both codecs, in Hz.
    pub const CLOCK: u32 = 8000;

    /// The octets of speech in a packet.
    pub const fn payload(&self) -> u32 {
        self.codec.octets_a_millisecond() * self.packet_time.as_millis() as u32
    }

    /// The delay before a packet is sent: packetization, and the coder's look-ahead.
    pub fn coding_delay(&self) -> Duration {
        self.packet_time + self.codec.look_ahead()
    }
}

/// A running source of speech of one party.
#[derive(Debug)]
pub struct Source {
    voice: Voice,
    rng: Rng,
    /// The time of the next packet.
    at: Instant,
    /// The end of the talkspurt.
    until: Instant,
    /// Whether the next packet is the first of a talkspurt.
    is_first: bool,
}

impl Source {
    /// Creates a source that starts at `start`. The first packet has a random offset within a
    /// packet time, so that the packets of different parties are not synchronized.
    pub fn new(voice: &Voice, start: Instant, mut rng: Rng) -> Self {
        let at = start.after_nanos(rng.below(nanos(voice.packet_time).max(1)));
        let mut source = Self { voice: *voice, rng, at, until: Instant::MAX, is_first: true };
        if let Some(Spurts { talk, pause }) = voice.spurts {
            source.until = at;
            // The source starts in a pause with the probability of a pause at any later time.
            let speaks = source.rng.uniform() * (talk + pause).as_secs_f64() < talk.as_secs_f64();
            if speaks {
                source.until = at + source.rng.exponential(talk);
            } else {
                source.begin_spurt(talk, pause);
            }
        }
        source
    }

    /// The time of the next packet.
    pub const fn next(&self) -> Instant {
        self.at
    }

    /// Returns the packet that is due. The next one is later.
    pub fn write(&mut self) -> Sample {
        let sample = Sample {
            octets: self.voice.payload(),
            marker: std::mem::take(&mut self.is_first),
            sampled: self.at,
        };
        self.at = self.at.after_nanos(nanos(self.voice.packet_time).max(1));
        if self.at >= self.until
            && let Some(Spurts { talk, pause }) = self.voice.spurts
        {
            self.begin_spurt(talk, pause);
        }
        sample
    }

    /// Draws a pause and the talkspurt after it.
    fn begin_spurt(&mut self, talk: Duration, pause: Duration) {
        self.at += self.rng.exponential(pause);
        self.until = self.at + self.rng.exponential(talk);
        self.is_first = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G711: Voice = Voice {
        codec: Codec::G711 { concealment: true },
        packet_time: Duration::from_millis(20),
        spurts: None,
    };

    #[test]
    fn packets_have_the_sizes_and_payload_types_of_rfc_3551() {
        assert_eq!((G711.payload(), G711.codec.payload_type()), (160, 0));
        let g729 = Voice { codec: Codec::G729, ..G711 };
        assert_eq!((g729.payload(), g729.codec.payload_type()), (20, 18));
        assert_eq!(g729.coding_delay(), Duration::from_millis(25));
    }

    #[test]
    fn without_spurts_a_packet_is_sent_every_20_ms_and_only_the_first_has_the_marker() {
        let mut source = Source::new(&G711, Instant::from_secs(1), Rng::named(1, "voice"));
        let first = source.next();
        assert!((Instant::from_secs(1)..Instant::from_millis(1020)).contains(&first));
        let markers = (0..1000).filter(|_| source.write().marker).count();
        assert_eq!((markers, source.next().since(first)), (1, Duration::from_secs(20)));
    }

    #[test]
    fn spurts_and_pauses_have_their_means() {
        let voice = Voice { spurts: Some(Spurts::P59), ..G711 };
        let mut source = Source::new(&voice, Instant::ZERO, Rng::named(1, "voice"));
        let packets = 400_000;
        let spurts = (0..packets).filter(|_| source.write().marker).count() as f64;
        // A spurt has one packet for each interval that has begun: on average half a packet more
        // than its length.
        let talk = packets as f64 * 0.02 / spurts;
        assert!((talk / 1.014 - 1.0).abs() < 0.03, "{talk}");
        let cycle = source.next().as_secs_f64() / spurts;
        assert!((cycle / (1.014 + 1.587) - 1.0).abs() < 0.03, "{cycle}");
    }
}
