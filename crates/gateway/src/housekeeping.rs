//! Housekeeping: a thread for signals, the control socket and the metrics page. It sends requests
//! to the packet loops and never handles a packet. It never blocks on a client, so that it handles
//! a signal at once.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
#[cfg(feature = "roaming")]
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_packet::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use tracing::{error, info, warn};

use super::clients::ClientReport;
use super::config::{self, Backend, Config};
#[cfg(feature = "roaming")]
use super::control::Noted;
use super::control::{self, Answer, Command, Drained, List, Reloaded, SetAside, Status, parse_flow};
use super::engine::{EngineReport, FlowReport};
use super::listeners::{Listeners, empty};
use super::listing::{Query, Selection};
use super::pseudonyms::Pseudonyms;
use super::requests::{Requests, StopAtEnd, Unanswered};
#[cfg(feature = "roaming")]
use super::roaming::{Roaming, RoamingReport};
use super::{http, metrics, ports};
use crate::io::Port;
use lasthop_linux::clock;
use lasthop_linux::control::client::{Answers, Client, Part};

/// The maximum number of concurrent clients of the control socket, and of the metrics listener.
/// Another client replaces the first one that has sent no request yet; if all have, it waits in the
/// kernel's backlog.
const MAX_SOCKET_CLIENTS: usize = 16;

/// The state of the housekeeping thread.
pub(super) struct Housekeeping {
    pub(super) requests: Requests,
    /// The configuration file, if there is one to reload.
    pub(super) file: Option<PathBuf>,
    pub(super) ports: Vec<Port>,
    /// The configuration that the daemon was started with.
    pub(super) in_force: Config,
    pub(super) backend: Backend,
    /// The names of clients on the metrics page, if these are not their addresses.
    pub(super) pseudonyms: Option<Pseudonyms>,
    pub(super) listeners: Listeners,
    /// Whether this thread is in the network namespace of the ports.
    pub(super) is_with_ports: bool,
    /// The hand-offs of clients, once they have begun.
    #[cfg(feature = "roaming")]
    pub(super) roaming: Arc<OnceLock<Roaming>>,
}

/// The interval between checks for address translation, where that matters.
const TRANSLATION_CHECK: Duration = Duration::from_secs(5);

/// The connected clients.
#[derive(Default)]
struct SocketClients {
    control: Vec<Client<FlowsAnswer>>,
    metrics: Vec<Client<Infallible>>,
    /// No client is accepted before this time.
    closed_until: Option<Instant>,
}

/// The pause after a client could not be accepted, for example for lack of descriptors: it still
/// waits, so without a pause the thread would spin.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The ready event sources.
#[derive(Default)]
struct Ready {
    ended: bool,
    stop: bool,
    reload: bool,
    control: bool,
    metrics: bool,
}

impl Housekeeping {
    /// Runs until the packet loops have ended.
    pub(super) fn run(self) {
        // Without this thread, the packet loops could not be stopped.
        let _end = StopAtEnd(self.requests.clone());
        let mut clients = SocketClients::default();
        let mut next_check = self.may_break_translation().then(|| clock::now() + TRANSLATION_CHECK);
        loop {
            let ready = match self.wait(&clients, next_check) {
                Ok(ready) => ready,
                Err(error) => {
                    error!(%error, "cannot wait for signals and requests; the gateway exits");
                    return;
                }
            };
            if ready.ended {
                return;
            }
            if let Some(signals) = &self.listeners.signals {
                if ready.stop && empty(&signals.stop) {
                    info!("stop requested");
                    self.requests.stop();
                }
                if ready.reload && empty(&signals.reload) {
                    // An error is in the log.
                    let _ = self.reload();
                }
            }
            let now = clock::now();
            if next_check.is_some_and(|at| at <= now) {
                next_check = Some(now + TRANSLATION_CHECK);
                self.stop_if_translated();
            }
            clients.closed_until = clients.closed_until.filter(|until| *until > now);
            if let (true, Some(listener)) = (ready.control, &self.listeners.control) {
                let accepted = listener.accept(now).map(|client| client.map(|(client, _)| client));
                clients.admit(accepted, now, |clients| &mut clients.control);
            }
            if let (true, Some(listener)) = (ready.metrics, &self.listeners.metrics) {
                clients.admit(accept_metrics(listener, now), now, |clients| &mut clients.metrics);
            }
            clients.control.retain_mut(|client| client.step(now, &ControlAnswers(&self)));
            clients.metrics.retain_mut(|client| client.step(now, &MetricsAnswers(&self)));
        }
    }

    /// Whether `auto` chose tun, which it does not with address translation.
    fn may_break_translation(&self) -> bool {
        self.is_with_ports && self.in_force.backend == Backend::Auto && self.backend == Backend::Tun
    }

