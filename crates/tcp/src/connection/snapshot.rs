//! A connection as a value, to be continued in another process or on another machine.

use std::time::Duration;

use lasthop_packet::{Instant, Payload};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ip_template::HostFields;
use super::{Connection, Ecn, Socket};
use crate::config::Config;
use crate::negotiation::Negotiated;
use crate::receive::{self, expressible};
use crate::send::{self, End};
use crate::state::State;

/// A connection as a value: the state that its peer and its application depend on, and the estimates of
/// the path (round-trip time, cwnd, ssthresh).
///
/// It does not contain the configuration, a scheme's extensions, the counters, the state of loss recovery
/// and congestion control apart from cwnd and ssthresh, nor times: timers are restarted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    local: Socket,
    remote: Socket,
    state: State,
    negotiated: Negotiated,
    send: send::Saved,
    close_requested: bool,
    identification: u16,
    host: HostFields,
    /// The smoothed round-trip time and its variation.
    rtt: Option<(Duration, Duration)>,
    ecn: Option<Ecn>,
    receive: receive::Saved,
}

/// The snapshot is not one of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no connection can be in this state")]
pub struct Unusable;

impl Connection {
    /// The connection as a value; `None` in the states LISTEN and CLOSED.
    pub fn snapshot(&self, now: Instant) -> Option<Snapshot> {
        if matches!(self.state, State::Closed | State::Listen) {
            return None;
        }
        let (send, rtt) = self.send.save(now);
        Some(Snapshot {
            local: self.ip.local(),
            remote: self.ip.remote(),
            state: self.state,
            negotiated: self.negotiated,
            send,
            close_requested: self.send.stream().end() > End::Open,
            identification: self.ip.identification(),
            host: self.ip.host(),
            rtt,
            ecn: self.ecn,
            receive: self.receive.save(),
        })
    }

    /// Continues a connection from a snapshot. Outstanding data counts as sent now, so that its losses are
    /// detected as usual.
    ///
    /// The negotiated options take precedence over `config`, whose windows are cut to those that can be
    /// advertised with the negotiated shift. The advertised window does not shrink.
    ///
    /// # Errors
    ///
    /// If no connection can be in this state: the snapshot was not made by [`Connection::snapshot`].
    pub fn restore(mut config: Config, snapshot: Snapshot, now: Instant) -> Result<Self, Unusable> {
        if !snapshot.is_sound() {
            return Err(Unusable);
        }
        let Snapshot { local, remote, state, negotiated, send, close_requested, .. } = snapshot;
        let Snapshot { identification, host, rtt, ecn, receive, .. } = snapshot;
        config.window = expressible(config.window, negotiated.our_shift);
        config.window_max = config.window_max.map(|window| expressible(window, negotiated.our_shift));
        let mut connection = Self::new(config, local, remote, send.iss());
        connection.state = state;
        connection.negotiated = negotiated;
        connection.ip.restore(identification, host);
        connection.ecn = ecn;
        connection.send.restore((send, rtt), (&connection.config, negotiated), (state, close_requested), now);
        connection.receive.begin(connection.send.flight().mss, negotiated.sack);
        connection.receive.restore(receive).ok_or(Unusable)?;
        if !negotiated.scaling {
            connection.receive.forgo_scaling();
        }
        if state.is_handshaking() {
            connection.receive.owe_nothing();
        } else if state == State::TimeWait {
            connection.enter_time_wait(now);
        }
        Ok(connection)
    }
}

impl Snapshot {
    /// Our address and port.
    pub const fn local(&self) -> Socket {
        self.local
    }

    /// The peer's address and port.
    pub const fn remote(&self) -> Socket {
        self.remote
    }

    /// Octets of memory that the restored connection needs for its data, as
    /// [`Connection::memory`] counts them.
    pub fn memory(&self) -> usize {
        self.send.memory().saturating_add(self.receive.memory())
    }

    /// Octets of memory that it needs for entries of outstanding segments, though not every loss recovery keeps them. A
    /// snapshot may claim that far more is outstanding than it has octets.
    pub fn records(&self) -> usize {
        self.send.records()
    }

