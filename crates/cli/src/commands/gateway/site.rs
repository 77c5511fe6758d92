//! Several gateways: their keys, and the clients that roam between them.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_config::words::counted;
use lasthop_gateway::clients::ClientReport;
use lasthop_gateway::config;
use lasthop_gateway::control::{Command, Noted};
use lasthop_gateway::frame::MacAddress;
use lasthop_gateway::listing::Query;
use lasthop_gateway::roaming::{RoamingReport, setup};
use lasthop_lab::table::{Table, number};

use super::lines::line;
use super::socket::Where;
use crate::failure::Failure;
use crate::output;

/// The explanation of the columns.
const LEGEND: &str = "access point: the one that serves the client; - if that is not known yet, as while its state \
    moves. connections: of the client, at this gateway. at risk: octets that an agent here has acknowledged and not yet \
    delivered; they move with the client.";

/// The client of an event.
#[derive(Args)]
pub struct Joined {
    /// Its MAC address, such as 02:00:00:00:00:01
    client: MacAddress,
    /// The name of the access point that it comes from, if that is known
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    #[command(flatten)]
    at: Where,
}

/// The client of an event.
#[derive(Args)]
pub struct Left {
    /// Its MAC address, such as 02:00:00:00:00:01
    client: MacAddress,
    #[command(flatten)]
    at: Where,
}

/// The file of a gateway.
#[derive(Args)]
pub struct Identity {
    /// The configuration (TOML file), with `[roaming]`
    config: PathBuf,
}

/// The file of a new key.
#[derive(Args)]
pub struct SiteKey {
    /// The file to write, such as /etc/lasthop/site-key
    file: PathBuf,
}

/// Prints the clients that roam before the list of counters; instead of it, if `is_all` or the gateway counts none. With
/// `is_all` also as JSON. Returns whether nothing else is to be printed.
pub fn list_before(at: &Where, is_all: bool, is_csv: bool) -> Result<bool, Failure> {
    if is_all {
        at.answer(&Command::Roaming, |report: RoamingReport| output::print(&table(&report)))?;
        return Ok(true);
    }
    if at.json || is_csv {
        return Ok(false);
    }
    let Some(report) = at.ask_unless_refused::<RoamingReport>(&Command::Roaming)? else { return Ok(false) };
    output::print(&table(&report))?;
    let counted = at.ask_unless_refused::<Vec<ClientReport>>(&Command::Clients(Query::default()))?;
    Ok(counted.is_none())
}

/// Tells the gateway that a client has associated.
pub fn joined(Joined { client, from, at }: &Joined) -> Result<(), Failure> {
    let command = Command::ClientJoined { client: *client, from: from.clone() };
    at.answer(&command, |Noted {}| output::print(&format!("{client} is here")))
}

/// Tells the gateway that a client is no longer associated.
pub fn left(Left { client, at }: &Left) -> Result<(), Failure> {
    at.answer(&Command::ClientLeft { client: *client }, |Noted {}| {
        output::print(&format!("{client} is no longer here"))
    })
}

/// Prints the table by which other gateways know this one.
pub fn identity(Identity { config: file }: &Identity) -> Result<(), Failure> {
    let config = config::read(file, lasthop_agent::LinkSenses::empty()).map_err(Failure::usage)?;
    let site = config.roaming.ok_or_else(|| {
        Failure::usage(anyhow!("{}: no [roaming]; expected a gateway that has a key", file.display()))
    })?;
    let identity = setup::identity(&site.identity).map_err(|why| Failure::usage(anyhow!("{why}")))?;
    output::print(&format!(
        "[[roaming.peer]]\nname = \"{}\"\naddress = \"{}\"\nkey = \"{}\"",
        site.access_point,
        site.address,
        identity.fingerprint()
    ))
}

/// Writes a new site key.
pub fn site_key(SiteKey { file }: &SiteKey) -> Result<(), Failure> {
    setup::new_site_key(file).map_err(|why| Failure::usage(anyhow!("{why}")))?;
    output::print(&format!(
        "{} has a new site key. Copy it to the other gateways over a channel that you trust, such as ssh, and keep it secret",
        file.display()
    ))
}

fn table(report: &RoamingReport) -> String {
    let columns = ["client", "access point", "since s", "connections", "at risk"];
    let mut table = Table::with_numbers(&columns);
    let mut here = 0;
    for client in &report.clients {
        let at = &client.place.access_point;
        here += usize::from(client.place.is_here);
        table.add_row([
            client.place.client.to_string(),
            if at.is_empty() { "-".to_owned() } else { at.clone() },
            number(client.place.since_s, 1),
            client.load.connections.to_string(),
            client.load.octets_at_risk.to_string(),
        ]);
    }
    let (counters, channel) = (&report.counters, &report.channel);
    let mean = match counters.received + counters.without_state {
        0 => String::new(),
        came => format!(", {} ms each", number(counters.interruption_us as f64 / 1e3 / came as f64, 1)),
    };
    let summary = format!(
        "{} known at access point {}, {here} of them here. {} came with their state and {} without{mean}; {} were given to others, and {} lost. {} to other gateways did not arrive.",
        counted(report.clients.len() as u64, "client"),
        report.access_point,
        counters.received,
        counters.without_state,
        counters.given,
        counters.lost,
        counted(channel.undelivered, "message"),
    );
    format!("{table}\n{}\n{}", line("", &summary), line("", LEGEND))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_has_a_row_with_its_access_point_and_one_that_moves_has_none() {
        let client = |address: &str, at: &str, is_here: bool| {
            json!({
                "client": address, "access_point": at, "is_here": is_here, "since_s": 2.5,
                "connections": 3, "octets_at_risk": 4000
            })
        };
        let report: RoamingReport = serde_json::from_value(json!({
            "access_point": "hall",
            "clients": [client("02:00:00:00:00:01", "hall", true), client("02:00:00:00:00:02", "", false)],
            "counters": { "received": 1, "without_state": 1, "interruption_us": 3000, "lost": 0 },
        }))
        .expect("a report");
        let text = table(&report);
        let row = |address: &str| {
            let line = text.lines().find(|line| line.contains(address)).expect("a row");
            line.split_whitespace().filter(|word| !["│", "┆"].contains(word)).collect::<Vec<_>>().join(" ")
        };
        assert!(row("02:00:00:00:00:01").contains("hall 2.5 3 4000"), "{text}");
        assert!(row("02:00:00:00:00:02").contains("- 2.5 3 4000"), "{text}");
        assert!(text.contains("2 clients known at access point hall, 1 of them here"), "{text}");
        assert!(text.contains("1 came with their state and 1 without, 1.5 ms each"), "{text}");
    }
}
