//! `lasthop gateway probe-radio`.

use anyhow::{Context as _, anyhow};
use clap::Args;
use lasthop_gateway::radio_probe;
use serde_json::json;

use crate::failure::Failure;
use crate::output;

/// The arguments of `gateway probe-radio`.
#[derive(Args)]
pub struct Arguments {
    /// The interface of an access point, such as wlan0
    #[arg(value_name = "INTERFACE")]
    interface: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Tries a driver. Fails if it cannot be relied on.
pub fn execute(Arguments { interface, json }: &Arguments) -> Result<(), Failure> {
    if !lasthop_linux::may_change_the_network() {
        return Err(Failure::Run(anyhow!(
            "to make up a station requires root, or CAP_NET_ADMIN and CAP_NET_RAW: run it with sudo"
        )));
    }
    let probed = || {
        radio_probe::driver(interface).map_err(|why| anyhow!(why)).and_then(|driver| {
            let cannot = || {
                format!("{interface}: the driver {driver} cannot be tried with frames to an absent station")
            };
            radio_probe::probe(interface).with_context(cannot).map(|probe| (driver, probe))
        })
    };
    let (driver, probe) = probed().map_err(Failure::Run)?;
    let fault = probe.fault();
    if *json {
        let document = json!({
            "interface": interface,
            "driver": driver,
            "sent": probe.sent,
            "reported_lost": probe.lost,
            "reported_delivered": probe.delivered,
            "reliable": fault.is_none(),
        });
        output::print_json(&document)?;
    } else if fault.is_none() {
        output::print(&format!(
            "{interface}: the driver {driver} reported each of {} frames to an absent station as lost: ports.tx-status = \"probed\" \
             works here",
            probe.sent
        ))?;
    }
    match fault {
        None => Ok(()),
        Some(fault) => Err(Failure::Run(anyhow!("{interface}: {fault} (driver {driver})"))),
    }
}
