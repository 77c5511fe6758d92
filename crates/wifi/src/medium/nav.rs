//! The network allocation vector (IEEE 802.11-2020, 10.3.2.4).

use lasthop_packet::Instant;

/// The reservation that an exchange's frames have made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) initiator: u32,
    pub(super) addressee: u32,
    pub(super) until: Instant,
    /// The end of the frame that made it.
    pub(super) set_at: Instant,
    /// Whether that was an RTS, and nothing has followed it.
    pub(super) may_be_reset: bool,
}

impl Reservation {
    fn involves(&self, station: u32) -> bool {
        station == self.initiator || station == self.addressee
    }

    /// The time at which it may be reset (10.3.2.4), if the medium has been idle since `idle_since` and stays
    /// so.
    fn reset_at(&self, idle_since: Instant, reset_after: Option<u64>) -> Option<Instant> {
        let after = reset_after.filter(|_| self.may_be_reset && self.set_at == idle_since)?;
        Some(self.set_at.after_nanos(after))
    }

    fn ends(&self, idle_since: Instant, reset_after: Option<u64>) -> Instant {
        self.reset_at(idle_since, reset_after).map_or(self.until, |reset| reset.min(self.until))
    }
}

/// The network allocation vectors of a domain's members (10.3.2.4): the reservations that they have
/// heard, one for each pair of stations. A reservation does not bind these two: the initiator does not
/// hear its own frames, and the addressee of a frame does not update its NAV.
#[derive(Clone, Debug, Default)]
pub(super) struct Nav(Vec<Reservation>);

impl Nav {
    /// Adds the reservation of a frame that ends now.
    pub(super) fn reserve(&mut self, new: Reservation) {
        self.0.retain(|old| old.until > new.set_at);
        let same = |old: &&mut Reservation| (old.initiator, old.addressee) == (new.initiator, new.addressee);
        match self.0.iter_mut().find(same) {
            Some(old) if new.until > old.until => *old = new,
            Some(_) => {}
            None => self.0.push(new),
        }
    }

    /// The medium, idle since `idle_since`, turns busy: reservations that were reset by now are removed,
    /// and the others are not reset any more.
    pub(super) fn turn_busy(&mut self, idle_since: Instant, now: Instant, reset_after: Option<u64>) {
        self.0.retain_mut(|it| {
            let was_reset = it.reset_at(idle_since, reset_after).is_some_and(|reset| reset <= now);
            it.may_be_reset = false;
            !was_reset
        });
    }

    /// The end of the NAV of a station (`None`: of one that takes part in no exchange), if the medium has
    /// been idle since `idle_since` and stays so.
    #[inline]
    pub(super) fn ends(
        &self,
        station: Option<u32>,
        idle_since: Instant,
        reset_after: Option<u64>,
    ) -> Instant {
        let binding = self.0.iter().filter(|it| station.is_none_or(|station| !it.involves(station)));
        binding.map(|it| it.ends(idle_since, reset_after)).max().unwrap_or(Instant::ZERO)
    }

    /// Whether a reservation does not bind a station.
    pub(super) fn exempts(&self, station: u32) -> bool {
        self.0.iter().any(|it| it.involves(station))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The stations that a reservation does not bind, if it was made before now. The stations of a frame that
    /// ends now are not returned: the MAC decides whether they respond.
    pub(super) fn exempt(&self, reservation: usize, now: Instant) -> Option<[u32; 2]> {
        let it = &self.0[reservation];
        (it.until > now && it.set_at < now).then_some([it.initiator, it.addressee])
    }
}
