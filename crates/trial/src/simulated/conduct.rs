//! A run from the start of its guests to what they report.

use std::time::Duration;

use lasthop_emulator::stepped::Stepped;
use lasthop_packet::Instant;
use lasthop_uml::{Calendar, End, Error, Fault, Kernel, Settings};

use super::air::Air;
use super::kernel::processor;
use super::task::Task;
use super::wire::{Finished, ModelWire};
use crate::error::TrialError;

/// How long a guest may be silent in real time: on a busy machine, the kernel's verification of the gateway's programs
/// takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run has led to.
pub(super) struct Over<R> {
    /// What each guest has reported; `None` if the user has interrupted the run.
    pub(super) reports: Option<Vec<R>>,
    /// The model.
    pub(super) model: Stepped,
    /// The kernels' radios.
    pub(super) air: Option<Air>,
}

/// The names of the guests' kernels.
#[derive(Clone, Copy)]
struct Names<'a>(&'a [&'a str]);

impl Names<'_> {
    /// The error of a guest. If there are several, it says which one.
    fn error(self, guest: usize, problem: String) -> TrialError {
        match self.0.get(guest).filter(|_| self.0.len() > 1) {
            Some(kernel) => TrialError::GuestOf { kernel: (*kernel).to_owned(), problem },
            None => TrialError::Guest(problem),
        }
    }

    /// The error of a guest whose kernel has failed. The usual reason for a silent one is a program.
    fn failed(self, error: &Error) -> TrialError {
        let (guest, is_silent) = match error {
            Error::Guest(guest) => (guest.guest, matches!(guest.fault, Fault::Hung(_))),
            _ => return TrialError::Guest(error.to_string()),
        };
        let reason =
            if is_silent { "a program computed, or waited without looking at the clock: " } else { "" };
        self.error(guest, format!("{reason}{error}"))
    }
}

/// Checks that no device of a guest has lost a frame. TCP would take that for a loss of the network, which the model does not know.
fn check_losses(calendar: &Calendar, names: Names<'_>) -> Result<(), TrialError> {
    let losses: Vec<_> = calendar.losses().collect();
    let Some((first, _)) = losses.first() else { return Ok(()) };
    let guest = first.guest;
    let of_guest = losses.iter().filter(|(id, _)| id.guest == guest);
    let lost: Vec<String> =
        of_guest.map(|(id, losses)| format!("its device {} has lost frames: {losses}", id.device)).collect();
    Err(names.error(guest, format!("{}; the results would not be those of the network", lost.join(", and "))))
}

/// Runs guests with these kernels and their wire, until all have reported, at the latest until `end` on their clocks.
/// `names` has those of the kernels.
pub(super) fn run<T: Task>(
    kernels: Vec<Kernel>,
    names: &[&str],
    mut wire: ModelWire<'_, T>,
    end: Instant,
) -> Result<Over<T::Report>, TrialError> {
    let names = Names(names);
    let settings = Settings { processor: processor(), patience: PATIENCE, ..Settings::default() };
    let mut calendar = Calendar::start(kernels, settings).map_err(|error| names.failed(&error))?;
    let over = calendar.run(&mut wire, end).map_err(|error| names.failed(&error))?;
    let Finished { reports, failed, model, air } = wire.finish();
    if let Some((guest, problem)) = failed {
        return Err(names.error(guest, problem));
    }
    let silent = reports.iter().position(Option::is_none);
    match (silent, model, over) {
        (None, Some(model), _) => {
            check_losses(&calendar, names)?;
            Ok(Over { reports: reports.into_iter().collect(), model, air })
        }
        (Some(_), Some(model), End::Wire) => Ok(Over { reports: None, model, air }),
        (Some(_), None, End::Wire) => Err(TrialError::Interrupted),
        (silent, _, over) => {
            let guest = silent.unwrap_or_default();
            let console = calendar.console(guest).unwrap_or_default();
            let what = if over == End::Time { "has not ended in time" } else { "ended without its results" };
            Err(names.error(guest, format!("it {what}; the end of its console:\n{}", console.trim_end())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_which_of_several_guests_has_failed() {
        let problem = || "it is late".to_owned();
        let alone = Names(&["6.12"]).error(0, problem());
        assert_eq!(alone.to_string(), "the guest: it is late");
        assert_eq!(Names(&[]).error(0, problem()).to_string(), alone.to_string());
        let second = Names(&["6.12", "6.1"]).error(1, problem());
        assert_eq!(second.to_string(), "the guest with kernel 6.1: it is late");
    }
}
