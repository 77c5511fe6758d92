//! Traces of a channel's states as text: lines of a time in milliseconds (fractions allowed) and a state, `1`
//! for good and `0` for bad; `#` begins a comment.

use crate::channel::StateTrace;
use lasthop_packet::Instant;
use thiserror::Error;

/// What is wrong with a trace of states.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct StateTraceError {
    /// Counted from 1.
    pub line: usize,
    /// What stands there and what was expected.
    pub problem: String,
}

/// Reads a trace of states.
pub fn parse_state_trace(text: &str) -> Result<StateTrace, StateTraceError> {
    let mut changes: Vec<(Instant, bool)> = Vec::new();
    for (index, row) in text.lines().enumerate() {
        let error = |problem: String| StateTraceError { line: index + 1, problem };
        let row = row.split('#').next().unwrap_or_default().trim();
        if row.is_empty() {
            continue;
        }
        let expected = "expected a time in milliseconds and a state, 1 (good) or 0 (bad)";
        let mut words = row.split_whitespace();
        let (Some(time), Some(state), None) = (words.next(), words.next(), words.next()) else {
            return Err(error(format!("{:?}: {expected}", row.chars().take(40).collect::<String>())));
        };
        let millis = time.parse::<f64>().ok().filter(|ms| (0.0..=1e12).contains(ms));
        let good = match state {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        let (Some(millis), Some(good)) = (millis, good) else {
            return Err(error(format!("{:?}: {expected}", row.chars().take(40).collect::<String>())));
        };
        let at = Instant::from_nanos((millis * 1e6).round() as u64);
        if changes.last().is_some_and(|(previous, _)| at < *previous) {
            return Err(error(format!("{time} ms comes after a later time; times never decrease")));
        }
        changes.push((at, good));
    }
    Ok(StateTrace::from_changes(changes))
}

/// One line of such a trace.
pub fn state_trace_line(at: Instant, good: bool) -> String {
    format!("{}.{:06} {}\n", at.as_nanos() / 1_000_000, at.as_nanos() % 1_000_000, u8::from(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_trace_reads_back_as_written() {
        let changes = [(5, false), (9, true)].map(|(ms, good)| (Instant::from_millis(ms), good));
        let text = changes.map(|(at, good)| state_trace_line(at, good)).concat();
        assert_eq!(parse_state_trace(&text), Ok(StateTrace::from_changes(changes)));
    }

    #[test]
    fn a_bad_state_trace_is_refused_with_its_line() {
        for (text, line) in
            [("5 2\n", 1), ("1 0\n\n0.5 1\n", 3), ("# fine\n7\n", 2), ("nan 1\n", 1), ("1 0 1\n", 1)]
        {
            assert_eq!(parse_state_trace(text).expect_err(text).line, line, "{text}");
        }
    }
}
