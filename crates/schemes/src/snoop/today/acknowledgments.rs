//! ACKs from the mobile host: what was delivered, and what that implies for losses.

use lasthop_hop::last_hop::Progress;
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::Today;
use crate::snoop::flow::{Receiver, SnoopFlow};
use crate::snoop::settings::Settings;

/// Consecutive time-outs after which the data on the hop is assumed lost; fewer may be a delay.
const SILENCE: u32 = 2;

/// The signs of loss in an ACK without SACK blocks.
#[derive(Clone, Copy, Debug)]
struct Hints {
    /// It acknowledges more than the last one.
    advanced: bool,
    duplicate: bool,
    /// The local timer had expired several times.
    was_silent: bool,
}

/// The result of processing an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// The delivered data.
    pub progress: Progress,
    /// It acknowledges more than the last one.
    pub advanced: bool,
    /// It has the number and the window of the last one, and contains only an ACK and SACK blocks.
    pub duplicate: bool,
    /// Whether the agent can interpret it: it is neither old nor about data that never passed.
    pub understood: bool,
}

impl SnoopFlow<Today> {
    /// Processes the acknowledgment in a packet from the radio side.
    pub fn process_ack(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckSummary {
        let nothing = AckSummary::default();
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return nothing };
        self.core_path.on_up(tcp, now);
        if self.last_ack.is_some_and(|last| tcp.ack.before(last)) {
            return nothing;
        }
        // Above the data that passed, the data took another path, or the ACK is false. Either way
        // the data that passed needs no repair.
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
        // Without blocks no range is split.
        let max_ranges = if blocks.is_empty() { 0 } else { self.ranges_allowed() };
        let min = self.rtt.min();
        let scoreboard = &mut self.recovery.scoreboard;
        let mut progress = Progress::default();
        let mut probe_was_duplicate = false;
        if advanced || !blocks.is_empty() {
            let mut plausible = [(Seq(0), Seq(0)); 4];
            let mut count = 0;
            for (left, right) in blocks.iter().filter(|(_, right)| !right.after(self.highest)) {
                plausible[count] = (*left, *right);
                count += 1;
            }
            scoreboard.sack_seen |= count > 0;
            if count > 0 && tcp.sack_reports().0.is_some() {
                probe_was_duplicate = scoreboard.delivered_twice(plausible[0].0, plausible[0].1);
            }
            progress = scoreboard.acknowledge(ack, &plausible[..count], now, min, max_ranges);
            let above = plausible[..count].iter().map(|(left, _)| *left).filter(|left| left.after(ack));
            self.hole_end = above.reduce(Seq::earlier);
        }
        if let Some(own) = tcp.options.timestamps {
            let round_trip = progress.sent.map(|sent| now.since(sent));
            progress.late = self.recovery.way_back.lateness(Seq(own.value), round_trip, now);
        }
        if advanced {
            self.last_ack = Some(ack);
            self.cache.forget_acknowledged(ack);
        }
        // An ACK sooner than a round trip after the timer's copy is of the original, and the copy
        // will be reported as a duplicate.
        let is_of_original = self.expiries > 0 && is_of_earlier(tcp, self.recovery.copied);
        let is_answer = self.expiries > 0
            && !is_of_original
            && progress.delivered > 0
            && now.since(self.timing_since) >= min / 8 * 7;
        if probe_was_duplicate || is_answer {
            self.rtt.judge_copy(probe_was_duplicate);
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
                scoreboard.expected = 0;
            }
            self.expiries = 0;
            self.timing_since = now;
        }
        if !scoreboard.sack_seen {
            let hints = Hints { advanced, duplicate, was_silent };
            self.infer_from_duplicates(ack, hints, now);
        }
        progress.lost += self.silently_lost(tcp, ack);
        AckSummary { progress, advanced, duplicate, understood }
    }

    /// Octets that only the sender could repair, as this ACK shows: neither the original nor a copy
    /// arrived before the sender retransmitted them.
    fn silently_lost(&mut self, tcp: &Tcp, ack: Seq) -> u64 {
        let Some(overdue) = self.recovery.overdue.take_if(|overdue| overdue.seq.before(ack)) else {
            return 0;
        };
        if is_of_earlier(tcp, overdue.tsval) {
            return 0;
        }
        self.recovery.scoreboard.segment().into()
    }

    /// Infers losses for a receiver without SACK: more duplicate ACKs than segments may overtake
    /// indicate a hole, and so does an ACK of a copy that stops short of the data sent before it (a
    /// partial acknowledgment; RFC 6582, section 3.2), unless the hop reorders. Data above a hole
    /// may have arrived, so one segment is repaired at a time, and a lost copy is left to the
    /// timer.
    fn infer_from_duplicates(&mut self, ack: Seq, hints: Hints, now: Instant) {
        let Hints { advanced, duplicate, was_silent } = hints;
        let scoreboard = &mut self.recovery.scoreboard;
        if advanced {
            scoreboard.duplicates = 0;
        }
        let Some(first) = scoreboard.range_at(ack).copied() else { return };
        if duplicate && scoreboard.expected > 0 {
            // A needless copy by the timer elicits a duplicate ACK.
            scoreboard.expected -= 1;
            return;
        }
        scoreboard.duplicates += u32::from(duplicate);
        let is_hole = duplicate && scoreboard.duplicates > scoreboard.tolerated();
        // After a silence of several time-outs this is the ACK of the copy: the other data on the
        // hop was lost.
        let is_partial = advanced
            && (was_silent || (scoreboard.was_overtaken(&first) && !scoreboard.has_needless_copies()));
        if (is_hole || is_partial) && first.copies == 0 && !first.by_sender {
            self.lose_one_segment(first, now);
        }
    }
}

/// Whether an ACK is for data sent before the retransmission with the TSval `again`: it echoes an
/// older one (RFC 3522, section 3.2). Then it was late, and no data was lost.
fn is_of_earlier(tcp: &Tcp, again: Option<Seq>) -> bool {
    let echo = tcp.options.timestamps.map(|timestamps| Seq(timestamps.echo_reply));
    echo.zip(again).is_some_and(|(echo, again)| echo.before(again))
}
