//! `lasthop try`.

mod doubts;
mod fairness;
mod prediction;
mod report;
mod roaming;
mod rows;
mod runs;
mod series;
mod sessions;
mod simulated;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use lasthop_config::text::name_of;
use lasthop_config::words::{counted, did_you_mean};
use lasthop_lab::table;
use lasthop_linux::results::{ResultFile, is_standard_output};
use lasthop_linux::unprivileged;
use lasthop_scenario::{Scenario, SchemeChoice, file};
use lasthop_trial::{Program, RunOutcome, Simulation, TrialError, plan};

use crate::commands::simulated::Time;
use crate::failure::Failure;
use crate::load::{self, Choices};
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::results::{Overwrite, cannot_begin};
use crate::signals::{self, Termination};
use report::Report;
use runs::Runs;

/// The arguments of `try`.
#[derive(Args)]
#[command(after_help = "\
Each flow of the scenario runs alone, once per scheme, seed and congestion control of the table [try]. With `flows = \"together\"` in \
[try], all flows share one run. The scenario's sessions take part in every run. Every host is a network \
namespace of this process, so nothing is left behind, even if it is killed.

Examples:
  sudo lasthop try scenarios/try.toml
  sudo lasthop try scenarios/try.toml --set links.air.loss=5% --flows download --seeds 4
  sudo lasthop try scenarios/try-fairness.toml --congestion cubic,bbr
  lasthop try scenarios/try.toml --time simulated --jobs 2
  lasthop try scenarios/try.toml --time simulated --kernel 6.1,6.12
  lasthop try scenarios/try.toml --time simulated --set try.kernels.server=6.1
  lasthop try scenarios/try-wifi.toml --time simulated --schemes none,lle-tcp --set try.gateway-crash=\"6 s\"
  lasthop try scenarios/try.toml --predict --seeds 20")]
pub struct Arguments {
    /// The scenario (TOML file): hosts, and a router between wired links and a wireless hop
    scenario: PathBuf,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Try only these schemes (comma-separated labels of the scenario or names of the catalog)
    #[arg(long, value_delimiter = ',', value_name = "NAME", value_parser = load::scheme_name())]
    schemes: Vec<String>,
    /// Try only these flows (comma-separated)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    flows: Vec<String>,
    /// Use these congestion controls of the kernel instead of the scenario's (comma-separated). Each
    /// flow runs with each of them; with flows together, give one for all flows or one per flow in
    /// the scenario's order. A scheme of the scenario with a `tcp.congestion` of its own keeps it
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    congestion: Vec<String>,
    /// Run with this many seeds (1, 2, 3 and so on) instead of the scenario's seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1_000))]
    seeds: Option<u64>,
    /// Run this many runs at a time; with more than one per core, the emulator may be late
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1..=64))]
    jobs: u64,
    /// Compare with this program, such as a proxy, which runs at the edge in place of a scheme. May be
    /// given several times; benches/pepsal.sh shows how the program is called
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = program, conflicts_with = "predict")]
    beside: Vec<Program>,
    /// The time that the hosts have: "real", that of this machine; "simulated", that of the model, with a kernel of
    /// their own (`lasthop kernel`), without root, and the same in each run
    #[arg(long, value_name = "TIME", default_value = "real", conflicts_with_all = ["predict", "beside"])]
    time: Time,
    /// With --time simulated: the kernel, by its version or path; by default the newest one. Several kernels
    /// (comma-separated) are compared, with a row for each
    #[arg(
        long = "kernel",
        value_delimiter = ',',
        value_name = "VERSION",
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with = "predict"
    )]
    kernels: Vec<String>,
    /// With --time simulated, whose Wi-Fi stack the stations of 802.11 cells have: "kernel", that of Linux, with hostapd
    /// and `wpa_supplicant`, over the model's medium (the default); or "model", that of the model
    #[arg(long, value_name = "STACK", conflicts_with = "predict")]
    wifi: Option<Wifi>,
    /// Print what the simulator predicts for the same runs instead of running them, which takes no
    /// real time
    #[arg(long)]
    predict: bool,
    /// Write the state of each sender over time to this CSV file: window, threshold, round-trip time
    /// and retransmissions every 10 ms, of real hosts and as predicted
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
    /// Exit with code 3 if some run is not to be trusted
    #[arg(long, conflicts_with = "predict")]
    require_trust: bool,
}

/// Whose Wi-Fi stack the stations of cells have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wifi {
    /// That of the hosts' kernel.
    Kernel,
    /// That of the model.
    Model,
}

impl From<Wifi> for lasthop_trial::Wifi {
    fn from(wifi: Wifi) -> Self {
        match wifi {
            Wifi::Kernel => Self::Kernel,
            Wifi::Model => Self::Model,
        }
    }
}

