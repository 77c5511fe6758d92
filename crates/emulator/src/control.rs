//! The control socket of an emulation: it changes links while they are in use, and reports the
//! status of the emulation. A client sends a `Command` as a JSON document on one line, and reads an
//! [`Answer`]. All changes of a request are made between the same two events, or none is. A command
//! with an unknown key is refused and has no effect: ignoring the key could do less than the client
//! requested.

mod client;
mod message;
mod ways;

use std::cell::RefCell;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{FurtherFiles, Settings};
use lasthop_sim::LinkId;
use lasthop_sim::World;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::directory::Directory;
use super::running::Handle;
use client::is_alive;
use lasthop_linux::clock;
use lasthop_linux::control::Answer;
use lasthop_linux::control::client::{Answers, Client, Part};
use lasthop_linux::control::listener::ControlListener;
use lasthop_linux::unprivileged;
use message::Command;
use ways::Ways;

pub use client::{ControlError, change, is_another_user_s, sockets, status};
pub use message::{About, Status};

/// The maximum length of a request, in octets: more than a change of all links needs.
const LONGEST_REQUEST: usize = 1 << 20;
/// The maximum number of clients. A further one replaces the first that has not sent a request yet;
/// if all have, it waits in the kernel's backlog.
const MAX_CLIENTS: usize = 16;
/// The time without further accepts after an accept failed, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The maximum wait for the end of the thread; a thread that waits for a file ends with the
/// process.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// The socket of one emulation. It is removed when this value is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: Arc<ControlListener>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// The path of the socket of the emulation with this process ID.
pub fn socket_of(pid: u32, directory: &Directory) -> PathBuf {
    directory.path().join(format!("emulate-{pid}.sock"))
}

impl ControlSocket {
    /// Listens at a path for requests of root, this process's own user, and `user`. Requests change
    /// `settings`, whose links are `links` in the world, or query the status.
    pub fn listen(
        path: &Path,
        user: Option<u32>,
        about: About,
        settings: Settings,
        links: Vec<LinkId>,
        handle: Handle,
    ) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            remove_files_of_the_dead(directory);
        }
        // Of the users outside this user namespace, only root can open the file, because of its
        // mode and its directory's.
        let others: Vec<u32> = user.into_iter().chain(unprivileged::stand_in_for_others()).collect();
        let listener = Arc::new(ControlListener::open(path, &others)?);
        if let Some(user) = user {
            chown(path, Some(user), None)?;
        }
        let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let server = RefCell::new(Server { about, settings, links, handle });
        let (served, is_over) = (Arc::clone(&listener), Arc::clone(&stop));
        let serve = move || {
            if let Err(error) = serve(&served, &server, &is_over) {
                tracing::warn!("links cannot be changed any more: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(serve)?;
        Ok(Self { listener, stop, thread: Some(thread) })
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        self.listener.path()
    }
}

/// Answers clients until `stop` is readable. No client can keep another one waiting.
fn serve(listener: &ControlListener, server: &RefCell<Server>, stop: &OwnedFd) -> io::Result<()> {
    let mut clients: Vec<(Client<Infallible>, FurtherFiles)> = Vec::new();
    let mut paused_until: Option<Instant> = None;
    loop {
        // A client without a request can be replaced.
        let silent = clients.iter().position(|(client, _)| client.is_silent());
        let is_full = clients.len() >= MAX_CLIENTS;
        let accepts = paused_until.is_none() && (!is_full || silent.is_some());
        let events = if accepts { PollFlags::IN } else { PollFlags::empty() };
        let own = [(stop.as_fd(), PollFlags::IN), (listener.as_fd(), events)];
        let all = own.into_iter().chain(clients.iter().map(|(client, _)| (client.fd(), client.waits_for())));
        let mut files: Vec<PollFd<'_>> =
            all.map(|(file, events)| PollFd::from_borrowed_fd(file, events)).collect();
        let deadline = clients.iter().map(|(client, _)| client.deadline()).chain(paused_until).min();
        let timeout = deadline.map(|deadline| {
            let left = deadline.since(clock::now());
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if !files[0].revents().is_empty() {
            return Ok(());
        }
        let is_pending = !files[1].revents().is_empty();
        let now = clock::now();
        paused_until = paused_until.filter(|until| *until > now);
        if accepts && is_pending {
            match listener.accept(now) {
                // A client may have fewer permissions than this process, and no client may make
                // this process wait for a pipe.
                Ok(Some((client, uid))) => {
                    if let Some(silent) = silent.filter(|_| is_full) {
                        clients.remove(silent);
                    }
                    let further = if uid == 0 { FurtherFiles::Regular } else { FurtherFiles::None };
                    clients.push((client, further));
                }
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    tracing::warn!("cannot accept a request to change links: {error}");
                    paused_until = Some(now + ACCEPT_PAUSE);
                }
            }
        }
        clients
            .retain_mut(|(client, further)| client.step(now, &ControlAnswers { server, further: *further }));
    }
}

/// Answers the requests of a client.
struct ControlAnswers<'s> {
    server: &'s RefCell<Server>,
    /// The further files that this process opens for the client.
    further: FurtherFiles,
}

impl Answers for ControlAnswers<'_> {
    type Rest = Infallible;

    fn is_whole(&self, question: &[u8]) -> bool {
        question.contains(&b'\n') || question.len() >= LONGEST_REQUEST
    }

    fn answer(&self, question: &[u8]) -> Part<Infallible> {
        Part::whole(self.server.borrow_mut().answer(question, self.further))
    }

    fn next_part(&self, rest: Infallible) -> Part<Infallible> {
        match rest {}
    }
}

