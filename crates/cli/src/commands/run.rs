//! `lasthop run`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use lasthop_lab::Progress;
use lasthop_lab::capture::Capture;
use lasthop_lab::progress::Silent;
use lasthop_lab::run::{RunSummary, run_observed};
use lasthop_lab::{series, table};
use lasthop_linux::results::{ResultFile, is_standard_output, make_directory};
use lasthop_scenario::{Built, Scenario, SchemeChoice};
use lasthop_sim::Observer;

use crate::data_file::{DataFile, EventKinds};
use crate::failure::Failure;
use crate::leftovers::Files;
use crate::load::{self, Choices, Loaded};
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::progress::TimeBar;
use crate::results::{Overwrite, cannot_begin};

/// The arguments of `run`.
#[derive(Args)]
#[command(
    after_help = "A file whose name ends in .dat is read as a data file of the 1997 thesis's simulator (scenarios/goel/README.md); \
                        --out then writes its two-column traces, and --events its event trace.\n\n\
                        Examples:\n  lasthop run scenarios/first-look.toml --scheme snoop --seed 3 --out series\n  \
                        lasthop run scenarios/first-look.toml --scheme refined-icmp --pcap run.pcapng\n  \
                        lasthop run scenarios/goel/appendix-b4/datafile.dat --out traces --events corrupted,given-up"
)]
pub struct Arguments {
    /// The scenario, a TOML file, or a data file (.dat)
    scenario: PathBuf,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    memory: MemoryLimit,
    /// The scheme: a label of the scenario or a name of the catalog [default: the scenario's baseline]
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// The seed [default: the scenario's first seed]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Write the series that the scenario measures to files in this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write every packet at every interface as pcapng (in Wireshark, filter by
    /// `frame.interface_name`: each link is captured at both ends; packets that are lost or dropped appear once
    /// more at `dropped`, with the cause as a comment)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Data files only: print these kinds of events, comma-separated, or "all" or "none" [default:
    /// the kinds in the thesis's sample]
    #[arg(long, value_name = "KINDS")]
    events: Option<String>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    if let Some(path) = arguments.pcap.as_deref().filter(|path| is_standard_output(path)) {
        return Err(Failure::usage(anyhow!(
            "--pcap {}: standard output has the summary; expected a file, or in Bash a command that reads \
             the capture, such as --pcap >(tcpdump -r -)",
            path.display()
        )));
    }
    if arguments.out.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(anyhow!("--out -: expected a directory; --json prints the summary")));
    }
    let loaded = load::any(&arguments.scenario, &arguments.choices)?;
    let (scenario, data) = match &loaded {
        Loaded::Scenario(scenario) => (scenario.as_ref(), None),
        Loaded::DataFile(data) => (&data.scenario, Some(data.as_ref())),
    };
    let events = event_kinds(arguments, data.is_some())?;
    let scheme = match &arguments.scheme {
        Some(name) => load::scheme(scenario, "--scheme", name)?,
        None => scenario.schemes[scenario.baseline].clone(),
    };
    let seed = arguments.seed.unwrap_or(scenario.seeds[0]);
    if arguments.out.is_some() && data.is_none() && scenario.measure.is_empty() {
        output::complain("note: the scenario measures nothing (`measure`), so --out contains only a summary");
    }
    for note in data.into_iter().flat_map(|data| &data.notes) {
        output::complain(&format!("note: {note}"));
    }
    load::note_idle_schemes(scenario, [&scheme])?;
    let before = arguments.out.as_deref().map(Files::new);
    let summary = run(scenario, &scheme, seed, data, events, arguments)?;
    if let (Some(out), Some(before)) = (&arguments.out, before) {
        let after = Files::new(out);
        let left = after.left_from(&before);
        if !left.is_empty() {
            output::complain(&format!(
                "note: {} also contains files that this run did not write: {}",
                out.display(),
                left.join(", ")
            ));
        }
    }
    if arguments.json {
        return output::print_json(&summary);
    }
    let heading = format!(
        "{}\nscheme {}, seed {seed}, {} s simulated{}",
        load::title(scenario, &arguments.choices),
        scheme.label,
        summary.duration_s,
        load::warm_up(scenario)
    );
    output::print(&format!("{}\n{}", table::paragraph(&heading), table::summary(&summary)))
}

