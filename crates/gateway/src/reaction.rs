//! Whether a sender slows down on loss, and so whether an agent can help its connection.
//!
//! An agent that repairs losses locally helps senders that treat loss as congestion (Reno, CUBIC: a
//! third to a tenth of the rate is left at 1 to 5% loss). A sender that does not (BBR) gains
//! nothing, and the copies cost air time. Such a sender can be recognized without an experiment:
//! some losses reach it even through an agent (a copy is lost as well, or a time-out occurs first),
//! it retransmits, and its octets in flight do not decrease. Reno halves them, CUBIC reduces them
//! by 30% (RFC 9438, section 4.6).
//!
//! The octets in flight (highest sequence number seen less highest acknowledgment seen) are
//! averaged over windows of two round-trip times. After a retransmission by the sender, its window
//! and the next one are skipped (recovery), and the window after these is compared with the one
//! before the retransmission. If at least nine tenths remain, this counts as one point for "does
//! not slow down"; otherwise two points are subtracted. With enough points the connection is set
//! aside permanently, because a sender does not change its congestion control.
//!
//! A sender that is limited by its application has less in flight than its window, so that a few
//! losses in a row may have no visible effect. But each loss reduces a window that does not grow
//! while it is not used (RFC 7661), so that the effect shows before there are enough points.
//! Flights of a few segments are not judged. A sender that restarts after a time-out is judged as
//! responsive, which it is. Harm to a sender whose losses are all repaired cannot be detected; but
//! then there is no sign of harm either.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet, Seq, TcpFlags};

/// The minimum share of the flight that remains if a sender does not slow down. CUBIC leaves 0.7
/// and grows little within a window or two.
const UNRESPONSIVE_SHARE: f64 = 0.9;
/// The minimum flight that is judged: below it, Reno would have recovered its window by the time of
/// judgment.
const MIN_FLIGHT: u32 = 24 * 1448;
/// The minimum length of a window, so that delayed acknowledgments average out.
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

/// The reaction to loss of the sender on the core side.
#[derive(Debug, Default)]
pub struct Reaction {
    /// The sequence number of the radio side's latest SYN, and its arrival time, until the core
    /// side acknowledges it.
    syn: Option<(Seq, Instant)>,
    /// The round-trip time from the gateway to the core side's endpoint, from the handshake. A
    /// connection whose handshake was not seen is never judged.
    core_rtt: Option<Nanos>,
    /// The minimum round-trip time from the gateway to the radio side's endpoint in this window.
    radio_rtt: Option<Nanos>,
    /// The segment that is timed: its end, and its arrival time.
    timed: Option<(Seq, Instant)>,
    window: Nanos,
    window_end: Instant,
    /// Sum and number of the samples in this window.
    sum: u64,
    samples: u32,
    /// The mean of the previous window; 0 if there was none.
    before: u32,
    /// The next sequence number from the core side, and its highest acknowledgment; `None` before
    /// the first.
    sent: Option<Seq>,
    acknowledged: Option<Seq>,
    /// The flight before a retransmission that is being judged.
    judged: u32,
    /// The number of windows until judgment; 0 if no retransmission is being judged.
    windows_left: u8,
    /// Points for "does not slow down".
    points: u8,
}

/// Nanoseconds, at most four seconds: half the memory of a `Duration`.
type Nanos = u32;

