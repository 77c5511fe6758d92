//! `emulate --time simulated`: both ends of the link are hosts of a kernel of their own.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lasthop_emulator::Summary;
use lasthop_emulator::client_side::Subnet;
use lasthop_packet::units::{format_duration, parse_duration};
use lasthop_scenario::Built;
use lasthop_sim::NodeId;
use lasthop_trial::simulated::job::Programs;
use lasthop_trial::simulated::programs::{self, Ended, Setting, Streams};
use lasthop_trial::{GuestProgram, TrialError};

use super::report::ReportFlags;
use crate::commands::simulated::{Time, check_place, guest_program, kernel, problem_of_place};
use crate::failure::Failure;
use crate::output;
use crate::signals::Termination;

/// Whose time it is, and what there is in simulated time only.
#[derive(Args)]
pub struct TimeFlags {
    /// The time of the link and of the programs at its ends: "real", that of this machine; "simulated", that of the model, in
    /// a kernel of their own (`lasthop kernel`), without root, and the same in each run
    #[arg(long, value_name = "TIME", default_value = "real")]
    time: Time,
    /// With --time simulated: run this line (`sh -c`) at the far end, host.lasthop, from one second before the command until
    /// it ends; may be given several times. What it prints goes to standard error
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    far: Vec<String>,
    /// With --time simulated: let the programs write in this directory; may be given several times. All other files
    /// are read-only, except in /tmp, where what is written is gone after the run
    #[arg(long, value_name = "DIRECTORY")]
    writable: Vec<PathBuf>,
    /// With --time simulated: the longest time that the command may take, in simulated time [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = limit)]
    limit: Option<Duration>,
    /// With --time simulated: the kernel, by its version or path; by default the newest one
    #[arg(long = "kernel", value_name = "VERSION", value_parser = NonEmptyStringValueParser::new())]
    kernel: Option<String>,
}

/// The longest time of a command, unless the user has another limit.
const LIMIT: Duration = Duration::from_secs(3600);
/// The largest limit.
const LARGEST_LIMIT: Duration = Duration::from_secs(366 * 86_400);

impl TimeFlags {
    /// Whether the run is in simulated time. Refuses in real time what there is in simulated time only.
    pub fn is_simulated(&self) -> Result<bool, Failure> {
        if self.time == Time::Simulated {
            return Ok(true);
        }
        let given = [
            (!self.far.is_empty(), "--far", "the far end is this machine, with the services that run there"),
            (!self.writable.is_empty(), "--writable", "the command writes where its user may"),
            (self.limit.is_some(), "--limit", "the command runs until it ends"),
            (self.kernel.is_some(), "--kernel", "the command has the kernel of this machine"),
        ];
        match given.into_iter().find(|(is_given, ..)| *is_given) {
            None => Ok(false),
            Some((_, flag, why)) => Err(Failure::usage(anyhow!(
                "{flag}: in real time, {why}; expected --time simulated beside it"
            ))),
        }
    }
}

/// A command that can run in simulated time.
pub struct Run {
    kernel: PathBuf,
    guest: GuestProgram,
    programs: Programs,
}

impl Run {
    /// Checks what the user has asked for. The command gets these variables beside the environment of this process.
    pub fn new(
        flags: &TimeFlags,
        command: &[OsString],
        variables: &[(&str, &str)],
        without: &[&str],
    ) -> Result<Self, Failure> {
        if command.is_empty() {
            return Err(Failure::usage(anyhow!(
                "--time simulated requires a command, because time does not wait for what is typed into a shell; expected one \
                 behind --"
            )));
        }
        let directory = env::current_dir().context("the current directory").map_err(Failure::Run)?;
        for path in [Path::new(&command[0]), &directory] {
            check_place(path, "a program and a directory")?;
        }
        let writable = flags.writable.iter().map(|directory| writable(directory));
        let writable = writable.collect::<Result<Vec<_>, _>>()?;
        let kernel = kernel(flags.kernel.as_deref())?.path;
        let [v4, v6] = [Subnet::FIRST.v4(1).to_string(), Subnet::FIRST.v6(1).to_string()];
        let own = [("TMPDIR", "/tmp"), ("LASTHOP_GATEWAY", &v4), ("LASTHOP_GATEWAY_V6", &v6)];
        let inherited = env::vars_os().filter(|(name, _)| !without.iter().any(|other| name == other));
        let own = own.iter().chain(variables).map(|(name, value)| ((*name).into(), (*value).into()));
        let programs = Programs {
            command: command.to_vec(),
            far: flags.far.clone(),
            directory,
            environment: inherited.chain(own).collect(),
            writable,
            limit: flags.limit.unwrap_or(LIMIT),
            has_input: has_input(),
        };
        Ok(Self { kernel, guest: guest_program()?, programs })
    }

