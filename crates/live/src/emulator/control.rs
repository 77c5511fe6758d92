//! A socket through which links are changed while they are in use: a client sends lines of `KEY=VALUE` and closes its half; all are
//! applied between two events, or none. The answer is empty, or says what is wrong.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lasthop_scenario::Settings;
use lasthop_sim::LinkId;
use lasthop_sim::World;
use thiserror::Error;

use super::running::Handle;

/// More than any change of all links takes.
const LONGEST_REQUEST: u64 = 1 << 20;
/// A client that says nothing must not keep others out.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket of one emulation. It vanishes with this value.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Why a running emulation was not changed.
#[derive(Debug, Error)]
pub enum ControlError {
    /// Nobody is there, or not any more.
    #[error("cannot reach the emulation at {path}: {source}")]
    Unreachable {
        /// Its socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It would not.
    #[error("{0}")]
    Refused(String),
}

/// The socket of the emulation in the process with this number.
pub fn socket_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/run/lasthop/emulate-{pid}.sock"))
}

impl ControlSocket {
    /// Listens at a path, for the owner only, for changes of `settings`, whose links are `links` in the world.
    pub fn listen(path: PathBuf, settings: Settings, links: Vec<LinkId>, handle: Handle) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
            remove_dead_sockets(directory);
        }
        // One that is there was left by a process of this number that was killed.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let mut server = Server { settings, links, handle };
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if is_closing.load(Ordering::Acquire) {
                    break;
                }
                if let Err(error) = server.serve(stream) {
                    tracing::warn!("a request to change links was not answered: {error}");
                }
            }
        })?;
        Ok(Self { path, closing, thread: Some(thread) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether an emulation listens at this socket, or may do so.
pub fn is_alive(socket: &Path) -> bool {
    UnixStream::connect(socket).err().is_none_or(|error| error.kind() != io::ErrorKind::ConnectionRefused)
}

/// Removes the sockets of emulations that were killed: nobody listens there.
fn remove_dead_sockets(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let pid = name.strip_prefix("emulate-").and_then(|name| name.strip_suffix(".sock"));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        // One whose process lives may be about to listen.
        let is_left = !Path::new("/proc").join(pid.to_string()).exists();
        if is_left && !is_alive(&entry.path()) {
            // Another one may have been quicker.
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Wakes the thread; where nobody can be reached it is not waited for.
        let told = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
        if let (Ok(()), Some(thread)) = (told.map(drop), self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Asks the emulation at a socket for changes; all are made or none.
pub fn change(path: &Path, assignments: &[String]) -> Result<(), ControlError> {
    let unreachable = |source| ControlError::Unreachable { path: path.to_owned(), source };
    let ask = || {
        let mut stream = UnixStream::connect(path)?;
        stream.write_all(assignments.join("\n").as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(unreachable)?;
    if answer.is_empty() { Ok(()) } else { Err(ControlError::Refused(answer)) }
}

/// Reads a request: a key of a link and its value a line, `KEY=VALUE`.
pub fn parse_request(request: &str) -> Result<Vec<(&str, &str)>, String> {
    request
        .lines()
        .map(|line| line.split_once('=').map(|(key, value)| (key.trim(), value.trim())))
        .collect::<Option<_>>()
        .ok_or_else(|| "expected KEY=VALUE, such as air.loss=2%".to_owned())
}

struct Server {
    settings: Settings,
    links: Vec<LinkId>,
    handle: Handle,
}

impl Server {
    fn serve(&mut self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut request = String::new();
        Read::by_ref(&mut stream).take(LONGEST_REQUEST).read_to_string(&mut request)?;
        if request.len() as u64 == LONGEST_REQUEST {
            return stream.write_all(b"the request is longer than any; nothing has changed");
        }
        if request.is_empty() {
            // Somebody looked whether we are alive.
            return Ok(());
        }
        if let Err(problem) = self.apply(&request) {
            stream.write_all(problem.as_bytes())?;
        }
        Ok(())
    }

    fn apply(&mut self, request: &str) -> Result<(), String> {
        let assignments = parse_request(request)?;
        let mut settings = self.settings.clone();
        let before = settings.set(&assignments).map_err(|error| error.to_string())?;
        let changes = before.changes_of_links(settings.scenario());
        let links = self.links.clone();
        let work = move |world: &mut World| {
            let all = || changes.iter().map(|(index, way, change)| (links[*index], *way, change));
            // All are looked at before the first one is made.
            all().try_for_each(|(link, way, change)| world.can_reconfigure_link(link, way, change))?;
            all().try_for_each(|(link, way, change)| world.reconfigure_link(link, way, change))
        };
        let changed = self.handle.with_world(work).map_err(|gone| gone.to_string())?;
        changed.map_err(|error| error.to_string())?;
        self.settings = settings;
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
        remove_dead_sockets(directory.path());
        assert_eq!((of(std::process::id()).exists(), of(dead).exists()), (true, false));
        drop(bound);
    }
}
