//! A socket through which links are changed while they are in use, and through which an emulation
//! says what it is and has done. A client sends a `Command` as a JSON document on a line, and reads an
//! [`Answer`]. All changes of a request are made between the same two events, or none. A command with a
//! key that is not known is refused, and nothing is done: it might mean less than was asked.

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
use lasthop_linux::answer::Answer;
use lasthop_linux::clock;
use lasthop_linux::control::client::{Answers, Client, Part};
use lasthop_linux::control::listener::ControlListener;
use lasthop_linux::unprivileged;
use message::Command;
use ways::Ways;

pub use client::{ControlError, change, is_another_user_s, sockets, status};
pub use message::{About, Status};

/// More than any change of all links takes, in octets.
const LONGEST_REQUEST: usize = 1 << 20;
/// Clients at a time. A further one takes the place of the first that has not asked anything yet; if all
/// have, it waits in the kernel's backlog.
const MOST_CLIENTS: usize = 16;
/// After a client could not be let in, for want of descriptors perhaps, nobody is let in for so long.
const CLOSED: Duration = Duration::from_millis(100);
/// How long the thread may take to end; one that waits for a file ends with the process.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// The socket of one emulation. It vanishes with this value.
#[derive(Debug)]
pub struct ControlSocket {
    listener: Arc<ControlListener>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// The socket of the emulation in the process with this number.
pub fn socket_of(pid: u32, directory: &Directory) -> PathBuf {
    directory.path().join(format!("emulate-{pid}.sock"))
}

impl ControlSocket {
    /// Listens at a path, for root, this process's own user, and `user`, for changes of `settings`, whose
    /// links are `links` in the world, and for questions about the emulation.
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
        // Of users who are not in this user namespace, only root can open the file: its mode and its
        // directory's see to that.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.listener.path()
    }
}

/// Answers clients until `stop` is readable. No client can keep another one waiting.
fn serve(listener: &ControlListener, server: &RefCell<Server>, stop: &OwnedFd) -> io::Result<()> {
    let mut clients: Vec<(Client<Infallible>, FurtherFiles)> = Vec::new();
    let mut closed_until: Option<Instant> = None;
    loop {
        // One that has not asked anything makes room for one that may.
        let silent = clients.iter().position(|(client, _)| client.is_silent());
        let is_full = clients.len() >= MOST_CLIENTS;
        let is_open = closed_until.is_none() && (!is_full || silent.is_some());
        let events = if is_open { PollFlags::IN } else { PollFlags::empty() };
        let own = [(stop.as_fd(), PollFlags::IN), (listener.as_fd(), events)];
        let all = own.into_iter().chain(clients.iter().map(|(client, _)| (client.fd(), client.waits_for())));
        let mut files: Vec<PollFd<'_>> =
            all.map(|(file, events)| PollFd::from_borrowed_fd(file, events)).collect();
        let deadline = clients.iter().map(|(client, _)| client.deadline()).chain(closed_until).min();
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
        let knocks = !files[1].revents().is_empty();
        let now = clock::now();
        closed_until = closed_until.filter(|until| *until > now);
        if is_open && knocks {
            match listener.accept(now) {
                // The user who has the socket is not always the one whose rights this process has; and no
                // user may keep it waiting.
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
                    closed_until = Some(now + CLOSED);
                }
            }
        }
        clients
            .retain_mut(|(client, further)| client.step(now, &ControlAnswers { server, further: *further }));
    }
}

/// Answers a client, for which this process opens these further files.
struct ControlAnswers<'s> {
    server: &'s RefCell<Server>,
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
        // A socket, or the lock beside one.
        let of_socket =
            |name: &str| name.strip_suffix(".lock").unwrap_or(name).strip_suffix(".sock").map(str::to_owned);
        let socket = name.strip_prefix("emulate-").and_then(of_socket);
        let other = || name.strip_prefix("hosts-").or_else(|| name.strip_prefix("resolv-"));
        let is_socket = socket.is_some();
        let pid = socket.or_else(|| other().map(str::to_owned)).and_then(|pid| pid.parse::<u32>().ok());
        let Some(pid) = pid else { continue };
        // One whose process lives may be about to listen.
        let is_left = !Path::new("/proc").join(pid.to_string()).exists();
        if is_left && (!is_socket || !is_alive(&entry.path())) {
            // Another one may have been quicker.
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

/// Reads assignments: a key of a link and its value, `KEY=VALUE`, each on a line of its own.
pub fn parse_assignments(assignments: &[String]) -> Result<Vec<(&str, &str)>, String> {
    assignments
        .iter()
        // One without a line assigns nothing, too.
        .flat_map(|text| text.lines().chain(text.is_empty().then_some("")))
        .map(|line| line.split_once('=').map(|(key, value)| (key.trim(), value.trim())))
        .collect::<Option<_>>()
        .ok_or_else(|| "expected KEY=VALUE, such as air.loss=2%".to_owned())
}

/// A key as people write it, of all the ways to write it.
fn short_key(key: &str) -> String {
    let whole = key.split('.').map(str::trim).collect::<Vec<_>>().join(".");
    whole.strip_prefix("links.").unwrap_or(&whole).to_owned()
}

struct Server {
    about: About,
    settings: Settings,
    links: Vec<LinkId>,
    handle: Handle,
}

impl Server {
    /// The answer to a question, as it is sent.
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
        self.pass()?;
        let summary = self.handle.summary().map_err(|gone| gone.to_string())?;
        match serde_json::to_value(summary) {
            Ok(serde_json::Value::Object(summary)) => Ok(Status { about: self.about.clone(), summary }),
            _ => Err("the summary cannot be written as JSON".to_owned()),
        }
    }

    /// Notes the changes that the file has for the time until now.
    fn pass(&mut self) -> Result<(), String> {
        let now = self.handle.with_world(|world| world.now()).map_err(|gone| gone.to_string())?;
        for (key, value) in self.settings.pass(now.since(Instant::ZERO)) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.about.set(short_key(&key), text);
        }
        Ok(())
    }

    fn set(&mut self, assignments: &[String], further: FurtherFiles) -> Result<(), String> {
        let assignments = parse_assignments(assignments)?;
        let ways = Ways::of(self.settings.scenario());
        let assignments = assignments.into_iter().map(|(key, value)| Ok((ways.of_a_file(key)?, value)));
        let assignments: Vec<(String, &str)> = assignments.collect::<Result<_, String>>()?;
        let assignments: Vec<(&str, &str)> =
            assignments.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        self.pass()?;
        let mut settings = self.settings.clone();
        let before = settings.set(&assignments, further).map_err(|error| error.to_string())?;
        let changes = before.changes_of_links(settings.scenario());
        // Those to come are made on top of what is set now. One whose time comes meanwhile is made again.
        let planned = settings.scenario().planned_changes(&self.links, false);
        let intervals = settings.scenario().planned_intervals(&self.links, false);
        let links = self.links.clone();
        let changed: Vec<_> =
            assignments.iter().map(|(key, value)| (short_key(key), (*value).to_owned())).collect();
        let names: Vec<String> =
            settings.scenario().links.iter().map(|link| link.name().to_owned()).collect();
        let work = move |world: &mut World| {
            // All are looked at before the first one is made.
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
    fn a_socket_whose_process_lives_is_left_alone_before_it_listens() {
        let directory = tempfile::tempdir().expect("a directory");
        let of = |pid: u32| directory.path().join(format!("emulate-{pid}.sock"));
        // Above the kernel's largest (`PID_MAX_LIMIT`, 2^22).
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