fn nanos(time: Duration) -> Nanos {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

impl Reaction {
    /// Points for "does not slow down on loss".
    pub const fn points(&self) -> u8 {
        self.points
    }

    /// Records a packet of the connection.
    pub fn record(&mut self, packet: &Packet, from: Side, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        if from == Side::Radio && tcp.flags.has(TcpFlags::SYN) {
            // A SYN that is not answered may be forged: the state is reset only by the answer.
            self.syn = Some((tcp.seq, now));
            return;
        }
        match from {
            Side::Core => {
                let is_answer =
                    |(seq, _): &mut (Seq, Instant)| tcp.flags.has(TcpFlags::ACK) && tcp.ack == *seq + 1;
                if let Some((_, at)) = self.syn.take_if(is_answer) {
                    *self = Self { core_rtt: Some(nanos(now.since(at))), ..Self::default() };
                }
                if !packet.payload().is_empty() && self.core_rtt.is_some() {
                    self.on_data(tcp.seq, tcp.seq + packet.segment_len(), now);
                }
            }
            Side::Radio if tcp.flags.has(TcpFlags::ACK) => self.on_ack(tcp.ack, now),
            Side::Radio => {}
        }
    }

    fn on_ack(&mut self, ack: Seq, now: Instant) {
        if self.acknowledged.is_none_or(|highest| ack.after(highest)) {
            self.acknowledged = Some(ack);
        }
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| !ack.before(*end)) {
            let sample = nanos(now.since(sent));
            self.radio_rtt = Some(self.radio_rtt.map_or(sample, |minimum| minimum.min(sample)));
        }
    }

    fn on_data(&mut self, seq: Seq, end: Seq, now: Instant) {
        let is_retransmission = self.sent.is_some_and(|sent| seq.before(sent));
        if self.sent.is_none_or(|sent| end.after(sent)) {
            self.sent = Some(end);
        }
        if self.timed.is_none() && !is_retransmission {
            self.timed = Some((end, now));
        }
        let (Some(sent), Some(acknowledged)) = (self.sent, self.acknowledged) else { return };
        let flight = sent - acknowledged;
        // Half of the sequence space exceeds any window: the two numbers do not belong together.
        if flight > 1 << 31 {
            return;
        }
        if now >= self.window_end {
            self.next_window(now);
        }
        self.sum += u64::from(flight);
        self.samples += 1;
        if is_retransmission && self.windows_left == 0 && self.before >= MIN_FLIGHT {
            self.judged = self.before;
            self.windows_left = 3;
        }
    }

    /// Closes the window and opens the next.
    fn next_window(&mut self, now: Instant) {
        let has_paused = now.since(self.window_end) > Duration::from_nanos(u64::from(self.window));
        let mean = self.sum.checked_div(u64::from(self.samples)).unwrap_or(0) as u32;
        let round_trip = self.core_rtt.unwrap_or(0).saturating_add(self.radio_rtt.take().unwrap_or(0));
        self.window = round_trip.saturating_mul(2).max(nanos(SHORTEST_WINDOW));
        self.window_end = now.after_nanos(u64::from(self.window));
        (self.sum, self.samples) = (0, 0);
        if has_paused {
            // The flight before the pause is not comparable.
            (self.before, self.windows_left) = (0, 0);
            return;
        }
        self.before = mean;
        if self.windows_left > 0 {
            self.windows_left -= 1;
            if self.windows_left == 0 {
                self.judge(mean);
            }
        }
    }

    fn judge(&mut self, mean: u32) {
        self.points = if f64::from(mean) >= UNRESPONSIVE_SHARE * f64::from(self.judged) {
            self.points.saturating_add(1)
        } else {
            self.points.saturating_sub(2)
        };
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use lasthop_packet::{Ip, Payload, Tcp};

    use super::*;

    fn record(reaction: &mut Reaction, from: Side, (seq, ack, flags): (u32, u32, TcpFlags), millis: u64) {
        let host: IpAddr = Ipv4Addr::LOCALHOST.into();
        let tcp = Tcp { seq: Seq(seq), ack: Seq(ack), flags, ..Tcp::default() };
        let packet = Packet::tcp_segment(Ip::new(host, host), tcp, Payload::EMPTY);
        reaction.record(&packet, from, Instant::from_millis(millis));
    }

    #[test]
    fn only_an_answered_syn_resets_the_state() {
        let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
        let mut reaction = Reaction { points: 3, ..Reaction::default() };
        record(&mut reaction, Side::Radio, (100, 0, syn), 10);
        record(&mut reaction, Side::Core, (500, 101, syn.with(ack)), 35);
        assert_eq!((reaction.core_rtt, reaction.points), (Some(25_000_000), 0));
        reaction.points = 2;
        record(&mut reaction, Side::Radio, (70_000, 0, syn), 1000);
        record(&mut reaction, Side::Core, (501, 101, ack), 1500);
        assert_eq!((reaction.core_rtt, reaction.points), (Some(25_000_000), 2), "it was forged");
    }
}
