//! `lasthop emulate`.

mod capture;
mod flags;
mod link;
mod meter;
mod place;
mod prompt;
mod reach;
mod report;
mod set;
mod simulated;
mod status;
mod value;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use lasthop_emulator::client_side::ClientSide;
use lasthop_emulator::command::{self, RunAs, Signals};
use lasthop_emulator::control::{About, ControlSocket, socket_of};
use lasthop_emulator::host_side::serve;
use lasthop_emulator::names::Names;
use lasthop_emulator::open_files::OpenFiles;
use lasthop_emulator::services::Wanted;
use lasthop_emulator::supervisor::{Supervisor, keep};
use lasthop_emulator::{Emulator, End, Options, Peer, Summary};
use lasthop_scenario::Built;
use lasthop_sim::NodeId;

use crate::failure::Failure;
use crate::load::Choices;
use crate::number::whole;
use crate::output;
use crate::signals::{self, Termination};
use capture::WhenFull;
use flags::LinkFlags;
pub use flags::{hint, hint_of_a_scenario};
use link::Link;
use meter::Meter;
use place::{Place, this_program};
use reach::Reach;
use report::ReportFlags;
use simulated::TimeFlags;

/// The environment variable with the description of the link, for the command.
const LINK: &str = "LASTHOP_LINK";

/// The arguments of `emulate`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "A link is described by flags, or by a LINK file: a scenario with two nodes of kind \"external\": `near`, where the \
                  command runs, and `far`, the rest of the world (see scenarios/links/). \"Down\" is from far to near. The \
                  command reaches this machine by the name `host.lasthop` and runs as the user who called sudo. Without root, \
                  only TCP and UDP leave the link.\n\n\
                  The exit code is that of the command, 1 if the emulation fails, 2 if the link is wrong, or 3 by --require-trust. The summary goes to standard \
                  error, because standard output belongs to the command.\n\n\
                  Examples:\n  \
                  lasthop emulate --rate 10mbit --delay 20ms --loss 1% -- curl http://host.lasthop:8000/\n  \
                  lasthop emulate --rate 20mbit:2mbit --delay 300ms --queue 64KiB\n  \
                  lasthop emulate --delay 50ms --jitter 10ms --reorder 1% -- ping host.lasthop\n  \
                  lasthop emulate --trace down.trace --trace-up up.trace -- iperf3 -c host.lasthop -R\n  \
                  lasthop emulate --rate 5mbit --at 10s loss=100% --at 12s loss=0% -- ssh host.lasthop\n  \
                  lasthop emulate --rate 1mbit --only tcp:9999 -- ./client\n  \
                  lasthop emulate --delay 20ms --localhost -- curl http://host.lasthop:3000/\n  \
                  lasthop emulate scenarios/links/bursty-hop.toml -- iperf3 -c host.lasthop\n\n\
                  In simulated time, without root and the same in each run; the far end has what --far starts there:\n  \
                  lasthop emulate --time simulated --rate 10mbit --far 'python3 -m http.server 8000' -- curl -s http://host.lasthop:8000/\n  \
                  lasthop emulate --time simulated scenarios/links/lossy-hop.toml --writable out -- ./client --results out\n\n\
                  From another terminal, or from behind the link:\n  \
                  lasthop emulate status\n  \
                  lasthop emulate set hop.rate=5mbit hop.loss=2%"
)]
pub struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// The link: a scenario (TOML file), instead of --rate, --delay, ...
    link: Option<PathBuf>,
    /// The command and its arguments [default: your shell]
    #[arg(last = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    choices: Choices,
    /// The seed of all random numbers of the model
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Run the command as this user [default: the user who called sudo, or else this one]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Run the command as root, even if a user called sudo; without root, as root behind the link only
    #[arg(long, conflicts_with = "user")]
    as_root: bool,
    /// Let the command reach TCP services that listen only on the loopback device of this machine
    /// (127.0.0.1, `::1`), at host.lasthop
    #[arg(long)]
    localhost: bool,
    /// Print the link that the flags describe as a scenario file, and exit
    #[arg(long)]
    print_link: bool,
    /// A name, by which `emulate set --name` finds this emulation, and which `emulate status` shows
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    #[command(flatten)]
    report: ReportFlags,
    /// Show the rate in each direction on standard error twice a second, if that is a terminal
    #[arg(long)]
    meter: bool,
    /// Do not use real-time scheduling and locked memory
    #[arg(long)]
    no_fifo: bool,
    /// Poll the clock during the last 60 us before each event: events are less late, at the cost of
    /// up to one processor
    #[arg(long)]
    spin: bool,
    #[command(flatten)]
    time: TimeFlags,
    #[command(flatten)]
    flags: LinkFlags,
}

