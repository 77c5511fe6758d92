//! `lasthop gateway`.

mod check;
pub mod lines;
mod listing;
mod lists;
mod probe;
mod report;
mod rows;
mod screen;
#[cfg(feature = "roaming")]
mod site;
pub mod socket;
mod top;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};
use lasthop_config::Disk;
use lasthop_config::text::{did_you_mean_word_or_file, name_of};
use lasthop_gateway::Start;
use lasthop_gateway::clients::ClientReport;
use lasthop_gateway::config::{self, Config, DEFAULT_FILE, LogFormat, LogLevel, Surroundings};
use lasthop_gateway::control::{Command, PortStatus, Reloaded, SetAside, parse_flow};
use lasthop_gateway::engine::FlowReport;
use lasthop_gateway::listing::{Query, Row};
use lasthop_gateway::pseudonyms::Pseudonyms;
use serde::de::DeserializeOwned;
use serde_json::Value;
use socket::Where;

use crate::failure::Failure;
use crate::output;

/// The arguments of `gateway`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Runs in the foreground until SIGTERM or SIGINT. It then forwards the packets it holds and removes its filters. On SIGHUP it reloads its file. If it is killed or hangs, traffic passes without it, except for what CICADA and I-TCP owe; with the backend tun, a hang loses TCP until the process ends.\n\n\
                  Examples:\n  lasthop gateway --print-default-config > gateway.toml\n  lasthop gateway --check gateway.toml\n  \
                  lasthop gateway gateway.toml\n  lasthop gateway status\n  lasthop gateway flows --filter 10.0.0.0/24 'loss>1' --sort loss\n  lasthop gateway top\n  lasthop gateway gain --rate '50 Mbit/s'\n  lasthop gateway aside 192.0.2.1:443-10.0.0.7:50000"
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
    /// Measure the hop and change nothing, whatever the file says: no rule applies, and all packets
    /// pass in the kernel. Needs the backend tc-bpf
    #[arg(long)]
    passive: bool,
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
    /// Show the connections that the gateway tracks: what they carry and lose on the hop
    Flows(Sorted),
    /// Show the clients. If there are other gateways, a table says which access point each client is at,
    /// since when, with how many connections and octets at risk. Another says what their
    /// connections, living and ended, carried and lost on the hop; for that, `clients` in `[metrics]`
    /// of the gateway's file must say how many clients are counted
    Clients(Clients),
    /// Tell the gateway that a client has associated with its access point, as from a script of the
    /// access point: the client's connections are moved here at once
    #[cfg(feature = "roaming")]
    ClientJoined(site::Joined),
    /// Tell the gateway that a client is no longer associated with its access point
    #[cfg(feature = "roaming")]
    ClientLeft(site::Left),
    /// Print what other gateways need to know of this one, as a table for their files: its name, its
    /// address and its key, which is created if there is none yet
    #[cfg(feature = "roaming")]
    Identity(site::Identity),
    /// Write a new site key, by which gateways of a site introduce themselves to each other
    #[cfg(feature = "roaming")]
    SiteKey(site::SiteKey),
    /// Show who uses the hop now and loses packets: a live view of clients or connections. On a terminal
    /// it is redrawn every second, and q or Ctrl-C ends it; elsewhere tables follow each other
    Top(top::Arguments),
    /// Try whether the Wi-Fi driver of an access point tells the truth about the frames that it delivers: it is given frames
    /// for a station that does not exist, which the access point knows for less than a second. Needs root
    ProbeRadio(probe::Arguments),
    /// Predict the gain of each scheme over none on the hop that the gateway measured, with the simulator
    Gain(super::gain::Arguments),
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

/// Which gateway, which of its clients, and how to list them.
#[derive(Args)]
#[cfg_attr(
    feature = "roaming",
    command(
        after_help = "With [roaming] in its file, a gateway knows the clients that came to it or were at it. A client that moves is served by the new access point once its connections have come; octets at risk are those that an agent has acknowledged and not delivered yet, and they move with it.\n\n\
                      Examples:\n  lasthop gateway clients\n  lasthop gateway clients --roaming --json\n  lasthop gateway clients --sort loss --limit 10"
    )
)]
struct Clients {
    /// Only the table of access points; with --json, all that the gateway knows of roaming
    #[cfg(feature = "roaming")]
    #[arg(long, conflicts_with_all = ["csv", "filter", "sort", "reverse", "limit"])]
    roaming: bool,
    #[command(flatten)]
    sorted: Sorted,
}

