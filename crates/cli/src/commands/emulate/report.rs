//! What an emulation leaves: the summary, and the files that the user has asked for.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use lasthop_emulator::Summary;
use lasthop_linux::results::{ResultFile, is_standard_output};
use lasthop_scenario::Built;

use super::capture::{Recording, WhenFull};
use crate::failure::Failure;
use crate::output;
use crate::results::{Overwrite, cannot_begin};

/// What is reported, and where.
#[derive(Args)]
pub struct ReportFlags {
    /// Print the summary as JSON instead of text, on standard error
    #[arg(long)]
    pub json: bool,
    /// Print neither notes nor the summary; errors are printed
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
    /// Exit with code 3 if the command succeeds and the run is not to be trusted
    #[arg(long)]
    require_trust: bool,
    /// Write the summary as JSON to this file
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write every packet at both ends of each link as pcapng (in Wireshark, filter by
    /// `frame.interface_name`: the ends of the flags' link are near:hop and far:hop; those that are lost
    /// or dropped appear once more at `dropped`, with a comment)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
}

impl ReportFlags {
    /// Refuses files that cannot be written beside what the command prints.
    pub fn check(&self) -> Result<(), Failure> {
        for (flag, path) in [("--summary", &self.summary), ("--pcap", &self.pcap)] {
            if let Some(path) = path.as_deref().filter(|path| is_standard_output(path)) {
                return Err(Failure::usage(anyhow!(
                    "{flag} {}: standard output belongs to the command; expected a file, or --json for the summary on standard error",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether notes are printed while the command runs.
    pub const fn prints_notes(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Creates the files. They must not be among these, from which the link was read.
    pub fn create(&self, read: &[PathBuf]) -> Result<Files<'_>, Failure> {
        let create = |path: &Path| ResultFile::create(path, read, self.overwrite.earlier());
        let file = self.summary.as_deref().map(create).transpose().map_err(cannot_begin)?;
        let packets = self.pcap.as_deref().map(create).transpose().map_err(cannot_begin)?;
        Ok(Files { flags: self, file, packets })
    }

    fn print(&self, summary: &Summary, file: Option<ResultFile>) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(summary).map_err(|error| Failure::Run(error.into()))?;
        if self.json {
            output::complain(&json);
        } else if !self.quiet {
            for note in &summary.notes {
                output::complain(&format!("lasthop: {note}"));
            }
            output::complain(&format!("lasthop: {summary}"));
        }
        if let Some(mut file) = file {
            writeln!(file, "{json}")?;
            file.finish()?;
        }
        Ok(())
    }
}

/// The files of an emulation that has not started.
pub struct Files<'f> {
    flags: &'f ReportFlags,
    file: Option<ResultFile>,
    packets: Option<ResultFile>,
}

impl<'f> Files<'f> {
    /// Records the packets of the world of `built` from now on.
    pub fn record(self, built: &mut Built, when_full: WhenFull) -> io::Result<Report<'f>> {
        let Self { flags, file, packets } = self;
        let recording = packets.map(|packets| Recording::start(packets, built, when_full)).transpose()?;
        Ok(Report { flags, file, recording })
    }
}

/// The report of an emulation that runs.
pub struct Report<'f> {
    flags: &'f ReportFlags,
    file: Option<ResultFile>,
    recording: Option<Recording>,
}

impl Report<'_> {
    /// Discards what was recorded of an emulation that failed. Must be called after its world has been dropped.
    pub fn discard(self) {
        if let Some(recording) = self.recording {
            recording.discard();
        }
    }

    /// Reports an emulation whose command has ended with this code, and returns that of this process. Must be called after
    /// its world has been dropped.
    pub fn finish(self, summary: &Summary, code: u8) -> Result<ExitCode, Failure> {
        let Self { flags, file, recording } = self;
        let recorded = recording.map_or(Ok(()), Recording::finish);
        let reported = flags.print(summary, file);
        match recorded.map_err(Failure::from).and(reported) {
            // The exit code of the command takes precedence.
            Err(failure) if code != 0 => {
                if let Some(message) = failure.message() {
                    output::complain(&format!("lasthop: {message}"));
                }
                Ok(ExitCode::from(code))
            }
            Ok(()) if flags.require_trust && code == 0 && !summary.trusted => Err(Failure::Untrusted(None)),
            outcome => outcome.map(|()| ExitCode::from(code)),
        }
    }
}
