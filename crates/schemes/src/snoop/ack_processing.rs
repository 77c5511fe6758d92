//! ACKs from the mobile host where losses are told by SACK: what was delivered, what is to be
//! repaired, and with what.

use lasthop_hop::last_hop::Progress;
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::flow::{Receiver, SnoopFlow};
use super::scoreboard::Range;
use super::segmentation::cut;
use super::settings::Settings;

/// Time-outs in a row after which what was on the hop is taken for lost; fewer may be a delay.
const SILENCE: u32 = 2;

/// What an ACK without SACK blocks tells of losses.
#[derive(Clone, Copy, Debug)]
struct Hints {
    /// It acknowledges more than the one before.
    advanced: bool,
    duplicate: bool,
    /// The local timer had expired several times.
    was_silent: bool,
}

/// What an ACK said.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// What it showed to be delivered.
    pub progress: Progress,
    /// It acknowledges more than the one before.
    pub advanced: bool,
    /// It has the number and the window of the one before, and nothing in it but an ACK and SACK
    /// blocks.
    pub duplicate: bool,
    /// It is one that we can make sense of: neither old nor about data that never passed.
    pub understood: bool,
}

impl SnoopFlow {
    /// Takes note of the acknowledgment in a packet from the radio side.
    pub fn process_ack(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckSummary {
        let nothing = AckSummary::default();
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return nothing };
        self.beyond.on_up(tcp, now);
        if self.last_ack.is_some_and(|last| tcp.ack.before(last)) {
            return nothing;
        }
        // Beyond what passed, the data took another way, or it is a lie. What passed is out of our
        // hands in either case.
        let understood = !tcp.ack.after(self.highest);
        let ack = tcp.ack.earlier(self.highest);
        let advanced = self.last_ack != Some(ack);
        let is_bare = packet.payload().is_empty()
            && tcp.flags == TcpFlags::ACK
            && tcp.window == self.window
            && tcp.options.unknown.is_none();
        let duplicate = is_bare && !advanced && understood;
        self.window = tcp.window;
        let blocks = tcp.options.sack.as_slice();
        // Without blocks nothing is divided.
        let splits = if blocks.is_empty() { 0 } else { self.ranges_allowed() };
        let least = self.rtt.least();
        let Some(board) = &mut self.board else { return nothing };
        let mut progress = Progress::default();
        let mut probe_came_twice = false;
        if advanced || !blocks.is_empty() {
            let mut believed = [(Seq(0), Seq(0)); 4];
            let mut count = 0;
            for (left, right) in blocks.iter().filter(|(_, right)| !right.after(self.highest)) {
                believed[count] = (*left, *right);
                count += 1;
            }
            board.sack_seen |= count > 0;
            if count > 0 && tcp.sack_reports().0.is_some() {
                probe_came_twice = board.delivered_twice(believed[0].0, believed[0].1);
            }
            progress = board.acknowledge(ack, &believed[..count], now, least, splits);
            let above = believed[..count].iter().map(|(left, _)| *left).filter(|left| left.after(ack));
            self.hole_end = above.reduce(Seq::earlier);
        }
        if let Some(own) = tcp.options.timestamps {
            let round_trip = progress.sent.map(|sent| now.since(sent));
            progress.late = self.way_back.lateness(Seq(own.value), round_trip, now);
        }
        if advanced {
            self.last_ack = Some(ack);
            self.cache.forget_acknowledged(ack);
        }
        // What is acknowledged sooner than a round trip after the timer's copy was there before it,
        // and the copy will be reported.
        let is_of_original = self.expiries > 0 && is_of_before(tcp, self.copied);
        let is_answer = self.expiries > 0
            && !is_of_original
            && progress.delivered > 0
            && now.since(self.timing_since) >= least / 8 * 7;
        if probe_came_twice || is_answer {
            self.rtt.judge_copy(probe_came_twice);
        }
        if let Some(sent) = progress.sent {
            self.rtt.measure(now.since(sent), settings.timer);
        }
        let was_silent = self.expiries >= SILENCE && !is_of_original;
        if advanced || progress.delivered > 0 {
            self.receiver = Receiver::Answers;
        }
        if progress.delivered > 0 {
            if self.expiries == 0 {
                board.expected = 0;
            }
            self.expiries = 0;
            self.timing_since = now;
        }
        if !board.sack_seen {
            let hints = Hints { advanced, duplicate, was_silent };
            self.infer_from_duplicates(ack, hints, now);
        }
        progress.lost += self.silently_lost(tcp, ack);
        AckSummary { progress, advanced, duplicate, understood }
    }

    /// Octets that only the sender could repair, as this ACK shows: neither the original nor a copy of ours
    /// arrived before the sender sent them again.
    fn silently_lost(&mut self, tcp: &Tcp, ack: Seq) -> u64 {
        let Some(overdue) = self.overdue.take_if(|overdue| overdue.seq.before(ack)) else { return 0 };
        if is_of_before(tcp, overdue.tsval) {
            return 0;
        }
        self.board.as_ref().map_or(0, |board| board.segment().into())
    }

