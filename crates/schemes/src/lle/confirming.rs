//! The sender's side: data that the link layer delivers is acknowledged here, on the receiver's
//! behalf.

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

/// What is known of data that goes out over the hop.
#[derive(Debug)]
pub(super) struct Confirming {
    /// The numbers below, once one is known.
    pub(super) told: Option<Progress>,
    /// Delivered beyond a hole.
    above: Ranges,
    /// Behind the last octet that went without a promise. The receiver itself acknowledges what is
    /// before: it is no hole.
    plain: Option<Seq>,
    /// The highest number that was acknowledged here, on the receiver's behalf.
    said: Option<Seq>,
    /// The hole for which the sender was asked; later losses are not told until it is filled.
    asked_for: Option<Seq>,
    /// What the receiver has not acknowledged itself.
    pub(super) kept: SegmentCache<Kept>,
    /// The TSval that an ACK echoes.
    echo: Option<u32>,
    /// Octets of the largest segment.
    pub(super) segment: u32,
    /// What was delivered in order, and has no ACK yet.
    delaying: Delaying,
    /// When the link layer filled a hole last: complaints of it may still be under way.
    filled_at: Option<Instant>,
    /// Duplicate ACKs in a row.
    duplicates: u32,
    /// When the receiver acknowledged something new last.
    advanced_at: Instant,
    /// Since when it has said nothing new, or was asked.
    silent_since: Instant,
    /// Local retransmissions since.
    pub(super) repairs: u32,
    /// Behind the copy that was sent last; `None` once the receiver has acknowledged something new.
    copied_to: Option<Seq>,
    /// How many ACKs in a row said no more than that a copy has arrived.
    only_copies: u32,
    /// Where a loss begins that no copy can repair, and since when the receiver complains of it; `None`
    /// once it was reported.
    complaint: Option<(Seq, Option<Instant>)>,
}

/// How far the sender, the link layer and the receiver are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The sender knows that everything before has arrived.
    pub(super) acknowledged: Seq,
    /// The link layer delivered everything before.
    confirmed: Seq,
    /// The receiver acknowledged everything before, itself.
    pub(super) proven: Seq,
    /// Where the window ends that the sender was told.
    edge: Seq,
    /// Behind the last octet that went to the link layer.
    pub(super) sent: Seq,
    /// Behind the last octet whose fate the link layer has told.
    fated: Seq,
}

/// What is noted on a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// When it was sent again from here.
    repaired: Option<Instant>,
}

impl Confirming {
    pub(super) const fn new() -> Self {
        Self {
            told: None,
            above: Ranges::EMPTY,
            plain: None,
            said: None,
            asked_for: None,
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
        self.told.get_or_insert(Progress {
            acknowledged: at,
            confirmed: at,
            proven: at,
            edge: at,
            sent: at,
            fated: at,
        })
    }

    /// Data, a SYN-ACK or a FIN leaves for the hop: whether its delivery will be acknowledged here.
    /// `room` is the memory that may still be taken.
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
        let Some(told) = &mut self.told else { return Promise::None };
        told.sent = told.sent.later(end);
        // What the sender repeats it has no ACK for: the receiver's own is better than one of ours.
        if !end.after(told.acknowledged) || !Mark::fits(tcp) {
            return Promise::None;
        }
        if !settings.keep_until_proven {
            return if receiver.window == 0 { Promise::None } else { Promise::Made };
        }
        // Beyond its window the receiver drops what the link layer delivers: probes of a closed
        // window.
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
        if self.kept.insert(packet, sizes, Kept::default()) { Promise::Made } else { Promise::NoRoom }
    }

    /// Whether a SYN-ACK is none of this connection's, by its number: more would count as sent than was.
    pub(super) fn is_of_another(&self, packet: &Packet) -> bool {
        let answers = |flags: TcpFlags| flags.has(TcpFlags::SYN) && flags.has(TcpFlags::ACK);
        let syn_ack = packet.tcp().filter(|tcp| answers(tcp.flags));
        syn_ack.zip(self.told).is_some_and(|(tcp, told)| (tcp.seq + 1).after(told.sent))
    }

