//! The context of reading a session.

use crate::file::quantity::Text;
use crate::file::reader::Reader;
use lasthop_config::FileError;
use std::time::Duration;

/// The context of reading a session.
pub(super) struct Reading<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) name: &'a str,
}

impl Reading<'_> {
    /// A duration with a default and a range.
    pub(super) fn duration_in(
        &self,
        key: &[&str],
        value: Option<Text<Duration>>,
        default: Duration,
        (least, most): (Duration, Duration),
    ) -> Result<Duration, FileError> {
        self.reader.duration_in(&self.key(key), value, default, least, most)
    }

    /// The path of a key of the session.
    pub(super) fn key<'b>(&'b self, rest: &[&'b str]) -> Vec<&'b str> {
        ["sessions", self.name].iter().chain(rest).copied().collect()
    }

    pub(super) fn fail(&self, rest: &[&str], problem: impl Into<String>) -> FileError {
        self.reader.fail(&self.key(rest), problem)
    }
}