impl Arguments {
    /// Whether the command only predicts, without real hosts.
    pub const fn only_predicts(&self) -> bool {
        self.predict
    }
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let scenario = chosen(arguments)?;
    if !scenario.warm_up.is_zero() {
        let problem = "`warm-up` applies to simulations only; run `try` with --set 'warm-up=0 s'";
        return Err(Failure::usage(anyhow!("{}: {problem}", name_of(&arguments.scenario))));
    }
    let in_file = |error| Failure::usage(anyhow!("{}: {error}", name_of(&arguments.scenario)));
    let of_congestion = |error| match &error {
        TrialError::Congestion { row: Some(row), .. } | TrialError::NoPrediction { row: Some(row), .. } => {
            let file = name_of(&arguments.scenario);
            Failure::usage(anyhow!("{file}: schemes: tcp.congestion of {row:?}: {error}"))
        }
        _ if arguments.congestion.is_empty() => Failure::usage(anyhow!("try.congestion: {error}")),
        _ => Failure::usage(anyhow!("--congestion: {error}")),
    };
    plan::check(&scenario).map_err(in_file)?;
    if arguments.predict {
        plan::check_simulator(&scenario).map_err(of_congestion)?;
    }
    load::note_idle_schemes(&scenario, &scenario.schemes)?;
    if let Some(path) = arguments.series.as_deref().filter(|path| is_standard_output(path)) {
        return Err(Failure::usage(anyhow!(
            "--series {}: standard output has the tables; expected a file",
            path.display()
        )));
    }
    let series = arguments
        .series
        .as_ref()
        .map(|name| ResultFile::create(name, &scenario.files, arguments.overwrite.earlier()));
    let series = series.transpose().map_err(cannot_begin)?;
    if arguments.predict {
        let title = load::title(&scenario, &arguments.choices);
        return prediction::execute(&scenario, &title, arguments.jobs as usize, series, arguments.json);
    }
    let simulations = simulations(arguments, &scenario)?;
    if simulations.is_empty() {
        plan::check_kernel(&scenario).map_err(of_congestion)?;
    }
    for note in plan::notes(&scenario) {
        output::complain(&format!("note: {note}"));
    }
    if simulations.is_empty() && !lasthop_linux::may_administer_this_machine() {
        plan::check_without_root(&scenario).map_err(in_file)?;
        // Before any thread starts.
        unprivileged::enter().map_err(|error| Failure::Run(error.into()))?;
    }
    let termination = Termination::listen()?;
    let options = lasthop_trial::Options {
        sample_every: series.as_ref().map(|_| series::EVERY),
        stop: termination.stop(),
        programs: &arguments.beside,
        simulation: None,
    };
    let run = |(case, simulation): &(plan::Case, Option<&Simulation>)| {
        lasthop_trial::run(&scenario, case, lasthop_trial::Options { simulation: *simulation, ..options })
    };
    // The kernels of a case follow each other, so that their rows do.
    let kernels: Vec<Option<&Simulation>> =
        if simulations.is_empty() { vec![None] } else { simulations.iter().map(Some).collect() };
    let cases = plan::cases(&scenario).into_iter();
    let cases = cases.flat_map(|case| kernels.iter().map(move |kernel| (case.clone(), *kernel)));
    let cases: Vec<_> = cases.collect();
    let Runs { done, failed } = runs::all(&cases, arguments.jobs as usize, termination.stop(), run);
    match (termination.signal(), failed) {
        (Some(signal), _) => {
            // Real runs take minutes, so the completed ones are printed.
            let runs = counted(cases.len() as u64, "run");
            let progress = match done.len() {
                0 => format!("none of {runs} is done"),
                1 => format!("1 of {runs} is done"),
                many => format!("{many} of {runs} are done"),
            };
            // The exit code reports the signal, whatever the results of these runs.
            if !done.is_empty()
                && let Err(failure) = print(arguments, &scenario, series, done, cases.len())
            {
                let _ = output::report(&failure);
            }
            output::complain(&format!("lasthop: interrupted: {progress}"));
            signals::end_by(signal);
            Ok(())
        }
        (None, Some(error)) => Err(Failure::Run(error.into())),
        (None, None) => print(arguments, &scenario, series, done, cases.len()),
    }
}

