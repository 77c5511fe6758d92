//! Block acks (IEEE 802.11-2020, 10.25): which MPDUs of an A-MPDU arrive, their order at the receiver, their fates.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Attempts, Contender, MpduSet};
use crate::errors::{ErrorModel, UndisturbedFrame};
use crate::events::Event;
use crate::frame::{MacFrame, Receiver, StationId};
use crate::output::{Fate, Output};
use crate::own_frame::OwnFrame;
use crate::station::Station;

/// How long a receiver waits for frames that are missing before others, in nanoseconds: 100 ms, as Linux does
/// (`HT_RX_REORDER_BUF_TIMEOUT`).
const GAP_TIMEOUT: u64 = 100_000_000;

impl<E: ErrorModel> Wlan<E> {
    /// Draws which MPDUs of an undisturbed A-MPDU are lost by errors on its way. Returns whether all are.
    #[inline(never)]
    pub(super) fn loses_all_mpdus(
        &mut self,
        (from, to): (u32, u32),
        initiator: u32,
        (start, end): (Instant, Instant),
    ) -> bool {
        let Some(plan) = self.contenders[initiator as usize].exchange.plan() else { return false };
        let (rate, in_all) = (plan.data.rate, u64::from(plan.data.psdu.octets.max(1)));
        let duration = end.since(start).as_nanos() as u64;
        let at = |octets: u64| start.after_nanos((duration * octets / in_all).min(duration));
        let (mut lost, mut first, mut before, mut arrivals) = (MpduSet::default(), 0, 0, 0);
        for number in 0.. {
            let queue = &self.contenders[initiator as usize].queue;
            let Some(mpdu) = queue.mpdu(first, self.mac.overhead) else { break };
            let key = queue.packet(first).map(|(_, frame)| frame.key);
            let after = before + u64::from(mpdu.octets);
            let frame = UndisturbedFrame {
                link: (StationId(from), StationId(to)),
                key,
                is_control: false,
                rate,
                octets: mpdu.octets,
                start: at(before),
                end: at(after),
            };
            if self.loses(&frame) {
                lost.insert(number);
            } else {
                arrivals += 1;
            }
            (first, before) = (first + mpdu.packets, after);
        }
        self.contenders[initiator as usize].exchange.set_lost_mpdus(lost);
        arrivals == 0
    }

    /// An addressee has received an MPDU or an A-MPDU, except the MPDUs that errors have destroyed.
    #[inline(never)]
    pub(super) fn receive_mpdus(&mut self, index: u32, initiator: u32, now: Instant) {
        let from = Contender::station_of(initiator);
        let has_agreement = self.has_agreement(from, index);
        let window = self.window();
        let Self { contenders, stations, outputs, counters, mac, .. } = self;
        let Contender { queue, exchange, .. } = &mut contenders[initiator as usize];
        let station = &mut stations[index as usize];
        let mut deliver = |frame| {
            counters.delivered += 1;
            outputs.push_back(Output::Delivered { at: StationId(index), from: StationId(from), frame });
        };
        if has_agreement
            && queue.has_lost_touch(StationId(index))
            && !queue.all_attempts_mut().any(|attempts| attempts.is_delivered())
        {
            station.reordering(initiator, window).restart(queue.sequence(), &mut deliver);
        }
        let mut first = 0;
        for number in 0.. {
            let Some(mpdu) = queue.mpdu(first, mac.overhead) else { break };
            let packets = first..first + mpdu.packets;
            first = packets.end;
            if exchange.lost_mpdus().contains(number) {
                continue;
            }
            let frames = packets.clone().filter_map(|number| Some(queue.packet(number)?.1));
            let is_new = if has_agreement {
                station.reordering(initiator, window).receive(mpdu.sequence, frames, now, &mut deliver)
            } else {
                let is_retry = queue.attempts().transmissions() > 1;
                let is_new = station.receive(initiator, mpdu.sequence, is_retry);
                frames.filter(|_| is_new).for_each(&mut deliver);
                is_new
            };
            if is_new {
                let attempts = queue.all_attempts_mut().skip(packets.start).take(mpdu.packets);
                attempts.for_each(Attempts::deliver);
            } else {
                // It has arrived before, or is too late: the receiver has given it up.
                counters.duplicates += mpdu.packets as u64;
            }
        }
        if has_agreement {
            self.watch_gap(index, initiator);
        }
    }

    /// An addressee has received a block ack request.
    #[cold]
    pub(super) fn receive_block_ack_request(&mut self, index: u32, initiator: u32) {
        let start = self.contenders[initiator as usize].queue.requested();
        let window = self.window();
        self.release(index, initiator, |station, mut release| {
            station.reordering(initiator, window).move_to(start, &mut release);
        });
    }

    /// The window of block ack agreements.
    fn window(&self) -> u16 {
        self.mac.aggregation.as_ref().map_or(1, |it| it.window)
    }