    /// A receiver without SACK: more duplicate ACKs than segments may overtake tell of a hole, and
    /// so does an ACK of a copy that stops short of what left before it (a partial acknowledgment;
    /// RFC 6582, section 3.2), unless the hop reorders. What lies above a hole may have come, so it
    /// is one segment at a time, and a lost copy is left to the timer.
    fn infer_from_duplicates(&mut self, ack: Seq, hints: Hints, now: Instant) {
        let Hints { advanced, duplicate, was_silent } = hints;
        let Some(board) = &mut self.board else { return };
        if advanced {
            board.duplicates = 0;
        }
        let Some(first) = board.range_at(ack).copied() else { return };
        if duplicate && board.expected > 0 {
            // A timer's copy that was not needed comes back as a duplicate ACK.
            board.expected -= 1;
            return;
        }
        board.duplicates += u32::from(duplicate);
        let is_hole = duplicate && board.duplicates > board.tolerated();
        // What ends a silence of several time-outs is our copy's ACK: the rest went with the hop.
        let is_partial =
            advanced && (was_silent || (board.was_overtaken(&first) && !board.has_needless_copies()));
        if (is_hole || is_partial) && first.copies == 0 && !first.by_sender {
            self.lose_one_segment(first, now);
        }
    }

    /// What few segments have overtaken had its time to come.
    pub fn end_doubt(&mut self, now: Instant) {
        self.timing_since = now;
        let Some(board) = &mut self.board else { return };
        board.end_doubt();
        if let Some(first) = board.first_in_doubt().copied() {
            self.lose_one_segment(first, now);
        }
    }

    /// Takes the first segment of a range for lost, and no more: of a super-packet the rest may
    /// have come.
    fn lose_one_segment(&mut self, range: Range, now: Instant) {
        let splits = self.ranges_allowed();
        let Some(board) = &mut self.board else { return };
        let end = range.end.earlier(range.seq + board.segment());
        board.split_at(end, splits);
        board.mark_lost(range.seq, now);
    }

    /// The next copy that a loss calls for; `None` when all are repaired or cannot be.
    pub fn next_repair(&mut self, settings: &Settings, now: Instant) -> Option<Packet> {
        loop {
            let range = self.board.as_mut()?.next_lost(now)?;
            let splits = self.ranges_allowed();
            let board = self.board.as_mut()?;
            if range.copies >= settings.local_retransmissions {
                continue;
            }
            let Some(cached) = self.cache.covering(range.seq) else { continue };
            // A range reaches over the end of a packet only where a receiver has forgotten what it
            // had SACKed.
            let end = range.end.earlier(cached.end);
            if !board.split_at(end, splits) {
                continue;
            }
            board.repaired(range.seq, now);
            return self.copy(range.seq, end);
        }
    }

    /// What the timer sends: the first segment that the receiver misses, and the last, whose SACK
    /// tells of all between.
    pub fn probe(&mut self, settings: &Settings, now: Instant) -> [Option<Packet>; 2] {
        if self.expiries == 0 {
            self.copied = self.highest_tsval.filter(|_| self.monotone_timestamps);
        }
        self.expiries = self.expiries.saturating_add(1);
        self.timing_since = now;
        self.rtt.back_off();
        // Into a closed window probes are the sender's business.
        let is_closed = self.last_ack.is_some() && self.window == 0;
        if self.expiries > settings.local_retransmissions || is_closed {
            return [None, None];
        }
        let Some(board) = &mut self.board else { return [None, None] };
        let missing = |range: &&Range| range.state == super::scoreboard::State::InFlight;
        let segment = board.segment();
        let Some(first) = board.ranges().find(missing) else { return [None, None] };
        let front = (first.seq, first.end.earlier(first.seq + segment));
        let back = board.ranges().rev().find(missing).filter(|_| board.sack_seen).map(|last| {
            let tail = (last.end - last.seq).min(segment);
            (Seq(last.end.0.wrapping_sub(tail)), last.end)
        });
        let back = back.filter(|(seq, _)| !seq.before(front.1));
        [Some(front), back].map(|piece| {
            let (seq, end) = piece?;
            // Data that is not cached cannot be sent again, so no duplicate ACK may be expected of it.
            let copy = self.copy(seq, end)?;
            let splits = self.ranges_allowed();
            let board = self.board.as_mut()?;
            board.split_at(seq, splits);
            board.split_at(end, splits);
            board.probed(seq, end, now);
            board.expected += u32::from(!board.sack_seen);
            Some(copy)
        })
    }

    /// A copy of `[seq, end)` from the cache.
    fn copy(&self, seq: Seq, end: Seq) -> Option<Packet> {
        let cached = self.cache.covering(seq)?;
        let end = end.earlier(cached.end);
        let mut copy = cached.packet.clone();
        if seq != cached.seq || end != cached.end {
            cut(&mut copy, seq, end, cached.end);
        }
        self.stamp(&mut copy);
        Some(copy)
    }
}

/// Whether an ACK is for what left before a retransmission with this TSval: it echoes an older one (RFC 3522,
/// section 3.2). It was late, and nothing was lost.
fn is_of_before(tcp: &Tcp, again: Option<Seq>) -> bool {
    let echo = tcp.options.timestamps.map(|timestamps| Seq(timestamps.echo_reply));
    echo.zip(again).is_some_and(|(echo, again)| echo.before(again))
}
