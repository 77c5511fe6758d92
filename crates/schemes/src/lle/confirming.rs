//! The sender's side: data that the link layer delivers is acknowledged here, in the receiver's
//! name.

mod ack_meaning;
mod saved;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{Report, Room, SegmentCache};
use lasthop_packet::{Instant, Packet, SackBlocks, Seq, TcpFlags};
use serde::{Deserialize, Serialize};

use super::delaying::Delaying;
use super::mark::Mark;
use super::ranges::Ranges;
use super::receiver::Receiver;
use super::settings::Settings;
pub(super) use ack_meaning::{AckKind, AckMeaning, DUPLICATES};
pub(super) use saved::SavedConfirming;

/// The state of data that is sent over the hop.
#[derive(Debug)]
pub(super) struct Confirming {
    /// The sequence numbers, once one is known.
    pub(super) progress: Option<Progress>,
    /// Ranges delivered above a hole.
    above: Ranges,
    /// The end of the last data without a promise. The receiver itself acknowledges data below it,
    /// which is not a hole.
    plain: Option<Seq>,
    /// The highest number acknowledged here, in the receiver's name.
    generated: Option<Seq>,
    /// The hole whose retransmission was requested; later losses are not reported until it is
    /// filled.
    requested: Option<Seq>,
    /// Segments that the receiver has not acknowledged itself.
    pub(super) kept: SegmentCache<SegmentNotes>,
    /// The TSval to echo in ACKs.
    echo: Option<u32>,
    /// Octets of the largest segment.
    pub(super) segment: u32,
    /// The delayed ACK of data delivered in order.
    delaying: Delaying,
    /// When the link layer last filled a hole: duplicate ACKs of it may still be in flight.
    filled_at: Option<Instant>,
    /// Duplicate ACKs in a row.
    duplicates: u32,
    /// When the receiver last acknowledged new data.
    advanced_at: Instant,
    /// When it last acknowledged new data, or a copy was sent.
    silent_since: Instant,
    /// Local retransmissions since then.
    pub(super) repairs: u32,
    /// The end of the last copy; `None` once the receiver has acknowledged new data.
    copied_to: Option<Seq>,
    /// Consecutive ACKs that acknowledged only a copy.
    only_copies: u32,
    /// The start of a loss that no copy can repair, and the time of the receiver's first duplicate
    /// ACK for it; `None` once it was reported.
    complaint: Option<(Seq, Option<Instant>)>,
}

/// The positions of the sender, the link layer and the receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The sender has an ACK of all data below.
    pub(super) acknowledged: Seq,
    /// The link layer delivered all data below.
    confirmed: Seq,
    /// The receiver itself acknowledged all data below.
    pub(super) proven: Seq,
    /// The right edge of the window advertised to the sender.
    edge: Seq,
    /// The end of the data sent to the link layer.
    pub(super) sent: Seq,
    /// The end of the data whose fate the link layer has reported.
    fated: Seq,
}

/// The notes on a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentNotes {
    /// When it was last sent again from here.
    repaired: Option<Instant>,
}

impl Confirming {
    pub(super) const fn new() -> Self {
        Self {
            progress: None,
            above: Ranges::EMPTY,
            plain: None,
            generated: None,
            requested: None,
            kept: SegmentCache::new(usize::MAX),
            echo: None,
            segment: 0,
            delaying: Delaying::NONE,
            filled_at: None,
            duplicates: 0,
            advanced_at: Instant::ZERO,
            silent_since: Instant::ZERO,
            repairs: 0,
            copied_to: None,
            only_copies: 0,
            complaint: None,
        }
    }

    fn begin(&mut self, at: Seq) -> &mut Progress {
        self.progress.get_or_insert(Progress {
            acknowledged: at,
            confirmed: at,
            proven: at,
            edge: at,
            sent: at,
            fated: at,
        })
    }

