//! Rate limit for log messages about intermittent faults: their begin and end are logged, but at
//! most one begin per minute. Reads no clock.

use std::time::Duration;

use lasthop_packet::Instant;

/// The minimum time between two reported begins. A fault that lasts longer is reported then.
const QUIET: Duration = Duration::from_secs(60);

/// The state of a kind of fault, and of its reports.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The start of the current fault, if there is one.
    since: Option<Instant>,
    /// Whether the current fault was reported.
    is_reported: bool,
    last_reported: Option<Instant>,
    unreported: u64,
}

/// A message to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// A fault began, after this number of unreported faults.
    Begin { unreported: u64 },
    /// The fault ended after this time.
    End { lasted: Duration },
}

impl Trouble {
    /// Whether the current fault was reported.
    #[cfg(all(test, feature = "roaming"))]
    pub(super) const fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// Updates whether the fault is present. Returns the message to log, if any.
    pub(super) fn is(&mut self, present: bool, now: Instant) -> Option<Notice> {
        if !present {
            let lasted = now.since(self.since.take()?);
            if !std::mem::take(&mut self.is_reported) {
                self.unreported += 1;
                return None;
            }
            return Some(Notice::End { lasted });
        }
        self.since.get_or_insert(now);
        let may_report = self.last_reported.is_none_or(|reported| now.since(reported) >= QUIET);
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
    fn an_intermittent_fault_is_reported_once_a_minute_and_counted_in_between() {
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
