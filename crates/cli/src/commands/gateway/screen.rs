//! A terminal that is redrawn, and on which a key ends the command.

use std::io::{self, Write as _, stdin, stdout};
use std::time::{Duration, Instant};

use lasthop_config::words::printable_lines;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};

use crate::output::StandardOutput;
use crate::signals::Termination;

/// Another screen of the terminal, without a cursor (xterm's control sequences); and back.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first line; to the end of a line, and of the screen, nothing.
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K\n";
const END_OF_SCREEN: &str = "\x1b[J";

/// A screen of its own on the terminal of this process. The terminal is as before once this is dropped.
pub struct Screen {
    termination: Termination,
    /// How the keyboard was; `None` where standard input is no terminal.
    keyboard: Option<Termios>,
}

/// Why the command is to end.
pub enum End {
    /// A key.
    Key,
    /// A signal.
    Signal(i32),
}

impl Screen {
    /// Takes the terminal; `None` where standard output is none.
    pub fn open() -> io::Result<Option<Self>> {
        if !isatty(stdout()) {
            return Ok(None);
        }
        let termination = Termination::listen()?;
        let keyboard = tcgetattr(stdin()).ok();
        if let Some(keyboard) = &keyboard {
            let mut keys = keyboard.clone();
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            keys.special_codes[SpecialCodeIndex::VMIN] = 0;
            keys.special_codes[SpecialCodeIndex::VTIME] = 0;
            // A shell could not use the terminal while we are stopped.
            keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
            tcsetattr(stdin(), OptionalActions::Now, &keys)?;
        }
        let screen = Self { termination, keyboard };
        StandardOutput.write_all(OPEN.as_bytes())?;
        Ok(Some(screen))
    }

    /// Lines that fit.
    pub fn height() -> usize {
        let rows = tcgetwinsize(stdout()).map(|size| size.ws_row).unwrap_or_default();
        if rows > 0 { rows.into() } else { 24 }
    }

    /// Shows a text in place of the one before; what does not fit is cut off.
    #[expect(clippy::unused_self, reason = "only who has the screen may draw")]
    pub fn draw(&self, text: &str) -> io::Result<()> {
        let text = printable_lines(text);
        let lines: Vec<&str> = text.lines().take(Self::height().saturating_sub(1)).collect();
        let drawn = lines.join(END_OF_LINE);
        StandardOutput.write_all(format!("{HOME}{drawn}{END_OF_LINE}{END_OF_SCREEN}").as_bytes())
    }

    /// Waits so long, unless the command is to end.
    #[expect(clippy::disallowed_methods, reason = "people look at it in real time")]
    pub fn wait(&self, pause: Duration) -> io::Result<Option<End>> {
        let until = Instant::now() + pause;
        let mut has_keyboard = self.keyboard.is_some();
        loop {
            if let Some(signal) = self.termination.signal() {
                return Ok(Some(End::Signal(signal)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            let input = stdin();
            let mut watched = [PollFd::new(&input, PollFlags::IN)];
            let watched = if has_keyboard { &mut watched[..] } else { &mut [] };
            match poll(watched, Some(&left)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let mut keys = [0; 64];
            let keys =
                rustix::io::read(stdin(), &mut keys).map(|len| keys[..len].to_vec()).unwrap_or_default();
            if keys.iter().any(|key| matches!(key, b'q' | b'Q')) {
                return Ok(Some(End::Key));
            }
            // The terminal has gone.
            has_keyboard &= !keys.is_empty();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = StandardOutput.write_all(CLOSE.as_bytes());
        if let Some(keyboard) = &self.keyboard {
            let _ = tcsetattr(stdin(), OptionalActions::Now, keyboard);
        }
    }
}