impl Arguments {
    fn has_a_link(&self) -> bool {
        self.link.is_some() || self.flags.are_given() || self.choices.overrides().trace.is_some()
    }
}

#[derive(Subcommand)]
enum Other {
    /// Change links of a running emulation; all keys change at the same time
    Set(set::Arguments),
    /// List the emulations on this machine: link, command, time, packets
    Status(status::Arguments),
    /// Clear up after an emulation that was killed: started by each emulation
    #[command(hide = true)]
    Keep,
    /// Hand out sockets of this machine's network: started by an emulation without root
    #[command(hide = true)]
    HostSide,
}

pub fn execute(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.other {
        Some(Other::Set(set)) => return set::execute(set).map(|()| ExitCode::SUCCESS),
        Some(Other::Status(status)) => return status::execute(status).map(|()| ExitCode::SUCCESS),
        Some(Other::Keep) => {
            let namespace = std::io::stdout().as_fd().try_clone_to_owned()?;
            return keep(std::io::stdin().lock(), namespace)
                .map(|()| ExitCode::SUCCESS)
                .map_err(Failure::from);
        }
        Some(Other::HostSide) => {
            return serve(std::io::stdin()).map(|()| ExitCode::SUCCESS).map_err(Failure::from);
        }
        None => {}
    }
    if let Some(name) = arguments.name.as_deref().filter(|_| !arguments.has_a_link()) {
        return Err(Failure::usage(anyhow!(
            "--name {name}: no link to give this name to; expected a LINK file or flags such as --rate 10mbit, or, to change an \
             emulation with this name: lasthop emulate set --name {name} LINK.KEY=VALUE"
        )));
    }
    let link = Link::read(arguments.link.as_deref(), &arguments.flags, &arguments.choices)?;
    if arguments.print_link {
        return print_link(arguments).map(|()| ExitCode::SUCCESS);
    }
    arguments.report.check()?;
    if arguments.time.is_simulated()? { run_simulated(arguments, &link) } else { run_real(arguments, link) }
}

/// Runs the command in simulated time.
fn run_simulated(arguments: &Arguments, link: &Link) -> Result<ExitCode, Failure> {
    refuse_in_simulated_time(arguments)?;
    let (mut built, ends) = link.build(arguments.seed)?;
    let variables = [(LINK, link.label.as_str())];
    let run = simulated::Run::new(&arguments.time, &arguments.command, &variables, &[set::SOCKET])?;
    let files = arguments.report.create(&link.settings.scenario().files)?;
    let termination = Termination::listen()?;
    let report = files.record(&mut built, WhenFull::Wait)?;
    match run.run(built, ends, arguments.seed, &arguments.report, &termination) {
        Ok((summary, code)) => {
            let finished = report.finish(&summary, code);
            if let Some(signal) = termination.signal() {
                signals::end_by(signal);
            }
            finished
        }
        Err(error) => {
            report.discard();
            if let Some(signal) = termination.signal() {
                signals::end_by(signal);
            }
            Err(Failure::Run(error))
        }
    }
}

/// Refuses what there is in real time only.
fn refuse_in_simulated_time(arguments: &Arguments) -> Result<(), Failure> {
    let own_kernel = "the command is root of a kernel of its own, with your access to files; leave it out";
    let never_late = "no run is late; leave it out";
    let given = [
        (
            arguments.meter,
            "--meter",
            "the rate in real time says nothing; leave it out, or record the packets: --pcap",
        ),
        (arguments.user.is_some(), "--user", own_kernel),
        (arguments.as_root, "--as-root", own_kernel),
        (
            arguments.localhost,
            "--localhost",
            "this machine is not at the far end; expected a service that is started there: --far",
        ),
        (
            arguments.name.is_some(),
            "--name",
            "no other process changes the link; leave it out, and give changes before the start: --at",
        ),
        (arguments.no_fifo, "--no-fifo", never_late),
        (arguments.spin, "--spin", never_late),
    ];
    match given.into_iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, flag, why)) => Err(Failure::usage(anyhow!("{flag}: in simulated time, {why}"))),
    }
}

/// Runs the command in real time.
fn run_real(arguments: &Arguments, link: Link) -> Result<ExitCode, Failure> {
    if arguments.meter && arguments.command.is_empty() {
        return Err(Failure::usage(anyhow!(
            "--meter requires a command: its line would overwrite what a shell prints"
        )));
    }
    let (mut built, ends) = link.build(arguments.seed)?;
    // Before any thread starts, and before files are created.
    let place = Place::new(arguments.user.as_deref(), arguments.as_root)?;
    let files = arguments.report.create(&link.settings.scenario().files)?;
    // From before any thread starts until all files are written: also a second Ctrl-C is for the
    // command.
    let signals = Signals::hold();
    let report = files.record(&mut built, WhenFull::Drop)?;
    let outcome = match run(arguments, link, place, built, ends, &signals) {
        Ok((summary, code)) => report.finish(&summary, code),
        Err(error) => {
            report.discard();
            Err(Failure::Run(error))
        }
    };
    drop(signals);
    outcome
}

