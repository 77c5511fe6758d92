//! A full-screen terminal, on which a key ends the command.

use std::io::{self, Write as _, stdin, stdout};
use std::time::{Duration, Instant};

use lasthop_config::words::printable_lines;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};

use crate::output::StandardOutput;
use crate::signals::Termination;

/// Switches to the alternate screen of the terminal and hides the cursor, and back (xterm's control
/// sequences).
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";
/// Moves the cursor home; erases to the end of the line, and to the end of the screen.
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K\n";
const END_OF_SCREEN: &str = "\x1b[J";

/// The alternate screen on the terminal of this process. Dropping this value restores the terminal.
pub struct Screen {
    termination: Termination,
    /// The previous settings of the keyboard; `None` if standard input is not a terminal.
    keyboard: Option<Termios>,
}

/// The reason to end the command.
pub enum End {
    /// A key.
    Key,
    /// A signal.
    Signal(i32),
}

impl Screen {
    /// Opens the screen; `None` if standard output is not a terminal.
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
            // No suspend key: a shell could not use the terminal while this process is stopped.
            keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
            tcsetattr(stdin(), OptionalActions::Now, &keys)?;
        }
        let screen = Self { termination, keyboard };
        StandardOutput.write_all(OPEN.as_bytes())?;
        Ok(Some(screen))
    }

    /// The number of lines of the terminal.
    pub fn height() -> usize {
        let rows = tcgetwinsize(stdout()).map(|size| size.ws_row).unwrap_or_default();
        if rows > 0 { rows.into() } else { 24 }
    }

    /// Replaces the text on the screen; excess lines are cut off.
    #[expect(clippy::unused_self, reason = "only who has the screen may draw")]
    pub fn draw(&self, text: &str) -> io::Result<()> {
        let text = printable_lines(text);
        let lines: Vec<&str> = text.lines().take(Self::height().saturating_sub(1)).collect();
        let drawn = lines.join(END_OF_LINE);
        StandardOutput.write_all(format!("{HOME}{drawn}{END_OF_LINE}{END_OF_SCREEN}").as_bytes())
    }

    /// Waits for `pause`, or until a key or a signal ends the command.
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
            // Without input, the terminal is gone.
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
