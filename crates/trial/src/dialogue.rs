//! A dialogue between two real hosts: the script of the simulator, over connections of the kernel's
//! TCP.
//!
//! One thread has both ends of all connections, because the next step of the script depends on the
//! octets that have arrived at either end.

mod connection;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use lasthop_apps::session::{Dialogue, DialogueEvent, Lane, Party, Step};
use lasthop_packet::Instant;
use lasthop_sim::{SessionOutcome, SessionResult};
use lasthop_tcp::Stats;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::pattern::PIECE;
use super::socket;
use super::timetable::Timetable;
use super::wait::timespec;
use connection::Connection;
use lasthop_linux::namespace::Namespace;

/// The maximum number of connections that the script no longer uses and that are still being
/// closed. Above it the oldest is aborted.
const MAX_CLOSING: usize = 256;

/// A dialogue before it starts.
pub(super) struct Conversation<'a> {
    pub(super) name: &'a str,
    /// The host that opens connections.
    pub(super) client: &'a Namespace,
    /// The other host, with its address.
    pub(super) server: (&'a Namespace, IpAddr),
    /// The congestion control of both.
    pub(super) congestion: &'a str,
    pub(super) dialogue: Dialogue,
    pub(super) timetable: Timetable<'a>,
}

impl Conversation<'_> {
    /// Runs the dialogue. The calling thread moves to the client's namespace for the rest of its
    /// life.
    pub(super) fn run(self) -> io::Result<SessionOutcome> {
        self.client.move_into()?;
        let timetable = self.timetable;
        let name = self.name.to_owned();
        let mut running = RunningDialogue {
            conversation: self,
            due: None,
            steps: Vec::new(),
            listeners: Vec::new(),
            connections: Vec::new(),
            opened: 0,
            is_wrong: false,
        };
        timetable.wait_for_start();
        let done_at = running.run()?;
        while let Some(connection) = running.connections.pop() {
            running.count(&connection);
            connection.abort();
        }
        let dialogue = &running.conversation.dialogue;
        let end = done_at.unwrap_or_else(|| timetable.now().min(timetable.end));
        Ok(SessionOutcome {
            name,
            octets: dialogue.received(),
            measured: timetable.measured(end),
            intact: !running.is_wrong,
            result: SessionResult::Dialogue(dialogue.outcome()),
        })
    }
}

/// A dialogue while it runs.
struct RunningDialogue<'a> {
    conversation: Conversation<'a>,
    /// The time of the script's next step without other events.
    due: Option<Instant>,
    /// A list that is reused.
    steps: Vec<Step>,
    listeners: Vec<Listener>,
    connections: Vec<Connection>,
    opened: u64,
    /// Whether octets arrived that were not sent.
    is_wrong: bool,
}

/// A listening socket of the server for a port of the script.
struct Listener {
    port: u16,
    socket: TcpListener,
    /// The real address. The kernel chooses the port, because several sessions have servers on one
    /// host.
    address: SocketAddr,
}

/// A socket that is ready.
#[derive(Clone, Copy)]
enum Ready {
    Listener(usize),
    /// An end of the connection with this number.
    End(u64, usize),
}

