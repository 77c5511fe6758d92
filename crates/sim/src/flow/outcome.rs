//! The outcome of a flow.

use std::time::Duration;

use lasthop_apps::datagrams::UdpOutcome;
use lasthop_apps::measured::Measured;
use lasthop_tcp::Stats;

/// The outcome of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// The flow's name.
    pub name: String,
    /// Octets that the receiving application read: over TCP in order, and each once.
    pub octets: u64,
    /// From the flow's start to the arrival of its last octet; `None` if it did not end, or was
    /// stopped before its end, or goes over UDP.
    pub completion: Option<Duration>,
    /// The time from its start to its last octet, or to the end of the run; over UDP to its stop if
    /// that is later.
    pub measured: Measured,
    /// From the flow's start to when the sender gave up or was reset; `None` if it did not, and over
    /// UDP.
    pub gave_up: Option<Duration>,
    /// Whether it was a reset that ended the flow.
    pub was_reset: bool,
    /// Whether every octet was the one that was sent.
    pub intact: bool,
    /// The statistics of its transport.
    pub transport: TransportOutcome,
}

/// The statistics of a flow's transport.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportOutcome {
    /// Over TCP.
    Tcp(TcpOutcome),
    /// Over a connection of another transport.
    Other,
    /// Over UDP.
    Udp(UdpOutcome),
}

/// The statistics of TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOutcome {
    /// Those of the sending endpoint.
    pub sender: Stats,
    /// Mean of the round-trip times that the sender measured, in seconds; `None` without a
    /// measurement.
    pub rtt_mean_s: Option<f64>,
}

impl FlowOutcome {
    /// Octets over that time, in bits per second.
    pub fn goodput_bps(&self) -> f64 {
        self.measured.rate_bps(self.octets)
    }

    /// The statistics of TCP, if it carried the flow.
    pub const fn tcp(&self) -> Option<&TcpOutcome> {
        match &self.transport {
            TransportOutcome::Tcp(outcome) => Some(outcome),
            TransportOutcome::Other | TransportOutcome::Udp(_) => None,
        }
    }

    /// The outcome of its datagrams, if it went over UDP.
    pub const fn udp(&self) -> Option<&UdpOutcome> {
        match &self.transport {
            TransportOutcome::Tcp(_) | TransportOutcome::Other => None,
            TransportOutcome::Udp(outcome) => Some(outcome),
        }
    }
}
