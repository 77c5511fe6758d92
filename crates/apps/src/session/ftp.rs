//! FTP (RFC 959): each file over its own data connection in passive mode, and a control connection
//! for the session. Commands and replies have typical lengths.
//!
//! The default sizes of files are those of the FTP model of 3GPP2 C.R1002-0 and IEEE 802.16m:
//! truncated lognormal, with a mean of 2 MB and a maximum of 5 MB. The document itself was not
//! available: mean and maximum are from other publications, and mu and sigma were not checked
//! against it.

use lasthop_packet::{Probability, Rng};

use super::script::{Lane, Party, Script, Turn};
use super::size::Size;
use crate::heavy_tails::Lognormal;

/// A client that transfers files, and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Ftp {
    /// The size of a file.
    pub file: Size,
    /// The probability that the client stores a file instead of retrieving one.
    pub stored: Probability,
}

impl Ftp {
    /// The sizes of the source.
    pub const EVALUATION_METHODOLOGY: Size =
        Size::Lognormal(Lognormal { mu: 14.45, sigma: 0.35, min: 1.0, max: 5e6 });
}

use Party::{Client, Server};

const CONTROL_PORT: u16 = 21;
const DATA_PORT: u16 = 20;
const CONTROL: Lane = 0;
const DATA: Lane = 1;

/// Greeting, USER, 331, PASS, 230.
const LOGIN: [(Party, u64); 5] = [(Server, 60), (Client, 14), (Server, 34), (Client, 18), (Server, 23)];
/// PASV and 227; RETR or STOR and 150; 226.
const PASSIVE: (u64, u64) = (6, 48);
const COMMAND: (u64, u64) = (24, 54);
const TRANSFERRED: u64 = 24;

/// The phase of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The line of the login with this index is in transit.
    Login(usize),
    /// PASV or its reply is in transit.
    Passive,
    /// RETR or STOR, or its reply, is in transit.
    Command,
    /// The file and 226 are in transit.
    Transfer,
}

/// The script of a client that transfers files, and its server.
pub(super) struct Moving {
    ftp: Ftp,
    is_stored: bool,
    file: u64,
    phase: Phase,
    is_logged_in: bool,
    /// Whether the file has arrived.
    has_file: bool,
    /// The number of replies that have not arrived at the client: 150 and 226.
    replies: u8,
}

impl Moving {
    pub(super) const fn new(ftp: Ftp) -> Self {
        Self {
            ftp,
            is_stored: false,
            file: 0,
            phase: Phase::Passive,
            is_logged_in: false,
            has_file: false,
            replies: 0,
        }
    }

    fn begin_file(&mut self, turn: &mut Turn<'_>) {
        (self.has_file, self.replies) = (false, 2);
        self.phase = Phase::Passive;
        turn.write(CONTROL, Client, PASSIVE.0);
    }

    fn transfer(&mut self, turn: &mut Turn<'_>) {
        self.phase = Phase::Transfer;
        let from = if self.is_stored { Client } else { Server };
        turn.write(DATA, from, self.file);
        turn.close(DATA, from);
        if !self.is_stored {
            turn.write(CONTROL, Server, TRANSFERRED);
        }
    }
}

impl Script for Moving {
    fn plan(&mut self, rng: &mut Rng) -> u64 {
        self.is_stored = rng.happens(self.ftp.stored);
        self.file = self.ftp.file.draw(rng);
        let login = if self.is_logged_in { 0 } else { LOGIN.iter().map(|(_, octets)| octets).sum() };
        self.file + login + PASSIVE.0 + PASSIVE.1 + COMMAND.0 + COMMAND.1 + TRANSFERRED
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        if self.is_logged_in {
            self.begin_file(turn);
            return;
        }
        turn.open(CONTROL, CONTROL_PORT);
        self.phase = Phase::Login(0);
        turn.write(CONTROL, LOGIN[0].0, LOGIN[0].1);
    }

    fn arrived(&mut self, lane: Lane, at: Party, turn: &mut Turn<'_>) -> bool {
        match (self.phase, lane, at) {
            (Phase::Login(line), CONTROL, _) => {
                if let Some((from, octets)) = LOGIN.get(line + 1) {
                    self.phase = Phase::Login(line + 1);
                    turn.write(CONTROL, *from, *octets);
                } else {
                    self.is_logged_in = true;
                    self.begin_file(turn);
                }
            }
            (Phase::Passive, CONTROL, Server) => turn.write(CONTROL, Server, PASSIVE.1),
            (Phase::Passive, CONTROL, Client) => {
                self.phase = Phase::Command;
                turn.open(DATA, DATA_PORT);
                turn.write(CONTROL, Client, COMMAND.0);
            }
            (Phase::Command, CONTROL, Server) => {
                turn.write(CONTROL, Server, COMMAND.1);
                if !self.is_stored {
                    self.transfer(turn);
                }
            }
            (Phase::Command, CONTROL, Client) => {
                self.replies -= 1;
                self.transfer(turn);
            }
            (Phase::Transfer, DATA, Server) => {
                self.has_file = true;
                turn.write(CONTROL, Server, TRANSFERRED);
            }
            (Phase::Transfer, DATA, Client) => self.has_file = true,
            (Phase::Transfer, CONTROL, Client) => self.replies = self.replies.saturating_sub(1),
            _ => {}
        }
        let is_complete = self.phase == Phase::Transfer && self.replies == 0 && self.has_file;
        if is_complete {
            self.phase = Phase::Passive;
            turn.leave(DATA, if self.is_stored { Client } else { Server });
        }
        is_complete
    }

    fn failed(&mut self) {
        self.is_logged_in = false;
    }

    fn finish(&mut self, turn: &mut Turn<'_>) {
        if std::mem::take(&mut self.is_logged_in) {
            turn.leave(CONTROL, Client);
        }
    }
}
