//! `lasthop sweep`.

use std::io::{self, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use clap::Args;
use lasthop_config::text::name_of;
use lasthop_config::words::counted;
use lasthop_lab::progress::Silent;
use lasthop_lab::run::RunError;
use lasthop_lab::sweep::{Column, Grid, JsonArray, Origin, Part, header, in_threads, sweep, write_parquet};
use lasthop_linux::results::{Earlier, ResultPath};
use lasthop_scenario::{Scenario, Sweep};

use crate::failure::Failure;
use crate::load::{self, Choices};
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output::{self, StandardOutput};
use crate::progress::Bar;
use crate::results::{Overwrite, cannot_begin};
use crate::signals::on_termination;

/// The arguments of `sweep`.
#[derive(Args)]
#[command(
    after_help = "Each line is one flow or session of one run, or one direction of a call; the varied keys are the first columns, with the unit of their numbers in the \
                        name.\n\nThe file name extension selects the format: .csv, .parquet or .json. Until the sweep is complete its results are \
                        in FILE.part, run by run. If it is interrupted, the same command with --resume continues it.\n\nExamples:\n  \
                        lasthop sweep scenarios/snoop-uniform-loss.sweep.toml --out results.csv\n  lasthop sweep \
                        scenarios/snoop-uniform-loss.sweep.toml --schemes none,snoop --seeds 3 --out -"
)]
pub struct Arguments {
    /// The sweep (TOML file)
    sweep: PathBuf,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Run only these schemes (comma-separated labels of the scenario or names of the catalog)
    #[arg(long, value_delimiter = ',', value_name = "NAME", value_parser = load::scheme_name())]
    schemes: Vec<String>,
    /// Run with this many seeds (1, 2, 3 and so on) instead of the sweep's seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=10_000))]
    seeds: Option<u64>,
    /// Run this many runs at a time [default: as many as there are processors]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1_024))]
    jobs: Option<u64>,
    /// Write to this file; - is CSV on standard output [default: -]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Continue a sweep that was interrupted: run only what is missing in FILE.part
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print one JSON document, an array with an object per line, on standard output
    #[arg(long)]
    json: bool,
}

/// The destination of the results.
enum Target<'a> {
    StandardOutput { is_json: bool },
    File(&'a Path, Format),
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Json,
    Parquet,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let target = arguments.target()?;
    let file = Sweep::read(&arguments.sweep, &arguments.choices.overrides()).map_err(Failure::usage)?;
    arguments.refuse_what_varies(&file)?;
    let read = |index: usize| arguments.scenario(&file, index);
    let threads = arguments.jobs.map(|jobs| jobs as usize);
    in_threads(threads, || match target {
        Target::StandardOutput { is_json } => to_standard_output(&checked(&file, &read)?, is_json),
        Target::File(path, format) => {
            // Checked before the sweep, which would be wasted if its results could not be written.
            // A sweep that is resumed had permission to replace the file when it started.
            let earlier = if arguments.resume { Earlier::Goes } else { arguments.overwrite.earlier() };
            let place = ResultPath::new(path, &file.files(), earlier).map_err(cannot_begin)?;
            let origin = Origin {
                lasthop: env!("CARGO_PKG_VERSION").to_owned(),
                schemes: arguments.schemes.clone(),
                seeds: arguments.seeds,
                inputs: file.inputs(),
            };
            let how = Begin { resume: arguments.resume, earlier: arguments.overwrite.earlier() };
            to_file(&checked(&file, &read)?, &origin, how, path, format, place)
        }
    })?
}

