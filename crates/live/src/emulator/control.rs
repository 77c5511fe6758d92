//! A socket through which links are changed while they are in use, and through which an emulation
//! says what it is and has done. A client sends a `Command` as a JSON document, closes its half, and
//! reads an [`Answer`]. All changes of a request are made between the same two events, or none.

mod client;
mod message;

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{FurtherFiles, Settings};
use lasthop_sim::LinkId;
use lasthop_sim::World;

use super::directory::Directory;
use super::running::Handle;
use crate::answer::Answer;
use crate::clock;
use crate::peer::Peer;
use client::is_alive;
use message::Command;

pub use client::{ControlError, change, is_another_user_s, sockets, status};
pub use message::{About, Status};

/// More than any change of all links takes.
const LONGEST_REQUEST: u64 = 1 << 20;
/// A client that says nothing must not keep others out.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the thread may take to end; one that waits for a file ends with the process.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// The socket of one emulation. It vanishes with this value.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The socket of the emulation in the process with this number.
pub fn socket_of(pid: u32, directory: &Directory) -> PathBuf {
    directory.path().join(format!("emulate-{pid}.sock"))
}

impl ControlSocket {
    /// Listens at a path, for the owner only, for changes of `settings`, whose links are `links` in
    /// the world, and for questions about the emulation.
    pub fn listen(
        path: PathBuf,
        about: About,
        settings: Settings,
        links: Vec<LinkId>,
        handle: Handle,
    ) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            remove_files_of_the_dead(directory);
        }
        // One that is there was left by a process of this number that was killed.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let mut server = Server { about, settings, links, handle };
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let door = listener.try_clone()?;
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(move || {
            loop {
                let accepted = door.accept();
                if is_closing.load(Ordering::Acquire) {
                    break;
                }
                let served = accepted.and_then(|(stream, _)| server.serve(stream));
                if let Err(error) = served {
                    tracing::warn!("cannot answer a request to change links: {error}");
                    // Without descriptors the next attempt would fail at once.
                    std::thread::park_timeout(Duration::from_millis(10));
                }
            }
        })?;
        Ok(Self { path, listener, closing, thread: Some(thread) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the files of emulations that were killed.
fn remove_files_of_the_dead(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let socket = name.strip_prefix("emulate-").and_then(|name| name.strip_suffix(".sock"));
        let other = || name.strip_prefix("hosts-").or_else(|| name.strip_prefix("resolv-"));
        let Some(pid) = socket.or_else(other).and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        // One whose process lives may be about to listen.
        let is_left = !Path::new("/proc").join(pid.to_string()).exists();
        if is_left && (socket.is_none() || !is_alive(&entry.path())) {
            // Another one may have been quicker.
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Wakes the thread.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ = fs::remove_file(&self.path);
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
    fn serve(&mut self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // The user who has the socket is not always the one whose rights this process has; and no user
        // may keep it waiting.
        let is_root = Peer::of(&stream).is_ok_and(|peer| peer.uid == 0);
        let further = if is_root { FurtherFiles::Regular } else { FurtherFiles::None };
        let mut request = String::new();
        Read::by_ref(&mut stream).take(LONGEST_REQUEST).read_to_string(&mut request)?;
        if request.is_empty() {
            // Somebody looked whether we are alive.
            return Ok(());
        }
        let command = if request.len() as u64 == LONGEST_REQUEST {
            Err("the request is too long; nothing has changed".to_owned())
        } else {
            serde_json::from_str(&request).map_err(|error| format!("{error}; nothing has changed"))
        };
        let answer = match command {
            Ok(Command::Set { assignments }) => Answer::from(self.set(&assignments, further)).line(),
            Ok(Command::Status) => Answer::from(self.status()).line(),
            Err(problem) => Answer::<()>::Error(problem).line(),
        };
        stream.write_all(&answer)
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
