//! Requests to etcd's JSON gateway: at the first member that answers.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lasthop_registry::Error;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::{Agent, Body};

use super::config::{Config, User};
use super::messages::{Failure, Token};

/// The maximum length of an answer, in octets; of the answer of a watch, of each line.
pub const LONGEST_ANSWER: u64 = 16 << 20;

/// Connections that are kept for further requests. The more callers there are at once, the more are of use.
const IDLE_CONNECTIONS: usize = 64;

/// Codes of gRPC.
const NOT_FOUND: u32 = 5;
const UNAUTHENTICATED: u32 = 16;
/// Invalid argument, not found, permission denied, failed precondition, out of range, unauthenticated.
const FINAL: [u32; 6] = [3, NOT_FOUND, 7, 9, 11, UNAUTHENTICATED];

pub struct Gateway {
    agent: Agent,
    members: Vec<String>,
    /// The index of the member that answered last.
    current: AtomicUsize,
    user: Option<User>,
    token: Mutex<Option<String>>,
    patience: Duration,
}

/// How a request ended.
#[derive(Debug)]
pub enum Answer<T> {
    /// `repeated`: an earlier attempt may have been carried out.
    Given { answer: T, repeated: bool },
    /// What the request names, such as a lease, is not there.
    NotFound { repeated: bool },
}

/// Why an attempt has no answer.
enum Failed {
    /// It was not carried out.
    NotMade(Error),
    /// It may have been carried out.
    Lost(Error),
    /// Another member would say the same.
    Refused(Failure),
}

impl Gateway {
    pub fn new(config: &Config) -> Result<Self, Error> {
        let agent = Agent::config_builder()
            .tls_config(config.tls()?)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections(IDLE_CONNECTIONS * config.members.len())
            .max_idle_connections_per_host(IDLE_CONNECTIONS)
            .proxy(None)
            .build()
            .new_agent();
        let members = config.members.iter().map(|member| member.trim_end_matches('/').to_owned()).collect();
        let (user, patience) = (config.user.clone(), config.patience);
        Ok(Self { agent, members, current: AtomicUsize::new(0), user, token: Mutex::new(None), patience })
    }

    /// The answer to a request.
    pub fn ask<T: DeserializeOwned>(&self, path: &str, request: &Value) -> Result<Answer<T>, Error> {
        self.at_a_member(|member| {
            let body = self.attempt(member, path, request, Reading::Whole)?;
            let octets = body.into_with_config().limit(LONGEST_ANSWER).read_to_vec();
            let octets = octets.map_err(|error| Failed::Lost(failed(error)))?;
            serde_json::from_slice(&octets).map_err(|error| Failed::Lost(not_an_answer(&error)))
        })
    }

    /// A stream of answers, one in each line. A read that waits longer than `patience` fails.
    pub fn stream(&self, path: &str, request: &Value, patience: Duration) -> Result<Body, Error> {
        match self.at_a_member(|member| self.attempt(member, path, request, Reading::Stream(patience)))? {
            Answer::Given { answer, .. } => Ok(answer),
            Answer::NotFound { .. } => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        }
    }

