//! Stations that move.

use lasthop_packet::Instant;

use super::Wlan;
use crate::id::StationId;
use crate::propagation::Position;

impl Wlan {
    /// Where a station stands.
    pub fn position(&self, station: StationId) -> Position {
        self.medium.position(station.0)
    }

    /// Stations will move: exchanges go frame by frame from now on.
    pub fn expect_moves(&mut self) {
        self.medium.stop_settling();
    }

    /// Stations are at other places from now on. If an exchange is under way where nobody could
    /// have interfered, their old places count until it is over, a few milliseconds at most; later
    /// exchanges go frame by frame.
    pub fn move_stations(&mut self, now: Instant, positions: &[(StationId, Position)]) {
        for (station, position) in positions {
            self.medium.move_to(station.0, *position);
        }
        if self.medium.has_moved() {
            self.expect_moves();
            self.divide_if_moved(now);
        }
    }

    pub(super) fn divide_if_moved(&mut self, now: Instant) {
        if self.medium.divide_anew(now, &mut self.contenders) {
            for domain in 0..self.medium.domains() as u32 {
                self.schedule_access(domain);
            }
            self.commit_due();
        }
    }
}
