//! ACKs from the mobile host: which are new, which are duplicates, and what is done about those.

use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::flow::{Receiver, SnoopFlow};
use super::settings::Settings;

pub use super::expectation::Duplicates;

/// What an ACK did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckEffect {
    /// It says nothing about the cache.
    None,
    /// It acknowledges more than the one before.
    Advanced,
    /// It has the number of the one before but is no duplicate, such as a window update.
    Same,
    /// It is a sign of loss.
    Duplicate {
        /// The first cached packet is to be sent again.
        repair: bool,
        /// The sender is not to see the ACK, if `repair` can be done or is under way.
        suppress: bool,
    },
}

/// What to do about a sign of loss.
#[derive(Clone, Copy)]
enum Remedy {
    Pass,
    Suppress,
    Repair,
}

impl SnoopFlow {
    /// Takes note of the acknowledgment in a packet from the radio side (`snoop_ack`).
    pub fn on_ack(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckEffect {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else {
            return AckEffect::None;
        };
        let old = self.last_ack.is_some_and(|last| tcp.ack.before(last));
        // An ACK for what never passed is not acceptable (RFC 9293, section 3.10.7.4), or the data
        // took another way.
        if old || tcp.ack.after(self.highest) {
            return AckEffect::None;
        }
        let window_changed = tcp.window != self.window;
        self.window = tcp.window;
        if self.last_ack != Some(tcp.ack) {
            self.advance(tcp.ack, settings, now);
            self.note_hole(tcp);
            return AckEffect::Advanced;
        }
        self.note_hole(tcp);
        let reports_loss = self.hole_end.is_some() && !tcp.options.sack.is_empty();
        if !packet.payload().is_empty() || !may_be_duplicate(tcp) || (window_changed && !reports_loss) {
            return AckEffect::Same;
        }
        match self.remedy(tcp.ack, settings) {
            Remedy::Pass => AckEffect::Duplicate { repair: false, suppress: false },
            Remedy::Suppress => AckEffect::Duplicate { repair: false, suppress: !window_changed },
            Remedy::Repair => AckEffect::Duplicate { repair: true, suppress: !window_changed },
        }
    }

    /// A new ACK: forgets what it covers, and measures the round-trip time if none of that left
    /// twice.
    fn advance(&mut self, ack: Seq, settings: &Settings, now: Instant) {
        let (mut sent, mut ambiguous) = (None, false);
        for cached in self.cache.remove_acknowledged(ack) {
            sent = Some(cached.notes.sent);
            ambiguous |= cached.notes.ambiguous;
        }
        self.sample = sent.filter(|_| !ambiguous);
        if let Some(sent) = self.sample {
            self.rtt.measure(now.since(sent), settings.timer);
        }
        self.expiries = 0;
        self.receiver = Receiver::Answers;
        if let Some(first) = self.cache.first_mut().filter(|first| first.seq.before(ack)) {
            // Acknowledged in part: what is missing of it now is another hole.
            first.notes.local = 0;
            first.notes.by_sender = false;
            first.notes.ambiguous = true;
        }
        self.last_ack = Some(ack);
        self.hole_end = None;
        self.duplicates = Duplicates::default();
        self.count_from = self.cache.first().map_or(ack, |first| first.seq);
    }

    /// Remembers where the first hole ends. Later ACKs name only the latest blocks (RFC 2018,
    /// section 4), so the earliest left edge since the last new ACK counts.
    fn note_hole(&mut self, tcp: &Tcp) {
        for (left, _) in tcp.options.sack.as_slice() {
            if left.after(tcp.ack) && !left.after(self.highest) {
                self.hole_end = Some(self.hole_end.map_or(*left, |end| end.earlier(*left)));
            }
        }
    }

    /// What to do about a sign that the packet at `ack` is lost.
    fn remedy(&mut self, ack: Seq, settings: &Settings) -> Remedy {
        let Some(first) = self.cache.first().filter(|first| !first.seq.after(ack)) else {
            // It never reached us: the sender has to repair that, and to slow down.
            return Remedy::Pass;
        };
        if first.notes.by_sender || first.notes.local >= settings.local_retransmissions {
            // The sender counts the duplicates of what it retransmitted; and where we have given
            // up, it has to know.
            return Remedy::Pass;
        }
        match self.duplicates {
            Duplicates::Passed(passed) if passed < settings.duplicates_passed => {
                self.duplicates = Duplicates::Passed(passed + 1);
                Remedy::Pass
            }
            Duplicates::Passed(_) => {
                let on_their_way = self.cache.count_from(self.count_from) as u32;
                let (first_end, retransmitted) = (first.end, first.notes.local > 0);
                self.count_from = first_end;
                self.duplicates = match on_their_way.checked_sub(settings.duplicates_passed.saturating_add(1))
                {
                    None => Duplicates::Miscounted,
                    Some(0) => Duplicates::default(),
                    Some(expected) => Duplicates::Expected(expected),
                };
                if retransmitted { Remedy::Pass } else { Remedy::Repair }
            }
            Duplicates::Expected(expected) => {
                self.duplicates = match expected.saturating_sub(1) {
                    0 => Duplicates::default(),
                    left => Duplicates::Expected(left),
                };
                Remedy::Suppress
            }
            Duplicates::Miscounted if first.notes.local < 2 => Remedy::Repair,
            Duplicates::Miscounted => Remedy::Pass,
        }
    }

    /// When what the last ACK measured the round-trip time with had left.
    pub fn take_sample(&mut self) -> Option<Instant> {
        self.sample.take()
    }

    /// Whether the sender's FIN is acknowledged: there is nothing left to repair, ever.
    pub fn is_finished(&self) -> bool {
        self.fin.zip(self.last_ack).is_some_and(|(fin, ack)| !fin.after(ack))
    }
}

/// Whether a segment without data and with the number of the one before may be a duplicate ACK:
/// nothing in it but an ACK, a window that the sender can use, and SACK blocks about data above.
fn may_be_duplicate(tcp: &Tcp) -> bool {
    tcp.flags == TcpFlags::ACK
        && tcp.window != 0
        && tcp.options.unknown.is_none()
        && tcp.sack_reports().0.is_none()
}
