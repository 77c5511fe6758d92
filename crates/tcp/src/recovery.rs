//! What duplicate ACKs mean. A file a flavour; none knows another.

mod newreno;
mod reno;

use lasthop_packet::Seq;

use crate::congestion::CongestionControl;
use crate::flight::Flight;

pub use newreno::NewReno;
pub use reno::FastRecovery;

/// The loss recoveries that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// [`FastRecovery`]: over with the first ACK of new data.
    #[default]
    Reno,
    /// [`NewReno`]: goes on until all is acknowledged that was in flight.
    NewReno,
}

impl Recovery {
    /// One for a new connection.
    pub fn begin(self) -> Box<dyn LossRecovery> {
        match self {
            Self::Reno => Box::new(FastRecovery::default()),
            Self::NewReno => Box::new(NewReno::default()),
        }
    }
}

/// Duplicate ACKs in a row that mean a loss (RFC 5681, section 3.2).
pub const DUPLICATE_ACK_THRESHOLD: u32 = 3;

/// A loss recovery: turns ACKs into retransmissions.
pub trait LossRecovery: Send {
    /// The `count`-th duplicate ACK in a row came. Returns the segment to retransmit.
    fn on_duplicate_ack(
        &mut self,
        count: u32,
        flight: &mut Flight,
        congestion: &mut dyn CongestionControl,
    ) -> Option<Seq>;

    /// `acked` octets were newly acknowledged; `flight.una` is the new value already.
    fn on_new_ack(&mut self, acked: u32, flight: &mut Flight) -> AfterAck;

    /// Goes into recovery on the word of a scheme that knows the loss was no congestion: cwnd becomes `cwnd` for its time and
    /// what it is now after it, ssthresh stays.
    fn enter_without_reduction(&mut self, cwnd: u32, flight: &mut Flight);

    /// The retransmission timer expired, and recovery is over. If the scheme spares this loss, the window is what it would have
    /// been after recovery; else congestion control sets it next.
    fn on_timeout(&mut self, flight: &mut Flight);

    /// Whether a loss is being recovered from.
    fn is_recovering(&self) -> bool;
}

/// What follows from an ACK of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAck {
    /// Nothing special: congestion control opens the window.
    Open,
    /// Recovery has set the window itself.
    WindowSet,
    /// Recovery goes on, has set the window, and this segment is lost too (a partial ACK).
    Retransmit(Seq),
}
