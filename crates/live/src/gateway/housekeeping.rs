//! The second thread: signals, the control socket, the metrics page. It asks the packet loop by message, and never touches a packet.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use lasthop_agent::LinkSenses;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use tracing::{error, info, warn};

use super::config::{self, Backend, Config};
use super::control::{self, Answer, Command, MOST_FLOWS, PATIENCE, parse_flow};
use super::doors::{Doors, empty};
use super::packet_loop::{LoopReport, Request};
use super::{http, metrics};
use crate::io::Port;
use crate::peer::Peer;

/// The packet loop answers in far less; one that does not has a fault.
const LOOP_PATIENCE: Duration = Duration::from_secs(5);

/// What the second thread knows of the first, and of the outside.
pub(super) struct Housekeeping {
    pub(super) requests: Sender<Request>,
    /// The configuration file, where there is one to read again.
    pub(super) file: Option<PathBuf>,
    pub(super) ports: Vec<Port>,
    /// The configuration that the daemon was started with.
    pub(super) in_force: Config,
    pub(super) backend: Backend,
    pub(super) doors: Doors,
}

impl Housekeeping {
    /// Runs until the packet loop has ended.
    pub(super) fn run(self) {
        loop {
            let [ended, stop, reload, control, metrics] = match self.wait() {
                Ok(ready) => ready,
                Err(error) => {
                    error!(%error, "cannot wait for signals and questions; the gateway ends");
                    let _ = self.requests.send(Request::Stop);
                    return;
                }
            };
            if ended {
                return;
            }
            if let Some(signals) = &self.doors.signals {
                if stop && empty(&signals.stop) {
                    info!("asked to stop");
                    let _ = self.requests.send(Request::Stop);
                }
                if reload && empty(&signals.reload) {
                    // What went wrong is in the log.
                    let _ = self.reload();
                }
            }
            // Somebody who hangs up early, or says nothing, is no trouble of ours.
            if control {
                let _ = self.answer_control();
            }
            if metrics {
                let _ = self.answer_metrics();
            }
        }
    }

    fn wait(&self) -> io::Result<[bool; 5]> {
        let Doors { control, metrics, signals, ended } = &self.doors;
        let doors: [Option<BorrowedFd<'_>>; 5] = [
            Some(ended.as_fd()),
            signals.as_ref().map(|signals| signals.stop.as_fd()),
            signals.as_ref().map(|signals| signals.reload.as_fd()),
            control.as_ref().map(|door| door.listener.as_fd()),
            metrics.as_ref().map(AsFd::as_fd),
        ];
        // A door that is not there is watched for nothing.
        let mut watched = doors.map(|door| match door {
            Some(door) => PollFd::from_borrowed_fd(door, PollFlags::IN),
            None => PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::empty()),
        });
        loop {
            match poll(&mut watched, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut ready = watched.map(|door| !door.revents().is_empty());
        for (ready, door) in ready.iter_mut().zip(doors) {
            *ready &= door.is_some();
        }
        Ok(ready)
    }

    fn answer_control(&self) -> io::Result<()> {
        let Some(door) = &self.doors.control else { return Ok(()) };
        let (stream, _) = door.listener.accept()?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // The socket's mode says the same, but not before it is set.
        let uid = Peer::of(&stream)?.uid;
        let answer = if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            Answer::Error("only root and the gateway's own user may ask".to_owned())
        } else {
            match control::read_question(&stream)? {
                Ok(command) => match self.obey(&command) {
                    Ok(value) => Answer::Ok(value),
                    Err(why) => Answer::Error(why),
                },
                Err(why) => Answer::Error(why),
            }
        };
        control::write_answer(&stream, &answer)
    }

    fn obey(&self, command: &Command) -> Result<Value, String> {
        match command {
            Command::Status => Ok(self.status(&self.ask(Request::Report)?)),
            Command::Flows => Ok(json!(self.ask(|to| Request::Flows(MOST_FLOWS, to))?)),
            Command::Reload => self.reload().map(|notes| json!({ "notes": notes })),
            Command::Drain => Ok(json!({ "held": self.ask(Request::Drain)?.held })),
            Command::Aside { flow } => {
                let key = parse_flow(flow)?;
                let found = self.ask(|to| Request::Aside(key, to))?;
                if found { Ok(json!({})) } else { Err(format!("there is no connection {flow}")) }
            }
        }
    }

    fn status(&self, report: &LoopReport) -> Value {
        let ports = self.ports.iter().map(|port| {
            let side = match port.side {
                lasthop_agent::Side::Core => "core",
                lasthop_agent::Side::Radio => "radio",
            };
            json!({ "name": port.name, "side": side })
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "file": self.file,
            "backend": self.backend,
            "ports": ports.collect::<Vec<_>>(),
            "report": report,
        })
    }

    /// Reads the file again and has the packet loop follow it. A wrong one changes nothing. Returns what takes a restart.
    fn reload(&self) -> Result<Vec<String>, String> {
        let Some(file) = &self.file else { return Err("this gateway was started without a file".to_owned()) };
        let config = config::read(file, LinkSenses::empty()).map_err(|error| {
            warn!(%error, "the new file is refused; the old one stays in force");
            format!("{error}; the old file stays in force")
        })?;
        let notes: Vec<String> = config
            .takes_restart(&self.in_force)
            .into_iter()
            .map(|key| format!("[{key}] has changed; that takes a restart"))
            .collect();
        self.ask(|to| Request::Reload(Box::new(config.plan), to))?;
        info!(file = %file.display(), ?notes, "reloaded");
        Ok(notes)
    }

    fn answer_metrics(&self) -> io::Result<()> {
        let Some(listener) = &self.doors.metrics else { return Ok(()) };
        let (mut stream, _) = listener.accept()?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE / 4))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        http::serve(&mut stream, |path| match path {
            "/metrics" => self.ask(Request::Report).ok().map(|report| metrics::page(&report)),
            "/healthz" => self.ask(Request::Report).ok().map(|_| "ok\n".to_owned()),
            _ => None,
        })
    }

    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Request) -> Result<T, String> {
        let (to, answer) = channel();
        self.requests.send(question(to)).map_err(|_| "the packet loop has ended".to_owned())?;
        answer.recv_timeout(LOOP_PATIENCE).map_err(|_| "the packet loop does not answer".to_owned())
    }
}
