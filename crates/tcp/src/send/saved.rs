//! The sending half in a snapshot.

use std::time::Duration;

use lasthop_packet::{Instant, Payload, Seq};
use serde::{Deserialize, Serialize};

use super::peer_window::PeerWindow;
use super::urgent::UrgentMarks;
use super::{End, SendSide};
use crate::config::Config;
use crate::congestion::SentSegment;
use crate::negotiation::Negotiated;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;
use crate::state::State;

/// The longest valid estimate of the round-trip time in a snapshot.
const LONGEST_RTT: Duration = Duration::from_secs(3600);

/// The send variables and the unacknowledged data. Whether the application has closed is saved separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The value of the timestamp clock.
    clock: u32,
    iss: Seq,
    una: Seq,
    max: Seq,
    peer_window: u32,
    window_reported_at: Seq,
    mss: u32,
    /// Payload of the largest negotiated segment.
    agreed_mss: u16,
    /// Seconds until a segment larger than `mss` is tried.
    mtu_pause: u16,
    cwnd: u32,
    ssthresh: u32,
    buffer: SendBuffer,
    urgent: UrgentMarks,
}

/// The smoothed round-trip time and its variation, if measured.
pub(crate) type SavedRtt = Option<(Duration, Duration)>;

/// Whether the estimate is valid.
pub(crate) fn is_rtt_sound(rtt: SavedRtt) -> bool {
    rtt.is_none_or(|(srtt, variation)| srtt.max(variation) <= LONGEST_RTT)
}

impl Saved {
    pub(crate) const fn iss(&self) -> Seq {
        self.iss
    }

    /// Octets of memory for the data.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.memory()
    }

    /// Octets of memory for an entry of each outstanding segment.
    pub(crate) fn records(&self) -> usize {
        let segments = self.outstanding().div_ceil(self.mss.max(1)) as usize;
        segments.saturating_mul(RetransmissionQueue::MEMORY_OF_ONE)
    }

    pub(crate) const fn outstanding(&self) -> u32 {
        self.max.0.wrapping_sub(self.una.0)
    }

    /// Octets that are not outstanding.
    pub(crate) fn unsent(&self) -> u64 {
        self.buffer.len().saturating_sub(self.outstanding().into())
    }

    /// Removes what is not outstanding, and returns it; nothing if it has marks of urgent data.
    pub(crate) fn take_unsent(&mut self) -> Vec<Payload> {
        let outstanding = self.outstanding().into();
        if self.urgent.is_empty() { self.buffer.split_off(outstanding) } else { Vec::new() }
    }

    /// Removes what is outstanding, and returns it; nothing if there are marks of urgent data. It follows.
    pub(crate) fn take_outstanding(&mut self) -> Vec<Payload> {
        let outstanding = self.outstanding().into();
        if self.urgent.is_empty() { self.buffer.take_front(outstanding) } else { Vec::new() }
    }

    /// Octets of the outstanding data that follow.
    pub(crate) fn awaited(&self) -> u64 {
        self.buffer.awaited()
    }

    /// Octets of simulated streams.
    pub(crate) fn simulated(&self) -> u64 {
        self.buffer.simulated()
    }

    /// Whether a connection in this state can have this sender.
    pub(crate) fn is_sound(&self, state: State, close_requested: bool) -> bool {
        let outstanding = self.outstanding();
        let end = end(state, close_requested);
        let is_flight_sound = match end {
            _ if state.is_handshaking() => {
                self.una == self.iss && outstanding <= 1 && self.buffer.awaited() == 0
            }
            End::Acknowledged => outstanding == 0 && self.buffer.is_empty(),
            End::Sent => u64::from(outstanding) == self.buffer.len() + 1,
            End::Open | End::Closed => u64::from(outstanding) <= self.buffer.len(),
        };
        is_flight_sound
            && self.buffer.incomplete_until() <= u64::from(outstanding)
            && self.buffer.is_sound()
            && self.urgent.is_sound()
            && outstanding <= 1 << 30
            && (end < End::Sent || close_requested)
            && (1..=65_495).contains(&self.mss)
            && (self.mss..=65_495).contains(&self.agreed_mss.into())
            && (self.mss..=1 << 30).contains(&self.cwnd)
            && self.peer_window <= 1 << 30
    }
}

/// The end of the stream in this state.
const fn end(state: State, close_requested: bool) -> End {
    match state {
        State::FinWait1 | State::Closing | State::LastAck => End::Sent,
        State::FinWait2 | State::TimeWait => End::Acknowledged,
        _ if close_requested => End::Closed,
        _ => End::Open,
    }
}

impl SendSide {
    pub(crate) fn save(&self, now: Instant) -> (Saved, SavedRtt) {
        let flight = &self.flight;
        let saved = Saved {
            clock: self.timestamp_clock.reads(now),
            iss: self.iss,
            una: flight.una,
            max: flight.max,
            peer_window: flight.peer_window,
            window_reported_at: self.peer_window.reported_at(),
            mss: flight.mss,
            agreed_mss: u16::try_from(self.path_mtu.agreed()).unwrap_or(u16::MAX),
            mtu_pause: self.path_mtu.pause(now),
            cwnd: flight.cwnd.max(flight.mss),
            ssthresh: flight.ssthresh,
            buffer: self.stream.buffer().clone(),
            urgent: self.stream.urgent().clone(),
        };
        (saved, self.rtt.estimate())
    }

    /// Restores the saved half in a new connection.
    pub(crate) fn restore(
        &mut self,
        (saved, rtt): (Saved, SavedRtt),
        (config, negotiated): (&Config, Negotiated),
        (state, close_requested): (State, bool),
        now: Instant,
    ) {
        self.continue_clock(saved.clock, now);
        self.begin(config, saved.mss + negotiated.fixed_options(), negotiated);
        let flight = &mut self.flight;
        (flight.una, flight.nxt, flight.max) = (saved.una, saved.max, saved.max);
        (flight.cwnd, flight.ssthresh) = (saved.cwnd, saved.ssthresh);
        flight.peer_window = saved.peer_window;
        self.path_mtu.restore(saved.agreed_mss.into(), saved.mss, saved.mtu_pause, now);
        self.peer_window = PeerWindow::restored(negotiated.peer_shift, saved.window_reported_at);
        self.stream.restore(saved.buffer, saved.urgent, end(state, close_requested));
        if let Some((srtt, variation)) = rtt {
            self.rtt = RttEstimator::known(config.rto, srtt, variation);
        }
        if state.is_handshaking() {
            // The SYN is sent again: a duplicate is answered, and it may never have been sent.
            self.repeat_syn();
        } else {
            self.resume(now);
        }
    }

    /// Outstanding data counts as sent now.
    fn resume(&mut self, now: Instant) {
        let (seq, end) = (self.flight.una, self.flight.max);
        if self.control.goes_by_segments() {
            let segment = SentSegment { now, seq, end, is_retransmission: false };
            self.control.enter(&segment, self.flight.mss, self.timestamp_clock.reads(now));
        }
        self.begin_model();
        if self.flight.una != self.flight.max {
            self.start_timer(now);
        }
    }
}

#[cfg(test)]
impl Saved {
    /// All that is written is outstanding, in segments of `mss` octets.
    pub(crate) fn set_outstanding(&mut self, mss: u32, write: impl FnOnce(&mut SendBuffer)) {
        write(&mut self.buffer);
        (self.max, self.mss) = (self.una + self.buffer.len() as u32, mss);
    }
}
