//! `lasthop gateway gain`: simulates the hop that a gateway has measured under each scheme.

mod hop;
mod report;
mod world;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use lasthop_agent::LinkSenses;
use lasthop_config::Disk;
use lasthop_config::text::read_file;
use lasthop_gateway::Selector;
use lasthop_gateway::clients::ClientReport;
use lasthop_gateway::control::{Command, Status};
use lasthop_gateway::engine::FlowReport;
use lasthop_gateway::listing::{Query, Row, Selection};
use lasthop_gateway::plan::{RulePlan, Surroundings};
use lasthop_lab::table::paragraph;
use lasthop_linux::results::ResultFile;
use lasthop_packet::units::{Bitrate, parse_duration};
use lasthop_scenario::file;
use lasthop_scenario::{Overrides, Scenario, SchemeChoice};
use lasthop_schemes::catalog::CATALOG;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::gateway::socket::Socket;
use crate::failure::Failure;
use crate::load;
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::progress::Bar;
use crate::rectangle;
use crate::results::{Overwrite, cannot_begin};
use hop::{Direction, Hop, Lists};
use report::{Prediction, Report};

/// The arguments of `gateway gain`.
#[derive(Args)]
#[command(
    after_help = "The gateway measures under any scheme and none; `passive = true` in its file changes nothing of the traffic. \
                  If the gateway counts clients (`[metrics] clients`), their counters are used, with all connections that have ended; otherwise those of the connections in its table.\n\n\
                  Examples:\n  lasthop gateway gain --rate '50 Mbit/s'\n  lasthop gateway gain --filter 10.0.0.7 --seeds 10\n  \
                  lasthop gateway gain --from flows.json --direction upload --out my-hop.toml"
)]
pub struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// Read what `flows --json` or `clients --json` wrote, perhaps on another machine, instead of
    /// asking a gateway; may be given twice, with one of each
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    from: Vec<PathBuf>,
    /// Use only rows that pass all of these filters, as `clients` and `flows` have them
    #[arg(long, value_name = "FILTER", num_args = 1..)]
    filter: Vec<String>,
    /// The way of the data [default: that of most octets]
    #[arg(long)]
    direction: Option<Direction>,
    /// The rate of the hop, which is not measured; several are predicted side by side (comma-separated)
    /// [default: the rate of the fastest connection, twice and four times this rate]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate)]
    rate: Vec<Bitrate>,
    /// The round-trip time from the gateway to the servers, if it was not measured or is to be another
    #[arg(long, value_name = "TIME", value_parser = time)]
    wire_rtt: Option<Duration>,
    /// The congestion control of the senders, which is not measured: a name that `tcp.congestion` of
    /// scenarios has
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    /// Predict only these schemes and none (comma-separated names of the catalog) [default: all that run
    /// in a gateway]
    #[arg(long, value_delimiter = ',', value_name = "NAME", value_parser = load::scheme_name())]
    schemes: Vec<String>,
    /// Run with this many seeds (1, 2, 3 and so on)
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = whole(1..=1000))]
    seeds: u64,
    /// Write the scenario, with the first rate, to this file, for `lasthop compare` and `lasthop try`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Print one CSV table instead: a row for each rate and scheme
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The maximum number of connections to query if clients are counted: those that carried most.
const MAX_CONNECTIONS: usize = 1000;
/// The rates for predictions if none is given, as multiples of that of the fastest connection.
const MULTIPLES: [f64; 3] = [1.0, 2.0, 4.0];
const NONE: &str = "none";

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let schemes = schemes(&arguments.schemes)?;
    let lists = if arguments.from.is_empty() { arguments.ask()? } else { arguments.read()? };
    let hop = Hop::from_lists(&lists, arguments.direction, arguments.wire_rtt);
    let hop = hop.map_err(|why| Failure::Run(anyhow!(why)))?;
    let rates = if arguments.rate.is_empty() { rates_beyond(&hop)? } else { arguments.rate.clone() };
    let text = |rate| {
        let Arguments { seeds, congestion, .. } = arguments;
        world::scenario(&hop, rate, &schemes, *seeds, congestion)
    };
    let scenarios = rates.iter().map(|rate| parse(&text(*rate))).collect::<Result<Vec<_>, _>>()?;
    if let Some(out) = &arguments.out {
        let mut file =
            ResultFile::create(out, &arguments.from, arguments.overwrite.earlier()).map_err(cannot_begin)?;
        let written = file.write_all(text(rates[0]).as_bytes()).and_then(|()| file.finish());
        written.map_err(|error| Failure::Run(error.into()))?;
    }
    let mut predictions = Vec::new();
    if hop.lost > 0 {
        load::note_idle_schemes(&scenarios[0], &scenarios[0].schemes)?;
        let bar = Bar::new();
        let compared = scenarios.iter().map(|scenario| lasthop_lab::compare(scenario, &bar));
        let compared = compared.collect::<Result<Vec<_>, _>>();
        bar.finish();
        let with_rates = rates.iter().zip(compared?);
        predictions.extend(with_rates.map(|(rate, comparison)| Prediction::new(&hop, *rate, &comparison)));
    }
    let Arguments { seeds, congestion, rate, .. } = arguments;
    let report = Report::new(hop, *seeds, congestion, !rate.is_empty(), predictions);
    if arguments.json {
        output::print_json(&report)
    } else if arguments.csv {
        rectangle::print(&["rate_bps", "scheme"], &report.lines()?)
    } else {
        output::print(&format!("{}\n{}", paragraph(&report.title()), report.text()))
    }
}

