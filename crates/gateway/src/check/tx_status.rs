//! Checks whether the drivers of the radio interfaces are known to say what they do not know.

use lasthop_linux::device::Interface;

use super::finding::{Findings, Grade};
use crate::config::{Config, TxStatus};
use crate::radio_probe;

const NAME: &str = "TX status";

pub(super) fn check(config: &Config, radio: &[String], found: &mut Findings) {
    if config.tx_status == TxStatus::Off {
        return;
    }
    // A missing interface has a finding of its own.
    for name in radio.iter().filter(|name| Interface::named(name).is_ok()) {
        match radio_probe::driver(name) {
            Err(why) => found.add(NAME, Grade::Problem, why),
            Ok(driver) if config.tx_status == TxStatus::Trusted => {
                found.add(NAME, Grade::Ok, format!("{name}: what the driver {driver} says is trusted"));
            }
            Ok(driver) => {
                let finding = format!(
                    "{name}: the driver {driver} is tried with frames to an absent station at the start"
                );
                found.advise(
                    NAME,
                    Grade::Ok,
                    finding,
                    format!("`lasthop gateway probe-radio {name}` tries it now"),
                );
            }
        }
    }
}
