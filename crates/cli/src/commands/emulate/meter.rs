//! `lasthop emulate --meter`: a line on standard error with the current rates of the link.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_emulator::{Handle, Summary};

/// The interval between updates.
const INTERVAL: Duration = Duration::from_millis(500);

/// A running meter. Its line is removed when this value is dropped.
pub struct Meter {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    /// Starts a meter of an emulation, if standard error is a terminal.
    pub fn start(emulation: Handle) -> Self {
        if !io::stderr().is_terminal() {
            return Self { stop: None, thread: None };
        }
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut before = Summary::default();
            while let (Err(RecvTimeoutError::Timeout), Ok(now)) =
                (stopped.recv_timeout(INTERVAL), emulation.summary())
            {
                // An error means that the terminal is gone.
                let _ = write!(io::stderr(), "\r\x1b[K{}", line(&before, &now));
                before = now;
            }
            let _ = write!(io::stderr(), "\r\x1b[K");
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the meter is ignored.
            let _ = thread.join();
        }
    }
}

/// The line for the time between two summaries.
fn line(before: &Summary, now: &Summary) -> String {
    let seconds = (now.duration_s - before.duration_s).max(1e-9);
    let octets = |summary: &Summary, node: &str| {
        let delivered = summary.delivered.iter().find(|delivered| delivered.node == node);
        delivered.map_or(0, |delivered| delivered.octets)
    };
    let rate = |node| (octets(now, node) - octets(before, node)) as f64 * 8e-6 / seconds;
    let dropped = |summary: &Summary| summary.dropped.values().sum::<u64>();
    format!(
        "[{:.0} s] down {:.2} Mbit/s, up {:.2} Mbit/s; dropped {}, in total {}",
        now.duration_s,
        rate("near"),
        rate("far"),
        dropped(now) - dropped(before),
        dropped(now)
    )
}

#[cfg(test)]
mod tests {
    use lasthop_emulator::summary::Delivered;

    use super::*;

    #[test]
    fn the_line_shows_the_time_since_the_previous_summary() {
        let at = |duration_s: f64, near: u64, far: u64, dropped: u64| Summary {
            duration_s,
            delivered: [("near", near), ("far", far)]
                .map(|(node, octets)| Delivered { node: node.to_owned(), packets: 0, octets })
                .into(),
            dropped: [("wired loss", dropped)].into(),
            ..Summary::default()
        };
        let line = line(&at(2.0, 1_000_000, 10_000, 3), &at(2.5, 1_625_000, 10_000, 5));
        assert_eq!(line, "[2 s] down 10.00 Mbit/s, up 0.00 Mbit/s; dropped 2, in total 5");
    }
}
