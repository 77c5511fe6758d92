//! `lasthop sweep`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use lasthop_lab::sweep::{sweep, write_csv, write_parquet};
use lasthop_scenario::{Point, Sweep};

use crate::failure::Failure;
use crate::load::Choices;
use crate::output;
use crate::progress::Bar;

/// What `sweep` can be told.
#[derive(Args)]
#[command(
    after_help = "The file's ending chooses the format: .csv or .parquet. A line is one flow of one run, with the varied keys in front."
)]
pub struct Arguments {
    /// The sweep, a TOML file
    sweep: PathBuf,
    #[command(flatten)]
    choices: Choices,
    /// Where to write; standard output as CSV if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

enum Format {
    Csv,
    Parquet,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let out = arguments.out.as_deref().map(|path| Ok::<_, Failure>((path, format(path)?))).transpose()?;
    let file = Sweep::read(&arguments.sweep, &arguments.choices.overrides()).map_err(Failure::usage)?;
    let points: Vec<Point> = file.points().collect::<Result<_, _>>().map_err(Failure::usage)?;
    let bar = Bar::new();
    let rows = sweep(&points, &bar).map_err(Failure::usage);
    bar.finish();
    let rows = rows?;
    let Some((path, format)) = out else {
        return Ok(write_csv(&points, &rows, std::io::stdout().lock())?);
    };
    // Nothing half-written: the file appears under its name when it is whole.
    let partial = path.with_file_name(partial_name(path));
    let written = File::create(&partial).and_then(|file| {
        let mut file = BufWriter::new(file);
        match format {
            Format::Csv => write_csv(&points, &rows, &mut file)?,
            Format::Parquet => write_parquet(&points, &rows, &mut file)?,
        }
        file.flush()?;
        std::fs::rename(&partial, path)
    });
    written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::Run)?;
    output::complain(&format!("{} points, {} runs, in {}", points.len(), rows.len(), path.display()));
    Ok(())
}

fn partial_name(path: &Path) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    name
}

fn format(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("parquet") => Ok(Format::Parquet),
        _ => Err(Failure::usage(anyhow!(
            "--out {}: expected a name that ends in .csv or .parquet",
            path.display()
        ))),
    }
}
