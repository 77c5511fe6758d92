//! A run from the start of its guest to what the guest reports.

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
    /// What the guest has reported; `None` if the user has interrupted the run.
    pub(super) report: Option<R>,
    /// The model.
    pub(super) model: Stepped,
    /// The kernel's radios.
    pub(super) air: Option<Air>,
}

/// The error of a guest whose kernel has failed. The usual reason for a silent one is a program.
fn failed(error: &Error) -> TrialError {
    let is_silent = matches!(error, Error::Guest(guest) if matches!(guest.fault, Fault::Hung(_)));
    let reason = if is_silent { "a program computed, or waited without looking at the clock: " } else { "" };
    TrialError::Guest(format!("{reason}{error}"))
}

/// Runs a guest with this kernel and its wire, until it has reported, at the latest until `end` on its clock.
pub(super) fn run<T: Task>(
    kernel: Kernel,
    mut wire: ModelWire<'_, T>,
    end: Instant,
) -> Result<Over<T::Report>, TrialError> {
    let settings = Settings { processor: processor(), patience: PATIENCE, ..Settings::default() };
    let mut calendar = Calendar::start(vec![kernel], settings).map_err(|error| failed(&error))?;
    let over = calendar.run(&mut wire, end).map_err(|error| failed(&error))?;
    let Finished { report, model, air } = wire.finish();
    match (report, model, over) {
        (Some(Ok(report)), Some(model), _) => Ok(Over { report: Some(report), model, air }),
        (Some(Err(message)), ..) => Err(TrialError::Guest(message)),
        (None, Some(model), End::Wire) => Ok(Over { report: None, model, air }),
        (None, None, End::Wire) => Err(TrialError::Interrupted),
        (_, _, over) => {
            let console = calendar.console(0).unwrap_or_default();
            let what = if over == End::Time { "has not ended in time" } else { "ended without its results" };
            Err(TrialError::Guest(format!("it {what}; the end of its console:\n{}", console.trim_end())))
        }
    }
}