/// Prints the link of the flags as a scenario file.
fn print_link(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.link {
        return Err(Failure::usage(anyhow!("--print-link: {} is a file already", path.display())));
    }
    let overrides = arguments.choices.overrides();
    if !overrides.settings.is_empty() {
        return Err(Failure::usage(anyhow!(
            "--print-link prints the link of the flags, without --set; expected one of the two"
        )));
    }
    let text = arguments
        .flags
        .scenario(overrides.trace.as_deref())
        .map_err(|problem| Failure::usage(anyhow!(problem)))?;
    output::print(text.trim_end())
}

/// Runs the command and the emulation. Everything that is created here is removed when this
/// returns, also after an error.
fn run(
    arguments: &Arguments,
    Link { label, settings, .. }: Link,
    Place { directory, machine, run_as }: Place,
    built: Built,
    (far, near): (NodeId, NodeId),
    signals: &Signals,
) -> anyhow::Result<(Summary, u8)> {
    let files = OpenFiles::raise();
    let (hop, near_device, far_device) = ClientSide::new(directory, &machine)?;
    let mut supervisor =
        start_supervisor(&hop).context("cannot start the process that clears up after this one")?;
    let names = Names::new(&hop, &machine).context("cannot write the names that resolve behind the hop")?;
    let resolvers = names.resolvers().to_vec();
    let listeners = Wanted { resolvers, localhost: arguments.localhost, elsewhere: None };
    let mut reach = Reach::open(&hop, machine, listeners, &mut supervisor)?;
    if arguments.report.prints_notes() {
        reach.notes.iter().for_each(|sentence| output::complain(&format!("lasthop: {sentence}")));
    }
    let ends = vec![
        End { node: near, peer: Peer::Node(far), device: near_device },
        End { node: far, peer: Peer::Node(near), device: far_device },
    ];
    let options = Options {
        real_time: !arguments.no_fifo,
        spin: if arguments.spin { Duration::from_micros(60) } else { Duration::ZERO },
    };
    let running = Emulator::new(built.world, ends).spawn(options).context("cannot start the emulator")?;
    let path = socket_of(std::process::id(), &hop.directory);
    let mut command = command(arguments, &run_as);
    let about = About {
        pid: std::process::id(),
        name: arguments.name.clone(),
        link: label.clone(),
        command: words_of(&command),
        changed: BTreeMap::new(),
    };
    // `lasthop emulate set` also works on the client side of the hop.
    let user = if let RunAs::User(user) = &run_as { Some(user.uid()) } else { None };
    let socket = ControlSocket::listen(&path, user, about, settings, built.links, running.handle())
        .context("cannot create the control socket")?;
    command.env(set::SOCKET, socket.path()).env(LINK, &label);
    if arguments.command.len() <= 1 {
        prompt::announce(&mut command, &label);
    }
    let mut child = command::start(&hop, &names, &run_as, &mut command, signals, files)
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let meter = arguments.meter.then(|| Meter::start(running.handle()));
    let status = signals.wait_for(&mut child).context("cannot wait for the command")?;
    drop(meter);
    command::end_the_rest(&hop.inside);
    drop((socket, names));
    let notes = std::mem::take(&mut reach.notes);
    // Before the device is removed: then the next emulation may take its name and its addresses.
    let notes_of_close = reach.close();
    let mut summary = running.stop()?;
    if !arguments.report.prints_notes() {
        summary.notes.extend(notes);
    }
    summary.notes.extend(notes_of_close);
    Ok((summary, command::exit_code(status)))
}

fn start_supervisor(hop: &ClientSide) -> std::io::Result<Supervisor> {
    Supervisor::start(this_program("keep"), hop)
}

/// Parses the name of an emulation.
pub fn name(text: &str) -> Result<String, String> {
    let is_name = (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if is_name { Ok(text.to_owned()) } else { Err("expected 1 to 64 characters on one line".to_owned()) }
}

/// The words of the command line, without quoting.
fn words_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// The command of the command line, or a shell.
fn command(arguments: &Arguments, run_as: &RunAs) -> Command {
    if let [program, words @ ..] = arguments.command.as_slice() {
        let mut command = Command::new(program);
        command.args(words);
        return command;
    }
    Command::new(match run_as {
        RunAs::User(user) => user.shell().to_owned(),
        RunAs::ThisProcess | RunAs::Caller(_) => {
            std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())
        }
    })
}
