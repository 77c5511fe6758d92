//! The syntax tree of a script.

use std::time::Duration;

use lasthop_packet::Ecn;

use crate::error::Place;
use crate::expression::Statement;

/// A parsed script in packetdrill's grammar.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) options: Vec<Setting>,
    pub(crate) commands: Vec<(Place, String)>,
    pub(crate) events: Vec<Event>,
}

/// `--name=value` at the head of a script.
#[derive(Clone, Debug)]
pub struct Setting {
    pub place: Place,
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub place: Place,
    pub when: When,
    pub action: Action,
}

/// The time of an event; relative times count from the previous event.
#[derive(Clone, Copy, Debug)]
pub enum When {
    At(Duration),
    After(Duration),
    AtBetween(Duration, Duration),
    AfterBetween(Duration, Duration),
    /// `*`
    AnyTime,
}

#[derive(Clone, Debug)]
pub enum Action {
    Inbound(Segment),
    Outbound(Segment),
    Icmp(IcmpError),
    Call(Call),
    Command(String),
    Assert(Vec<Statement>),
}

/// A TCP segment in a line of a script.
#[derive(Clone, Debug)]
pub struct Segment {
    pub ecn: Option<Ecn>,
    /// Letters of `S F R P E W .`.
    pub flags: String,
    pub from: u32,
    pub len: u32,
    pub ack: u32,
    pub window: Option<u16>,
    /// The reserved bits of the header.
    pub bits: Option<u8>,
    /// `None` for `<...>`.
    pub options: Option<Options>,
}

/// The options of a segment, without their order and padding, which the endpoint does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// The value and the echo reply.
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
}

/// An ICMP error message (type 3) about a segment.
#[derive(Clone, Copy, Debug)]
pub struct IcmpError {
    pub code: u8,
    pub mtu: Option<u32>,
    pub from: u32,
    pub len: u32,
}

/// A system call with its expected result.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Argument>,
    pub result: Argument,
    pub error: Option<String>,
    /// The time at which a blocking call returns, in the same form as the time of its event.
    pub end: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Ellipsis,
    Integer(i64),
    /// One or more words, separated by `|`.
    Words(Vec<String>),
    Text(String),
    List(Vec<Argument>),
    /// `{name=value, ...}`; the name is empty for a field without one.
    Fields(Vec<(String, Argument)>),
    /// `name(...)`
    Function(String, Vec<Argument>),
}

impl Argument {
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::List(items) if items.len() == 1 => items[0].integer(),
            _ => None,
        }
    }

    pub fn words(&self) -> &[String] {
        match self {
            Self::Words(words) => words,
            Self::List(items) if items.len() == 1 => items[0].words(),
            _ => &[],
        }
    }

    pub fn has_word(&self, word: &str) -> bool {
        self.words().iter().any(|other| other == word)
    }

    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Fields(fields) => fields.iter().find(|(other, _)| other == name).map(|(_, value)| value),
            Self::List(items) if items.len() == 1 => items[0].field(name),
            _ => None,
        }
    }
}
