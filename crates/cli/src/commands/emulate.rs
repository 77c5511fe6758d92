//! `lasthop emulate`.

mod capture;
mod flags;
mod link;
mod meter;
mod place;
mod prompt;
mod reach;
mod set;
mod status;
mod value;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
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
use lasthop_linux::results::{ResultFile, is_standard_output};
use lasthop_scenario::Built;
use lasthop_sim::NodeId;

use crate::failure::Failure;
use crate::load::Choices;
use crate::number::whole;
use crate::output;
use crate::results::{Overwrite, cannot_begin};
use capture::Recording;
use flags::LinkFlags;
pub use flags::{hint, hint_of_a_scenario};
use link::Link;
use meter::Meter;
use place::{Place, this_program};
use reach::Reach;

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
    /// Print the summary as JSON instead of text, on standard error
    #[arg(long)]
    json: bool,
    /// Print neither notes nor the summary; errors are printed
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Exit with code 3 if the command succeeds and the run is not to be trusted
    #[arg(long)]
    require_trust: bool,
    /// Write the summary as JSON to this file
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Show the rate in each direction on standard error twice a second, if that is a terminal
    #[arg(long)]
    meter: bool,
    /// Write every packet at both ends of each link as pcapng (in Wireshark, filter by
    /// `frame.interface_name`: the ends of the flags' link are near:hop and far:hop; those that are lost
    /// or dropped appear once more at `dropped`, with a comment)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Do not use real-time scheduling and locked memory
    #[arg(long)]
    no_fifo: bool,
    /// Poll the clock during the last 60 us before each event: events are less late, at the cost of
    /// up to one processor
    #[arg(long)]
    spin: bool,
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
    if arguments.meter && arguments.command.is_empty() {
        return Err(Failure::usage(anyhow!(
            "--meter requires a command: its line would overwrite what a shell prints"
        )));
    }
    for (flag, path) in [("--summary", &arguments.summary), ("--pcap", &arguments.pcap)] {
        if let Some(path) = path.as_deref().filter(|path| is_standard_output(path)) {
            return Err(Failure::usage(anyhow!(
                "{flag} {}: standard output belongs to the command; expected a file, or --json for the summary on standard error",
                path.display()
            )));
        }
    }
    let (mut built, ends) = link.build(arguments.seed)?;
    // Before any thread starts, and before files are created.
    let place = Place::new(arguments.user.as_deref(), arguments.as_root)?;
    let create = |path: &PathBuf| {
        ResultFile::create(path, &link.settings.scenario().files, arguments.overwrite.earlier())
    };
    let file = arguments.summary.as_ref().map(create).transpose().map_err(cannot_begin)?;
    let packets = arguments.pcap.as_ref().map(create).transpose().map_err(cannot_begin)?;
    // From before any thread starts until all files are written: also a second Ctrl-C is for the
    // command.
    let signals = Signals::hold();
    let recording = packets.map(|packets| Recording::start(packets, &mut built)).transpose()?;
    let outcome = run(arguments, link, place, built, ends, &signals);
    let (summary, code) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            if let Some(recording) = recording {
                recording.discard();
            }
            return Err(Failure::Run(error));
        }
    };
    let recorded = recording.map_or(Ok(()), Recording::finish);
    let reported = report(arguments, &summary, file);
    drop(signals);
    match recorded.map_err(Failure::from).and(reported) {
        // The exit code of the command takes precedence.
        Err(failure) if code != 0 => {
            if let Some(message) = failure.message() {
                output::complain(&format!("lasthop: {message}"));
            }
            Ok(ExitCode::from(code))
        }
        Ok(()) if arguments.require_trust && code == 0 && !summary.trusted => Err(Failure::Untrusted(None)),
        outcome => outcome.map(|()| ExitCode::from(code)),
    }
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
    if !arguments.json && !arguments.quiet {
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
    command::end_the_rest(&hop);
    drop((socket, names));
    let notes = std::mem::take(&mut reach.notes);
    // Before the device is removed: then the next emulation may take its name and its addresses.
    let notes_of_close = reach.close();
    let mut summary = running.stop()?;
    if arguments.json || arguments.quiet {
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

fn report(arguments: &Arguments, summary: &Summary, file: Option<ResultFile>) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(summary).map_err(|error| Failure::Run(error.into()))?;
    if arguments.json {
        output::complain(&json);
    } else if !arguments.quiet {
        for note in &summary.notes {
            output::complain(&format!("lasthop: {note}"));
        }
        output::complain(&format!("lasthop: {summary}"));
    }
    if let Some(mut file) = file {
        writeln!(file, "{json}")?;
        file.finish()?;
    }
    Ok(())
}
