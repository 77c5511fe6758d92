//! Which segments from the fixed host are dropped, because they are stored here.

use lasthop_agent::{Agent as _, Context, Counter, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, Tcp, TcpFlags};

use super::flow::{Advertised, WtcpFlow};
use super::{Settings, Wtcp};
use crate::snoop::flow::SnoopFlow;
use crate::snoop::today::Today;

/// A retransmission by the sender of data that local recovery is delivering.
pub static BUFFERED: Counter = Counter::new("dropped_buffered", "already buffered");

/// Time-outs after which a mobile host that still answers is taken to refuse what we send.
const REFUSALS: u32 = 2;

impl Wtcp {
    /// Decides what becomes of a packet from the core side.
    pub(super) fn on_core(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let known = self.flows.find(key);
        if let Some(flow) = known.and_then(|slot| self.flows.get_mut(slot)) {
            let local = self.local.flow(key);
            let is_kept = local.is_some_and(|local| flow.is_kept(packet, local, &self.settings));
            if let Some(local) = local {
                flow.note_retransmission(packet, local);
            }
            flow.note_clock(packet, cx.now());
            if is_kept {
                self.flows.touch(key, cx.now());
                return Verdict::Drop(&BUFFERED);
            }
        }
        let told = Advertised::by(packet);
        let verdict = self.local.on_packet(packet, Side::Core, cx);
        let slot = self.follow(key, cx.budget(), cx.now());
        if !matches!(verdict, Verdict::Drop(_))
            && let Some(flow) = slot.and_then(|slot| self.flows.get_mut(slot))
        {
            flow.note_told(told);
        }
        verdict
    }
}

impl WtcpFlow {
    /// Whether a packet from the fixed host holds nothing that is not stored here, and tells
    /// nothing else.
    fn is_kept(&self, packet: &Packet, local: &SnoopFlow<Today>, settings: &Settings) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let is_new = packet.segment_len() == 0 || !tcp.seq.before(local.arrived());
        if is_new
            || local.is_closed()
            || local.is_reordering()
            || local.is_resegmented_by(packet)
            || local.has_given_up(tcp.seq, settings.local_retransmissions)
            || !tells_nothing(tcp, self.told)
            || !local.keeps(tcp.seq, tcp.seq + packet.segment_len())
        {
            return false;
        }
        local.silence().is_none_or(|silence| {
            let is_refused =
                silence.expiries >= REFUSALS && self.heard.is_some_and(|heard| heard > silence.since);
            silence.expiries <= settings.local_retransmissions && !is_refused
        })
    }

    /// Takes note of what went on to the mobile host.
    pub(super) fn note_told(&mut self, told: Option<Advertised>) {
        let Some(told) = told else { return };
        let ack = self.told.map_or(told.ack, |before| before.ack.later(told.ack));
        self.told = Some(Advertised { ack, ..told });
    }
}

/// Whether a segment says no more than what the mobile host was told before.
fn tells_nothing(tcp: &Tcp, told: Option<Advertised>) -> bool {
    let plain = TcpFlags::ACK.0 | TcpFlags::PSH.0 | TcpFlags::FIN.0;
    tcp.flags.0 & !plain == 0
        && tcp.options.sack.is_empty()
        && tcp.options.unknown.is_none()
        && told.is_some_and(|told| !tcp.ack.after(told.ack) && tcp.window == told.window)
}
