//! A gateway in a process of its own, so that it can be killed. The first program of a guest starts it: it is the same
//! program again, with the number of the gateway.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lasthop_gateway::control::{Command as Request, Status, ask};
use lasthop_gateway::packet_loop::LoopReport;
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;

use super::error::TrialError;
use super::radios::GUEST_FOLDER;
use super::wait;

/// How long a gateway may take to start, in simulated time. It tries its radio's driver meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two questions whether it has started.
const INTERVAL: Duration = Duration::from_millis(10);

/// A gateway that can be killed. It ends when this value is dropped.
pub(super) struct GatewayProcess {
    socket: PathBuf,
    state: Mutex<State>,
}

enum State {
    Running(Child),
    /// What it last reported.
    Killed(Box<LoopReport>),
}

impl GatewayProcess {
    /// Starts the gateway with this number on a host, and waits until it answers.
    pub(super) fn start(number: usize, host: &Namespace) -> Result<Self, TrialError> {
        let failed = |error| TrialError::GatewayProcess { number, error };
        // The words by which this program has become the first one of the guest come first.
        let words = || env::args_os().skip(1).chain([number.to_string().into()]);
        let spawn = || {
            Command::new("/proc/self/exe").args(words()).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
        };
        let child = host.enter(spawn).and_then(|child| child).map_err(failed)?;
        let process = Self { socket: socket_of(number), state: Mutex::new(State::Running(child)) };
        let latest = clock::now() + PATIENCE;
        while process.ask().is_err() {
            if let State::Running(child) = &mut *process.state()
                && let Some(status) = child.try_wait().map_err(failed)?
            {
                return Err(failed(io::Error::other(format!("it ended at once: {status}"))));
            }
            if clock::now() > latest {
                let problem = format!("it does not answer after {} s of simulated time", PATIENCE.as_secs());
                return Err(failed(io::Error::other(problem)));
            }
            wait::pause(INTERVAL);
        }
        Ok(process)
    }

    /// What it reports, or has reported last.
    pub(super) fn report(&self) -> Result<LoopReport, TrialError> {
        match &*self.state() {
            State::Running(_) => self.ask(),
            State::Killed(report) => Ok((**report).clone()),
        }
    }

    /// Kills it, at once after a report.
    pub(super) fn kill(&self) -> Result<(), TrialError> {
        let mut state = self.state();
        if let State::Running(child) = &mut *state {
            let report = self.ask()?;
            end(child);
            *state = State::Killed(Box::new(report));
        }
        Ok(())
    }

    fn ask(&self) -> Result<LoopReport, TrialError> {
        ask::<Status>(&self.socket, &Request::Status)
            .map(|status| status.report)
            .map_err(TrialError::Unanswered)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        if let State::Running(child) = &mut *self.state() {
            end(child);
        }
    }
}

fn end(child: &mut Child) {
    // Both fail only for a process that is gone.
    let _ = child.kill();
    let _ = child.wait();
}

/// The control socket of the gateway with this number.
pub(super) fn socket_of(number: usize) -> PathBuf {
    PathBuf::from(GUEST_FOLDER).join(format!("gateway-{number}.sock"))
}
