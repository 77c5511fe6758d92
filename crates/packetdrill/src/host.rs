//! The endpoint's host: a clock, the application, and the segments that the endpoint has sent.

use std::collections::VecDeque;

use lasthop_packet::{Instant, Packet};
use lasthop_tcp::Connection;

use crate::application::Application;
use crate::numbers::Numbers;
use crate::settings::Settings;

/// The maximum number of sent segments without a line of the script.
const MAX_SENT: usize = 10_000;

pub type Dress = Box<dyn Fn(Connection) -> Connection>;

pub struct Host {
    pub settings: Settings,
    pub numbers: Numbers,
    pub connection: Option<Connection>,
    pub application: Application,
    pub now: Instant,
    /// Sent segments without a line of the script so far.
    pub sent: VecDeque<(Instant, Packet)>,
    /// A change of the connection when it is created.
    pub dress: Dress,
}

impl Host {
    pub fn begin(&mut self, connection: Connection) {
        self.connection = Some((self.dress)(connection));
        self.settle();
    }

    /// Advances the clock, and lets timers expire up to and including `until`.
    pub fn advance(&mut self, until: Instant) {
        while self.next_deadline().is_some_and(|at| at <= until) {
            self.expire();
        }
        self.now = self.now.max(until);
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        Some(self.connection.as_ref()?.deadline()?.at)
    }

    pub fn expire(&mut self) {
        if let Some(at) = self.next_deadline()
            && let Some(connection) = &mut self.connection
        {
            self.now = self.now.max(at);
            connection.on_deadline(self.now);
            self.settle();
        }
    }

    pub fn settle(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while self.sent.len() < MAX_SENT
            && let Some(packet) = connection.poll_transmit(self.now)
        {
            self.sent.push_back((self.now, packet));
        }
    }
}
