//! A connection as a value, to go on elsewhere: in another process, or on another machine.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ecn::Ecn;
use super::receive::Saved;
use super::timestamp_clock::TimestampClock;
use super::window_scale::tellable;
use super::{Connection, Endpoint, Negotiated, PathMtu, State, urgent};
use crate::config::Config;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

/// A connection as a value: all that its peer and its application can tell it by, and what was
/// learned of the path (round-trip time, cwnd, ssthresh).
///
/// Not in it: the configuration, a scheme's extensions, the statistics, where loss recovery and
/// congestion control stood beyond cwnd and ssthresh, and time: timers start anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    local: Endpoint,
    remote: Endpoint,
    state: State,
    negotiated: Negotiated,
    /// Where the timestamp clock stood.
    clock: u32,
    iss: Seq,
    una: Seq,
    max: Seq,
    peer_window: u32,
    window_told_at: Seq,
    mss: u32,
    /// Payload of the largest segment that the ends have agreed on.
    agreed_mss: u16,
    /// For how many seconds none that is larger than `mss` is tried.
    mtu_pause: u16,
    cwnd: u32,
    ssthresh: u32,
    buffer: SendBuffer,
    urgent: Vec<Seq>,
    close_requested: bool,
    identification: u16,
    dscp: u8,
    hop_limit: Option<u8>,
    /// The smoothed round-trip time, and its variation.
    rtt: Option<(Duration, Duration)>,
    ecn: Option<Ecn>,
    receive: Saved,
}

/// A snapshot that no connection can have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no connection can be in this state")]
pub struct Unusable;

impl Connection {
    /// The connection as a value; `None` of one that listens or is closed: there is nothing to go
    /// on with.
    pub fn snapshot(&self, now: Instant) -> Option<Snapshot> {
        if matches!(self.state, State::Closed | State::Listen) {
            return None;
        }
        Some(Snapshot {
            local: self.local,
            remote: self.remote,
            state: self.state,
            negotiated: self.negotiated,
            clock: self.timestamp(now),
            iss: self.iss,
            una: self.flight.una,
            max: self.flight.max,
            peer_window: self.flight.peer_window,
            window_told_at: self.window_told_at,
            mss: self.flight.mss,
            agreed_mss: u16::try_from(self.path_mtu.agreed()).unwrap_or(u16::MAX),
            mtu_pause: self.path_mtu.pause(now),
            cwnd: self.flight.cwnd.max(self.flight.mss),
            ssthresh: self.flight.ssthresh,
            buffer: self.buffer.clone(),
            urgent: self.urgent.clone(),
            close_requested: self.close_requested,
            identification: self.identification,
            dscp: self.dscp,
            hop_limit: self.hop_limit,
            rtt: self.rtt.estimate(),
            ecn: self.ecn,
            receive: self.receive.save(),
        })
    }

    /// Goes on from a snapshot. What was outstanding counts as sent now, so that what is lost of it
    /// is found as any loss is.
    ///
    /// Of `config`, what the handshake decided gives way to the snapshot; its windows are cut to
    /// what can be told with the shift that was agreed on. What the peer was promised stays so.
    ///
    /// # Errors
    ///
    /// If no connection can have been in that state: the snapshot was not made by
    /// [`Connection::snapshot`].
    pub fn restore(mut config: Config, snapshot: Snapshot, now: Instant) -> Result<Self, Unusable> {
        if !snapshot.is_sound() {
            return Err(Unusable);
        }
        let Snapshot { local, remote, state, negotiated, .. } = snapshot;
        config.window = tellable(config.window, negotiated.our_shift);
        config.window_max = config.window_max.map(|window| tellable(window, negotiated.our_shift));
        let mut connection = Self::new(config, local, remote, snapshot.iss);
        connection.state = state;
        connection.negotiated = negotiated;
        connection.timestamp_clock = TimestampClock::from(snapshot.clock, now);
        let options = if negotiated.timestamps { 12 } else { 0 };
        connection.begin_transfer(snapshot.mss + options);
        connection.receive.restore(snapshot.receive).ok_or(Unusable)?;
        if !negotiated.scaling {
            connection.receive.forgo_scaling();
        }
        let flight = &mut connection.flight;
        (flight.una, flight.nxt, flight.max) = (snapshot.una, snapshot.max, snapshot.max);
        (flight.cwnd, flight.ssthresh) = (snapshot.cwnd, snapshot.ssthresh);
        let Snapshot { agreed_mss, mss, mtu_pause, .. } = snapshot;
        connection.path_mtu = PathMtu::restored(agreed_mss.into(), mss, mtu_pause, now);
        flight.peer_window = snapshot.peer_window;
        // What it was is forgotten: the largest that the peer can offer.
        connection.largest_peer_window = u32::from(u16::MAX) << negotiated.peer_shift;
        connection.window_told_at = snapshot.window_told_at;
        connection.buffer = snapshot.buffer;
        connection.urgent = snapshot.urgent;
        connection.close_requested = snapshot.close_requested;
        connection.is_fin_acknowledged = matches!(state, State::FinWait2 | State::TimeWait);
        connection.identification = snapshot.identification;
        connection.dscp = snapshot.dscp & 0x3f;
        connection.hop_limit = snapshot.hop_limit;
        connection.ecn = snapshot.ecn;
        if let Some((srtt, variation)) = snapshot.rtt {
            connection.rtt = RttEstimator::known(connection.config.rto, srtt, variation);
        }
        connection.go_on(now);
        Ok(connection)
    }

