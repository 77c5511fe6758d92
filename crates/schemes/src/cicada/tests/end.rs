//! An end: a connection with its application.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Payload, Seq};
use lasthop_tcp::{Config, Connection, State};
use proptest::prelude::*;

use super::application::{Application, Closing, Plan, Reading};

/// A host with one connection. It writes the stream of its own number.
pub struct End {
    pub number: u32,
    pub connection: Connection,
    pub application: Application,
    /// The timestamp of the latest packet that it sent.
    pub tsval: Option<u32>,
    /// Whether it has sent or received a reset.
    pub is_reset: bool,
}

/// The configuration of an end.
#[derive(Clone, Debug)]
pub struct Setup {
    pub config: Config,
    pub iss: u32,
    pub plan: Plan,
}

impl End {
    pub fn new(number: u32, connection: Connection, plan: Plan) -> Self {
        Self { number, connection, application: Application::new(plan), tsval: None, is_reset: false }
    }

    /// Performs the due actions of its application.
    pub fn run(&mut self, now: Instant) -> Result<(), TestCaseError> {
        self.write(now);
        let is_slow = self.application.plan.reading != Reading::AtOnce;
        if self.application.next_read.is_some_and(|at| at <= now) || !is_slow {
            self.read()?;
        }
        if is_slow && self.application.next_read.is_none() && self.connection.unread() > 0 {
            self.application.next_read = Some(now + self.application.plan.reading.interval());
        }
        self.close();
        if self.application.plan.abort_ms.is_some_and(|at| Instant::from_millis(at) <= now)
            && !self.application.has_aborted
        {
            self.application.has_aborted = true;
            self.is_reset = true;
            self.connection.abort();
        }
        Ok(())
    }

    fn write(&mut self, now: Instant) {
        let application = &mut self.application;
        while application.next_write.is_some_and(|at| at <= now) {
            let plan = &application.plan;
            let len = plan.piece.min(plan.octets - application.written);
            self.connection.write_stream(self.number, application.written, len);
            application.written += len;
            let later = now + Duration::from_millis(plan.every_ms.max(1));
            application.next_write = (application.written < plan.octets).then_some(later);
        }
    }

    fn read(&mut self) -> Result<(), TestCaseError> {
        self.application.next_read = None;
        while let Some(payload) = self.connection.read() {
            let (len, offset) = (payload.len() as u32, self.application.received);
            prop_assert!(len > 0, "an empty piece was read");
            prop_assert_eq!(
                payload,
                Payload::Stream { stream: 1 - self.number, offset, len },
                "a wrong octet at end {}",
                self.number
            );
            self.application.received += u64::from(len);
            if matches!(self.application.plan.reading, Reading::Piecemeal(_)) {
                break;
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let application = &mut self.application;
        // A listening end has nothing to close yet.
        let is_time = application.written == application.plan.octets
            && self.connection.state() != State::Listen
            && (application.plan.closing == Closing::Written || self.connection.peer_has_closed());
        if is_time && !application.has_closed {
            application.has_closed = true;
            self.connection.close();
        }
    }

    /// Records a packet that it really sends.
    pub fn note_sent(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(timestamps) = tcp.options.timestamps {
            self.tsval = Some(timestamps.value);
        }
    }

    /// Whether its FIN was acknowledged: then it considers its stream delivered.
    pub fn takes_all_for_delivered(&self) -> bool {
        let fin = self.connection.iss() + 2 + self.application.written as u32;
        self.application.has_closed && self.connection.flight().una == fin && self.connection.iss() != Seq(0)
    }

    pub fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }

    /// Whether it is established, and not closed.
    pub fn is_synchronized(&self) -> bool {
        let is_opening =
            matches!(self.connection.state(), State::Listen | State::SynSent | State::SynReceived);
        !is_opening && !self.is_over()
    }

    pub fn describe(&self) -> String {
        let connection = &self.connection;
        format!(
            "end {}: {:?} {:?} next {} unread {} unacknowledged {} {:?}\n  {:?}\n  {:?}",
            self.number,
            connection.state(),
            connection.flight(),
            connection.next_expected(),
            connection.unread(),
            connection.unacknowledged(),
            connection.deadline(),
            self.application,
            connection.stats()
        )
    }
}