/// Which gateway, and how to list what it has.
#[derive(Args)]
struct Listing {
    #[command(flatten)]
    at: Where,
    /// Print CSV: for the status a row per value, otherwise a row per connection or client
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Which gateway, which rows of what it has, and how to list them.
#[derive(Args)]
struct Sorted {
    #[command(flatten)]
    rows: listing::Rows,
    #[command(flatten)]
    listing: Listing,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(question) = &arguments.question {
        return put(question);
    }
    let Some(file) = &arguments.config else { return output::print(DEFAULT_FILE.trim_end()) };
    // A gateway's own radios do not report the fate of each frame.
    let surroundings =
        Surroundings { is_passive: arguments.passive, ..lasthop_agent::LinkSenses::empty().into() };
    let config = config::read(file, surroundings).map_err(|error| misread(file, error))?;
    if arguments.check {
        return check::execute(&config, file, arguments.json);
    }
    run(config, file)
}

/// Adds advice to an error about a flag that other daemons have: the configuration file has the
/// setting.
pub fn hint(error: &mut clap::Error) {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let tip = match flag.as_str() {
        "-c" | "--config" | "--config-file" | "--conf" => {
            "the file is given without a flag: lasthop gateway FILE"
        }
        "-i" | "--interface" | "--iface" | "--dev" | "--device" | "--radio" | "--core" | "--scheme"
        | "--schemes" | "--port" | "--ports" | "--rule" | "--realtime" | "--threads" => {
            "the configuration file has it: `lasthop gateway --print-default-config` prints one with every key"
        }
        _ => return,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// The failure for a configuration that cannot be read. A misspelled subcommand is parsed as the
/// name of a file.
fn misread(file: &Path, error: config::FileError) -> Failure {
    let is_a_word = file.to_str().is_some_and(|word| word.bytes().all(|octet| octet.is_ascii_lowercase()));
    if is_a_word && !file.exists() {
        let questions = Question::augment_subcommands(clap::Command::new("gateway"));
        let questions: Vec<&str> = questions.get_subcommands().map(clap::Command::get_name).collect();
        return Failure::usage(anyhow!(
            "{}: no such file{}; expected a configuration file, or one of {}",
            file.display(),
            did_you_mean_word_or_file(&Disk, file, &questions),
            questions.join(", ")
        ));
    }
    Failure::usage(error)
}

fn run(config: Config, file: &Path) -> Result<(), Failure> {
    if !lasthop_linux::may_change_the_network() {
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
    let ports = PortStatus::from_ports(gateway.ports());
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
    let pseudonyms = config.pseudonyms_in_log.then(|| Arc::new(Pseudonyms::default()));
    // A log that cannot be written (full disk, closed pipe) must not end the gateway: by default the attempt
    // would panic.
    let log = tracing_subscriber::fmt()
        .with_writer(move || output::Log { pseudonyms: pseudonyms.clone() })
        .log_internal_errors(false)
        .with_max_level(level)
        .with_target(false);
    // This fails only if a log has been set before, and none has.
    let _ = match config.log_format {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

fn flow_as_written(text: &str) -> Result<String, String> {
    parse_flow(text).map(|_| text.to_owned())
}

fn put(question: &Question) -> Result<(), Failure> {
    match question {
        Question::Status(Listing { at, csv }) if *csv => {
            output::print(&rows::of_document(&at.ask(&Command::Status)?)?)
        }
        Question::Status(Listing { at, .. }) => {
            at.answer(&Command::Status, |status| output::print(&report::status(&status)))
        }
        Question::Flows(sorted) => {
            sorted
                .list(Command::Flows, "connection", |flows: &[FlowReport], shown| lists::flows(flows, shown))
        }
        Question::Clients(clients) => clients.list(),
        #[cfg(feature = "roaming")]
        Question::ClientJoined(joined) => site::joined(joined),
        #[cfg(feature = "roaming")]
        Question::ClientLeft(left) => site::left(left),
        #[cfg(feature = "roaming")]
        Question::Identity(identity) => site::identity(identity),
        #[cfg(feature = "roaming")]
        Question::SiteKey(key) => site::site_key(key),
        Question::ProbeRadio(arguments) => probe::execute(arguments),
        Question::Top(arguments) => top::execute(arguments),
        Question::Gain(arguments) => super::gain::execute(arguments),
        Question::Reload(at) => at.answer(&Command::Reload, |Reloaded { notes }| {
            for note in notes {
                output::complain(&format!("note: {note}"));
            }
            output::print("reloaded")
        }),
        Question::Drain(at) => at.answer(&Command::Drain, |drained| output::print(&report::drained(drained))),
        Question::Aside { flow, at } => at.answer(&Command::Aside { flow: flow.clone() }, |SetAside {}| {
            output::print(&format!("{flow} is no longer accelerated"))
        }),
    }
}

impl Clients {
    fn list(&self) -> Result<(), Failure> {
        #[cfg(feature = "roaming")]
        if site::list_before(&self.sorted.listing.at, self.roaming, self.sorted.listing.csv)? {
            return Ok(());
        }
        self.sorted.list(Command::Clients, "client", |clients: &[ClientReport], shown| {
            lists::clients(clients, shown)
        })
    }
}

impl Sorted {
    /// Prints a list in the requested format; `table` is the default one.
    fn list<R: Row + DeserializeOwned>(
        &self,
        command: impl FnOnce(Query) -> Command,
        noun: &str,
        table: impl FnOnce(&[R], &str) -> String,
    ) -> Result<(), Failure> {
        let Self { rows, listing: Listing { at, csv } } = self;
        let (sent, read): (Vec<Value>, Vec<R>) = rows.ask(at, command)?.into_iter().unzip();
        if at.json {
            // Includes keys that only a newer gateway sends.
            output::print_json(&sent)
        } else if *csv {
            output::print(&rows::of_list(&read)?)
        } else {
            output::print(&table(&read, &rows.shown(read.len(), noun)))
        }
    }
}