impl RunningDialogue<'_> {
    /// Runs until the script is done, the run ends, or the user interrupts it. Returns the time at
    /// which the script was done.
    fn run(&mut self) -> io::Result<Option<Instant>> {
        let timetable = self.conversation.timetable;
        let mut buffer = vec![0; PIECE];
        let mut is_stopped = false;
        self.on_event(DialogueEvent::Start)?;
        loop {
            let now = timetable.now();
            if now >= timetable.end || timetable.is_interrupted() {
                return Ok(None);
            }
            if now >= timetable.stop && !is_stopped {
                is_stopped = true;
                self.on_event(DialogueEvent::Stop)?;
            }
            if self.due.is_some_and(|due| due <= now) {
                self.due = None;
                self.on_event(DialogueEvent::Due)?;
            }
            if self.conversation.dialogue.is_done() {
                return Ok(Some(now));
            }
            self.connections.iter_mut().for_each(Connection::flush);
            self.remove_closed()?;
            let stop = (!is_stopped).then_some(timetable.stop);
            let next = self.due.into_iter().chain(stop).chain([timetable.end]);
            for ready in self.wait(next)? {
                match ready {
                    Ready::Listener(index) => self.accept(index)?,
                    Ready::End(number, end) => self.read(number, end, &mut buffer)?,
                }
            }
        }
    }

    /// Passes an event to the script and carries out its steps.
    fn on_event(&mut self, event: DialogueEvent) -> io::Result<()> {
        let mut steps = std::mem::take(&mut self.steps);
        let now = self.conversation.timetable.now();
        let wake_at = self.conversation.dialogue.on_event(event, now, &mut steps);
        self.due = wake_at.or(self.due);
        for step in steps.drain(..) {
            match step {
                Step::Open { lane, port } => self.open(lane, port)?,
                Step::Write { lane, from, octets } => {
                    self.on_lane(lane, |connection| connection.write(from, octets));
                }
                Step::Close { lane, from } => self.on_lane(lane, |connection| connection.close(from)),
                Step::Leave { lane, from } => self.on_lane(lane, |connection| {
                    connection.close(from);
                    connection.lane = None;
                }),
            }
        }
        self.steps = steps;
        Ok(())
    }

    fn on_lane(&mut self, lane: Lane, act: impl FnOnce(&mut Connection)) {
        self.connections.iter_mut().find(|connection| connection.lane == Some(lane)).map(act);
    }

    fn open(&mut self, lane: Lane, port: u16) -> io::Result<()> {
        self.on_lane(lane, |before| before.lane = None);
        let Conversation { server, congestion, .. } = self.conversation;
        if !self.listeners.iter().any(|listener| listener.port == port) {
            let socket = socket::listen(server.0, SocketAddr::new(server.1, 0), congestion)?;
            let address = socket.local_addr()?;
            self.listeners.push(Listener { port, socket, address });
        }
        let listener = self.listeners.iter().find(|listener| listener.port == port);
        let Some(Listener { address, .. }) = listener else { return Ok(()) };
        self.opened += 1;
        self.connections.push(Connection::open(self.opened, lane, *address, congestion)?);
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> io::Result<()> {
        loop {
            let Listener { socket, address, .. } = &self.listeners[listener];
            match socket.accept() {
                Ok((accepted, client)) => {
                    let is_it = |one: &&mut Connection| one.is_between(client, *address);
                    // An unknown connection, or one that has been aborted since, is closed again.
                    if let Some(connection) = self.connections.iter_mut().find(is_it) {
                        connection.accept(accepted)?;
                    }
                }
                Err(error) if connection::would_block(&error) => return Ok(()),
                // The connection was reset before it was accepted; the client's end also reports
                // it.
                Err(error) if socket::is_closed_by_peer(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads an end of the connection with this number.
    fn read(&mut self, number: u64, end: usize, buffer: &mut [u8]) -> io::Result<()> {
        // It may have been aborted since.
        let Some(connection) = self.connections.iter_mut().find(|one| one.number == number) else {
            return Ok(());
        };
        let read = connection.read(end, buffer);
        let lane = connection.lane;
        self.is_wrong |= read.is_wrong;
        self.conversation.dialogue.record_received(read.octets);
        if let Some(lane) = lane {
            for _ in 0..read.messages {
                self.on_event(DialogueEvent::Arrived(lane, Party::from_index(end)))?;
            }
        }
        Ok(())
    }

    /// Removes connections that are closed or have failed.
    fn remove_closed(&mut self) -> io::Result<()> {
        while let Some(index) = self.connections.iter().position(Connection::is_over) {
            let over = self.connections.remove(index);
            self.count(&over);
            if over.lane.is_some() && (over.has_failed() || over.has_undelivered()) {
                self.fail()?;
            }
        }
        let mut closing = self.connections.iter().enumerate().filter(|(_, one)| one.lane.is_none());
        if let (Some((oldest, _)), Some(_)) = (closing.next(), closing.nth(MAX_CLOSING - 1)) {
            let oldest = self.connections.remove(oldest);
            self.count(&oldest);
            oldest.abort();
        }
        Ok(())
    }

    /// Aborts all connections that the script uses after one has failed, as in the simulator.
    fn fail(&mut self) -> io::Result<()> {
        while let Some(index) = self.connections.iter().position(|connection| connection.lane.is_some()) {
            let connection = self.connections.remove(index);
            self.count(&connection);
            connection.abort();
        }
        self.on_event(DialogueEvent::Failed)
    }

    fn count(&mut self, removed: &Connection) {
        self.conversation.dialogue.count(&Stats { retransmits: removed.retransmits(), ..Stats::default() });
    }

    /// Waits for a ready socket or for the first of these times. Returns the ready sockets.
    fn wait(&self, times: impl IntoIterator<Item = Instant>) -> io::Result<Vec<Ready>> {
        let mut watched = Vec::new();
        let mut polled = Vec::new();
        for (index, listener) in self.listeners.iter().enumerate() {
            watched.push(Ready::Listener(index));
            polled.push(PollFd::new(&listener.socket, PollFlags::IN));
        }
        for connection in &self.connections {
            for (end, (socket, interest)) in connection.interests() {
                watched.push(Ready::End(connection.number, end));
                polled.push(PollFd::new(socket, interest));
            }
        }
        let timeout = self.conversation.timetable.until_first(times);
        match poll(&mut polled, Some(&timespec(timeout))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = watched.into_iter().zip(&polled).filter(|(_, polled)| !polled.revents().is_empty());
        Ok(ready.map(|(watched, _)| watched).collect())
    }
}
