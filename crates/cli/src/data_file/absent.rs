//! A replacement for `data_file` in a build without the reader of the 1997 thesis's data files.

use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;
use lasthop_linux::results::Earlier;
use lasthop_scenario::Scenario;
use lasthop_scenario::build::Built;
use lasthop_sim::Observer;

/// A data file; it has no values in this build.
pub struct DataFile {
    pub scenario: Scenario,
    pub notes: Vec<String>,
    never: std::convert::Infallible,
}

/// Kinds of events to print, which only data files have.
#[derive(Clone, Copy)]
pub struct EventKinds;

impl EventKinds {
    pub const DEFAULT: Self = Self;

    pub const fn empty() -> Self {
        Self
    }

    pub const fn is_empty(self) -> bool {
        matches!(self, Self)
    }

    pub fn named(_: &str) -> Result<Self, anyhow::Error> {
        Err(anyhow!("this command was built without the reader of the 1997 thesis's data files"))
    }
}

impl DataFile {
    pub fn observers(
        &self,
        _: &Built,
        _: Option<&Path>,
        _: EventKinds,
        _: Box<dyn Write + Send>,
        _: Earlier,
    ) -> io::Result<Vec<Box<dyn Observer>>> {
        match self.never {}
    }
}

pub fn read(path: &Path) -> Result<DataFile, anyhow::Error> {
    Err(anyhow!(
        "{}: this command was built without the reader of the 1997 thesis's data files",
        path.display()
    ))
}
