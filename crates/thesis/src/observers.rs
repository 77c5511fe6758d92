//! The observers that write the traces of a data file's run.

use std::io::{self, Write};
use std::path::Path;

use lasthop_sim::Observer;

use super::states::STATES;
use super::{DataFile, EventKinds, EventTrace, ParameterTraces, StateRecorder};
use lasthop_linux::results::{Earlier, make_directory};
use lasthop_scenario::build::Built;

impl DataFile {
    /// The observers of a run of this file's scenario, which has just been built. Add them with
    /// [`lasthop_sim::World::observe`]. After the run, call [`Observer::flush`] and then
    /// [`Observer::finish`] on each observer that [`lasthop_sim::World::take_observers`] returns.
    /// Files get their names only then.
    ///
    /// - `out`: the directory for the traces of parameters and for a produced `trace.dat`, made if
    ///   it does not exist. Without it there are no traces of parameters, and a produced
    ///   `trace.dat` goes to the directory of the data file.
    /// - `events`: the kinds of events that are written to `sink`; if empty, there is no event
    ///   trace.
    /// - `earlier`: whether files of an earlier run are kept, which is then an error.
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
