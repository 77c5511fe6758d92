//! The parser: packetdrill's grammar for TCP over a single IP header.

mod call;
mod segment;

use std::time::Duration;

use crate::error::{Error, Place};
use crate::expression;
use crate::lexer::{Lexeme, Token, lex};
use crate::script::{Action, Event, Script, Setting, When};

impl Script {
    /// Parses a script. The error has the place of the fault.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Parser { lexemes: lex(text)?, at: 0 }.script()
    }
}

/// The maximum nesting depth of arguments.
const DEPTH: usize = 16;

struct Parser {
    lexemes: Vec<Lexeme>,
    at: usize,
}

impl Parser {
    fn script(&mut self) -> Result<Script, Error> {
        let mut script = Script { options: Vec::new(), commands: Vec::new(), events: Vec::new() };
        while let Token::Option(name) = self.peek().clone() {
            let place = self.place();
            self.next();
            let value = if self.accept('=') { self.option_value()? } else { String::new() };
            script.options.push(Setting { place, name, value });
        }
        while let Token::Command(command) = self.peek().clone() {
            script.commands.push((self.place(), command));
            self.next();
        }
        loop {
            let place = self.place();
            match self.peek() {
                Token::End => return Ok(script),
                // A command at the end restores settings of the machine that ran the script.
                Token::Command(_) if matches!(self.lexemes[self.at + 1].token, Token::End) => self.next(),
                _ => {
                    let event = self.event(place)?;
                    script.events.push(event);
                }
            }
        }
    }

    fn option_value(&mut self) -> Result<String, Error> {
        let mut value = match self.peek().clone() {
            Token::Integer(number) => number.to_string(),
            Token::Word(text) | Token::Text(text) | Token::Decimal(text) => text,
            _ => return self.expected("a value"),
        };
        self.next();
        // Addresses, and definitions (`PROTO=IPPROTO_TCP`).
        while let Token::Decimal(text) = self.peek().clone()
            && text.starts_with('.')
        {
            value += &text;
            self.next();
        }
        if self.accept('=') {
            value = format!("{value}={}", self.option_value()?);
        }
        Ok(value)
    }

    fn event(&mut self, place: Place) -> Result<Event, Error> {
        let when = self.when()?;
        let action = match self.peek().clone() {
            Token::Sign('<' | '>') => self.packet()?,
            Token::Command(command) => {
                self.next();
                Action::Command(command)
            }
            Token::Code(code) => {
                let place = self.place();
                self.next();
                Action::Assert(expression::parse(&code, place)?)
            }
            Token::Word(_) | Token::Ellipsis => Action::Call(self.call()?),
            _ => return self.expected("a packet, a system call, a command or code"),
        };
        let is_range = !matches!(when, When::At(_) | When::After(_));
        if is_range && !matches!(action, Action::Outbound(_)) {
            return Err(Error::expected(
                place,
                "a single time: only an outbound packet may have a range or *",
            ));
        }
        Ok(Event { place, when, action })
    }

    fn when(&mut self) -> Result<When, Error> {
        if self.accept('*') {
            return Ok(When::AnyTime);
        }
        let is_relative = self.accept('+');
        let from = self.time()?;
        if !self.accept('~') {
            return Ok(if is_relative { When::After(from) } else { When::At(from) });
        }
        if is_relative {
            self.expect('+')?;
        }
        let place = self.place();
        let to = self.time()?;
        if to < from {
            return Err(Error::expected(place, "the later end of the range"));
        }
        Ok(if is_relative { When::AfterBetween(from, to) } else { When::AtBetween(from, to) })
    }

    /// Parses a time in seconds.
    fn time(&mut self) -> Result<Duration, Error> {
        let time = match self.peek() {
            Token::Integer(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
            Token::Decimal(text) => seconds(text),
            _ => None,
        };
        match time {
            Some(time) if time <= Duration::from_secs(10_000_000) => {
                self.next();
                Ok(time)
            }
            _ => self.expected("a time in seconds"),
        }
    }

    fn peek(&self) -> &Token {
        &self.lexemes[self.at].token
    }

    fn place(&self) -> Place {
        self.lexemes[self.at].place
    }

    fn next(&mut self) {
        // The last token is `End`, which is never consumed.
        self.at = (self.at + 1).min(self.lexemes.len() - 1);
    }

    fn accept(&mut self, sign: char) -> bool {
        let is_there = *self.peek() == Token::Sign(sign);
        if is_there {
            self.next();
        }
        is_there
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.peek(), Token::Word(other) if other == word);
        if is_there {
            self.next();
        }
        is_there
    }

    fn expect(&mut self, sign: char) -> Result<(), Error> {
        if self.accept(sign) { Ok(()) } else { self.expected(&format!("\"{sign}\"")) }
    }

    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, Error> {
        match *self.peek() {
            Token::Integer(number) => match T::try_from(number) {
                Ok(number) => {
                    self.next();
                    Ok(number)
                }
                Err(_) => self.expected(&format!("{what} in its range")),
            },
            _ => self.expected(what),
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, Error> {
        Err(Error::expected(self.place(), &format!("{what}, got {}", self.peek().name())))
    }
}

/// Parses a decimal number of seconds, truncated to nanoseconds.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.')?;
    let whole = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let nanos = format!("{fraction:0<9}")[..9].parse().ok()?;
    Some(Duration::new(whole, nanos))
}