impl Arguments {
    fn target(&self) -> Result<Target<'_>, Failure> {
        match self.out.as_deref().filter(|path| *path != Path::new("-")) {
            None if self.resume => {
                Err(Failure::usage(anyhow!("--resume needs the file to continue: --out FILE")))
            }
            None => Ok(Target::StandardOutput { is_json: self.json }),
            Some(_) if self.json => Err(Failure::usage(anyhow!(
                "--json prints on standard output; for JSON in a file, use --out FILE.json without --json"
            ))),
            Some(path) => Ok(Target::File(path, format(path)?)),
        }
    }

    /// Refuses an option for a parameter that the sweep varies: it would make many points equal.
    fn refuse_what_varies(&self, sweep: &Sweep) -> Result<(), Failure> {
        for key in sweep.parameters() {
            let option = match key {
                "seeds" if self.seeds.is_some() => "--seeds",
                "schemes" if !self.schemes.is_empty() => "--schemes",
                _ => continue,
            };
            return Err(Failure::usage(anyhow!("{option} is not allowed here: this sweep varies {key}")));
        }
        Ok(())
    }

    /// The scenario of a point, with the options of the command line.
    fn scenario(&self, sweep: &Sweep, index: usize) -> Result<Scenario, Failure> {
        let point =
            sweep.point(index).ok_or_else(|| Failure::Run(anyhow!("the sweep has no point {index}")))?;
        let mut scenario = point.map_err(Failure::usage)?;
        if scenario.flows.is_empty() && scenario.sessions.is_empty() {
            return Err(Failure::usage(anyhow!(
                "{}: the scenario has neither flows nor sessions; a line of the results is one of them in one run",
                name_of(&self.sweep)
            )));
        }
        if !self.schemes.is_empty() {
            self.refuse_to_leave_out(sweep, &scenario)?;
            load::keep_schemes(&mut scenario, &self.schemes)?;
        }
        if let Some(seeds) = self.seeds {
            scenario.seeds = (1..=seeds).collect();
        }
        Ok(scenario)
    }

    /// Refuses to leave out a scheme whose settings the sweep varies.
    fn refuse_to_leave_out(&self, sweep: &Sweep, scenario: &Scenario) -> Result<(), Failure> {
        for key in sweep.parameters() {
            let index = key.strip_prefix("schemes.").and_then(|rest| rest.split('.').next()?.parse().ok());
            let scheme = index.and_then(|index: usize| scenario.schemes.get(index));
            if let Some(scheme) = scheme.filter(|scheme| !self.schemes.contains(&scheme.label)) {
                return Err(Failure::usage(anyhow!(
                    "--schemes leaves out {:?}, of which this sweep varies {key}",
                    scheme.label
                )));
            }
        }
        Ok(())
    }
}

/// Checks every run of the sweep. Prints which schemes have no effect, and at how many points.
fn checked<'a>(
    sweep: &'a Sweep,
    read: &'a (dyn Fn(usize) -> Result<Scenario, Failure> + Sync + 'a),
) -> Result<Grid<'a, Failure>, Failure> {
    let grid = Grid::check(sweep, read, &Silent)?;
    for (note, points) in grid.idle_schemes() {
        let at = match points {
            all if *all == grid.points() => String::new(),
            some => format!(" (at {some} of {})", counted(grid.points() as u64, "point")),
        };
        output::complain(&format!("note: {note}{at}"));
    }
    Ok(grid)
}

fn format(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("json") => Ok(Format::Json),
        Some("parquet") => Ok(Format::Parquet),
        _ => Err(Failure::usage(anyhow!(
            "--out {}: expected a file name that ends in .csv, .parquet or .json, or - for standard output",
            path.display()
        ))),
    }
}

fn to_standard_output(grid: &Grid<'_, Failure>, is_json: bool) -> Result<(), Failure> {
    let columns = grid.columns();
    let bar = Bar::new();
    let bar_of_signals = bar.clone();
    on_termination(move || {
        bar_of_signals.finish();
        output::complain("lasthop: interrupted: the results on standard output are not complete");
    });
    let swept = if is_json {
        let mut array = JsonArray::begin(&columns, BufWriter::new(StandardOutput))?;
        let swept = sweep(grid, 0, &bar, |lines| Ok(array.rows(lines)?));
        swept.and_then(|()| array.end().map(drop).map_err(Failure::from))
    } else {
        StandardOutput.write_all(&header(&columns))?;
        sweep(grid, 0, &bar, |lines| Ok(StandardOutput.write_all(lines)?))
    };
    bar.finish();
    swept
}

