//! `lasthop gateway`.

mod check;
mod lines;
mod report;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use lasthop_live::gateway::Start;
use lasthop_live::gateway::config::{self, Config, DEFAULT_FILE, DEFAULT_SOCKET, LogFormat, LogLevel};
use lasthop_live::gateway::control::{AskError, Command, PortStatus, Reloaded, SetAside, ask, parse_flow};
use lasthop_live::gateway::engine::FlowReport;
use lasthop_scenario::file::name_of;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// The arguments of `gateway`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Runs in the foreground until SIGTERM or SIGINT. It then forwards the packets it holds and removes its filters. On SIGHUP it reloads its file. If it is killed or hangs, traffic passes without it, except for what CICADA and I-TCP owe; with the backend tun, a hang loses TCP until the process ends.\n\n\
                  Examples:\n  lasthop gateway --print-default-config > gateway.toml\n  lasthop gateway --check gateway.toml\n  \
                  lasthop gateway gateway.toml\n  lasthop gateway status\n  lasthop gateway aside 192.0.2.1:443-10.0.0.7:50000"
)]
pub struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,
    /// The configuration (TOML file)
    #[arg(required_unless_present = "print_default_config")]
    config: Option<PathBuf>,
    /// Check the file and this machine, change nothing, and exit: with 0 if no problem was
    /// found, 1 if a start would fail here, 2 if the file is wrong
    #[arg(long)]
    check: bool,
    /// With --check: print one JSON document
    #[arg(long, requires = "check")]
    json: bool,
    /// Print a file with every key, its default and its purpose
    #[arg(long, exclusive = true)]
    print_default_config: bool,
}

/// What can be asked of a gateway that runs.
#[derive(Subcommand)]
enum Question {
    /// Show the gateway's ports, rules and counters
    Status(Listing),
    /// Show the connections that the gateway tracks
    Flows(Listing),
    /// Reload the gateway's file; connections stay, and so do agents whose settings have not changed
    Reload(Where),
    /// Let the gateway's agents forward the packets they hold; after that, everything passes
    /// untouched until the next reload, except connections that a split owes something
    Drain(Where),
    /// Stop accelerating one connection
    Aside {
        /// The two endpoints of the connection, in either order: 192.0.2.1:443-10.0.0.7:50000, or
        /// `[2001:db8::1]:443-[2001:db8::7]:50000`. For the datagrams between two ports:
        /// udp:192.0.2.1:5004-10.0.0.7:6000
        #[arg(value_parser = flow_as_written)]
        flow: String,
        #[command(flatten)]
        at: Where,
    },
}

/// Which gateway, and how to list what it has.
#[derive(Args)]
struct Listing {
    #[command(flatten)]
    at: Where,
    /// Print CSV: for the status a row per value, for connections a row per connection
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Which gateway, and how to answer.
#[derive(Args)]
struct Where {
    /// The gateway's control socket
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(question) = &arguments.question {
        return put(question);
    }
    let Some(file) = &arguments.config else { return output::print(DEFAULT_FILE.trim_end()) };
    // A gateway's own radios do not tell the fate of each frame.
    let config =
        config::read(file, lasthop_agent::LinkSenses::empty()).map_err(|error| misread(file, error))?;
    if arguments.check {
        return check::execute(&config, file, arguments.json);
    }
    run(config, file)
}

/// A misspelt question is taken for the name of a file.
fn misread(file: &Path, error: config::ConfigError) -> Failure {
    let is_a_word = file.to_str().is_some_and(|word| word.bytes().all(|octet| octet.is_ascii_lowercase()));
    if is_a_word && !file.exists() {
        let questions = Question::augment_subcommands(clap::Command::new("gateway"));
        let questions: Vec<&str> = questions.get_subcommands().map(clap::Command::get_name).collect();
        return Failure::usage(anyhow!(
            "{}: no such file; expected a configuration file, or one of {}",
            file.display(),
            questions.join(", ")
        ));
    }
    Failure::usage(error)
}

fn run(config: Config, file: &Path) -> Result<(), Failure> {
    if !lasthop_live::may_change_the_network() {
        return Err(Failure::Run(anyhow!(
            "`lasthop gateway` takes frames out of the kernel's path, which requires root, or CAP_NET_ADMIN and CAP_BPF: run it with sudo"
        )));
    }
    start_log(&config);
    for note in config.notes() {
        tracing::warn!("{}: {note}", name_of(file));
    }
    let start = Start { config, file: Some(file.to_owned()), owns_process: true };
    let gateway = start.here().map_err(|error| Failure::Run(error.into()))?;
    let ports = PortStatus::of_interfaces(gateway.ports());
    tracing::info!(backend = gateway.backend().name(), ports = report::interfaces(&ports), "running");
    gateway.wait().map(drop).map_err(|error| Failure::Run(error.into()))
}

fn start_log(config: &Config) {
    let level = match config.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    // A log that cannot be written (full disk, closed pipe) must not end the gateway: by default the attempt
    // would panic.
    let log = tracing_subscriber::fmt()
        .with_writer(|| output::Log)
        .log_internal_errors(false)
        .with_max_level(level)
        .with_target(false);
    // There is none before this one.
    let _ = match config.log_format {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

fn flow_as_written(text: &str) -> Result<String, String> {
    parse_flow(text).map(|_| text.to_owned())
}

fn put(question: &Question) -> Result<(), Failure> {
    let (command, at) = match question {
        Question::Status(listing) => (Command::Status, &listing.at),
        Question::Flows(listing) => (Command::Flows, &listing.at),
        Question::Reload(at) => (Command::Reload, at),
        Question::Drain(at) => (Command::Drain, at),
        Question::Aside { flow, at } => (Command::Aside { flow: flow.clone() }, at),
    };
    if at.json {
        // All that the gateway tells, also where it is newer than this command.
        let answer: Value = at.ask(&command)?;
        return output::print_json(&answer);
    }
    match question {
        Question::Status(Listing { csv: true, .. }) => output::print(&rows::of_document(&at.ask(&command)?)?),
        Question::Flows(Listing { csv: true, .. }) => {
            let flows: Vec<FlowReport> = at.ask(&command)?;
            output::print(&rows::of_flows(&flows)?)
        }
        Question::Status(_) => output::print(&report::status(&at.ask(&command)?)),
        Question::Flows(_) => output::print(&report::flows(at.ask(&command)?)),
        Question::Reload(_) => {
            let Reloaded { notes } = at.ask(&command)?;
            for note in notes {
                output::complain(&format!("note: {note}"));
            }
            output::print("reloaded")
        }
        Question::Drain(_) => output::print(&report::drained(at.ask(&command)?)),
        Question::Aside { flow, .. } => {
            let SetAside {} = at.ask(&command)?;
            output::print(&format!("{flow} is no longer accelerated"))
        }
    }
}

impl Where {
    fn ask<T: DeserializeOwned>(&self, command: &Command) -> Result<T, Failure> {
        ask(&self.socket, command).map_err(|error| match error {
            // The file is wrong, or what names a connection is.
            refused @ AskError::Refused(_) => Failure::usage(refused),
            other => Failure::Run(other.into()),
        })
    }
}
