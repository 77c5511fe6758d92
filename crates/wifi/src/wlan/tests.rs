//! What tests look at.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Contender, Plan};
use crate::errors::ErrorModel;
use crate::frame::{Kind, StationId};
use crate::own_frame::OwnFrame;
use crate::power_save::PowerSave;
use crate::tests::{AIR, OnAir};

impl<E: ErrorModel> Wlan<E> {
    pub(crate) fn contender(&self, station: StationId) -> &Contender {
        &self.contenders[Contender::index_of(station.0) as usize]
    }

    /// The exchange of a frame that a station's MAC makes itself.
    pub(crate) fn plan_own(&self, station: u32, frame: OwnFrame) -> Plan {
        let index = Contender::index_of(station);
        self.plan_own_frame(index, frame, self.own_octets(index, frame))
    }

    pub(super) fn log_frame(
        &self,
        (from, to): (u32, Option<u32>),
        kind: Kind,
        initiator: u32,
        start: Instant,
        duration: u64,
    ) {
        let contender = &self.contenders[initiator as usize];
        let power_save = self.power_save.as_deref();
        let what = match (kind, contender.own()) {
            (Kind::Data, Some(OwnFrame::Beacon)) => {
                format!("beacon{}", power_save.map(PowerSave::tim_in_words).unwrap_or_default())
            }
            (Kind::Data, Some(OwnFrame::PsPoll { .. })) => "PS-Poll".to_owned(),
            (Kind::Data, Some(OwnFrame::CfEnd)) => "CF-End".to_owned(),
            (Kind::Data, Some(OwnFrame::BlockAckRequest { .. })) => "block ack request".to_owned(),
            (Kind::Data, Some(OwnFrame::Raw { .. })) => {
                format!("raw {}", contender.raw().map_or(0, |(frame, ..)| frame.key))
            }
            (Kind::Data, None) => {
                let keys = (0..).map_while(|number| Some(contender.queue.packet(number)?.1.key.to_string()));
                let key = keys.collect::<Vec<_>>().join("+");
                let has_more = power_save.is_some_and(|it| it.has_more_data(from));
                format!("data {key}{}", if has_more { " more" } else { "" })
            }
            (Kind::Ack, None) if contender.exchange.has_ampdu() => "block ACK".to_owned(),
            (Kind::Ack, Some(OwnFrame::BlockAckRequest { .. })) => "block ACK".to_owned(),
            (Kind::Ack, _) => "ACK".to_owned(),
            (kind, _) => format!("{kind:?}"),
        };
        let frame = OnAir { start: start.as_nanos(), duration, from, to, what };
        AIR.with_borrow_mut(|air| air.push(frame));
    }
}
