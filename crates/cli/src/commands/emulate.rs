//! `lasthop emulate`.

mod set;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use lasthop_live::emulator::behind::BehindHop;
use lasthop_live::emulator::command::{self, Signals};
use lasthop_live::emulator::control::{ControlSocket, socket_of};
use lasthop_live::emulator::masquerade::Masquerade;
use lasthop_live::emulator::{Emulator, End, Options, Summary};
use lasthop_scenario::results::ResultFile;
use lasthop_scenario::{Built, Scenario, SchemeChoice, Settings};
use lasthop_sim::{NodeId, NodeKind};

use crate::failure::Failure;
use crate::load::Choices;
use crate::number::whole;
use crate::output;

/// The arguments of `emulate`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "LINK is a scenario with two nodes of kind \"external\": `near`, where the command runs, and `far`, the rest of the world \
                  (see scenarios/links/). The command reaches this machine by the name `server`.\n\n\
                  The exit code is that of the command, 1 if the emulation fails, or 2 if the file is wrong. The summary is printed on \
                  standard error.\n\n\
                  Examples:\n  lasthop emulate scenarios/links/lossy-hop.toml -- iperf3 -c server\n  \
                  lasthop emulate scenarios/links/bursty-hop.toml\n  \
                  lasthop emulate set air.rate=\"5 Mbit/s\" air.loss=2%"
)]
pub struct Arguments {
    #[command(subcommand)]
    set: Option<set::SetCommand>,
    /// The link: a scenario (TOML file)
    #[arg(required = true)]
    link: Option<PathBuf>,
    /// The command and its arguments [default: your shell]
    #[arg(last = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    choices: Choices,
    /// The seed of all random numbers of the model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Print the summary as JSON, also on standard error: standard output belongs to the command
    #[arg(long)]
    json: bool,
    /// Write the summary as JSON to this file
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Do not use real-time scheduling and locked memory
    #[arg(long)]
    no_fifo: bool,
    /// Poll the clock during the last 60 us before each event: events are less late, but up to a
    /// whole processor is busy
    #[arg(long)]
    spin: bool,
}

pub fn execute(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(set) = &arguments.set {
        return set::execute(set).map(|()| ExitCode::SUCCESS);
    }
    let Some(link) = &arguments.link else {
        return Err(Failure::usage(anyhow!("expected a link (TOML file)")));
    };
    let settings = Settings::read(link, &arguments.choices.overrides()).map_err(Failure::usage)?;
    let ends = ["far", "near"].map(|name| end(link, settings.scenario(), name));
    let [far, near] = ends;
    let (far, near) = (far?, near?);
    refuse_schemes(link, settings.scenario())?;
    let scheme = SchemeChoice::new("none", toml::Table::new()).map_err(Failure::usage)?;
    let mut built = settings.scenario().build(&scheme, arguments.seed).map_err(Failure::usage)?;
    let (far, near) = (built.nodes[far], built.nodes[near]);
    if !built.world.has_route(far, near) {
        return Err(Failure::usage(anyhow!(
            "{}: links: no route from \"far\" to \"near\"; expected links that join them",
            link.display()
        )));
    }
    if !lasthop_live::may_change_the_network() {
        return Err(Failure::Run(anyhow!(
            "`lasthop emulate` creates a host behind the hop (a network namespace), which requires root: run it with sudo"
        )));
    }
    let create = |path: &PathBuf| ResultFile::create(path, &settings.scenario().files);
    let file = arguments.summary.as_ref().map(create).transpose().map_err(Failure::usage)?;
    let (summary, code) = run(arguments, built, settings, (far, near)).map_err(Failure::Run)?;
    tell(arguments, &summary, file)?;
    Ok(ExitCode::from(code))
}

/// No agent runs here: a file that asks for some would have them for nothing.
fn refuse_schemes(link: &Path, scenario: &Scenario) -> Result<(), Failure> {
    let runs_agents = |choice: &&SchemeChoice| choice.stack().is_none_or(|stack| !stack.is_nothing());
    match scenario.schemes.iter().find(runs_agents) {
        None => Ok(()),
        Some(choice) => Err(Failure::usage(anyhow!(
            "{}: schemes: `lasthop emulate` runs the link without {:?} or any other scheme; leave the key out, or use \
             `lasthop try`, which runs each of them between real hosts",
            link.display(),
            choice.label
        ))),
    }
}

/// The index of an external node.
fn end(link: &Path, scenario: &Scenario, name: &str) -> Result<usize, Failure> {
    let is_it = |node: &lasthop_scenario::NodeModel| node.name == name && node.kind == NodeKind::External;
    scenario.nodes.iter().position(is_it).ok_or_else(|| {
        Failure::usage(anyhow!(
            "{}: nodes: no node {name:?} of kind \"external\"; expected \"near\", where the command runs, and \"far\", the \
             rest of the world",
            link.display()
        ))
    })
}

/// Everything that is made here is gone when this returns, however that comes about.
fn run(
    arguments: &Arguments,
    built: Built,
    settings: Settings,
    (far, near): (NodeId, NodeId),
) -> anyhow::Result<(Summary, u8)> {
    let signals = Signals::hold();
    let (hop, near_device, far_device) = BehindHop::new()?;
    let beyond = Masquerade::start(&hop.outside, &hop.subnet(), &hop.device);
    if let (Err(sentence), false) = (&beyond, arguments.json) {
        output::complain(&format!("lasthop: {sentence}"));
    }
    let ends = vec![
        End { node: near, peer: far, device: near_device },
        End { node: far, peer: near, device: far_device },
    ];
    let options = Options {
        real_time: !arguments.no_fifo,
        spin: if arguments.spin { Duration::from_micros(60) } else { Duration::ZERO },
    };
    let running = Emulator::new(built.world, ends).spawn(options).context("cannot start the emulator")?;
    let path = socket_of(std::process::id());
    let socket = ControlSocket::listen(path, settings, built.links, running.handle())
        .context("cannot create the control socket")?;

    let mut words = arguments.command.iter().cloned();
    let program = words.next().or_else(|| std::env::var_os("SHELL")).unwrap_or_else(|| "/bin/sh".into());
    let mut command = Command::new(&program);
    command.args(words).env(set::SOCKET, socket.path());
    let mut child = command::start(&hop, &mut command, &signals)
        .with_context(|| format!("cannot run {}", program.display()))?;
    let status = signals.wait_for(&mut child).context("cannot wait for the command")?;
    command::linger();
    drop(socket);
    let mut summary = running.stop()?;
    if let (Err(sentence), true) = (&beyond, arguments.json) {
        summary.notes.push(sentence.clone());
    }
    Ok((summary, command::exit_code(status)))
}

fn tell(arguments: &Arguments, summary: &Summary, file: Option<ResultFile>) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(summary).map_err(|error| Failure::Run(error.into()))?;
    if let Some(mut file) = file {
        writeln!(file, "{json}")?;
        file.finish()?;
    }
    if arguments.json {
        output::complain(&json);
    } else {
        for note in &summary.notes {
            output::complain(&format!("lasthop: {note}"));
        }
        output::complain(&format!("lasthop: {summary}"));
    }
    Ok(())
}
