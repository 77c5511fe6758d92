//! When the log tells of trouble that comes and goes: when it begins and when it ends, but of no more
//! than one beginning a minute. Reads no clock.

use std::time::Duration;

use lasthop_packet::Instant;

/// After a beginning was told, no other is for so long. Trouble that lasts is told then.
const QUIET: Duration = Duration::from_secs(60);

/// What was told of a kind of trouble.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Since when there is some.
    since: Option<Instant>,
    /// Whether that was told.
    is_told: bool,
    last_told: Option<Instant>,
    untold: u64,
}

/// What to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It began; before it, it came and went so many times untold.
    Begin { untold: u64 },
    /// It is over, and took so long.
    End { lasted: Duration },
}

impl Trouble {
    /// There is trouble now, or there is none. What to tell of that, if anything.
    pub(super) fn is(&mut self, there: bool, now: Instant) -> Option<Told> {
        if !there {
            let lasted = now.since(self.since.take()?);
            if !std::mem::take(&mut self.is_told) {
                self.untold += 1;
                return None;
            }
            return Some(Told::End { lasted });
        }
        self.since.get_or_insert(now);
        let may_tell = self.last_told.is_none_or(|told| now.since(told) >= QUIET);
        if self.is_told || !may_tell {
            return None;
        }
        self.is_told = true;
        self.last_told = Some(now);
        Some(Told::Begin { untold: std::mem::take(&mut self.untold) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_told_once_a_minute_and_counted_meanwhile() {
        let mut trouble = Trouble::default();
        let at = Instant::from_secs;
        assert_eq!(trouble.is(false, at(0)), None);
        assert_eq!(trouble.is(true, at(1)), Some(Told::Begin { untold: 0 }));
        assert_eq!(trouble.is(true, at(2)), None);
        assert_eq!(trouble.is(false, at(3)), Some(Told::End { lasted: Duration::from_secs(2) }));
        for second in [10, 20, 30] {
            assert_eq!(trouble.is(true, at(second)), None);
            assert_eq!(trouble.is(false, at(second + 1)), None);
        }
        assert_eq!(trouble.is(true, at(55)), None);
        assert_eq!(trouble.is(true, at(61)), Some(Told::Begin { untold: 3 }), "it lasts");
        assert_eq!(trouble.is(false, at(65)), Some(Told::End { lasted: Duration::from_secs(10) }));
    }
}