    /// Stops the gateway if the host now translates addresses.
    fn stop_if_translated(&self) {
        if let Some(place) = ports::translation() {
            error!("{place} now translates addresses, which the backend tun would break; the gateway exits");
            self.requests.stop();
        }
    }

    /// Waits until an event source is ready, a client's deadline passes, or `at`.
    fn wait(&self, clients: &SocketClients, at: Option<Instant>) -> io::Result<Ready> {
        let Listeners { control, metrics, signals, ended } = &self.listeners;
        let listeners: [Option<BorrowedFd<'_>>; 5] = [
            Some(ended.as_fd()),
            signals.as_ref().map(|signals| signals.stop.as_fd()),
            signals.as_ref().map(|signals| signals.reload.as_fd()),
            control
                .as_ref()
                .map(AsFd::as_fd)
                .filter(|_| clients.closed_until.is_none() && has_room(&clients.control)),
            metrics
                .as_ref()
                .map(AsFd::as_fd)
                .filter(|_| clients.closed_until.is_none() && has_room(&clients.metrics)),
        ];
        // The entry of an absent listener waits for no event.
        let watched = listeners.map(|listener| match listener {
            Some(listener) => PollFd::from_borrowed_fd(listener, PollFlags::IN),
            None => PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::empty()),
        });
        let connected = || clients.control.iter().map(watch_of).chain(clients.metrics.iter().map(watch_of));
        let of_clients = connected().map(|(fd, waits_for, _)| PollFd::from_borrowed_fd(fd, waits_for));
        let mut watched: Vec<PollFd<'_>> = watched.into_iter().chain(of_clients).collect();
        let timeout =
            connected().map(|(_, _, deadline)| deadline).chain(at).chain(clients.closed_until).min().map(
                |deadline| {
                    let time = deadline.since(clock::now());
                    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
                },
            );
        loop {
            match poll(&mut watched, timeout.as_ref()) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let ready = |index: usize| listeners[index].is_some() && !watched[index].revents().is_empty();
        Ok(Ready { ended: ready(0), stop: ready(1), reload: ready(2), control: ready(3), metrics: ready(4) })
    }

    fn status(&self) -> Result<Status, String> {
        let report = self.requests.report().map_err(|why| why.to_string())?;
        Ok(Status::new(self.file.as_deref(), self.backend, &self.ports, report))
    }

    fn metrics_page(&self) -> Option<String> {
        let report = self.requests.report().ok()?;
        let page = metrics::page(self.backend, self.in_force.backend, &report, self.pseudonyms.as_ref());
        #[cfg(feature = "roaming")]
        let page = match self.roaming.get().and_then(|roaming| roaming.report().ok()) {
            Some(roaming) => page + &metrics::of_roaming(&roaming),
            None => page,
        };
        Some(page)
    }

    fn flows(&self, query: &Query) -> Result<FlowsAnswer, String> {
        let selection = Selection::from_query(query)?;
        let report = self.requests.report().map_err(|why| why.to_string())?;
        selection.check_words(report.engine.rules.iter().map(|rule| &*rule.name))?;
        Ok(FlowsAnswer::from_selection(selection))
    }

    fn clients(&self, query: &Query) -> Result<Vec<ClientReport>, String> {
        let selection = Selection::from_query(query)?;
        let report = self.requests.report().map_err(|why| why.to_string())?;
        let clients = report.engine.clients.ok_or_else(|| {
            "clients are not counted: set `clients` in [metrics] of the gateway's file to their number, then run `lasthop gateway reload`".to_owned()
        })?;
        Ok(selection.pick(clients.rows(), |client| client))
    }

    fn drain(&self) -> Result<Drained, String> {
        self.refuse_if_passive("holds no packets and owes nothing, so there is nothing to drain")?;
        let drained = self.requests.drain().map_err(|why| why.to_string())?;
        let EngineReport { held, owed_connections, octets_at_risk, .. } = drained;
        Ok(Drained { held, owed_connections, octets_at_risk })
    }

    fn set_aside(&self, flow: &str) -> Result<SetAside, String> {
        let key = parse_flow(flow)?;
        self.refuse_if_passive("accelerates no connection")?;
        let is_there = self.requests.set_aside(key).map_err(|why| why.to_string())?;
        if is_there { Ok(SetAside {}) } else { Err(format!("unknown connection {flow}")) }
    }

    #[cfg(feature = "roaming")]
    fn roaming(&self) -> Result<&Roaming, String> {
        self.roaming.get().ok_or_else(|| "no clients roam: this gateway is the only one".to_owned())
    }

    #[cfg(feature = "roaming")]
    fn roaming_report(&self) -> Result<RoamingReport, String> {
        self.roaming()?.report()
    }

