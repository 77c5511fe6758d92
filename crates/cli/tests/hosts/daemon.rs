//! `lasthop gateway`, as a process in the gateway's namespace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::control::{self, AskError};
use lasthop_linux::namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{PATIENCE, Site, echo, soon};

/// A daemon. It is killed with this value.
pub struct Daemon {
    directory: TempDir,
    process: Child,
}

impl Daemon {
    /// A daemon that forwards already. `rest` is the file but for ports, control socket and
    /// metrics.
    pub fn start(site: &Namespace, rest: &str) -> Self {
        Self::start_with(site, "", rest)
    }

    /// The same with something before the first table of the file.
    pub fn start_with(site: &Namespace, top: &str, rest: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        write_file(directory.path(), top, rest);
        let process = spawn(site, directory.path());
        let mut daemon = Self { directory, process };
        daemon.wait_until_ready();
        daemon
    }

    /// A daemon whose log has no room on its disk.
    pub fn start_without_a_log(site: &Namespace) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        write_file(directory.path(), "", "");
        let process = spawn_with(site, directory.path(), Path::new("/dev/full"));
        let mut daemon = Self { directory, process };
        daemon.wait_until_ready();
        daemon
    }

    /// Starts it once more, with the file that it had.
    pub fn start_again(&mut self, site: &Namespace) {
        self.process = spawn(site, self.directory.path());
        self.wait_until_ready();
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.ask(&control::Command::Status).is_err() {
            let ended = self.process.try_wait().expect("it is ours");
            assert!(ended.is_none() && Instant::now() < deadline, "{ended:?}: {}", self.log());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Writes another file.
    pub fn write(&self, rest: &str) {
        write_file(self.directory.path(), "", rest);
    }

    pub fn ask(&self, command: &control::Command) -> Result<Value, AskError> {
        control::ask(&self.socket(), command)
    }

    /// Its status.
    pub fn status(&self) -> Value {
        self.ask(&control::Command::Status).expect("it runs")
    }

    /// Something that it counts: a path into the report, such as `/engine/counters/received`.
    pub fn count(&self, what: &str) -> u64 {
        let status = self.status();
        let count = status["report"].pointer(what).and_then(Value::as_u64);
        count.unwrap_or_else(|| panic!("there is no {what} in {status}"))
    }

    /// Waits until it has seen more than `before` frames. Copies of what bypassed it in the kernel
    /// count.
    pub fn sees_more_than(&self, before: u64) {
        soon(|| {
            let seen = self.received();
            if seen > before { Ok(()) } else { Err(format!("it still saw only {seen} frames")) }
        });
    }

    /// Waits until it takes traffic: after it was away it stays out for a while.
    pub fn is_in_again(&self) {
        soon(|| {
            let status = self.status();
            let is_out = status["report"]["punctuality"]["is_out"].as_bool();
            if is_out == Some(false) { Ok(()) } else { Err(format!("it stays out: {status}")) }
        });
    }

    /// Asserts that it takes new connections: one that it has left alone goes past it for good.
    pub fn is_in_the_path(&self, site: &Site) {
        let before = self.received();
        soon(|| {
            echo(site, 1, 10_000);
            if self.received() > before { Ok(()) } else { Err(format!("it stays out: {}", self.status())) }
        });
    }

    /// Frames that it has seen, copies of what passed in the kernel among them.
    pub fn received(&self) -> u64 {
        self.count("/engine/counters/received") + self.count("/engine/counters/copies")
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it is ours");
    }

    /// Sends a signal and waits for the end.
    pub fn end(&mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.wait()
    }

    /// Waits for its end, which has to come.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().expect("it is ours") {
                return status;
            }
            assert!(Instant::now() < deadline, "it hangs: {}", self.log());
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().expect("it is ours").is_none()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("gateway.sock")
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("gateway.toml")
    }

    /// What it has said, in all its lives.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Resident memory, in kB.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Open file descriptors.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("it runs").count()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write_file(directory: &Path, top: &str, rest: &str) {
    let head = format!(
        "{top}\n[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[control]\nsocket = \"{}\"\n[metrics]\nlisten = \"off\"\n",
        directory.join("gateway.sock").display()
    );
    // As an editor does it: never half a file.
    let (file, new) = (directory.join("gateway.toml"), directory.join("new"));
    fs::write(&new, head + rest).expect("a file");
    fs::rename(new, file).expect("a file");
}

fn spawn(site: &Namespace, directory: &Path) -> Child {
    spawn_with(site, directory, &directory.join("log"))
}

fn spawn_with(site: &Namespace, directory: &Path, log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("gateway").arg(directory.join("gateway.toml")).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(log);
    site.enter(|| command.spawn()).expect("enter").expect("it starts")
}
