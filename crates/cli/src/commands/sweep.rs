//! `lasthop sweep`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::sweep::{sweep, write_csv, write_parquet};
use lasthop_scenario::results::ResultFile;
use lasthop_scenario::{Point, Sweep};

use crate::failure::Failure;
use crate::load::Choices;
use crate::output;
use crate::progress::Bar;

/// What `sweep` can be told.
#[derive(Args)]
#[command(
    after_help = "The file name extension selects the format: .csv or .parquet. Each line is one flow of one run; the varied keys are the first columns."
)]
pub struct Arguments {
    /// The sweep (TOML file)
    sweep: PathBuf,
    #[command(flatten)]
    choices: Choices,
    /// Write to this file [default: CSV on standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

enum Format {
    Csv,
    Parquet,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let format = arguments.out.as_deref().map(format).transpose()?;
    let file = Sweep::read(&arguments.sweep, &arguments.choices.overrides()).map_err(Failure::usage)?;
    let points: Vec<Point> = file.points().collect::<Result<_, _>>().map_err(Failure::usage)?;
    // Before the work: what cannot be written should not cost it.
    let create = |path: &PathBuf| ResultFile::create(path, &file.files());
    let out = arguments.out.as_ref().map(create).transpose().map_err(Failure::usage)?;
    note_idle_schemes(&points)?;
    let bar = Bar::new();
    let rows = sweep(&points, &bar).map_err(Failure::usage);
    bar.finish();
    let rows = rows?;
    let (Some(path), Some(mut out), Some(format)) = (&arguments.out, out, format) else {
        return Ok(write_csv(&points, &rows, std::io::stdout().lock())?);
    };
    match format {
        Format::Csv => write_csv(&points, &rows, &mut out)?,
        Format::Parquet => write_parquet(&points, &rows, &mut out)?,
    }
    out.finish()?;
    output::complain(&format!(
        "{} points and {} runs written to {}",
        points.len(),
        rows.len(),
        path.display()
    ));
    Ok(())
}

/// Says which schemes do nothing, and at how many points.
fn note_idle_schemes(points: &[Point]) -> Result<(), Failure> {
    let mut notes: BTreeMap<String, usize> = BTreeMap::new();
    for Point { scenario, .. } in points {
        let mut idle = BTreeSet::new();
        for row in &scenario.schemes {
            idle.extend(scenario.idle_schemes(row).map_err(Failure::usage)?);
        }
        for note in idle {
            *notes.entry(note).or_default() += 1;
        }
    }
    for (note, times) in notes {
        let at = if times == points.len() {
            String::new()
        } else {
            format!(" (at {times} of {} points)", points.len())
        };
        output::complain(&format!("note: {note}{at}"));
    }
    Ok(())
}

fn format(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("parquet") => Ok(Format::Parquet),
        _ => Err(Failure::usage(anyhow!(
            "--out {}: expected a file name that ends in .csv or .parquet",
            path.display()
        ))),
    }
}