/// The kernels of the hosts in simulated time; none in real time.
fn simulations(arguments: &Arguments, scenario: &Scenario) -> Result<Vec<Simulation>, Failure> {
    let refused = |problem: &str| Err(Failure::usage(anyhow!("{problem}")));
    let unsuitable = |error| match error {
        TrialError::Wifi(_) => Failure::usage(error),
        of_scenario => Failure::usage(anyhow!("{}: {of_scenario}", name_of(&arguments.scenario))),
    };
    match arguments.time {
        Time::Simulated if arguments.kernels.len() > 1 && arguments.series.is_some() => {
            refused("--series has the samples of one kernel; expected a single one in --kernel")
        }
        Time::Simulated if arguments.wifi.is_some() && scenario.wlans.is_empty() => {
            refused("--wifi: the scenario has no 802.11 cell; expected none")
        }
        Time::Simulated => {
            let wifi = arguments.wifi.map_or_else(lasthop_trial::Wifi::default, Into::into);
            lasthop_trial::simulated::check(scenario, wifi).map_err(unsuitable)?;
            let simulations = simulated::simulations(scenario, &arguments.kernels, wifi)?;
            for simulation in &simulations {
                lasthop_trial::simulated::check_kernels(scenario, simulation).map_err(unsuitable)?;
            }
            if let Some(note) = lasthop_trial::simulated::note(scenario, wifi) {
                output::complain(&format!("note: {note}"));
            }
            Ok(simulations)
        }
        Time::Real if arguments.wifi.is_some() => {
            refused("--wifi: the model has the Wi-Fi stack in real time; expected --time simulated beside it")
        }
        Time::Real if !arguments.kernels.is_empty() => {
            refused("--kernel: the hosts have this machine's; expected --time simulated beside it")
        }
        Time::Real => {
            lasthop_trial::simulated::check_real_time(scenario).map_err(unsuitable)?;
            Ok(Vec::new())
        }
    }
}

/// Prints the results of the runs, and fails if octets were wrong.
fn print(
    arguments: &Arguments,
    scenario: &Scenario,
    series: Option<ResultFile>,
    outcomes: Vec<RunOutcome>,
    planned_runs: usize,
) -> Result<(), Failure> {
    if let Some(file) = series {
        let flows = outcomes.iter().flat_map(|outcome| &outcome.flows);
        series::write(file, flows.flat_map(series::of_outcome))?;
    }
    let report = Report::new(scenario, outcomes, planned_runs);
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&format!(
            "{}\n{}\n{}",
            table::paragraph(&load::title(scenario, &arguments.choices)),
            report.table(),
            table::paragraph(&report.remarks())
        ))?;
    }
    match report.corrupted() {
        0 if arguments.require_trust && report.is_doubtful() => {
            Err(Failure::Untrusted(Some(anyhow!("some runs are not trusted"))))
        }
        0 => Ok(()),
        1 => Err(Failure::Run(anyhow!("1 transfer or session arrived corrupted"))),
        corrupted => Err(Failure::Run(anyhow!("{corrupted} transfers or sessions arrived corrupted"))),
    }
}

/// Parses `NAME=PROGRAM`.
fn program(text: &str) -> Result<Program, String> {
    match text.split_once('=') {
        Some((label, path)) if !label.is_empty() && !path.is_empty() => {
            Ok(Program { label: label.to_owned(), path: path.into() })
        }
        _ => Err("expected a name and a program, such as pepsal=benches/pepsal.sh".to_owned()),
    }
}

/// The scenario, with the options of the command line.
pub fn chosen(arguments: &Arguments) -> Result<Scenario, Failure> {
    let mut scenario =
        file::read(&arguments.scenario, &arguments.choices.overrides()).map_err(Failure::usage)?;
    if let Some(seeds) = arguments.seeds {
        scenario.seeds = (1..=seeds).collect();
    }
    if !arguments.schemes.is_empty() {
        load::keep_schemes(&mut scenario, &arguments.schemes)?;
    }
    for program in &arguments.beside {
        if scenario.schemes.iter().any(|choice| choice.label == program.label) {
            return Err(Failure::usage(anyhow!(
                "--beside {}: a row with this name already exists",
                program.label
            )));
        }
        let mut row = SchemeChoice::new("none", toml::Table::new()).map_err(Failure::usage)?;
        row.label.clone_from(&program.label);
        scenario.schemes.push(row);
    }
    if !arguments.congestion.is_empty() {
        scenario.trial.congestion.clone_from(&arguments.congestion);
    }
    for name in &arguments.flows {
        if !scenario.flows.iter().any(|flow| flow.name == *name) {
            let known: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
            return Err(Failure::usage(anyhow!(
                "--flows: unknown flow {name:?}{}; expected one of: {}",
                did_you_mean(name, &known),
                known.join(", ")
            )));
        }
    }
    if !arguments.flows.is_empty() {
        let background: Vec<bool> = scenario.flows.iter().map(|flow| scenario.is_background(flow)).collect();
        scenario.keep_flows(|index, flow| background[index] || arguments.flows.contains(&flow.name));
    }
    Ok(scenario)
}
