//! Mail: messages that are fetched (POP3, RFC 1939) or sent (SMTP, RFC 5321), each over a
//! connection of its own: greeting, commands and replies of usual lengths, and the message.
//!
//! Sizes are by default those that a mail server's operator measured and published on the mailing
//! list freebsd-net in October 2002, as a web page reproduces them: half are below 4 KiB, a tenth
//! above 64 KiB, the largest 4 MiB. Lognormal with a Pareto tail is what others find of sizes of
//! messages (Shah and Noble, "A study of e-mail patterns", Software: Practice and Experience 37,
//! 2007).

use std::collections::VecDeque;

use lasthop_packet::{Probability, Rng};

use super::script::{Lane, Party, Script, Turn};
use super::size::{Measured, Size};

/// A client with mail, and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// A message.
    pub message: Size,
    /// How likely a message is one that the client sends, and does not fetch.
    pub sent: Probability,
}

impl Mail {
    /// Sizes as they were measured: see the module.
    pub fn measured_sizes() -> Size {
        let parts =
            [0.2353, 0.4917, 0.676, 0.7958, 0.8536, 0.9047, 0.933, 0.9574, 0.9724, 0.9849, 0.9996, 1.0];
        let steps = parts.iter().zip(11..).map(|(part, power)| (*part, f64::from(1_u32 << power)));
        // The parts rise up to 1: they are a distribution.
        Size::Measured(Measured::new(900.0, steps.collect()).expect("rising parts and sizes"))
    }
}

use Party::{Client, Server};

/// What is said, line by line: by whom, and how many octets.
type Lines = &'static [(Party, u64)];

/// What is said before a message that is fetched, and behind it.
const BEFORE_FETCHED: Lines = &[
    (Server, 40),
    (Client, 14),
    (Server, 5),
    (Client, 15),
    (Server, 20),
    (Client, 6),
    (Server, 15),
    (Client, 8),
];
const BEHIND_FETCHED: Lines = &[(Client, 8), (Server, 15), (Client, 6), (Server, 20)];
/// The same of one that is sent.
const BEFORE_SENT: Lines = &[
    (Server, 50),
    (Client, 25),
    (Server, 120),
    (Client, 40),
    (Server, 14),
    (Client, 40),
    (Server, 14),
    (Client, 6),
    (Server, 37),
];
const BEHIND_SENT: Lines = &[(Server, 40), (Client, 6), (Server, 30)];

const POP3: u16 = 110;
const SMTP: u16 = 25;

/// The only connection.
const LANE: Lane = 0;

/// Mail at work.
pub(super) struct Mailing {
    mail: Mail,
    port: u16,
    /// What is still to be said; the first has not arrived.
    to_say: VecDeque<(Party, u64)>,
}

impl Mailing {
    pub(super) const fn new(mail: Mail) -> Self {
        Self { mail, port: POP3, to_say: VecDeque::new() }
    }

    fn say(&self, turn: &mut Turn<'_>) {
        if let Some((from, octets)) = self.to_say.front() {
            turn.write(LANE, *from, *octets);
        }
    }
}

impl Script for Mailing {
    fn plan(&mut self, rng: &mut Rng) -> u64 {
        let is_sent = rng.happens(self.mail.sent);
        let (from, before, behind) = if is_sent {
            (Client, BEFORE_SENT, BEHIND_SENT)
        } else {
            (Server, BEFORE_FETCHED, BEHIND_FETCHED)
        };
        self.port = if is_sent { SMTP } else { POP3 };
        let message = (from, self.mail.message.draw(rng));
        self.to_say.clear();
        self.to_say.extend(before.iter().copied().chain([message]).chain(behind.iter().copied()));
        self.to_say.iter().map(|(_, octets)| octets).sum()
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        turn.open(LANE, self.port);
        self.say(turn);
    }

    fn arrived(&mut self, _: Lane, _: Party, turn: &mut Turn<'_>) -> bool {
        self.to_say.pop_front();
        self.say(turn);
        let is_over = self.to_say.is_empty();
        if is_over {
            turn.leave(LANE, Client);
        }
        is_over
    }

    fn failed(&mut self) {
        self.to_say.clear();
    }
}
