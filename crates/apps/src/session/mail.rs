//! Mail: messages that are fetched (POP3, RFC 1939) or sent (SMTP, RFC 5321), each over its own
//! connection: greeting, commands and replies of typical lengths, and the message.
//!
//! The default sizes are those that a mail server's operator measured and published on the mailing
//! list freebsd-net in October 2002, as a web page reproduces them: half are below 4 KiB, a tenth
//! above 64 KiB, the largest 4 MiB. Others found a lognormal distribution with a Pareto tail for
//! the sizes of messages (Shah and Noble, "A study of e-mail patterns", Software: Practice and
//! Experience 37, 2007).

use std::collections::VecDeque;

use lasthop_packet::{Probability, Rng};

use super::script::{Lane, Party, Script, Turn};
use super::size::{Measured, Size};

/// A client with mail, and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// The size of a message.
    pub message: Size,
    /// The probability that the client sends a message instead of fetching one.
    pub sent: Probability,
}

impl Mail {
    /// The measured sizes: see the module.
    pub fn measured_sizes() -> Size {
        let parts =
            [0.2353, 0.4917, 0.676, 0.7958, 0.8536, 0.9047, 0.933, 0.9574, 0.9724, 0.9849, 0.9996, 1.0];
        let steps = parts.iter().zip(11..).map(|(part, power)| (*part, f64::from(1_u32 << power)));
        // The fractions increase up to 1, so they are a distribution.
        Size::Measured(Measured::new(900.0, steps.collect()).expect("rising parts and sizes"))
    }
}

use Party::{Client, Server};

/// Lines of a protocol: the party that writes each, and its octets.
type Lines = &'static [(Party, u64)];

/// The lines before a message that is fetched.
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
/// The lines after a message that is fetched.
const AFTER_FETCHED: Lines = &[(Client, 8), (Server, 15), (Client, 6), (Server, 20)];
/// The lines before a message that is sent.
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
/// The lines after a message that is sent.
const AFTER_SENT: Lines = &[(Server, 40), (Client, 6), (Server, 30)];

const POP3: u16 = 110;
const SMTP: u16 = 25;

/// The only connection.
const LANE: Lane = 0;

/// The script of a mail client and its server.
pub(super) struct Mailing {
    mail: Mail,
    port: u16,
    /// The remaining lines and messages. The first is in transit.
    remaining: VecDeque<(Party, u64)>,
}

impl Mailing {
    pub(super) const fn new(mail: Mail) -> Self {
        Self { mail, port: POP3, remaining: VecDeque::new() }
    }

    fn write_next(&self, turn: &mut Turn<'_>) {
        if let Some((from, octets)) = self.remaining.front() {
            turn.write(LANE, *from, *octets);
        }
    }
}

impl Script for Mailing {
    fn plan(&mut self, rng: &mut Rng) -> u64 {
        let is_sent = rng.happens(self.mail.sent);
        let (from, before, after) =
            if is_sent { (Client, BEFORE_SENT, AFTER_SENT) } else { (Server, BEFORE_FETCHED, AFTER_FETCHED) };
        self.port = if is_sent { SMTP } else { POP3 };
        let message = (from, self.mail.message.draw(rng));
        self.remaining.clear();
        self.remaining.extend(before.iter().copied().chain([message]).chain(after.iter().copied()));
        self.remaining.iter().map(|(_, octets)| octets).sum()
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        turn.open(LANE, self.port);
        self.write_next(turn);
    }

    fn arrived(&mut self, _: Lane, _: Party, turn: &mut Turn<'_>) -> bool {
        self.remaining.pop_front();
        self.write_next(turn);
        let is_over = self.remaining.is_empty();
        if is_over {
            turn.leave(LANE, Client);
        }
        is_over
    }

    fn failed(&mut self) {
        self.remaining.clear();
    }
}