    /// Tries the members, beginning with the one that answered last.
    fn at_a_member<T>(&self, mut attempt: impl FnMut(&str) -> Result<T, Failed>) -> Result<Answer<T>, Error> {
        let first = self.current.load(Relaxed);
        let (mut repeated, mut last) = (false, None);
        for offset in 0..self.members.len() {
            let index = (first + offset) % self.members.len();
            let result = attempt(&self.members[index]);
            if !matches!(result, Err(Failed::NotMade(_) | Failed::Lost(_))) {
                self.current.store(index, Relaxed);
            }
            match result {
                Ok(answer) => return Ok(Answer::Given { answer, repeated }),
                Err(Failed::Refused(Failure { code: NOT_FOUND, .. })) => {
                    return Ok(Answer::NotFound { repeated });
                }
                Err(Failed::Refused(failure)) => return Err(io::Error::other(failure.error).into()),
                Err(Failed::NotMade(error)) => last = Some(error),
                Err(Failed::Lost(error)) => {
                    repeated = true;
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("no member of etcd is configured").into()))
    }

    /// The body of a member's answer. A token that has become invalid is replaced once.
    fn attempt(&self, member: &str, path: &str, request: &Value, reading: Reading) -> Result<Body, Failed> {
        let token = self.token(member)?;
        match self.post(member, path, request, token.as_deref(), reading) {
            Err(Failed::Refused(Failure { code: UNAUTHENTICATED, .. })) if self.user.is_some() => {
                self.forget(token.as_deref());
                let token = self.token(member)?;
                self.post(member, path, request, token.as_deref(), reading)
            }
            result => result,
        }
    }

    fn token(&self, member: &str) -> Result<Option<String>, Failed> {
        let Some(user) = &self.user else { return Ok(None) };
        // Locked, so that callers who come at once do not each ask for one.
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_none() {
            let request = json!({ "name": user.name, "password": user.password });
            let body = self.post(member, "/v3/auth/authenticate", &request, None, Reading::Whole)?;
            let octets = body.into_with_config().limit(LONGEST_ANSWER).read_to_vec();
            let octets = octets.map_err(|error| Failed::NotMade(failed(error)))?;
            let answer = serde_json::from_slice(&octets);
            let answer: Token = answer.map_err(|error| Failed::NotMade(not_an_answer(&error)))?;
            *token = Some(answer.token);
        }
        Ok(token.clone())
    }

    /// Forgets a token, unless another caller has replaced it.
    fn forget(&self, token: Option<&str>) {
        let mut current = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_deref() == token {
            *current = None;
        }
    }

    fn post(
        &self,
        member: &str,
        path: &str,
        request: &Value,
        token: Option<&str>,
        reading: Reading,
    ) -> Result<Body, Failed> {
        let post = self.agent.post(format!("{member}{path}"));
        let config = post.config().timeout_connect(Some(self.patience));
        let mut post = match reading {
            Reading::Whole => config.timeout_global(Some(self.patience)),
            Reading::Stream(patience) => config.timeout_per_read(Some(patience)),
        }
        .build()
        .header("Content-Type", "application/json");
        if let Some(token) = token {
            post = post.header("Authorization", token);
        }
        let response = post.send(request.to_string()).map_err(|error| {
            let is_made = !matches!(
                error,
                ureq::Error::ConnectionFailed
                    | ureq::Error::HostNotFound
                    | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve)
            ) && !matches!(&error, ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused);
            if is_made { Failed::Lost(failed(error)) } else { Failed::NotMade(failed(error)) }
        })?;
        let status = response.status();
        let body = response.into_body();
        if status.is_success() {
            return Ok(body);
        }
        let octets = body.into_with_config().limit(LONGEST_ANSWER).read_to_vec().unwrap_or_default();
        let failure: Failure = serde_json::from_slice(&octets).unwrap_or_default();
        // What etcd says of itself (no leader, no time) may be otherwise at another member.
        let is_final = status.is_client_error() || FINAL.contains(&failure.code);
        if is_final && !failure.error.is_empty() {
            return Err(Failed::Refused(failure));
        }
        let why = format!("etcd answers {status}: {}", failure.error);
        Err(Failed::Lost(io::Error::other(why).into()))
    }
}

/// What is read of an answer.
#[derive(Clone, Copy)]
enum Reading {
    Whole,
    /// Each read waits at most this long.
    Stream(Duration),
}

fn failed(error: ureq::Error) -> Error {
    match error {
        ureq::Error::Io(error) => error.into(),
        ureq::Error::Timeout(_) => io::Error::new(io::ErrorKind::TimedOut, error).into(),
        error => io::Error::other(error).into(),
    }
}

pub fn not_an_answer(error: &serde_json::Error) -> Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an answer of etcd: {error}")).into()
}