    /// Refuses a request that has no purpose with a passive gateway, for this reason.
    fn refuse_if_passive(&self, why: &str) -> Result<(), String> {
        if self.in_force.plan.passive { Err(format!("the gateway is passive: it {why}")) } else { Ok(()) }
    }

    /// Reads the file again and has the packet loops apply it. An invalid file changes nothing.
    fn reload(&self) -> Result<Reloaded, String> {
        let Some(file) = &self.file else {
            return Err("this gateway was started without a configuration file".to_owned());
        };
        // A pipe has reached its end, and an empty file would be valid.
        if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(format!("{}: not a regular file; cannot be read again", file.display()));
        }
        let config = config::read(file, LinkSenses::empty()).map_err(|error| {
            warn!(%error, "the new configuration was rejected; the old one stays in force");
            format!("{error}; the old configuration stays in force")
        })?;
        if (config.role, config.tx_status) != (self.in_force.role, self.in_force.tx_status) {
            // The agents of the new rules would lack what they need to know.
            return Err(format!(
                "{}: role or ports.tx-status has changed, which takes a restart; the old configuration stays in force",
                file.display()
            ));
        }
        let mut notes: Vec<String> = config
            .takes_restart(&self.in_force)
            .into_iter()
            .map(|key| match key {
                "traffic" | "rule" => {
                    format!("[{key}] is in force; traffic that it newly selects reaches the gateway after a restart")
                }
                "passive" if self.in_force.plan.passive => {
                    "the gateway is passive until it is restarted without --passive and passive = true".to_owned()
                }
                _ => format!("[{key}] has changed; the change takes effect after a restart"),
            })
            .collect();
        let note = match self.requests.reload(&config.plan) {
            // A passive gateway has no rules.
            Ok(_) if self.in_force.plan.passive => None,
            Ok(selected) => selected.note(),
            Err(why @ Unanswered::Pending) => Some(why.to_string()),
            Err(why) => {
                warn!(file = %file.display(), %why, "the old configuration stays in force");
                return Err(format!("{why}; the old configuration stays in force"));
            }
        };
        if let Some(note) = note {
            warn!(file = %file.display(), "{note}");
            notes.push(note);
        }
        info!(file = %file.display(), ?notes, "reloaded");
        Ok(Reloaded { notes })
    }
}

impl SocketClients {
    /// Adds an accepted client. If the list is full, it replaces a client that has sent no request.
    fn admit<R>(
        &mut self,
        accepted: io::Result<Option<Client<R>>>,
        now: Instant,
        room: impl FnOnce(&mut Self) -> &mut Vec<Client<R>>,
    ) {
        match accepted {
            Ok(client) => {
                let clients = room(self);
                if client.is_some()
                    && clients.len() >= MAX_SOCKET_CLIENTS
                    && let Some(silent) = clients.iter().position(Client::is_silent)
                {
                    clients.remove(silent);
                }
                clients.extend(client);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                warn!(%error, "cannot accept a client");
                self.closed_until = Some(now + ACCEPT_PAUSE);
            }
        }
    }
}

/// Whether another client can be accepted.
fn has_room<R>(clients: &[Client<R>]) -> bool {
    clients.len() < MAX_SOCKET_CLIENTS || clients.iter().any(Client::is_silent)
}

/// A client's descriptor, the events to wait for, and its deadline.
fn watch_of<R>(client: &Client<R>) -> (BorrowedFd<'_>, PollFlags, Instant) {
    (client.fd(), client.waits_for(), client.deadline())
}

fn accept_metrics(listener: &TcpListener, now: Instant) -> io::Result<Option<Client<Infallible>>> {
    let (stream, _) = listener.accept()?;
    stream.set_nonblocking(true)?;
    Ok(Some(Client::new(stream, now)))
}

/// The answers of the control socket.
struct ControlAnswers<'a>(&'a Housekeeping);

impl Answers for ControlAnswers<'_> {
    type Rest = FlowsAnswer;

    fn is_whole(&self, question: &[u8]) -> bool {
        control::is_whole(question)
    }

    fn answer(&self, question: &[u8]) -> Part<FlowsAnswer> {
        match control::read_question(question) {
            Ok(Command::Status) => reply(self.0.status()),
            Ok(Command::Flows(query)) => match self.0.flows(&query) {
                Ok(answer) => self.next_part(answer),
                Err(why) => reply::<()>(Err(why)),
            },
            Ok(Command::Clients(query)) => reply(self.0.clients(&query)),
            Ok(Command::Reload) => reply(self.0.reload()),
            Ok(Command::Drain) => reply(self.0.drain()),
            Ok(Command::Aside { flow }) => reply(self.0.set_aside(&flow)),
            #[cfg(feature = "roaming")]
            Ok(Command::Roaming) => reply(self.0.roaming_report()),
            #[cfg(feature = "roaming")]
            Ok(Command::ClientJoined { client, from }) => {
                let joined = self.0.roaming().and_then(|roaming| roaming.joined(client, from.as_deref()));
                reply(joined.map(|()| Noted {}))
            }
            #[cfg(feature = "roaming")]
            Ok(Command::ClientLeft { client }) => {
                reply(self.0.roaming().map(|roaming| roaming.left(client)).map(|()| Noted {}))
            }
            Err(why) => reply::<()>(Err(why)),
        }
    }

    fn next_part(&self, mut rest: FlowsAnswer) -> Part<FlowsAnswer> {
        match self.0.requests.flows(rest.place) {
            Ok(page) => {
                let octets = rest.take(page.flows, page.next.is_none());
                Part { octets, rest: page.next.map(|place| FlowsAnswer { place, ..rest }) }
            }
            Err(why) if !rest.list.has_begun => reply::<()>(Err(why.to_string())),
            // The loop has ended within the list, which stays incomplete and is not valid JSON.
            Err(_) => Part::whole(Vec::new()),
        }
    }
}

