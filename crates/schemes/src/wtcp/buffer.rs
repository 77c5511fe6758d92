//! Which segments from the fixed host are dropped, because they are stored here.

use lasthop_agent::{Agent as _, Context, Counter, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, Tcp, TcpFlags};

use super::Wtcp;
use super::flow::Told;

/// The sender's retransmission of what local recovery is delivering.
pub static BUFFERED: Counter = Counter::new("dropped_buffered", "buffered already");

/// Time-outs after which a mobile host that still answers is taken to refuse what we send.
const REFUSALS: u32 = 2;

impl Wtcp {
    /// Decides what becomes of a packet from the core side.
    pub(super) fn on_core(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let is_kept = self.is_kept(packet, key);
        self.note_retransmission(packet, key);
        self.note_clock(packet, key, cx.now());
        if is_kept {
            self.flows.touch(key, cx.now());
            return Verdict::Drop(&BUFFERED);
        }
        let told = Told::by(packet);
        let verdict = self.local.on_packet(packet, Side::Core, cx);
        self.follow(key, cx.budget(), cx.now());
        if !matches!(verdict, Verdict::Drop(_)) {
            self.note_told(told, key);
        }
        verdict
    }

    /// Whether a packet from the fixed host holds nothing that is not stored here, and tells
    /// nothing else.
    fn is_kept(&self, packet: &Packet, key: FlowKey) -> bool {
        let Some((tcp, flow)) = packet.tcp().zip(self.flows.peek(key)) else { return false };
        let Some(local) = self.local.flow(key) else { return false };
        let has_data = packet.segment_len() > 0;
        if !has_data
            || local.is_closed()
            || local.is_reordering()
            || local.has_given_up(tcp.seq, self.settings.local_retransmissions)
            || !tells_nothing(tcp, flow.told)
            || !local.keeps(tcp.seq, tcp.seq + packet.segment_len())
        {
            return false;
        }
        local.silence().is_none_or(|silence| {
            let is_refused =
                silence.expiries >= REFUSALS && flow.heard.is_some_and(|heard| heard > silence.since);
            silence.expiries <= self.settings.local_retransmissions && !is_refused
        })
    }

    /// Takes note of what went on to the mobile host.
    pub(super) fn note_told(&mut self, told: Option<Told>, key: FlowKey) {
        let Some((told, flow)) = told.zip(self.flows.peek_mut(key)) else { return };
        let ack = flow.told.map_or(told.ack, |before| before.ack.later(told.ack));
        flow.told = Some(Told { ack, ..told });
    }
}

/// Whether a segment says no more than what the mobile host was told before.
fn tells_nothing(tcp: &Tcp, told: Option<Told>) -> bool {
    let plain = TcpFlags::ACK.0 | TcpFlags::PSH.0 | TcpFlags::FIN.0;
    tcp.flags.0 & !plain == 0
        && tcp.options.sack.is_empty()
        && tcp.options.unknown.is_none()
        && told.is_some_and(|told| !tcp.ack.after(told.ack) && tcp.window == told.window)
}