    /// Data leaves for the hop that the receiver will acknowledge itself.
    pub(super) fn on_plain_data(&mut self, packet: &Packet) {
        let Some((tcp, told)) = packet.tcp().zip(self.told.as_mut()) else { return };
        let end = tcp.seq + packet.segment_len();
        told.sent = told.sent.later(end);
        self.plain = Some(self.plain.map_or(end, |plain| plain.later(end)));
    }

    /// The link layer delivered a segment that was promised: what that says to the sender.
    pub(super) fn on_delivered(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> News {
        let (Some(tcp), Some(told)) = (packet.tcp(), &mut self.told) else { return News::None };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        if !end.after(told.confirmed) || end.after(told.sent) {
            return News::None;
        }
        if seq.after(told.confirmed) {
            let range = self.above.add(seq, end);
            let is_hole = self.plain.is_none_or(|plain| !plain.after(told.confirmed));
            return if is_hole { News::BeyondHole(range) } else { News::None };
        }
        told.confirmed = self.above.absorb(end);
        let fills_hole = told.confirmed != end || self.asked_for.is_some();
        if fills_hole {
            self.filled_at = Some(now);
        }
        //= RFC 7323, section 4.3: what the segment carried that moved the left edge is echoed.
        self.echo = tcp.options.timestamps.map(|timestamps| timestamps.value);
        if self.asked_for.is_some_and(|hole| told.confirmed.after(hole)) {
            self.asked_for = None;
        }
        if !told.confirmed.after(told.acknowledged) {
            return News::None;
        }
        //= RFC 5681, section 4.2: what fills a gap is acknowledged at once.
        let opens_or_closes = tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::FIN);
        let is_complete = self.delaying.on_delivered(packet.segments(), settings.ack_policy(), now);
        if is_complete || fills_hole || opens_or_closes { News::InOrder } else { News::None }
    }

    /// What was delivered beyond a hole, for an ACK; where `latest` came last.
    pub(super) fn blocks(&self, latest: Option<(Seq, Seq)>) -> SackBlocks {
        self.above.blocks(latest)
    }

    /// The link layer gave a segment up that was promised: what is to be done.
    pub(super) fn on_given_up(&mut self, packet: &Packet, now: Instant) -> Loss {
        let (Some(tcp), Some(told)) = (packet.tcp(), self.told) else { return Loss::Ignored };
        let end = tcp.seq + packet.segment_len();
        if !end.after(told.confirmed) || self.asked_for.is_some() {
            return Loss::Ignored;
        }
        // The last one: no later segment will make the receiver complain, and with SACK the sender
        // asks for more than bare duplicates.
        let repaired = self.kept.find_mut(tcp.seq).filter(|kept| kept.notes.repaired.is_none());
        if let Some(kept) = repaired.filter(|_| end == told.sent) {
            kept.notes.repaired = Some(now);
            return Loss::Repaired(Box::new(copy(&kept.packet, Mark::OFFER.with(Mark::PROMISE))));
        }
        self.asked_for = Some(tcp.seq);
        Loss::Asked
    }

    /// The link layer told a segment's fate.
    pub(super) fn on_fate(&mut self, packet: &Packet) {
        let (Some(tcp), Some(told)) = (packet.tcp(), &mut self.told) else { return };
        let end = tcp.seq + packet.segment_len();
        if !end.after(told.sent) {
            told.fated = told.fated.later(end);
        }
    }

    /// Octets that the link layer has and whose fate it has not told. Where its queue overflows it
    /// says nothing; then what it says of later segments puts it right.
    pub(super) fn queued(&self) -> u32 {
        self.told.filter(|told| told.sent.after(told.fated)).map_or(0, |told| told.sent - told.fated)
    }

    /// The next ACK in the receiver's name: what it acknowledges, what it echoes. The sender knows
    /// that then.
    pub(super) fn acknowledge(&mut self, now: Instant) -> Option<(Seq, Option<u32>)> {
        let told = self.told.as_mut()?;
        if told.acknowledged == told.proven {
            self.silent_since = now;
        }
        told.acknowledged = told.acknowledged.later(told.confirmed);
        self.delaying.on_acknowledged();
        self.said = Some(told.acknowledged);
        Some((told.acknowledged, self.echo))
    }

    /// Octets of memory that it has taken beside itself.
    pub(super) fn allocated(&self) -> usize {
        self.kept.allocated() + self.delaying.allocated()
    }