impl Arguments {
    fn query(&self) -> Query {
        Query { filter: self.filter.clone(), ..Query::default() }
    }

    /// Queries the clients of a gateway, if it counts them, and its connections.
    fn ask(&self) -> Result<Lists, Failure> {
        // Errors of the filters are reported even without a gateway.
        let may_be_of_clients = self.selection::<ClientReport>().is_ok();
        if !may_be_of_clients {
            self.selection::<FlowReport>()?;
        }
        let status: Status = self.socket.ask(&Command::Status)?;
        let clients: Vec<ClientReport> = if may_be_of_clients && status.report.engine.clients.is_some() {
            self.socket.ask(&Command::Clients(self.query()))?
        } else {
            Vec::new()
        };
        let query = if clients.is_empty() {
            self.selection::<FlowReport>()?;
            self.query()
        } else {
            Query { limit: Some(MAX_CONNECTIONS), ..Query::default() }
        };
        let flows = self.socket.ask(&Command::Flows(query))?;
        Ok(Lists { flows, clients })
    }

    /// Reads the lists that a gateway's commands have written.
    fn read(&self) -> Result<Lists, Failure> {
        let mut lists = Lists::default();
        for path in &self.from {
            let text = read_file(&Disk, path).map_err(Failure::usage)?;
            let rows: Vec<Value> = serde_json::from_str(&text).map_err(|error| misread(path, &error))?;
            if rows.first().is_some_and(|row| row.get("client").is_some()) {
                lists.clients.extend(rows_of(rows, path)?);
            } else {
                lists.flows.extend(rows_of(rows, path)?);
            }
        }
        if !lists.clients.is_empty()
            && let Ok(selection) = self.selection()
        {
            lists.clients = selection.pick(lists.clients, |row| row);
        } else {
            lists.clients.clear();
        }
        if lists.clients.is_empty() {
            lists.flows = self.selection()?.pick(lists.flows, |row| row);
        }
        Ok(lists)
    }

    fn selection<R: Row>(&self) -> Result<Selection<R>, Failure> {
        Selection::from_query(&self.query()).map_err(|why| Failure::usage(anyhow!(why)))
    }
}

fn rows_of<R: DeserializeOwned>(rows: Vec<Value>, path: &Path) -> Result<Vec<R>, Failure> {
    let rows = rows.into_iter().map(serde_json::from_value);
    rows.collect::<Result<_, _>>().map_err(|error| misread(path, &error))
}

fn misread(path: &Path, error: &serde_json::Error) -> Failure {
    let expected = "expected what `lasthop gateway flows --json` or `clients --json` printed";
    Failure::usage(anyhow!("{}: {error}; {expected}", path.display()))
}

/// The names of the schemes: none, and the requested ones, or else all that run in a gateway.
fn schemes(asked: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = vec![NONE.to_owned()];
    if asked.is_empty() {
        let all = CATALOG.iter().map(|scheme| scheme.name);
        names.extend(all.filter(|name| *name != NONE && runs(name).is_ok()).map(str::to_owned));
        return Ok(names);
    }
    for name in asked.iter().filter(|name| *name != NONE) {
        runs(name)?;
        if names.contains(name) {
            return Err(Failure::usage(anyhow!(
                "--schemes: {name:?} is listed twice; expected each scheme once"
            )));
        }
        names.push(name.clone());
    }
    Ok(names)
}

/// Fails unless a scheme runs in a gateway.
fn runs(name: &str) -> Result<(), Failure> {
    let choice = SchemeChoice::new(name, toml::Table::new()).map_err(Failure::usage)?;
    let Some(stack) = choice.stack() else {
        return Err(Failure::usage(anyhow!(SchemeChoice::ABOUT_NO_LOSS)));
    };
    let plan = RulePlan::new(stack, Selector::default(), Surroundings::from(LinkSenses::empty()));
    plan.map(drop).map_err(|error| Failure::usage(anyhow!("--schemes: {error}")))
}

/// The candidate rates of the hop: at least that of the fastest connection.
fn rates_beyond(hop: &Hop) -> Result<Vec<Bitrate>, Failure> {
    let Some(fastest) = hop.fastest_bps else {
        return Err(Failure::Run(anyhow!(
            "no connection carried enough to tell a rate: give that of the hop, such as `--rate '50 Mbit/s'`"
        )));
    };
    // Rounded to two or three digits, its precision.
    let unit = if fastest < 1e6 { 1e3 } else { 1e5 };
    let rate = |multiple: f64| Bitrate::from_bps(((fastest * multiple / unit).ceil() * unit) as u64);
    Ok(MULTIPLES.into_iter().filter_map(rate).collect())
}

fn parse(text: &str) -> Result<Scenario, Failure> {
    file::parse(text, "gain.toml", Path::new(""), &Overrides::default()).map_err(Failure::usage)
}

fn rate(text: &str) -> Result<Bitrate, String> {
    text.parse().map_err(|error: lasthop_packet::units::UnitError| error.to_string())
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}
