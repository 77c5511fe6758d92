//! What is known of a connection beside its local recovery: of constant size.

use lasthop_packet::{Instant, Packet, Seq};

use super::clock::SenderClock;
use super::settings::HiddenTime;

/// A connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct WtcpFlow {
    pub(super) clock: SenderClock,
    /// What the mobile host was last told beside data.
    pub(super) told: Option<Advertised>,
    /// What the sender has sent again and is not acknowledged.
    pub(super) retransmitted: Option<Retransmitted>,
    /// When an outage last ended.
    pub(super) outage_ended: Option<Instant>,
    /// When the mobile host was last heard.
    pub(super) heard: Option<Instant>,
}

/// What a segment tells the mobile host beside its data.
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

/// The first retransmission by the sender of what is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Retransmitted {
    /// Its TSval.
    pub(super) tsval: Seq,
    /// What the sender had sent by then ends here.
    pub(super) until: Seq,
}

impl WtcpFlow {
    /// The echo of a segment that left at this time, as if it had come in then; `None` where it is
    /// to stay as it is.
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
        // An echo from before the sender's first retransmission stays one (RFC 3522, section 3).
        let bound = self.retransmitted.filter(|again| echo.before(again.tsval));
        let later = bound.map_or(as_if, |again| as_if.earlier(Seq(again.tsval.0.wrapping_sub(1))));
        (is_hidden && later.after(echo)).then_some(later)
    }
}