/// The kinds of events to print.
fn event_kinds(arguments: &Arguments, is_data_file: bool) -> Result<EventKinds, Failure> {
    match &arguments.events {
        // The thesis's simulator prints its events. A scenario has no such events, and a JSON
        // document must be the only output.
        None if is_data_file && !arguments.json => Ok(EventKinds::DEFAULT),
        None => Ok(EventKinds::empty()),
        Some(_) if !is_data_file => Err(Failure::usage(anyhow!(
            "--events is allowed only with data files (.dat); for a scenario, use `measure`"
        ))),
        Some(_) if arguments.json => {
            Err(Failure::usage(anyhow!("--events and --json both print on standard output; choose one")))
        }
        Some(names) => EventKinds::named(names).map_err(Failure::usage),
    }
}

fn run(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    data: Option<&DataFile>,
    events: EventKinds,
    arguments: &Arguments,
) -> Result<RunSummary, Failure> {
    let prints_events = !events.is_empty();
    let mut summary_file: Option<ResultFile> = None;
    let observers = |built: &Built| -> Result<Observers, Failure> {
        let (observers, file) = observers(scenario, data, events, arguments, built)?;
        summary_file = file;
        Ok(observers)
    };
    // No bar if events are printed on the same screen.
    let bar = (!prints_events).then(|| TimeBar::new(scenario.duration));
    let progress = bar.as_ref().map_or(&Silent as &dyn Progress, |bar| bar);
    let outcome = run_observed(scenario, scheme, seed, observers, progress);
    bar.iter().for_each(TimeBar::finish);
    let (summary, observers) = outcome?;
    name_results(&summary, observers, summary_file)?;
    Ok(summary)
}

/// Writes all files of a run before any of them gets its name, so that an error keeps the files of
/// an earlier run consistent. The summary is named last.
fn name_results(
    summary: &RunSummary,
    mut observers: Observers,
    mut file: Option<ResultFile>,
) -> Result<(), Failure> {
    observers.iter_mut().try_for_each(|observer| observer.flush())?;
    if let Some(file) = &mut file {
        let text = serde_json::to_string_pretty(summary).map_err(|error| Failure::Run(error.into()))?;
        writeln!(file, "{text}")?;
        file.flush()?;
    }
    observers.iter_mut().try_for_each(|observer| observer.finish())?;
    file.map_or(Ok(()), ResultFile::finish)?;
    Ok(())
}

type Observers = Vec<Box<dyn Observer>>;

/// The observers of a run, and the file for its summary.
fn observers(
    scenario: &Scenario,
    data: Option<&DataFile>,
    events: EventKinds,
    arguments: &Arguments,
    built: &Built,
) -> Result<(Observers, Option<ResultFile>), Failure> {
    let earlier = arguments.overwrite.earlier();
    let mut observers: Observers = Vec::new();
    let mut summary = None;
    // After the world is built, so that a scheme that cannot work here leaves no files.
    if let Some(out) = &arguments.out {
        make_directory(out)
            .with_context(|| format!("--out {}: cannot create the directory", out.display()))
            .map_err(Failure::Usage)?;
        let file = ResultFile::create(&out.join("summary.json"), &scenario.files, earlier);
        summary = Some(file.map_err(cannot_begin)?);
    }
    if let Some(path) = &arguments.pcap {
        let file = ResultFile::create(path, &scenario.files, earlier).map_err(cannot_begin)?;
        observers.push(Box::new(Capture::new(file, built)?));
    }
    match (data, &arguments.out) {
        (Some(data), out) => {
            let screen: Box<dyn Write + Send> = Box::new(BufWriter::new(io::stdout()));
            let of_data = data.observers(built, out.as_deref(), events, screen, earlier);
            observers.extend(of_data.map_err(cannot_begin)?);
        }
        (None, Some(out)) => {
            observers.extend(series::observers(scenario, built, out, earlier).map_err(cannot_begin)?);
        }
        (None, None) => {}
    }
    Ok((observers, summary))
}