    /// Processes data, a SYN-ACK or a FIN to the hop. Returns whether its delivery will be
    /// acknowledged here. `room` is the remaining memory.
    pub(super) fn on_data(
        &mut self,
        packet: &Packet,
        receiver: &mut Receiver,
        settings: &Settings,
        room: Room,
    ) -> Promise {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return Promise::None };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let payload = packet.payload().len() as u32;
        self.segment = self.segment.max(packet.segment_size().map_or(payload, |size| u32::from(size.get())));
        if tcp.flags.has(TcpFlags::SYN) {
            self.begin(seq);
            receiver.allow(end + receiver.window);
        }
        let Some(progress) = &mut self.progress else { return Promise::None };
        progress.sent = progress.sent.later(end);
        // The sender has no ACK of data that it retransmits: the receiver's own is better than a
        // generated one.
        if !end.after(progress.acknowledged) || !Mark::fits(tcp) {
            return Promise::None;
        }
        if !settings.keep_until_proven {
            return if receiver.window == 0 { Promise::None } else { Promise::Made };
        }
        // The receiver drops data above its window even if the link layer delivers it: probes of a
        // closed window.
        if receiver.edge.is_none_or(|edge| end.after(edge)) {
            return Promise::None;
        }
        let known = self.kept.find_mut(seq).map(|known| (known.end, known.packet.len()));
        if known.is_some_and(|(known_end, _)| !end.after(known_end)) {
            return Promise::Made;
        }
        let sizes = packet.sizes();
        let more = sizes.octets - known.map_or(0, |(_, len)| len).min(sizes.octets);
        let is_full = self.kept.octets() + more > settings.kept_octets;
        if is_full || room.lacks(self.kept.cost_of(sizes)).is_some() {
            return Promise::NoRoom;
        }
        if self.kept.insert(packet, sizes, SegmentNotes::default()) { Promise::Made } else { Promise::NoRoom }
    }

    /// Whether a SYN-ACK belongs to another connection, by its number: it would count more data as
    /// sent than was.
    pub(super) fn is_of_another(&self, packet: &Packet) -> bool {
        let answers = |flags: TcpFlags| flags.has(TcpFlags::SYN) && flags.has(TcpFlags::ACK);
        let syn_ack = packet.tcp().filter(|tcp| answers(tcp.flags));
        syn_ack.zip(self.progress).is_some_and(|(tcp, progress)| (tcp.seq + 1).after(progress.sent))
    }

    /// Processes data to the hop that the receiver will acknowledge itself.
    pub(super) fn on_plain_data(&mut self, packet: &Packet) {
        let Some((tcp, progress)) = packet.tcp().zip(self.progress.as_mut()) else { return };
        let end = tcp.seq + packet.segment_len();
        progress.sent = progress.sent.later(end);
        self.plain = Some(self.plain.map_or(end, |plain| plain.later(end)));
    }

    /// Processes the delivery of a promised segment by the link layer. Returns its meaning for the
    /// sender.
    pub(super) fn on_delivered(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> Delivery {
        let (Some(tcp), Some(progress)) = (packet.tcp(), &mut self.progress) else { return Delivery::None };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        if !end.after(progress.confirmed) || end.after(progress.sent) {
            return Delivery::None;
        }
        if seq.after(progress.confirmed) {
            let range = self.above.add(seq, end);
            let is_hole = self.plain.is_none_or(|plain| !plain.after(progress.confirmed));
            return if is_hole { Delivery::AboveHole(range) } else { Delivery::None };
        }
        progress.confirmed = self.above.absorb(end);
        let fills_hole = progress.confirmed != end || self.requested.is_some();
        if fills_hole {
            self.filled_at = Some(now);
        }
        //= RFC 7323, section 4.3: what the segment carried that moved the left edge is echoed.
        self.echo = tcp.options.timestamps.map(|timestamps| timestamps.value);
        if self.requested.is_some_and(|hole| progress.confirmed.after(hole)) {
            self.requested = None;
        }
        if !progress.confirmed.after(progress.acknowledged) {
            return Delivery::None;
        }
        //= RFC 5681, section 4.2: what fills a gap is acknowledged at once.
        let opens_or_closes = tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::FIN);
        let is_complete = self.delaying.on_delivered(packet.segments(), settings.ack_policy(), now);
        if is_complete || fills_hole || opens_or_closes { Delivery::InOrder } else { Delivery::None }
    }

    /// The ranges delivered above a hole as SACK blocks; `latest` is the latest one.
    pub(super) fn blocks(&self, latest: Option<(Seq, Seq)>) -> SackBlocks {
        self.above.blocks(latest)
    }

    /// Processes a promised segment that the link layer gave up. Returns the action.
    pub(super) fn on_given_up(&mut self, packet: &Packet, now: Instant) -> Loss {
        let (Some(tcp), Some(progress)) = (packet.tcp(), self.progress) else { return Loss::Ignored };
        let end = tcp.seq + packet.segment_len();
        if !end.after(progress.confirmed) || self.requested.is_some() {
            return Loss::Ignored;
        }
        // For the last segment, no later one will make the receiver send duplicate ACKs, and with
        // SACK the sender needs more than bare duplicates.
        let repaired = self.kept.find_mut(tcp.seq).filter(|kept| kept.notes.repaired.is_none());
        if let Some(kept) = repaired.filter(|_| end == progress.sent) {
            kept.notes.repaired = Some(now);
            return Loss::Repaired(Box::new(copy(&kept.packet, Mark::OFFER.with(Mark::PROMISE))));
        }
        self.requested = Some(tcp.seq);
        Loss::Requested
    }

    /// Records that the link layer reported a segment's fate.
    pub(super) fn on_fate(&mut self, packet: &Packet) {
        let (Some(tcp), Some(progress)) = (packet.tcp(), &mut self.progress) else { return };
        let end = tcp.seq + packet.segment_len();
        if !end.after(progress.sent) {
            progress.fated = progress.fated.later(end);
        }
    }

    /// Octets in the link layer, whose fate is not reported yet. If its queue overflows it reports
    /// nothing; reports on later segments then correct this.
    pub(super) fn queued(&self) -> u32 {
        self.progress
            .filter(|progress| progress.sent.after(progress.fated))
            .map_or(0, |progress| progress.sent - progress.fated)
    }

    /// The next ACK in the receiver's name: its number and echo. The sender counts as informed
    /// then.
    pub(super) fn acknowledge(&mut self, now: Instant) -> Option<(Seq, Option<u32>)> {
        let progress = self.progress.as_mut()?;
        if progress.acknowledged == progress.proven {
            self.silent_since = now;
        }
        progress.acknowledged = progress.acknowledged.later(progress.confirmed);
        self.delaying.on_acknowledged();
        self.generated = Some(progress.acknowledged);
        Some((progress.acknowledged, self.echo))
    }

    /// Octets of allocated memory, without the fixed state.
    pub(super) fn allocated(&self) -> usize {
        self.kept.allocated() + self.delaying.allocated()
    }

    /// Whether the link layer has delivered more than the sender has an ACK of.
    pub(super) fn lags(&self) -> bool {
        self.progress.is_some_and(|progress| progress.confirmed.after(progress.acknowledged))
    }

    /// When the delayed ACK is due.
    pub(super) fn ack_due(&self) -> Option<Instant> {
        self.delaying.due()
    }

    /// Ends the delay of the ACK. Returns whether there is data to acknowledge.
    pub(super) fn stop_delaying(&mut self) -> bool {
        self.delaying.on_acknowledged();
        self.lags()
    }

    /// The window of an ACK in the receiver's name, in octets. `free` is the connection's share of
    /// the free room in the queue.
    pub(super) fn window(&mut self, receiver: &Receiver, settings: &Settings, free: u32) -> u32 {
        let queued = self.queued();
        let Some(progress) = &mut self.progress else { return 0 };
        let mut window = if settings.keep_until_proven {
            receiver.left_above(progress.acknowledged)
        } else {
            receiver.window
        };
        if settings.queue > 0 {
            // At least a segment: nothing would inform the sender when the queue is empty again.
            let extra = if settings.keep_until_proven { queued } else { 0 };
            window = window.min((free.saturating_add(extra)).max(self.segment));
        }
        progress.edge = progress.edge.later(progress.acknowledged + window);
        window
    }

    /// Gives up the repair of data that the receiver does not acknowledge. Returns its start, if
    /// the sender has an ACK of it, and its octets.
    pub(super) fn give_up(&mut self) -> Option<(Seq, u64)> {
        let lost = self.unproven_from().map(|first| (first, u64::from(self.unproven())));
        self.kept.clear();
        lost
    }

    /// The start of the data that the sender considers delivered only because of this agent's ACKs.
    pub(super) fn unproven_from(&self) -> Option<Seq> {
        self.progress
            .filter(|progress| progress.acknowledged.after(progress.proven))
            .map(|progress| progress.proven)
    }

    /// Octets that the sender considers delivered only because of this agent's ACKs.
    pub(super) fn unproven(&self) -> u32 {
        self.progress.map_or(0, |progress| progress.acknowledged - progress.proven)
    }

    /// Whether some of that data is kept here for repair.
    pub(super) fn owes(&self) -> bool {
        self.unproven() > 0 && !self.kept.is_empty()
    }

    /// When the silence of the receiver becomes too long.
    pub(super) fn deadline(&self, settings: &Settings) -> Option<Instant> {
        if !settings.keep_until_proven || !self.owes() {
            return None;
        }
        Some(self.silent_since + settings.evidence_timeout * (1 << self.repairs.min(6)))
    }

    /// The receiver has been silent for too long: a copy of the first segment that it has not
    /// acknowledged; `None` after the maximum number of attempts.
    pub(super) fn repair(&mut self, settings: &Settings, now: Instant) -> Option<Packet> {
        if self.repairs >= settings.repairs {
            return None;
        }
        let copy = self.send_first_again(now)?;
        self.repairs += 1;
        self.silent_since = now;
        Some(copy)
    }

    /// A copy of the first kept segment.
    fn send_first_again(&mut self, now: Instant) -> Option<Packet> {
        let kept = self.kept.first_mut()?;
        kept.notes.repaired = Some(now);
        self.copied_to = Some(kept.end);
        Some(copy(&kept.packet, REQUEST))
    }
}

/// The mark on copies of acknowledged data: they request the receiver's own ACK, without a promise.
const REQUEST: Mark = Mark::OFFER.with(Mark::EVIDENCE);

fn copy(kept: &Packet, mark: Mark) -> Packet {
    let mut copy = kept.clone();
    mark.put(&mut copy);
    copy
}

/// Whether a delivery will be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// It will.
    Made,
    /// It will not.
    None,
    /// It would, but there is no room to keep the segment.
    NoRoom,
}

/// The meaning of a delivery for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// No ACK.
    None,
    /// There is more to acknowledge.
    InOrder,
    /// The delivered data is in this range above a hole.
    AboveHole((Seq, Seq)),
}

/// The action on a frame that the link layer gave up.
#[derive(Debug)]
pub(super) enum Loss {
    /// None.
    Ignored,
    /// Three duplicate ACKs request a retransmission by the sender.
    Requested,
    /// The agent sends it again.
    Repaired(Box<Packet>),
}

/// A report of acknowledged data that is lost: its start and its octets.
pub(super) fn loss((seq, octets): (Seq, u64)) -> Report {
    Report { amount: octets, ..Report::new(&ACKNOWLEDGED_AND_LOST).at(seq) }
}