    /// Whether the link layer has delivered more than the sender has an ACK of.
    pub(super) fn lags(&self) -> bool {
        self.told.is_some_and(|told| told.confirmed.after(told.acknowledged))
    }

    /// When that has its ACK at the latest.
    pub(super) fn ack_due(&self) -> Option<Instant> {
        self.delaying.due()
    }

    /// That time has come. Whether there is more to acknowledge.
    pub(super) fn stop_delaying(&mut self) -> bool {
        self.delaying.on_acknowledged();
        self.lags()
    }

    /// The window in an ACK in the receiver's name, in octets. `free` is the connection's share of
    /// what is free in the queue.
    pub(super) fn window(&mut self, receiver: &Receiver, settings: &Settings, free: u32) -> u32 {
        let queued = self.queued();
        let Some(told) = &mut self.told else { return 0 };
        let mut window = if settings.keep_until_proven {
            receiver.left_beyond(told.acknowledged)
        } else {
            receiver.window
        };
        if settings.queue > 0 {
            // Never less than a segment: nothing would tell the sender when the queue is empty
            // again.
            let beyond = if settings.keep_until_proven { queued } else { 0 };
            window = window.min((free.saturating_add(beyond)).max(self.segment));
        }
        told.edge = told.edge.later(told.acknowledged + window);
        window
    }

    /// Nothing more can be done for what the receiver does not acknowledge: where that begins, if
    /// the sender has been told of it, and how many octets.
    pub(super) fn give_up(&mut self) -> Option<(Seq, u64)> {
        let lost = self.unproven_from().map(|first| (first, u64::from(self.unproven())));
        self.kept.clear();
        lost
    }

    /// Where that begins what the sender takes for arrived on our word alone.
    pub(super) fn unproven_from(&self) -> Option<Seq> {
        self.told.filter(|told| told.acknowledged.after(told.proven)).map(|told| told.proven)
    }

    /// Octets that the sender takes for arrived on our word alone.
    pub(super) fn unproven(&self) -> u32 {
        self.told.map_or(0, |told| told.acknowledged - told.proven)
    }

    /// Whether some of that is kept here, and sent again if need be.
    pub(super) fn owes(&self) -> bool {
        self.unproven() > 0 && !self.kept.is_empty()
    }

    /// When the receiver has been silent for too long.
    pub(super) fn deadline(&self, settings: &Settings) -> Option<Instant> {
        if !settings.keep_until_proven || !self.owes() {
            return None;
        }
        Some(self.silent_since + settings.evidence_timeout * (1 << self.repairs.min(6)))
    }

    /// It has been: the first segment that it has not acknowledged, once more; `None` if that was
    /// tried often enough.
    pub(super) fn repair(&mut self, settings: &Settings, now: Instant) -> Option<Packet> {
        if self.repairs >= settings.repairs {
            return None;
        }
        let copy = self.send_first_again(now)?;
        self.repairs += 1;
        self.silent_since = now;
        Some(copy)
    }

    /// The first segment that is kept, once more.
    fn send_first_again(&mut self, now: Instant) -> Option<Packet> {
        let kept = self.kept.first_mut()?;
        kept.notes.repaired = Some(now);
        self.copied_to = Some(kept.end);
        Some(copy(&kept.packet, ASKS))
    }
}

/// What is sent again of acknowledged data: the receiver's own word is wanted, not a promise of
/// ours.
const ASKS: Mark = Mark::OFFER.with(Mark::EVIDENCE);

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
    /// It would, but there is no room to keep it.
    NoRoom,
}

/// What a delivery says to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing new.
    None,
    /// There is more to acknowledge.
    InOrder,
    /// What was delivered last is in this range beyond a hole.
    BeyondHole((Seq, Seq)),
}

/// What a frame that was given up leads to.
#[derive(Debug)]
pub(super) enum Loss {
    /// Nothing.
    Ignored,
    /// The sender is asked by three duplicate ACKs.
    Asked,
    /// It goes once more, from here.
    Repaired(Box<Packet>),
}

/// Says what was acknowledged and is lost: where it begins, and how many octets.
pub(super) fn loss((seq, octets): (Seq, u64)) -> Report {
    Report { amount: octets, ..Report::of(&ACKNOWLEDGED_AND_LOST).at(seq) }
}
