//! How cwnd grows and shrinks. A file a flavour; none knows another.

mod abc;
mod reno;

use std::time::Duration;

use lasthop_packet::Instant;

use crate::flight::Flight;

pub use abc::RenoAbc;
pub use reno::Reno;

/// The congestion controls that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// [`Reno`]: counts ACKs.
    #[default]
    Reno,
    /// [`RenoAbc`]: counts octets.
    RenoAbc,
}

impl Congestion {
    /// One for a new connection.
    pub fn begin(self) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno => Box::new(Reno),
            Self::RenoAbc => Box::new(RenoAbc::default()),
        }
    }
}

/// A congestion control (RFC 5681's terms). It acts on [`Flight::cwnd`] and [`Flight::ssthresh`]; what duplicate ACKs mean is
/// the business of [`crate::LossRecovery`].
pub trait CongestionControl: Send {
    /// New data was acknowledged outside of loss recovery.
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight);

    /// What ssthresh becomes now that a loss was inferred from duplicate ACKs.
    fn ssthresh_after_loss(&mut self, flight: &Flight) -> u32;

    /// The retransmission timer expired: sets cwnd and ssthresh.
    fn on_timeout(&mut self, flight: &mut Flight);
}

/// What one ACK of new data says.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it came.
    pub now: Instant,
    /// Octets that it newly acknowledges.
    pub acked: u32,
    /// A round-trip time measured with it.
    pub rtt: Option<Duration>,
}
