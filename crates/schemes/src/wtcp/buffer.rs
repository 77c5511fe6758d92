//! Which segments from the fixed host are dropped because they are stored here.

use lasthop_agent::{Agent as _, Context, Counter, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, Tcp, TcpFlags};

use super::flow::{Advertised, WtcpFlow};
use super::{Settings, Wtcp};
use crate::snoop::flow::SnoopFlow;
use crate::snoop::today::Today;

/// A retransmission by the sender of data that local recovery is delivering.
pub static BUFFERED: Counter = Counter::new("dropped_buffered", "already buffered");

/// Time-outs after which a mobile host that still answers is assumed to reject the agent's copies.
const MAX_REJECTIONS: u32 = 2;

impl Wtcp {
    /// Processes a packet from the core side and returns the verdict on it.
    pub(super) fn on_core(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let known = self.flows.find(key);
        if let Some(flow) = known.and_then(|slot| self.flows.get_mut(slot)) {
            let local = self.local.flow(key);
            let is_kept = local.is_some_and(|local| flow.is_kept(packet, local, &self.settings));
            if let Some(local) = local {
                flow.record_retransmission(packet, local);
            }
            flow.update_clock(packet, cx.now());
            if is_kept {
                self.flows.touch(key, cx.now());
                return Verdict::Drop(&BUFFERED);
            }
        }
        let advertised = Advertised::by(packet);
        let verdict = self.local.on_packet(packet, Side::Core, cx);
        let slot = self.follow(key, cx.budget(), cx.now());
        if !matches!(verdict, Verdict::Drop(_))
            && let Some(flow) = slot.and_then(|slot| self.flows.get_mut(slot))
        {
            flow.record_advertised(advertised);
        }
        verdict
    }
}

impl WtcpFlow {
    /// Whether a packet from the fixed host contains only data that is stored here, and no other
    /// news.
    fn is_kept(&self, packet: &Packet, local: &SnoopFlow<Today>, settings: &Settings) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let is_new = packet.segment_len() == 0 || !tcp.seq.before(local.arrived());
        if is_new
            || local.is_closed()
            || local.is_reordering()
            || local.is_resegmented_by(packet)
            || local.has_given_up(tcp.seq, settings.local_retransmissions)
            || !has_no_news(tcp, self.advertised)
            || !local.keeps(tcp.seq, tcp.seq + packet.segment_len())
        {
            return false;
        }
        local.silence().is_none_or(|silence| {
            let is_rejected = silence.expiries >= MAX_REJECTIONS
                && self.last_packet.is_some_and(|last_packet| last_packet > silence.since);
            silence.expiries <= settings.local_retransmissions && !is_rejected
        })
    }

    /// Records the ACK and window of a packet sent to the mobile host.
    pub(super) fn record_advertised(&mut self, advertised: Option<Advertised>) {
        let Some(advertised) = advertised else { return };
        let ack = self.advertised.map_or(advertised.ack, |before| before.ack.later(advertised.ack));
        self.advertised = Some(Advertised { ack, ..advertised });
    }
}

/// Whether a segment carries no news except data: its ACK and window were `advertised` before.
fn has_no_news(tcp: &Tcp, advertised: Option<Advertised>) -> bool {
    let plain = TcpFlags::ACK.0 | TcpFlags::PSH.0 | TcpFlags::FIN.0;
    tcp.flags.0 & !plain == 0
        && tcp.options.sack.is_empty()
        && tcp.options.unknown.is_none()
        && advertised
            .is_some_and(|advertised| !tcp.ack.after(advertised.ack) && tcp.window == advertised.window)
}