fn to_file(
    grid: &Grid<'_, Failure>,
    origin: &Origin,
    how: Begin,
    path: &Path,
    format: Format,
    mut place: ResultPath,
) -> Result<(), Failure> {
    let bar = Bar::new();
    let part = begin(grid, origin, how, path).map_err(cannot_begin)?;
    let done = part.runs();
    let part = Shared::new(part);
    let (ours, bar_of_signals, runs) = (part.clone(), bar.clone(), grid.runs());
    on_termination(move || {
        let part = ours.lock();
        bar_of_signals.finish();
        if let Some(so_far) = part.as_ref() {
            keep(so_far, "interrupted: ", (runs, RESUME));
            // The lock is kept until the process ends, so that the file stays as reported.
            std::mem::forget(part);
        }
    });
    let swept = sweep(grid, done, &bar, |lines| Ok(part.with(|part| part.append(lines))?));
    bar.finish();
    let written = swept.and_then(|()| {
        let rows = part.with(|part| part.rows())?;
        // The lock is not held meanwhile, so that Ctrl-C takes effect at once.
        Ok(convert(rows, &grid.columns(), format, &mut place)?)
    });
    let mut part = part.lock();
    let written = written.and_then(|()| Ok(place.finish()?));
    let Some(so_far) = part.take() else { return written };
    if let Err(failure) = &written {
        keep(&so_far, "", (runs, way_on(failure)));
        return written;
    }
    so_far.remove()?;
    let (points, runs) = (counted(grid.points() as u64, "point"), counted(runs as u64, "run"));
    output::complain(&format!("{points} and {runs} written to {}", path.display()));
    Ok(())
}

/// The results so far, shared by the sweep and the handler of signals; `None` when the file of
/// results is complete.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Part>>>);

impl Shared {
    fn new(part: Part) -> Self {
        Self(Arc::new(Mutex::new(Some(part))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Part) -> io::Result<T>) -> io::Result<T> {
        let gone = || io::Error::other("the results are already in their own file");
        self.lock().as_mut().ok_or_else(gone).and_then(act)
    }
}

/// The options for the start of a sweep.
#[derive(Clone, Copy)]
struct Begin {
    resume: bool,
    /// The treatment of earlier results if there is nothing to resume.
    earlier: Earlier,
}

/// Opens the results so far, or creates new ones.
fn begin(grid: &Grid<'_, Failure>, origin: &Origin, how: Begin, path: &Path) -> io::Result<Part> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let name = PathBuf::from(name);
    if how.resume {
        if let Some(part) = Part::resume(&name, origin, grid)? {
            return Ok(part);
        }
        if how.earlier == Earlier::Stays && path.exists() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "nothing to resume: {} is missing or empty; with --overwrite the sweep begins again and replaces {}",
                    name.display(),
                    path.display()
                ),
            ));
        }
    }
    Part::begin(&name, origin, grid)
}

const RESUME: &str = "the same command with --resume continues";

/// Advice on how to continue after a failure.
fn way_on(failure: &Failure) -> &'static str {
    let run = match failure {
        Failure::Run(error) => error.downcast_ref::<RunError>(),
        Failure::Usage(_) | Failure::Untrusted(_) | Failure::ReaderGone => None,
    };
    match run.map(RunError::cause) {
        // An error of the output, such as a full disk.
        None => RESUME,
        Some(RunError::Memory(_)) => {
            "the same command with --resume continues, with fewer --jobs or a higher --memory-limit"
        }
        // The same inputs cause the same failure, and other inputs have other results.
        Some(_) => {
            "the run that failed will fail again: correct the sweep or its scenario, and remove this file"
        }
    }
}

/// Keeps the completed runs, and prints how to continue.
fn keep(part: &Part, why: &str, (runs, way_on): (usize, &str)) {
    part.keep();
    let (done, path, runs) = (part.runs(), part.path().display(), counted(runs as u64, "run"));
    output::complain(&match done {
        0 => format!("lasthop: {why}none of {runs} is done; nothing is kept"),
        1 => format!("lasthop: {why}1 of {runs} is in {path}; {way_on}"),
        _ => format!("lasthop: {why}{done} of {runs} are in {path}; {way_on}"),
    });
}

/// Writes the file of results before it gets its name.
fn convert(
    mut rows: impl Read,
    columns: &[Column],
    format: Format,
    place: &mut ResultPath,
) -> io::Result<()> {
    let mut out = BufWriter::new(place.open()?);
    let written = match format {
        Format::Csv => io::copy(&mut rows, &mut out).map(drop),
        Format::Json => JsonArray::write(columns, rows, &mut out),
        Format::Parquet => write_parquet(columns, rows, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(|error| place.error(&error))
}