    /// Runs the command between the ends of this world, `far` and `near`. Returns the summary and the command's exit code.
    pub fn run(
        self,
        built: Built,
        (far, near): (NodeId, NodeId),
        seed: u64,
        report: &ReportFlags,
        termination: &Termination,
    ) -> anyhow::Result<(Summary, u8)> {
        let clone = |file: &dyn AsFd| file.as_fd().try_clone_to_owned();
        let streams = Streams {
            input: clone(&io::stdin())?,
            output: clone(&io::stdout())?,
            error: clone(&io::stderr())?,
            on_wait: if report.prints_notes() { note_that_input_is_awaited } else { || () },
        };
        let setting = Setting {
            kernel: &self.kernel,
            guest: &self.guest,
            seed,
            world: built.world,
            near,
            far,
            streams,
            stop: termination.stop(),
        };
        let limit = self.programs.limit;
        if report.prints_notes() && self.programs.writable.is_empty() && self.loses_what_it_writes() {
            output::complain(
                "lasthop: what is written below /tmp is gone after the run, also in this directory; --writable . keeps it",
            );
        }
        let (ended, mut summary) = programs::run(setting, self.programs).map_err(|error| match error {
            // What is wrong is the command or a program at the far end, and the message names it.
            TrialError::Guest(message) => anyhow!(message),
            other => other.into(),
        })?;
        let (code, note) = match ended {
            Ended::Exited { code, took } => {
                (code, Some(format!("the command took {:.6} s of simulated time", took.as_secs_f64())))
            }
            // As a shell reports a command that SIGPIPE has ended.
            Ended::ReaderGone => (128 + 13, None),
            Ended::TooLong => {
                let limit = format_duration(limit);
                (1, Some(format!("the command has not ended within {limit} of simulated time (--limit)")))
            }
            Ended::Interrupted => (1, Some("interrupted: the command has not ended".to_owned())),
        };
        if let Some(note) = note.as_ref().filter(|_| report.quiet && !matches!(ended, Ended::Exited { .. })) {
            output::complain(&format!("lasthop: {note}"));
        }
        summary.notes.extend(note);
        Ok((summary, code))
    }

    /// Whether what the programs write in their directory is gone with the guest.
    fn loses_what_it_writes(&self) -> bool {
        let Programs { directory, writable, .. } = &self.programs;
        directory.starts_with("/tmp") && !writable.iter().any(|kept| directory.starts_with(kept))
    }
}

fn note_that_input_is_awaited() {
    output::complain(
        "lasthop: simulated time stands still until standard input has 1400 octets or ends; </dev/null is the input of a command \
         that needs none",
    );
}

/// Whether the command gets what standard input has: not from a terminal, because time does not wait for what is typed.
fn has_input() -> bool {
    let input = io::stdin();
    let is_null = rustix::fs::stat("/dev/null")
        .and_then(|null| rustix::fs::fstat(&input).map(|input| input.st_rdev == null.st_rdev))
        .unwrap_or(true);
    !input.is_terminal() && !is_null
}

/// A directory in which programs may write, as the guest finds it.
fn writable(directory: &Path) -> Result<PathBuf, Failure> {
    let refused = |problem: &str| Failure::usage(anyhow!("--writable {}: {problem}", directory.display()));
    let found = directory.canonicalize().map_err(|error| refused(&error.to_string()))?;
    if !found.is_dir() {
        return Err(refused("expected a directory"));
    }
    if found == Path::new("/") {
        return Err(refused("the root directory has those of the guest; expected one below it"));
    }
    match problem_of_place(&found, "a directory") {
        None => Ok(found),
        Some(problem) => Err(refused(&problem)),
    }
}

/// Parses a limit.
fn limit(text: &str) -> Result<Duration, String> {
    let limit = parse_duration(text).map_err(|error| error.to_string())?;
    let is_usable = !limit.is_zero() && limit <= LARGEST_LIMIT;
    if is_usable { Ok(limit) } else { Err("expected more than zero, and at most 366 days".to_owned()) }
}
