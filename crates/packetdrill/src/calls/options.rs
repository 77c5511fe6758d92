//! The supported socket options.

use lasthop_tcp::State;

use super::Answer;
use crate::error::{Error, Place};
use crate::host::Host;
use crate::script::{Argument, Call};
use crate::settings::congestion;

impl Host {
    pub(super) fn set_option(&mut self, place: Place, call: &Call) -> Result<Answer, Error> {
        let Some(name) = call.arguments.get(2).and_then(|name| name.words().first()) else {
            return Err(Error::expected(place, "the name of an option"));
        };
        let value = call.arguments.get(3);
        let number = value.and_then(Argument::integer);
        let config = &mut self.settings.config;
        let is_early = self.connection.as_ref().is_none_or(|connection| connection.state() == State::Listen);
        match (name.as_str(), number) {
            // These have no effect here: addresses are not shared, no sender uses the Nagle
            // algorithm, and writes are not limited.
            ("SO_REUSEADDR" | "SO_REUSEPORT" | "TCP_NODELAY" | "SO_SNDBUF", _) => {}
            ("SO_LINGER", _) => {
                let field = |name| value.and_then(|value| value.field(name)).and_then(Argument::integer);
                self.application.resets = field("onoff") == Some(1) && field("linger") == Some(0);
                if !self.application.resets && field("onoff") != Some(0) {
                    return Err(Error::not_understood(place, "SO_LINGER with a time"));
                }
            }
            ("TCP_MAXSEG", Some(mss)) if self.connection.is_none() => {
                config.mss = config.mss.min(mss.clamp(88, 32_767) as u32);
            }
            ("SO_RCVBUF", Some(octets)) if self.connection.is_none() => {
                config.window = octets.clamp(1, 1 << 30) as u32;
                config.window_max = None;
            }
            ("TCP_CONGESTION", _) if is_early => {
                let Some(Argument::Text(name)) = value else { return Err(Error::expected(place, "a name")) };
                config.congestion = congestion(place, name)?;
            }
            _ => return Err(Error::not_understood(place, format!("the socket option {name}"))),
        }
        Ok(Answer::Value(0))
    }

    pub(super) fn get_option(&mut self, place: Place, call: &Call) -> Result<Answer, Error> {
        let Some(name) = call.arguments.get(2).and_then(|name| name.words().first()) else {
            return Err(Error::expected(place, "the name of an option"));
        };
        let connection = self.connection.as_ref();
        let got = match (name.as_str(), connection) {
            ("SO_ERROR", Some(connection)) => match connection.state() {
                State::Closed if connection.was_reset() => Some("ECONNREFUSED"),
                State::Closed if connection.has_failed() => Some("ETIMEDOUT"),
                _ => None,
            },
            ("TCP_MAXSEG", Some(connection)) => {
                let (wanted, got) =
                    (call.arguments.get(3).and_then(Argument::integer), connection.flight().mss);
                return if wanted == Some(i64::from(got)) {
                    Ok(Answer::Value(0))
                } else {
                    Err(Error::failed(place, format!("expected TCP_MAXSEG {wanted:?}\n  got {got}")))
                };
            }
            _ => return Err(Error::not_understood(place, format!("the socket option {name}"))),
        };
        let wanted = call.arguments.get(3);
        let is_equal = match got {
            None => wanted.and_then(Argument::integer) == Some(0),
            Some(error) => wanted.is_some_and(|wanted| wanted.has_word(error)),
        };
        if is_equal {
            return Ok(Answer::Value(0));
        }
        Err(Error::failed(place, format!("expected SO_ERROR {wanted:?}\n  got {}", got.unwrap_or("0"))))
    }
}
