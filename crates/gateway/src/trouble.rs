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
    is_reported: bool,
    last_reported: Option<Instant>,
    unreported: u64,
}

/// What to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// It began; before it, it came and went so many times unreported.
    Begin { unreported: u64 },
    /// It is over, and took so long.
    End { lasted: Duration },
}

impl Trouble {
    /// There is trouble now, or there is none. What to tell of that, if anything.
    pub(super) fn is(&mut self, there: bool, now: Instant) -> Option<Notice> {
        if !there {
            let lasted = now.since(self.since.take()?);
            if !std::mem::take(&mut self.is_reported) {
                self.unreported += 1;
                return None;
            }
            return Some(Notice::End { lasted });
        }
        self.since.get_or_insert(now);
        let may_report = self.last_reported.is_none_or(|told| now.since(told) >= QUIET);
        if self.is_reported || !may_report {
            return None;
        }
        self.is_reported = true;
        self.last_reported = Some(now);
        Some(Notice::Begin { unreported: std::mem::take(&mut self.unreported) })
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
        assert_eq!(trouble.is(true, at(1)), Some(Notice::Begin { unreported: 0 }));
        assert_eq!(trouble.is(true, at(2)), None);
        assert_eq!(trouble.is(false, at(3)), Some(Notice::End { lasted: Duration::from_secs(2) }));
        for second in [10, 20, 30] {
            assert_eq!(trouble.is(true, at(second)), None);
            assert_eq!(trouble.is(false, at(second + 1)), None);
        }
        assert_eq!(trouble.is(true, at(55)), None);
        assert_eq!(trouble.is(true, at(61)), Some(Notice::Begin { unreported: 3 }), "it lasts");
        assert_eq!(trouble.is(false, at(65)), Some(Notice::End { lasted: Duration::from_secs(10) }));
    }
}