/// Removes the files of emulations that were killed.
fn remove_files_of_the_dead(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A socket, or its lock file.
        let of_socket =
            |name: &str| name.strip_suffix(".lock").unwrap_or(name).strip_suffix(".sock").map(str::to_owned);
        let socket = name.strip_prefix("emulate-").and_then(of_socket);
        let other = || name.strip_prefix("hosts-").or_else(|| name.strip_prefix("resolv-"));
        let is_socket = socket.is_some();
        let pid = socket.or_else(|| other().map(str::to_owned)).and_then(|pid| pid.parse::<u32>().ok());
        let Some(pid) = pid else { continue };
        // A socket whose process exists may be about to listen.
        let is_left = !Path::new("/proc").join(pid.to_string()).exists();
        if is_left && (!is_socket || !is_alive(&entry.path())) {
            // Another emulation may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // This fails only if the counter of the eventfd is full, and then it is readable.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        // The thread may be waiting for a file.
        self.listener.remove();
        let Some(thread) = self.thread.take() else { return };
        let start = clock::now();
        while !thread.is_finished() && clock::now().since(start) < LAST_WAIT {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

/// Parses assignments, each a key of a link and its value, `KEY=VALUE`, on its own line.
pub fn parse_assignments(assignments: &[String]) -> Result<Vec<(&str, &str)>, String> {
    assignments
        .iter()
        // An empty text has no line, but is also malformed.
        .flat_map(|text| text.lines().chain(text.is_empty().then_some("")))
        .map(|line| line.split_once('=').map(|(key, value)| (key.trim(), value.trim())))
        .collect::<Option<_>>()
        .ok_or_else(|| "expected KEY=VALUE, such as air.loss=2%".to_owned())
}

/// The canonical form of a key: without spaces and without the prefix `links.`.
fn short_key(key: &str) -> String {
    let trimmed = key.split('.').map(str::trim).collect::<Vec<_>>().join(".");
    trimmed.strip_prefix("links.").unwrap_or(&trimmed).to_owned()
}

struct Server {
    about: About,
    settings: Settings,
    links: Vec<LinkId>,
    handle: Handle,
}

impl Server {
    /// Returns the encoded answer to a request.
    fn answer(&mut self, question: &[u8], further: FurtherFiles) -> Vec<u8> {
        let line = question.split(|octet| *octet == b'\n').next().unwrap_or_default();
        let command = if line.len() >= LONGEST_REQUEST {
            Err("the request is too long; nothing has changed".to_owned())
        } else {
            serde_json::from_slice(line).map_err(|error| format!("{error}; nothing has changed"))
        };
        match command {
            Ok(Command::Set { assignments }) => Answer::from(self.set(&assignments, further)).line(),
            Ok(Command::Status {}) => Answer::from(self.status()).line(),
            Err(problem) => Answer::<()>::Error(problem).line(),
        }
    }

    fn status(&mut self) -> Result<Status, String> {
        self.record_past_changes()?;
        let summary = self.handle.summary().map_err(|gone| gone.to_string())?;
        match serde_json::to_value(summary) {
            Ok(serde_json::Value::Object(summary)) => Ok(Status { about: self.about.clone(), summary }),
            _ => Err("the summary cannot be written as JSON".to_owned()),
        }
    }

    /// Records the changes that the file has scheduled up to now.
    fn record_past_changes(&mut self) -> Result<(), String> {
        let now = self.handle.with_world(|world| world.now()).map_err(|gone| gone.to_string())?;
        for (key, value) in self.settings.pass(now.since(Instant::ZERO)) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.about.set(short_key(&key), text);
        }
        Ok(())
    }

    fn set(&mut self, assignments: &[String], further: FurtherFiles) -> Result<(), String> {
        let assignments = parse_assignments(assignments)?;
        let ways = Ways::from_scenario(self.settings.scenario());
        let assignments = assignments.into_iter().map(|(key, value)| Ok((ways.file_key(key)?, value)));
        let assignments: Vec<(String, &str)> = assignments.collect::<Result<_, String>>()?;
        let assignments: Vec<(&str, &str)> =
            assignments.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        self.record_past_changes()?;
        let mut settings = self.settings.clone();
        let before = settings.set(&assignments, further).map_err(|error| error.to_string())?;
        let changes = before.changes_of_links(settings.scenario());
        // Later changes of the file apply on top of this one. A change that becomes due meanwhile
        // is applied again.
        let planned = settings.scenario().planned_changes(&self.links, false);
        let intervals = settings.scenario().planned_intervals(&self.links, false);
        let links = self.links.clone();
        let changed: Vec<_> =
            assignments.iter().map(|(key, value)| (short_key(key), (*value).to_owned())).collect();
        let names: Vec<String> =
            settings.scenario().links.iter().map(|link| link.name().to_owned()).collect();
        let work = move |world: &mut World| {
            // All changes are checked before the first one is made.
            for (index, way, change) in &changes {
                let can = world.can_reconfigure_link(links[*index], *way, change);
                can.map_err(|error| format!("{}: {error}", names[*index]))?;
            }
            let made = changes
                .iter()
                .try_for_each(|(index, way, change)| world.reconfigure_link(links[*index], *way, change));
            made.and_then(|()| world.replan_changes(planned, intervals)).map_err(|error| error.to_string())
        };
        self.handle.with_world(work).map_err(|gone| gone.to_string())??;
        self.settings = settings;
        for (key, value) in changed {
            self.about.set(key, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, socket};

    use super::*;

    #[test]
    fn a_socket_of_a_live_process_is_kept_before_it_listens() {
        let directory = tempfile::tempdir().expect("a directory");
        let of = |pid: u32| directory.path().join(format!("emulate-{pid}.sock"));
        // Above the kernel's largest process ID (`PID_MAX_LIMIT`, 2^22).
        let dead = (1 << 22) + 1;
        let bound: Vec<_> = [std::process::id(), dead]
            .into_iter()
            .map(|pid| {
                let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
                bind(&listener, &SocketAddrUnix::new(of(pid)).expect("a short path")).expect("it is free");
                listener
            })
            .collect();
        let hosts = directory.path().join(format!("hosts-{dead}"));
        fs::write(&hosts, "").expect("there is room");
        remove_files_of_the_dead(directory.path());
        assert_eq!((of(std::process::id()).exists(), of(dead).exists()), (true, false));
        assert!(!hosts.exists(), "its process is gone");
        drop(bound);
    }
}
