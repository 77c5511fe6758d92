//! `lasthop sweep`.

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

/// The arguments of `sweep`.
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
