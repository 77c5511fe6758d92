//! Transmission opportunities (TXOP; IEEE 802.11-2020, 10.23.2): a contender that has gained the medium sends several
//! exchanges.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Stage, Txop};
use crate::errors::ErrorModel;
use crate::events::Event;
use crate::frame::CF_END_OCTETS;
use crate::own_frame::OwnFrame;

impl<E: ErrorModel> Wlan<E> {
    /// A contender's exchange has succeeded. If its TXOP has room for another one, that follows after a SIFS; otherwise the
    /// TXOP is over. Returns whether a frame follows.
    #[inline(never)]
    pub(super) fn continue_txop(&mut self, index: u32, now: Instant) -> bool {
        let begins = now.after_nanos(self.times.sifs);
        //= IEEE 802.11-2020, 10.23.2.8: the next exchange has to fit in the remaining duration of the TXOP.
        let left = self.txop_left(index, begins).unwrap_or_default();
        let another_fits = self.duration_of_least(index).is_some_and(|duration| duration <= left);
        let end = self.phy.air_nanos(self.phy.broadcast_rate(), CF_END_OCTETS);
        let contender = &mut self.contenders[index as usize];
        // Another frame of the MAC is due, which does not fit: it goes before a CF-End.
        let may_end = end <= left && !contender.own().is_some_and(OwnFrame::is_of_mac);
        let follows = match contender.exchange.txop() {
            Txop::Until(_) if another_fits => true,
            //= IEEE 802.11-2020, 10.23.2.10: a CF-End truncates the TXOP if there is time for it.
            Txop::Until(_) if may_end => {
                contender.send_own(OwnFrame::CfEnd);
                contender.advance();
                contender.exchange.set_txop(Txop::Ending);
                true
            }
            Txop::None | Txop::Until(_) | Txop::Ending => false,
        };
        if !follows {
            contender.exchange.set_txop(Txop::None);
            return false;
        }
        // Nobody else can gain the medium before: all wait for longer than a SIFS.
        contender.back_off.set(Stage::Committed);
        self.committed += 1;
        self.events.push(begins, index, Event::Begin(index));
        true
    }

    /// Nanoseconds that are left of a contender's TXOP, or of one that begins now; `None` if the TXOP limit is zero.
    pub(super) fn txop_left(&self, index: u32, now: Instant) -> Option<u64> {
        let limit = self.times.txop;
        let left = match self.contenders[index as usize].exchange.txop() {
            Txop::Until(ends) => ends.as_nanos().saturating_sub(now.as_nanos()),
            Txop::None | Txop::Ending => limit,
        };
        (limit > 0).then_some(left)
    }
}
