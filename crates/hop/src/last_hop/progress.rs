//! The progress over the hop, as an acknowledgment from the mobile host or the fate of a frame shows
//! it.

use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent};
use lasthop_packet::Instant;

/// The progress that an acknowledgment shows, or a [frame's fate](Progress::from_frame).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Newly delivered octets.
    pub delivered: u64,
    /// Octets found lost since the previous acknowledgment.
    pub lost: u64,
    /// When the latest delivered segment left that was sent only once: it measures the round-trip
    /// time.
    pub sent: Option<Instant>,
    /// The delay of the acknowledgment on the way back above the minimum, where that is known.
    pub late: Duration,
}

impl Progress {
    /// The progress that the fate of a frame shows: for transports whose acknowledgments an agent
    /// cannot read. `None` for other events, and while transmissions of the frame follow.
    ///
    /// The link layer does not report its back-offs between transmissions, so a frame that was
    /// transmitted several times measures no round trip.
    pub fn from_frame(event: &LinkEvent<'_>, now: Instant) -> Option<Self> {
        let LinkEvent::Frame { packet, fate, transmissions, queueing, air_time, .. } = *event else {
            return None;
        };
        let octets = packet.payload().len() as u64;
        match fate {
            Fate::Delivered => {
                let sent = (transmissions == 1)
                    .then(|| Instant::ZERO + now.since(Instant::ZERO + queueing + air_time));
                Some(Self { delivered: octets, sent, ..Self::default() })
            }
            Fate::GivenUp => Some(Self { lost: octets, ..Self::default() }),
            Fate::FirstTransmissionFailed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::{Ip, Packet, Payload, Transport, Udp};

    use super::*;

    #[test]
    fn a_frames_fate_shows_delivery_or_loss_and_one_transmission_a_round_trip() {
        let ip = Ip::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let udp = Transport::Udp(Udp { source_port: 443, destination_port: 50_000 });
        let packet = Packet::new(ip, udp, Payload::Stream { stream: 1, offset: 0, len: 1_200 });
        let (ms, now) = (Duration::from_millis, Instant::from_secs(1));
        let frame = |fate, transmissions| LinkEvent::Frame {
            packet: &packet,
            fate,
            transmissions,
            queueing: ms(5),
            access: None,
            air_time: ms(2),
        };
        let delivered = Progress { delivered: 1_200, ..Progress::default() };
        let timed = Progress { sent: Some(Instant::from_millis(993)), ..delivered };
        assert_eq!(Progress::from_frame(&frame(Fate::Delivered, 1), now), Some(timed));
        assert_eq!(Progress::from_frame(&frame(Fate::Delivered, 2), now), Some(delivered));
        assert_eq!(Progress::from_frame(&frame(Fate::FirstTransmissionFailed, 1), now), None);
        let lost = Progress { lost: 1_200, ..Progress::default() };
        assert_eq!(Progress::from_frame(&frame(Fate::GivenUp, 7), now), Some(lost));
        assert_eq!(Progress::from_frame(&LinkEvent::Departure { packet: &packet }, now), None);
    }
}
