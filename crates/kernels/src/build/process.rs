//! The programs of a build: their output by lines, and their end on request.

use std::collections::VecDeque;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::folder::Folder;

/// How long a request to stop may be overlooked.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The longest line of output that is looked at, in octets; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 1_000;

/// The number of lines of output in an error.
const LINES_OF_ERROR: usize = 6;

/// Why a program of a build did not succeed.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// It cannot be run.
    #[error("cannot run {program}: {problem}")]
    Run {
        /// The program.
        program: String,
        /// The system's reason.
        problem: io::Error,
    },
    /// It failed.
    #[error("{program} failed:\n{last}")]
    Failed {
        /// The program.
        program: String,
        /// Lines of its output that have errors, or the last ones.
        last: String,
    },
    /// The build was asked to stop.
    #[error("interrupted")]
    Canceled,
}

/// A program that runs in a build's source, with nothing of the environment but what it needs.
pub(super) fn program(name: &str, folder: &Folder) -> Command {
    let mut command = Command::new(name);
    within(&mut command, folder);
    command
}

fn within(command: &mut Command, folder: &Folder) {
    command.current_dir(folder.source()).env_clear();
    command.envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.env("LC_ALL", "C").env("TMPDIR", folder.temporary());
}

/// Runs a build's programs, each with its children in a process group of its own.
pub(super) struct Process<'a> {
    folder: &'a Folder,
    stop: &'a AtomicBool,
}

impl<'a> Process<'a> {
    pub(super) const fn new(folder: &'a Folder, stop: &'a AtomicBool) -> Self {
        Self { folder, stop }
    }

    pub(super) fn run(&self, command: Command) -> Result<(), ProcessError> {
        self.run_with(command, &mut |_| ())
    }

    /// Runs a program whose input is the output of another, if there is one.
    pub(super) fn run_after(
        &self,
        before: Option<Command>,
        mut command: Command,
    ) -> Result<(), ProcessError> {
        within(&mut command, self.folder);
        let Some(mut before) = before else { return self.run(command) };
        let name = name_of(&before);
        let error = |problem| ProcessError::Run { program: name.clone(), problem };
        within(&mut before, self.folder);
        before.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut before = before.spawn().map_err(error)?;
        if let Some(output) = before.stdout.take() {
            command.stdin(output);
        }
        // Without its reader it ends, too.
        let outcome = self.run_keeping_input(command, &mut |_| ());
        let status = before.wait().map_err(error)?;
        outcome?;
        if status.success() {
            return Ok(());
        }
        Err(ProcessError::Failed { program: name, last: status.to_string() })
    }

    /// Runs a program, and hands over the lines of its output, of both streams.
    pub(super) fn run_with(
        &self,
        mut command: Command,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(), ProcessError> {
        command.stdin(Stdio::null());
        self.run_keeping_input(command, on_line)
    }

    fn run_keeping_input(&self, command: Command, on_line: &mut dyn FnMut(&str)) -> Result<(), ProcessError> {
        let program = name_of(&command);
        let mut excerpt = Excerpt::default();
        let ended = self.until_it_ends(command, &mut |line| {
            excerpt.add(line);
            on_line(line);
        });
        match ended {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => Err(ProcessError::Failed { program, last: excerpt.in_lines() }),
            Ok(None) => Err(ProcessError::Canceled),
            Err(problem) => Err(ProcessError::Run { program, problem }),
        }
    }

    /// Whether it succeeded; `None` if the build was asked to stop.
    fn until_it_ends(&self, mut command: Command, on_line: &mut dyn FnMut(&str)) -> io::Result<Option<bool>> {
        let mut log = OpenOptions::new().create(true).append(true).open(self.folder.log())?;
        let (mut output, writer) = io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let child = command.spawn();
        // Its copies of the pipe's end would keep the output from ending.
        drop(command);
        let mut child = child?;
        let read = self.read(&mut output, &mut log, on_line);
        if !matches!(read, Ok(true)) {
            end(&child);
            // Until the last process of the group is gone: it could still write into the folder.
            let _ = io::copy(&mut output, &mut io::sink());
        }
        let status = child.wait()?;
        Ok(read?.then(|| status.success()))
    }

    /// Reads all output. Returns false as soon as the build is asked to stop.
    fn read(
        &self,
        output: &mut PipeReader,
        log: &mut File,
        on_line: &mut dyn FnMut(&str),
    ) -> io::Result<bool> {
        let mut line = Vec::new();
        let mut octets = [0; 8_192];
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let mut ready = [PollFd::new(output, PollFlags::IN)];
            match poll(&mut ready, Some(&LOOK_EVERY)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                ready => ready?,
            };
            let read = output.read(&mut octets)?;
            if read == 0 {
                return Ok(true);
            }
            log.write_all(&octets[..read])?;
            for octet in &octets[..read] {
                match octet {
                    b'\n' => {
                        on_line(&String::from_utf8_lossy(&line));
                        line.clear();
                    }
                    _ if line.len() < LONGEST_LINE => line.push(*octet),
                    _ => {}
                }
            }
        }
    }
}

/// Ends a program and its children.
fn end(child: &Child) {
    // It may have ended by itself.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The lines of output that an error shows.
#[derive(Default)]
struct Excerpt {
    errors: Vec<String>,
    last: VecDeque<String>,
}

impl Excerpt {
    fn add(&mut self, line: &str) {
        if line.contains("error:") && self.errors.len() < LINES_OF_ERROR {
            self.errors.push(line.to_owned());
        }
        if self.last.len() == LINES_OF_ERROR {
            self.last.pop_front();
        }
        self.last.push_back(line.to_owned());
    }

    /// The first errors, which may have others as their consequence, or else the last lines.
    fn in_lines(self) -> String {
        let lines = if self.errors.is_empty() { self.last.into() } else { self.errors };
        lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests;
