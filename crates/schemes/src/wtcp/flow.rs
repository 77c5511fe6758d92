//! The state of a connection besides its local recovery, of constant size.

use lasthop_packet::{Instant, Packet, Seq};

use super::clock::SenderClock;
use super::settings::HiddenTime;

/// A connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct WtcpFlow {
    pub(super) clock: SenderClock,
    /// The last ACK and window sent to the mobile host.
    pub(super) advertised: Option<Advertised>,
    /// The unacknowledged retransmission by the sender.
    pub(super) retransmitted: Option<Retransmitted>,
    /// The end of the last outage.
    pub(super) outage_ended: Option<Instant>,
    /// The arrival of the last packet from the mobile host.
    pub(super) last_packet: Option<Instant>,
}

/// The ACK and window in a segment to the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    pub(super) ack: Seq,
    pub(super) window: u16,
}

impl Advertised {
    pub(super) fn by(packet: &Packet) -> Option<Self> {
        packet.tcp().map(|tcp| Self { ack: tcp.ack, window: tcp.window })
    }
}

/// The first retransmission by the sender of unacknowledged data.
#[derive(Clone, Copy, Debug)]
pub struct Retransmitted {
    /// Its TSval.
    pub(super) tsval: Seq,
    /// The end of the data that the sender had sent by then.
    pub(super) until: Seq,
}

impl WtcpFlow {
    /// The echo of a segment that left at `left`, as if it had arrived then; `None` if the echo
    /// must not change.
    pub(super) fn echo_without_wait(
        &self,
        echo: Seq,
        left: Instant,
        is_repair: bool,
        hidden: HiddenTime,
    ) -> Option<Seq> {
        let as_if = self.clock.reads(left)?;
        let waited_for_an_outage = || {
            self.outage_ended
                .and_then(|ended| self.clock.reads(ended))
                .is_some_and(|ended| echo.before(ended))
        };
        let is_hidden = match hidden {
            HiddenTime::Nothing => false,
            HiddenTime::Repairs => is_repair || waited_for_an_outage(),
            HiddenTime::Residence => true,
        };
        // An echo from before the sender's first retransmission must stay older than that (RFC
        // 3522, section 3).
        let bound = self.retransmitted.filter(|again| echo.before(again.tsval));
        let later = bound.map_or(as_if, |again| as_if.earlier(Seq(again.tsval.0.wrapping_sub(1))));
        (is_hidden && later.after(echo)).then_some(later)
    }
}
