//! Which observers write what a data file's run is to produce.

use std::io::{self, Write};
use std::path::Path;

use lasthop_sim::Observer;

use super::states::STATES;
use super::{DataFile, EventKinds, EventTrace, ParameterTraces, StateRecorder};
use lasthop_linux::results::{Earlier, make_directory};
use lasthop_scenario::build::Built;

impl DataFile {
    /// The observers of a run of this file's scenario, just built: add them with
    /// [`lasthop_sim::World::observe`], and after the run call [`Observer::flush`] on each of what
    /// [`lasthop_sim::World::take_observers`] gives back, then [`Observer::finish`] on each. No file
    /// appears under its name before that.
    ///
    /// - `out`: the directory for the traces of parameters and for a produced `trace.dat`; made if
    ///   it is not there. Without it there are no traces of parameters, and `trace.dat` goes where
    ///   the data file is.
    /// - `events`: which events go to `sink`; none for no event trace.
    /// - `earlier`: whether files of an earlier run stay, which is then an error.
    pub fn observers(
        &self,
        built: &Built,
        out: Option<&Path>,
        events: EventKinds,
        sink: Box<dyn Write + Send>,
        earlier: Earlier,
    ) -> io::Result<Vec<Box<dyn Observer>>> {
        let mut observers: Vec<Box<dyn Observer>> = Vec::new();
        if let Some(directory) = out {
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", directory.display()));
            make_directory(directory).map_err(named)?;
            observers.push(Box::new(ParameterTraces::new(&self.scenario, built, directory, earlier)?));
        }
        if let Some(link) = self.recorded_link {
            let path = out.unwrap_or(&self.directory).join(STATES);
            observers.push(Box::new(StateRecorder::new(
                built.links[link],
                &path,
                &self.scenario.files,
                earlier,
            )?));
        }
        if !events.is_empty() {
            observers.push(Box::new(EventTrace::new(built, events, self.print_interval, sink)));
        }
        Ok(observers)
    }
}
