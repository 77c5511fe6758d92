//! The ACK filter: classifies an ACK from the mobile host, and decides whether the sender gets it.

use lasthop_hop::plain_ack::{PlainAck, is_plain};
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::duplicates::Duplicates;
use super::flow::Flow;
use super::settings::{Settings, Withholding};

/// Blocks that fit in an ACK with timestamps (RFC 2018, section 3).
const BLOCKS_PER_ACK: usize = 3;

/// The maximum octets that the mobile host has sent above the fixed host's acknowledgment. ACKs of
/// a host that has sent more pass.
const MAX_UPLOAD: u32 = 1 << 20;

/// The action on an ACK from the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckFate {
    /// It passes unchanged.
    Passes,
    /// It passes without its reports of data above a hole, which are withheld.
    Stripped,
    /// It passes unchanged, after all withheld reports.
    Releases,
    /// It is dropped: it is older than one that passed, and carries no news for the sender.
    Old,
    /// It is a duplicate, which is withheld or dropped.
    Duplicate,
}

impl Flow {
    /// Processes the acknowledgment in a packet from the mobile host.
    pub(super) fn filter_ack(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckFate {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else {
            return AckFate::Passes;
        };
        if tcp.ack.after(self.highest) || !self.is_acceptable(tcp) {
            // The data took another path, or the ACK is false (RFC 9293, section 3.10.7.4).
            return AckFate::Passes;
        }
        self.seen.sack |= !tcp.options.sack.is_empty();
        self.seen.undo |= tcp.options.timestamps.is_some() || tcp.sack_reports().0.is_some();
        self.seen.marks |= is_marked(packet, tcp);
        match self.last_ack {
            Some(last_ack) if tcp.ack.before(last_ack.ack) => {
                if self.has_no_news(packet, tcp) && !self.is_left_alone(settings) {
                    AckFate::Old
                } else {
                    AckFate::Passes
                }
            }
            Some(last_ack) if tcp.ack == last_ack.ack => {
                let is_duplicate = is_plain(packet, tcp) && tcp.window == last_ack.window && tcp.window != 0;
                self.last_ack = Some(PlainAck::from_packet(packet, tcp).after(last_ack));
                if is_duplicate && tcp.ack.before(self.highest) && tcp.options.sack.is_empty() {
                    self.lateness.on_hole(tcp.ack, now);
                    self.filter_duplicate(settings)
                } else {
                    let has_no_more = is_duplicate && tcp.sack_reports().0.is_none();
                    self.filter_reports(tcp, has_no_more, settings, now)
                }
            }
            _ => {
                self.advance(packet, tcp, now);
                self.filter_reports(tcp, false, settings, now)
            }
        }
    }

    /// Processes a new ACK, which resets the count of duplicates.
    fn advance(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        self.lateness.on_progress(tcp.ack, now);
        let new_ack = PlainAck::from_packet(packet, tcp);
        self.last_ack = Some(self.last_ack.map_or(new_ack, |last_ack| new_ack.after(last_ack)));
        let recovery = self.duplicates.recovery.filter(|recovery| tcp.ack.before(*recovery));
        self.duplicates = Duplicates { recovery, ..Duplicates::default() };
        self.reports.acknowledge(tcp.ack);
        self.withholds &= !self.reports.is_empty();
    }

    /// Processes a duplicate without SACK blocks.
    fn filter_duplicate(&mut self, settings: &Settings) -> AckFate {
        let is_due = self.duplicates.count(settings.threshold);
        if settings.withholding == Withholding::Learned {
            if self.duplicates.received >= settings.threshold {
                self.duplicates.recovery = Some(self.highest);
            }
            if !self.may_withhold(settings) {
                self.duplicates.sent = self.duplicates.received;
                return AckFate::Passes;
            }
        }
        if is_due {
            return AckFate::Passes;
        }
        if settings.withholding == Withholding::Learned {
            self.withholds = true;
        }
        AckFate::Duplicate
    }

    /// Processes an ACK with or without reports of data above a hole. If it `has_no_more` than
    /// them, all of it can be withheld.
    fn filter_reports(&mut self, tcp: &Tcp, has_no_more: bool, settings: &Settings, now: Instant) -> AckFate {
        let (duplicate, blocks) = tcp.sack_reports();
        let mut above = blocks.iter().filter(|(_, right)| right.after(tcp.ack)).peekable();
        if above.peek().is_none() {
            return AckFate::Passes;
        }
        self.lateness.on_hole(tcp.ack, now);
        // A report of duplicate data that is recognized only by the block around it keeps that.
        let mut must_pass = duplicate.is_some_and(|(_, right)| right.after(tcp.ack))
            || tcp.options.unknown.is_some()
            || tcp.flags.0 & !TcpFlags::PSH.0 != TcpFlags::ACK.0;
        for (left, right) in above {
            must_pass |= right.after(self.highest) || self.reports.add(*left, *right).is_err();
        }
        let needed = u64::from(settings.threshold) * u64::from(self.segment);
        if self.reports.octets() >= needed {
            self.duplicates.recovery = Some(self.highest);
        }
        let withholds = settings.withholding == Withholding::Learned && self.may_withhold(settings);
        if must_pass || !withholds {
            return AckFate::Releases;
        }
        self.withholds = true;
        if has_no_more { AckFate::Duplicate } else { AckFate::Stripped }
    }

    /// With "learned": whether ACKs may be withheld now.
    fn may_withhold(&self, settings: &Settings) -> bool {
        self.duplicates.recovery.is_none()
            && !self.lateness.expected().is_zero()
            && !self.is_left_alone(settings)
    }

    /// Whether a packet from the mobile host has a number that the fixed host accepts, or nearly
    /// so: a forger has to guess it (RFC 5961, section 5). False if the fixed host has sent no ACK.
    fn is_acceptable(&self, tcp: &Tcp) -> bool {
        self.advertised.is_some_and(|(next, _)| tcp.seq.within(next, next + MAX_UPLOAD))
    }

    /// Whether the sender gets every ACK, because it corrects itself what is corrected here.
    fn is_left_alone(&self, settings: &Settings) -> bool {
        let undoes = settings.withholding == Withholding::Learned && settings.steps_aside && self.seen.undo;
        undoes || self.seen.marks
    }

    /// Whether an ACK that is older than one that passed carries no news for the sender. Its window
    /// does not count any more (RFC 9293, section 3.10.7.4); data, flags, reports of duplicates and
    /// blocks of unacknowledged data do.
    fn has_no_news(&self, packet: &Packet, tcp: &Tcp) -> bool {
        let (duplicate, blocks) = tcp.sack_reports();
        let is_known = |(_, right): &(Seq, Seq)| self.acknowledged().is_some_and(|ack| !right.after(ack));
        is_plain(packet, tcp) && duplicate.is_none() && blocks.iter().all(is_known)
    }

    /// Sends all that is withheld: reports, or as many of the received duplicates as the sender
    /// needs. `reported` are the blocks of an ACK that passes now.
    pub(super) fn release_withheld(&mut self, reported: &[(Seq, Seq)], mut send: impl FnMut(PlainAck)) {
        let reports = std::mem::take(&mut self.reports);
        let Some(withheld) = self.last_ack.filter(|_| std::mem::take(&mut self.withholds)) else { return };
        self.duplicates.recovery = Some(self.highest);
        if reports.is_empty() {
            let owed = self.duplicates.owed();
            self.duplicates.sent = self.duplicates.sent.saturating_add(owed);
            (0..owed).for_each(|_| send(withheld));
        }
        let is_news = |(left, right): &&(Seq, Seq)| {
            !reported.iter().any(|outer| !left.before(outer.0) && !right.after(outer.1))
        };
        let mut rest = reports.as_slice().iter().filter(is_news).copied().peekable();
        while rest.peek().is_some() {
            send(withheld.reporting(rest.by_ref().take(BLOCKS_PER_ACK)));
        }
    }
}

/// Whether an ACK echoes congestion marks, or counts them (RFC 3168; RFC 9768): each is news.
fn is_marked(packet: &Packet, tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::ECE) || tcp.flags.has(TcpFlags::CWR) || packet.tcp_reserved_bits() != 0
}
