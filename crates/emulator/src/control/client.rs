//! Asking emulations.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::message::{Command, Status};
use crate::directory::Directory;
use lasthop_linux::answer::Answer;

/// More than any emulation has to say.
const LONGEST_ANSWER: u64 = 16 << 20;
/// An emulation that does not say what it is for this long is stopped.
const PATIENCE: Duration = Duration::from_secs(2);
/// One that is to change may have to read files, and thousands of changes to come.
const PATIENCE_WITH_CHANGES: Duration = Duration::from_secs(20);

/// Why a running emulation was not changed.
#[derive(Debug, Error)]
pub enum ControlError {
    /// Nobody is there, or not any more.
    #[error("cannot reach the emulation at {path}: {source}{}", to_reach(.source))]
    Unreachable {
        /// Its socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It ended, or hung up, before it had answered: links may have changed, or not.
    #[error("the emulation at {path} does not answer")]
    NoAnswer {
        /// Its socket.
        path: PathBuf,
    },
    /// It answered in a way that is not known here.
    #[error(
        "the emulation at {path} sent a malformed reply (its version may differ from this command's): {error}"
    )]
    Malformed {
        /// Its socket.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It would not.
    #[error("{0}")]
    Refused(String),
}

/// What makes an emulation's socket open, if that is known.
fn to_reach(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; it runs as another user: use sudo",
        _ => "",
    }
}

/// The sockets of the emulations in these directories, by path.
pub fn sockets(directories: &[Directory]) -> Vec<PathBuf> {
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory.path()));
    let mut sockets: Vec<PathBuf> = entries
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .filter(|path| is_alive(path))
        .collect();
    sockets.sort();
    sockets
}

/// Whether an emulation listens at this socket, or may do so.
pub(super) fn is_alive(socket: &Path) -> bool {
    connect(socket, PATIENCE).err().is_none_or(|error| error.kind() != io::ErrorKind::ConnectionRefused)
}

/// Whether the emulation at this socket belongs to another user, and this one is not root.
pub fn is_another_user_s(socket: &Path) -> bool {
    connect(socket, PATIENCE).err().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Connects to an emulation, which is waited for, then and later, at most this long at a time.
fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    for way in [Timeout::Send, Timeout::Recv] {
        set_socket_timeout(&socket, way, Some(patience))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Asks the emulation at a socket for changes, each `KEY=VALUE`; all are made or none.
pub fn change(path: &Path, assignments: &[String]) -> Result<(), ControlError> {
    ask(path, &Command::Set { assignments: assignments.to_vec() }, PATIENCE_WITH_CHANGES)
}

/// Asks the emulation at a socket what it is and what it has done so far.
pub fn status(path: &Path) -> Result<Status, ControlError> {
    ask(path, &Command::Status {}, PATIENCE)
}

fn ask<T: DeserializeOwned>(path: &Path, command: &Command, patience: Duration) -> Result<T, ControlError> {
    let path = path.to_owned();
    let ask = || -> io::Result<String> {
        let mut stream = connect(&path, patience)?;
        stream.write_all(&[serde_json::to_vec(command)?.as_slice(), b"\n"].concat())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.take(LONGEST_ANSWER).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = match ask() {
        Ok(answer) if answer.is_empty() => return Err(ControlError::NoAnswer { path }),
        Ok(answer) => answer,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            return Err(ControlError::NoAnswer { path });
        }
        Err(source) => return Err(ControlError::Unreachable { path, source }),
    };
    match serde_json::from_str(&answer).map_err(|error| ControlError::Malformed { path, error })? {
        Answer::Ok(told) => Ok(told),
        Answer::Error(why) => Err(ControlError::Refused(why)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_emulation_that_hangs_up_without_an_answer_is_not_taken_to_have_changed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("emulate.sock");
        let listener = UnixListener::bind(&path).expect("it is free");
        let dying = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.read_to_string(&mut String::new()).expect("a request");
        });
        let outcome = change(&path, &["air.loss=2%".to_owned()]);
        dying.join().expect("it ends");
        assert!(matches!(outcome, Err(ControlError::NoAnswer { .. })), "{outcome:?}");
    }
}
