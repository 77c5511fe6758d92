//! The control socket: a JSON document a line, one question and one answer.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::client::{Cursor, PATIENCE};

/// A question is never longer, in octets.
pub(super) const LONGEST_QUESTION: usize = 4096;

/// What can be asked of a running gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Ports, rules, counters.
    Status,
    /// The connections.
    Flows,
    /// Read the configuration file again.
    Reload,
    /// Have the agents send on what they hold; then pass everything on untouched, until the next reload.
    Drain,
    /// Set a connection aside.
    Aside {
        /// One end and the other, such as `192.0.2.1:443-10.0.0.7:50000`, in either order.
        flow: String,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It was done; this is what there is to tell.
    Ok(Value),
    /// It was not, and why.
    Error(String),
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nobody is there.
    #[error("no gateway answers at {path}: {error}; is one running, and is this user allowed to ask?")]
    Connect {
        /// The socket.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// It takes too long.
    #[error("the gateway does not answer within {} s; is it stopped?", ANSWERED.as_secs())]
    Late,
    /// It did not answer, or not to the end.
    #[error("the gateway did not answer: {0}")]
    Io(io::Error),
    /// The answer is none.
    #[error("the gateway gave an answer that is none: {0}")]
    NoAnswer(serde_json::Error),
    /// It would not.
    #[error("{0}")]
    Refused(String),
}

/// An answer takes no longer, or there will be none.
const ANSWERED: Duration = PATIENCE.saturating_mul(5);

/// Asks the gateway at this socket.
pub fn ask(socket: &Path, command: &Command) -> Result<Value, AskError> {
    let connect = UnixStream::connect(socket);
    let mut stream =
        connect.map_err(|error| AskError::Connect { path: socket.display().to_string(), error })?;
    stream.set_read_timeout(Some(ANSWERED)).map_err(AskError::Io)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(AskError::Io)?;
    let question = serde_json::to_string(command).map_err(AskError::NoAnswer)?;
    stream.write_all((question + "\n").as_bytes()).map_err(AskError::Io)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AskError::Late,
        _ => AskError::Io(error),
    })?;
    match serde_json::from_str(&line).map_err(AskError::NoAnswer)? {
        Answer::Ok(value) => Ok(value),
        Answer::Error(why) => Err(AskError::Refused(why)),
    }
}

/// Whether a question is whole, or longer than any.
pub(super) fn is_whole(question: &[u8]) -> bool {
    question.contains(&b'\n') || question.len() >= LONGEST_QUESTION
}

/// Reads a question: the first line.
pub fn read_question(question: &[u8]) -> Result<Command, String> {
    let line = question.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let wrong = |error| format!("{error}; expected a line such as {}", json!({ "command": "status" }));
    serde_json::from_slice(line).map_err(wrong)
}

/// An answer, as it is sent.
pub(super) fn answer(answer: Result<Value, String>) -> Vec<u8> {
    let answer = answer.map_or_else(Answer::Error, Answer::Ok);
    line_of(&answer)
}

/// A part of an answer that lists these, from a cursor on, to the end or not.
pub(super) fn list_part<T: Serialize>(from: Cursor, items: &[T], is_end: bool) -> Vec<u8> {
    let mut octets = Vec::new();
    if from == Cursor::default() {
        octets.extend(b"{\"ok\":[");
    }
    for (index, item) in items.iter().enumerate() {
        if from.has_begun || index > 0 {
            octets.push(b',');
        }
        octets.extend(serde_json::to_vec(item).unwrap_or_else(|_| b"null".to_vec()));
    }
    if is_end {
        octets.extend(b"]}\n");
    }
    octets
}

fn line_of(answer: &Answer) -> Vec<u8> {
    // Nothing that we answer with has keys that are no strings.
    let mut octets = serde_json::to_vec(answer).unwrap_or_default();
    octets.push(b'\n');
    octets
}

/// Reads a connection: `192.0.2.1:443-10.0.0.7:50000`, or with `[2001:db8::1]:443`.
pub fn parse_flow(text: &str) -> Result<FlowKey, String> {
    let wrong = || {
        let shown: String = text.chars().take(100).collect();
        format!(
            "{shown:?} is no connection; expected two ends such as 192.0.2.1:443-10.0.0.7:50000 or [2001:db8::1]:443-..."
        )
    };
    let (one, other) = text.split_once('-').ok_or_else(wrong)?;
    let end = |text: &str| text.trim().parse::<SocketAddr>().map_err(|_| wrong());
    let (one, other) = (end(one)?, end(other)?);
    Ok(FlowKey { source: (one.ip(), one.port()), destination: (other.ip(), other.port()) })
}
