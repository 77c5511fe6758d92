//! Loss recovery with selective acknowledgments (RFC 2018 and 6675).
//!
//! What the RFC leaves open, and what we chose:
//! - Limited transmit (section 5, step 3) is a setting of the connection, as it is for every
//!   recovery.
//! - After a time-out the scoreboard is empty (RFC 2018, section 8: the receiver may have dropped
//!   the data that it reported), and data reported from then on is not retransmitted (RFC 6675,
//!   section 5.1, leaves the choice to the sender).
//! - The timer restarts with every ACK of new data, and with each retransmission of the oldest
//!   segment.

use lasthop_packet::Seq;

use super::loss_recovery::{
    AfterAck, AfterDuplicate, AfterTimeout, Chance, DUPLICATE_ACK_THRESHOLD, LossRecovery, Missing, Next,
    Report, Sender,
};
use super::scoreboard::Scoreboard;
use crate::flight::Flight;

/// Fills the receiver's gaps in order, and keeps cwnd octets in the network by counting those that
/// have left it.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    scoreboard: Scoreboard,
    phase: Option<Phase>,
    /// After a time-out: the end of the data sent by then. No recovery begins until it is
    /// acknowledged.
    barrier: Option<Seq>,
}

/// A loss recovery phase.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// `RecoveryPoint` plus 1: the end of the data sent when it began.
    end: Seq,
    /// `HighRxt` plus 1: all lost data below it was retransmitted.
    retransmitted: Seq,
    /// `RescueRxt` plus 1.
    rescued: Seq,
    /// The first retransmission of the phase has not been sent yet.
    is_beginning: bool,
    /// cwnd at its end.
    cwnd_afterwards: u32,
}

impl Sack {
    fn enter(&mut self, cwnd_afterwards: u32, flight: &Flight, is_beginning: bool) {
        // A scheme that retransmits in the sender's place has sent one segment.
        let retransmitted = if is_beginning { flight.una } else { flight.una + flight.mss };
        let (end, rescued) = (flight.max, retransmitted);
        self.phase = Some(Phase { end, retransmitted, rescued, is_beginning, cwnd_afterwards });
    }

    /// `pipe`: octets in the network.
    fn pipe(&self, phase: &Phase, flight: &Flight) -> u32 {
        self.scoreboard.pipe(flight.una, flight.max, phase.retransmitted)
    }

    //= RFC 6675, section 4: NextSeg (), rules 1 to 4.
    fn next_segment(&self, phase: &mut Phase, flight: &Flight, chance: Chance) -> Next {
        let from = phase.retransmitted.later(flight.una);
        let gap = self
            .scoreboard
            .highest()
            .map(|highest| self.scoreboard.missing_from(from, highest))
            .filter(|(start, end)| start.before(*end));
        let again = |(start, end): (Seq, Seq)| (start, chance.room.min(end - start));
        match gap.map(again) {
            Some((start, len)) if self.scoreboard.is_lost(start) || !chance.is_new_data => {
                phase.retransmitted = start + len;
                Next::Again(start, len)
            }
            _ if chance.is_new_data => Next::New,
            // Rule 4: one rescue a phase; HighRxt is unchanged.
            _ if flight.una.after(phase.rescued) => {
                let Some((start, end)) = self.scoreboard.last_missing(flight.una, flight.max) else {
                    return Next::Nothing;
                };
                phase.rescued = phase.end;
                let len = chance.room.min(end - start);
                Next::Again(start + (end - start - len), len)
            }
            _ => Next::Nothing,
        }
    }
}

impl LossRecovery for Sack {
    fn memory(&self) -> usize {
        self.scoreboard.memory()
    }

    fn on_report(&mut self, blocks: &[(Seq, Seq)], sender: &Sender<'_>) -> Report {
        let flight = &*sender.flight;
        let has_new = self.scoreboard.update(blocks, flight.una, flight.max, flight.mss);
        if has_new { Report::New } else { Report::Known }
    }

    //= RFC 6675, section 5: at the third duplicate ACK, or as soon as IsLost (HighACK + 1).
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let is_lost = count >= DUPLICATE_ACK_THRESHOLD || self.scoreboard.is_lost(sender.flight.una);
        //= RFC 6675, section 5.1: after a time-out no new phase until HighACK has reached RecoveryPoint.
        if self.is_recovering() || self.barrier.is_some() || !is_lost {
            return AfterDuplicate::Wait;
        }
        self.on_loss(count, sender)
    }

    fn on_loss(&mut self, _count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        //= RFC 6675, section 5, steps 4.1 and 4.2.
        let flight = &mut *sender.flight;
        let reduction = sender.congestion.on_loss(flight);
        (flight.ssthresh, flight.cwnd) = (reduction.ssthresh, reduction.cwnd);
        self.enter(reduction.cwnd, flight, true);
        AfterDuplicate::Recover
    }

    fn on_new_ack(&mut self, _acked: u32, sender: &mut Sender<'_>) -> AfterAck {
        let flight = &mut *sender.flight;
        self.scoreboard.forget_before(flight.una);
        self.barrier = self.barrier.filter(|barrier| flight.una.before(*barrier));
        match self.phase {
            None => AfterAck::Open,
            //= RFC 6675, section 5, step A: an ACK of RecoveryPoint ends the phase; the scoreboard stays.
            Some(phase) if !flight.una.before(phase.end) => {
                self.phase = None;
                flight.cwnd = phase.cwnd_afterwards;
                AfterAck::WindowSet
            }
            Some(_) => AfterAck::WindowSet,
        }
    }

    fn next(&mut self, sender: &Sender<'_>, chance: Chance) -> Next {
        let flight = &*sender.flight;
        let Some(mut phase) = self.phase else { return Next::ByWindow };
        let next = if phase.is_beginning {
            //= RFC 6675, section 5, step 4.3: the first segment presumed lost, whatever the window says.
            let (start, end) = self.scoreboard.missing_from(flight.una, flight.max);
            let len = chance.room.min(end - start);
            phase.is_beginning = false;
            (phase.retransmitted, phase.rescued) = (start + len, start + len);
            Next::Again(start, len)
        } else if flight.cwnd < self.pipe(&phase, flight).saturating_add(flight.mss) {
            //= RFC 6675, section 5, step C: while cwnd - pipe is a segment or more.
            Next::Nothing
        } else {
            self.next_segment(&mut phase, flight, chance)
        };
        self.phase = Some(phase);
        next
    }

    fn missing(&self, flight: &Flight) -> Missing {
        let (from, to) = self.scoreboard.missing_from(flight.nxt, flight.max);
        Missing { from, to, left: self.scoreboard.reported(flight.una, from) }
    }

    /// cwnd is not inflated: `pipe` decides what may be sent.
    fn enter_without_reduction(&mut self, _cwnd: u32, sender: &mut Sender<'_>) {
        if !self.is_recovering() {
            self.enter(sender.flight.cwnd, sender.flight, false);
        }
    }

    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        sender.congestion.on_timeout(sender.flight);
        self.scoreboard.clear();
        self.barrier = Some(sender.flight.max);
        self.phase = None;
        AfterTimeout::GoBack
    }

    fn on_spared_timeout(&mut self, flight: &mut Flight) {
        self.scoreboard.clear();
        self.barrier = Some(flight.max);
        if let Some(phase) = self.phase.take() {
            flight.cwnd = phase.cwnd_afterwards;
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase.is_some()
    }
}