    /// What is outstanding counts as sent now, and what waits begins to wait.
    fn go_on(&mut self, now: Instant) {
        if self.is_handshaking() {
            // The SYN goes again: a duplicate is answered, and one that never left is needed.
            self.flight.nxt = self.flight.una;
            self.receive.ack_now = false;
            return;
        }
        if self.goes_by_segments {
            let mut seq = self.flight.una;
            while seq != self.flight.max {
                let end = seq + self.flight.mss.min(self.flight.max - seq);
                self.queue.on_sent(seq, end, now);
                seq = end;
            }
        }
        self.begin_model();
        if self.state == State::TimeWait {
            self.timers.time_wait = Some(now + self.config.time_wait);
        } else if self.flight.una != self.flight.max {
            self.timers.retransmit = Some(self.rtt.expiry(now));
        }
    }
}

impl Snapshot {
    /// Our address and port.
    pub const fn local(&self) -> Endpoint {
        self.local
    }

    /// The peer's address and port.
    pub const fn remote(&self) -> Endpoint {
        self.remote
    }

    /// Octets of memory that a connection takes for what it holds when it goes on from this, with an entry
    /// for each segment that is outstanding: not every loss recovery keeps one, and room for more may
    /// be taken. A snapshot may say that far more is outstanding than it has octets.
    pub fn memory(&self) -> usize {
        let segments = (self.max - self.una).div_ceil(self.mss.max(1)) as usize;
        let queue = segments.saturating_mul(RetransmissionQueue::MEMORY_OF_ONE);
        self.buffer.memory().saturating_add(self.receive.memory()).saturating_add(queue)
    }

    /// Whether it has octets of simulated streams.
    pub fn is_simulated(&self) -> bool {
        self.buffer.is_simulated() || self.receive.is_simulated()
    }

    /// Whether a connection can have been in this state.
    fn is_sound(&self) -> bool {
        let outstanding = self.max - self.una;
        let is_handshaking = matches!(self.state, State::SynSent | State::SynReceived);
        let has_sent_fin = matches!(
            self.state,
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait
        );
        let is_fin_acknowledged = matches!(self.state, State::FinWait2 | State::TimeWait);
        let is_flight_sound = if is_handshaking {
            self.una == self.iss && outstanding <= 1
        } else if is_fin_acknowledged {
            outstanding == 0 && self.buffer.is_empty()
        } else if has_sent_fin {
            u64::from(outstanding) == self.buffer.len() + 1
        } else {
            u64::from(outstanding) <= self.buffer.len()
        };
        !matches!(self.state, State::Closed | State::Listen)
            && is_flight_sound
            && self.urgent.len() <= urgent::MOST
            && outstanding <= 1 << 30
            && (!has_sent_fin || self.close_requested)
            && self.negotiated.our_shift <= 14
            && self.negotiated.peer_shift <= 14
            && (1..=65_495).contains(&self.mss)
            && (self.mss..=65_495).contains(&self.agreed_mss.into())
            && (self.mss..=1 << 30).contains(&self.cwnd)
            && self.peer_window <= 1 << 30
            && self.rtt.is_none_or(|(srtt, variation)| srtt.max(variation) <= Duration::from_secs(3600))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_packet::Payload;

    use super::*;

    #[test]
    fn a_snapshot_says_what_it_takes_before_anything_is_taken() {
        let end = |port| (Ipv4Addr::LOCALHOST.into(), port);
        let mut connection = Connection::new(Config::default(), end(1), end(2), Seq(1));
        connection.state = State::Established;
        connection.begin_transfer(1460);
        let empty = connection.snapshot(Instant::ZERO).expect("it is open");
        assert_eq!((empty.memory(), empty.is_simulated()), (0, false));

        // A few octets that say as much as may be outstanding, in segments of one octet.
        let mut hostile = empty.clone();
        hostile.buffer.push_stream(1, 0, 1 << 30);
        (hostile.max, hostile.mss) = (hostile.una + (1 << 30), 1);
        assert!(hostile.is_sound());
        assert!(hostile.memory() >= (1 << 30) * RetransmissionQueue::MEMORY_OF_ONE && hostile.is_simulated());

        let mut real = empty;
        real.buffer.push(Payload::Bytes(vec![7; 3000].into()));
        (real.max, real.mss) = (real.una + 3000, 1460);
        assert!(real.memory() >= 3000 && !real.is_simulated());
        let said = real.memory();
        let restored = Connection::restore(Config::default(), real, Instant::ZERO).expect("it is sound");
        let entries = 3 * RetransmissionQueue::MEMORY_OF_ONE;
        assert!(said <= restored.memory() + entries, "nothing that fits is refused");
    }
}