    /// Octets of simulated streams in it.
    pub fn simulated(&self) -> u64 {
        self.send.simulated().saturating_add(self.receive.simulated())
    }

    /// Octets that were written and never sent.
    pub fn unsent(&self) -> u64 {
        self.send.unsent()
    }

    /// Octets that were received in order and not read.
    pub fn unread(&self) -> u64 {
        self.receive.unread()
    }

    /// Removes the data that was never sent, and returns it: a connection restored without it continues, and this data
    /// may be written later. Returns nothing if it has an end, or a mark of urgent data, that belongs behind it.
    pub fn take_unsent(&mut self) -> Vec<Payload> {
        if self.close_requested { Vec::new() } else { self.send.take_unsent() }
    }

    /// Octets that were sent and are not acknowledged.
    pub const fn outstanding(&self) -> u32 {
        self.send.outstanding()
    }

    /// Removes the data that is outstanding, and returns it. A connection restored without it sends no data before all of it
    /// has [followed](Connection::supply). Returns nothing during the handshake, or if there are marks of urgent data.
    pub fn take_outstanding(&mut self) -> Vec<Payload> {
        if self.state.is_handshaking() { Vec::new() } else { self.send.take_outstanding() }
    }

    /// Octets of outstanding data that were taken from it, and that the connection restored from it waits for.
    pub fn awaited(&self) -> u64 {
        self.send.awaited()
    }

    /// Removes the received data in order that was not read, and returns it. Returns nothing if urgent data is expected.
    pub fn take_unread(&mut self) -> Vec<Payload> {
        self.receive.take_unread()
    }

    /// Whether a connection can be in this state.
    fn is_sound(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen)
            && self.negotiated.is_sound()
            && self.send.is_sound(self.state, self.close_requested)
            && send::is_rtt_sound(self.rtt)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_packet::Seq;

    use super::*;
    use crate::retransmission_queue::RetransmissionQueue;

    #[test]
    fn a_connection_in_its_handshake_can_be_restored() {
        let end = |port| (Ipv4Addr::LOCALHOST.into(), port);
        let mut connection = Connection::connect(Config::default(), end(1), end(2), Seq(1));
        let goes_on = |connection: &Connection| {
            let snapshot = connection.snapshot(Instant::ZERO).expect("it is open");
            Connection::restore(Config::default(), snapshot, Instant::ZERO).is_ok()
        };
        assert!(goes_on(&connection), "before its SYN has left");
        assert!(connection.poll_transmit(Instant::ZERO).is_some());
        assert!(goes_on(&connection), "after it has");
    }

    #[test]
    fn a_snapshot_states_its_memory_before_it_is_restored() {
        let end = |port| (Ipv4Addr::LOCALHOST.into(), port);
        let mut connection = Connection::new(Config::default(), end(1), end(2), Seq(1));
        connection.state = State::Established;
        connection.begin_transfer(1460);
        let empty = connection.snapshot(Instant::ZERO).expect("it is open");
        assert_eq!((empty.memory(), empty.simulated()), (0, 0));

        // A short stream piece with the maximum of outstanding octets, in segments of one octet.
        let mut hostile = empty.clone();
        hostile.send.set_outstanding(1, |buffer| buffer.push_stream(1, 0, 1 << 30));
        assert!(hostile.is_sound());
        assert!(
            hostile.records() >= (1 << 30) * RetransmissionQueue::MEMORY_OF_ONE
                && hostile.simulated() == 1 << 30
        );

        let mut real = empty;
        real.send.set_outstanding(1460, |buffer| buffer.push(Payload::Bytes(vec![7; 3000].into())));
        assert!(real.memory() >= 3000 && real.simulated() == 0);
        let (said, records) = (real.memory(), real.records());
        let restored = Connection::restore(Config::default(), real, Instant::ZERO).expect("it is sound");
        assert!(said <= restored.memory(), "nothing that fits is refused");
        assert!(restored.memory() <= said + records, "{} octets are {}", said + records, restored.memory());
    }
}