    /// Delivers what a step releases of the frames of a contender that wait at a station for others.
    fn release(
        &mut self,
        index: u32,
        initiator: u32,
        step: impl FnOnce(&mut Station, &mut dyn FnMut(MacFrame)),
    ) {
        let (at, from) = (StationId(index), StationId(Contender::station_of(initiator)));
        let Self { stations, outputs, counters, .. } = self;
        step(&mut stations[index as usize], &mut |frame| {
            counters.delivered += 1;
            outputs.push_back(Output::Delivered { at, from, frame });
        });
    }

    /// If frames of a contender wait for others at a station, they do not wait forever.
    fn watch_gap(&mut self, index: u32, initiator: u32) {
        if let Some(since) = self.stations[index as usize].watch_gap(initiator) {
            let event = Event::Gap(index, initiator);
            self.events.push(since.after_nanos(GAP_TIMEOUT), index, event);
        }
    }

    /// Frames of a contender may have waited long enough for others at a station.
    #[cold]
    pub(super) fn on_gap(&mut self, index: u32, initiator: u32, now: Instant) {
        let latest = Instant::from_nanos(now.as_nanos().saturating_sub(GAP_TIMEOUT));
        self.release(index, initiator, |station, mut release| {
            station.give_up_gap(initiator, latest, &mut release);
        });
        self.watch_gap(index, initiator);
    }

    /// The exchange of packets is over. `is_answered`: the ACK or block ack has come, or none was required. Packets that
    /// have arrived are delivered then, the others have failed. Returns whether the first packet is done with.
    #[inline(never)]
    pub(super) fn conclude(&mut self, index: u32, now: Instant, is_answered: bool) -> bool {
        let from = StationId(Contender::station_of(index));
        let Self { contenders, outputs, counters, wanted, mac, air_times_to, .. } = self;
        let contender = &mut contenders[index as usize];
        let Some(to) = contender.exchange.plan().map(|plan| plan.to) else { return false };
        let limits = contender.retry_limits(mac.long_retry_limit);
        // An exchange that is settled when it begins does not count its frames.
        let was_long =
            if is_answered { contender.exchange.has_rts() } else { contender.exchange.has_sent_data().1 };
        let (lost, began) = (*contender.exchange.lost_mpdus(), contender.exchange.began());
        let (has_arrived, is_broadcast) = (contender.exchange.has_arrived(), to == Receiver::Broadcast);
        let (mut mpdu, mut previous, mut has_gap) = (0, None, false);
        let mut first_fate = None;
        let mut air_time = 0;
        contender.conclude(now, |sequence, queued, attempts| {
            let is_first = previous.is_none();
            mpdu += usize::from(previous.replace(sequence).is_some_and(|previous| previous != sequence));
            let arrived = has_arrived && !lost.contains(mpdu);
            // The bitmap has each MPDU that has arrived, in whichever transmission.
            let acknowledged = is_answered && (arrived || attempts.is_delivered() || is_broadcast);
            let fate = if acknowledged {
                Some(Fate::Delivered)
            } else {
                counters.failures += 1;
                counters.acks_lost += u64::from(arrived);
                attempts.fail(was_long, limits).then_some(Fate::GivenUp)
            };
            if !acknowledged && attempts.transmissions() == 1 && wanted.has(Fate::FirstTransmissionFailed, to)
            {
                outputs.push_back(attempts.fate(from, queued, Fate::FirstTransmissionFailed));
            }
            if wanted.attempts {
                outputs.push_back(attempts.attempt((from, queued.frame), began, !arrived, acknowledged));
            }
            if let Some(fate) = fate {
                counters.given_up += u64::from(fate == Fate::GivenUp);
                has_gap |= fate == Fate::GivenUp && !attempts.is_delivered();
                air_time += attempts.air_time();
                if wanted.has(fate, to) {
                    outputs.push_back(attempts.fate(from, queued, fate));
                }
            }
            if is_first {
                first_fate = fate;
            }
            fate
        });
        if let Receiver::Station(to) = to {
            air_times_to[to.index()] += air_time;
        }
        if let Receiver::Station(to) = to
            && (has_gap | (is_answered && contender.queue.answered(to)))
            && self.has_agreement(from.0, to.0)
        {
            //= IEEE 802.11-2020, 10.25.6.5: a sender that gives up a frame moves the receiver's window.
            let contender = &mut self.contenders[index as usize];
            contender.queue.request_block_ack(to);
            contender.send_own(OwnFrame::BlockAckRequest { to });
        }
        let contender = &mut self.contenders[index as usize];
        if contender.queue.head().is_some_and(|head| head.frame.to == to) {
            self.retry(index, now);
        } else {
            // Another receiver has its turn already.
            contender.advance();
        }
        first_fate.is_some()
    }
}
