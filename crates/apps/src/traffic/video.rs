//! Video: packets at a constant rate, or frames of several packets whose sizes vary.
//!
//! The variable-rate model is that of near-real-time video in the evaluation methodologies of 3GPP2
//! (C.R1002) and IEEE 802.16m: frames at a fixed interval, each of the same number of packets
//! (slices), whose sizes and spacings have truncated Pareto distributions. The documents themselves
//! were not available: some of the default parameters were not checked against them.

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Rng};

use super::constant::Beat;
use super::sample::Sample;
use crate::heavy_tails::Pareto;
use lasthop_packet::time::nanos;

/// A model of a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Video {
    /// Packets of one size at regular intervals.
    Constant {
        /// The rate of the payload, without the RTP header.
        rate: Bitrate,
        /// The octets of a packet's payload, above zero.
        packet: u32,
    },
    /// Frames whose sizes vary.
    Variable(Frames),
}

/// Frames of several packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// The interval between frames, above zero.
    pub interval: Duration,
    /// The number of packets in a frame, above zero.
    pub packets: u32,
    /// The octets of a packet's payload.
    pub size: Pareto,
    /// The interval between packets of a frame, in seconds.
    pub spacing: Pareto,
}

impl Frames {
    /// The values of the source: ten frames per second, each of eight packets of 40 to 250 octets
    /// at intervals of 2.5 to 12.5 ms; the mean rate is 64 kbit/s.
    pub const NEAR_REAL_TIME: Self = Self {
        interval: Duration::from_millis(100),
        packets: 8,
        size: Pareto { shape: 1.2, min: 40.0, max: 250.0 },
        spacing: Pareto { shape: 1.2, min: 0.0025, max: 0.0125 },
    };

    /// The mean rate of the payload, in bits per second.
    pub fn mean_bps(&self) -> f64 {
        self.size.mean() * 8.0 * f64::from(self.packets) / self.interval.as_secs_f64()
    }
}

impl Video {
    /// RTP's clock, in Hz (RFC 3551, section 5).
    pub const CLOCK: u32 = 90_000;
    /// The RTP payload type: the first dynamic one (RFC 3551, section 3).
    pub const PAYLOAD_TYPE: u8 = 96;
}

/// A running source of video.
#[derive(Debug)]
pub struct Source {
    video: Video,
    rng: Rng,
    start: Instant,
    /// At a constant rate the number of packets so far, else that of the current frame.
    packets: u64,
    /// The time of the next packet's frame.
    frame: Instant,
    /// The time of the next packet.
    at: Instant,
}

impl Source {
    /// Creates a source that starts at `start`. `rng` is used only by this source.
    pub const fn new(video: &Video, start: Instant, rng: Rng) -> Self {
        Self { video: *video, rng, start, packets: 0, frame: start, at: start }
    }

    /// The time of the next packet.
    pub const fn next(&self) -> Instant {
        self.at
    }

    /// Returns the packet that is due. The next one is later.
    pub fn write(&mut self) -> Sample {
        self.packets += 1;
        match self.video {
            Video::Constant { rate, packet } => {
                let sample = Sample { octets: packet, marker: true, sampled: self.at };
                self.at = self.start.after_nanos(Beat::Rate(rate).offset(packet, self.packets));
                sample
            }
            Video::Variable(Frames { interval, packets, size, spacing }) => {
                let marker = self.packets == u64::from(packets);
                let octets = size.draw(&mut self.rng).round().max(1.0) as u32;
                let sample = Sample { octets, marker, sampled: self.frame };
                if marker {
                    self.packets = 0;
                    self.frame = self.frame.after_nanos(nanos(interval).max(1));
                    self.at = self.at.max(self.frame);
                } else {
                    self.at = self.at.after_nanos((spacing.draw(&mut self.rng) * 1e9) as u64);
                }
                sample
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_at_a_constant_rate_have_that_rate() {
        let rate = Bitrate::from_bps(1_000_000).expect("above zero");
        let mut source =
            Source::new(&Video::Constant { rate, packet: 1000 }, Instant::ZERO, Rng::named(1, "video"));
        let octets: u32 = (0..1250).map(|_| source.write().octets).sum();
        assert_eq!((octets, source.next()), (1_250_000, Instant::from_secs(10)));
    }

    #[test]
    fn near_real_time_video_has_its_source_s_means() {
        let frames = Frames::NEAR_REAL_TIME;
        assert!((frames.mean_bps() / 64_000.0 - 1.0).abs() < 0.03, "{}", frames.mean_bps());
        assert!((frames.spacing.mean() / 0.006 - 1.0).abs() < 0.02, "{}", frames.spacing.mean());
        let mut source = Source::new(&Video::Variable(frames), Instant::ZERO, Rng::named(1, "video"));
        let (mut octets, mut markers, packets) = (0, 0, 80_000);
        for number in 0..packets {
            let sample = source.write();
            octets += u64::from(sample.octets);
            markers += u64::from(sample.marker);
            assert_eq!(sample.sampled, Instant::from_millis(number / 8 * 100), "one frame, one time");
        }
        assert_eq!((markers, source.next()), (packets / 8, Instant::from_millis(packets / 8 * 100)));
        let mean_bps = octets as f64 * 8.0 / (packets as f64 / 80.0);
        assert!((mean_bps / frames.mean_bps() - 1.0).abs() < 0.01, "{mean_bps}");
    }
}