/// A list of connections, requested page by page. It is the only answer that is too long for a
/// single part.
struct FlowsAnswer {
    selection: Selection<FlowReport>,
    /// The start of the next page.
    place: usize,
    list: List,
    /// If the gateway sorts and limits the list: the first connections so far in its order, and
    /// some more.
    first: Vec<FlowReport>,
}

impl FlowsAnswer {
    fn from_selection(selection: Selection<FlowReport>) -> Self {
        Self { selection, place: 0, list: List::default(), first: Vec::new() }
    }

    /// Adds a page. Returns the octets to be sent now.
    fn take(&mut self, mut page: Vec<FlowReport>, is_last: bool) -> Vec<u8> {
        let Some(limit) = self.selection.sorted_limit() else {
            page.retain(|flow| self.selection.keeps(flow));
            return self.list.part(&page, is_last);
        };
        self.first.extend(page.into_iter().filter(|flow| self.selection.keeps(flow)));
        if is_last || self.first.len() > 2 * limit {
            self.first = self.selection.pick(std::mem::take(&mut self.first), |flow| flow);
        }
        if is_last { self.list.part(&self.first, true) } else { Vec::new() }
    }
}

/// The answers of the metrics listener.
struct MetricsAnswers<'a>(&'a Housekeeping);

impl Answers for MetricsAnswers<'_> {
    type Rest = Infallible;

    fn is_whole(&self, question: &[u8]) -> bool {
        http::is_whole(question)
    }

    fn answer(&self, question: &[u8]) -> Part<Infallible> {
        let address = self.0.listeners.metrics.as_ref().and_then(|listener| listener.local_addr().ok());
        let host = match address {
            Some(address) if !address.ip().is_loopback() => http::Host::Any,
            _ => http::Host::Local,
        };
        Part::whole(http::answer(question, host, |path| match path {
            "/metrics" => self.0.metrics_page(),
            "/healthz" => self.0.requests.report().ok().map(|_| "ok\n".to_owned()),
            _ => None,
        }))
    }

    fn next_part(&self, rest: Infallible) -> Part<Infallible> {
        match rest {}
    }
}

fn reply<T: Serialize>(outcome: Result<T, String>) -> Part<FlowsAnswer> {
    Part::whole(Answer::from(outcome).line())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    struct Echo;

    impl Answers for Echo {
        type Rest = Infallible;

        fn is_whole(&self, _question: &[u8]) -> bool {
            true
        }

        fn answer(&self, _question: &[u8]) -> Part<Infallible> {
            // More than the kernel's buffer holds.
            Part::whole(vec![7; 1 << 24])
        }

        fn next_part(&self, rest: Infallible) -> Part<Infallible> {
            match rest {}
        }
    }

    #[test]
    fn a_new_client_replaces_only_clients_that_have_sent_no_request() {
        let now = Instant::ZERO;
        let mut clients = SocketClients::default();
        let mut others = Vec::new();
        let mut accepted = |clients: &mut SocketClients| {
            let (other, ours) = UnixStream::pair().expect("sockets");
            ours.set_nonblocking(true).expect("a socket");
            others.push(other);
            clients.admit(Ok(Some(Client::new(ours, now))), now, |clients| &mut clients.metrics);
        };
        for _ in 0..3 * MAX_SOCKET_CLIENTS {
            assert!(has_room(&clients.metrics));
            accepted(&mut clients);
        }
        assert_eq!(clients.metrics.len(), MAX_SOCKET_CLIENTS);
        for other in &mut others {
            // Replaced clients are closed.
            let _ = io::Write::write_all(other, b"?");
        }
        clients.metrics.retain_mut(|client| client.step(now, &Echo));
        assert_eq!(clients.metrics.len(), MAX_SOCKET_CLIENTS);
        assert!(!has_room(&clients.metrics), "all are being answered");
    }
}
