//! The selection and the order of the rows of `flows` and `clients`.

use clap::Args;
use clap::builder::TypedValueParser;
use lasthop_config::words::counted;
use lasthop_gateway::control::Command;
use lasthop_gateway::listing::{Query, Row, Selection};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::socket::Where;
use crate::failure::Failure;
use crate::number::whole;

/// Which rows of a list, and in which order.
#[derive(Args)]
pub struct Rows {
    /// Sort by this column, the largest number first: a key of --json, or down, up, loss, loss-up, rtt
    /// (of connections also age and idle). Without it, rows that carried most come first
    #[arg(long, value_name = "COLUMN")]
    sort: Option<String>,
    /// Sort the other way round
    #[arg(long)]
    reverse: bool,
    /// Show only rows that pass all of these filters: an address or a prefix (10.0.0.0/24); a column with
    /// a value (loss>2, 'rtt>=0.1', state=established); of connections also a port (443), a protocol, a
    /// state, the name of a rule (snoop), or aside
    #[arg(long, value_name = "FILTER", num_args = 1..)]
    filter: Vec<String>,
    /// Show at most this many rows. The gateway sends no others, up to 1000
    #[arg(long, value_name = "N", visible_alias = "top", allow_negative_numbers = true, value_parser = rows())]
    limit: Option<usize>,
}

/// A parser of the number of rows to show: from one to the maximum number of a gateway's
/// connections.
pub fn rows() -> impl TypedValueParser<Value = usize> {
    whole(1..=1_000_000).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))
}

impl Rows {
    fn query(&self) -> Query {
        let Self { sort, reverse, filter, limit } = self;
        Query { sort: sort.clone(), reverse: *reverse, filter: filter.clone(), limit: *limit }
    }

    /// Queries rows from a gateway. Returns each in the form in which it was sent, and as parsed by
    /// this version.
    pub fn ask<R: Row + DeserializeOwned>(
        &self,
        at: &Where,
        command: impl FnOnce(Query) -> Command,
    ) -> Result<Vec<(Value, R)>, Failure> {
        let query = self.query();
        // Errors of the query are reported even without a gateway.
        let selection = Selection::from_query(&query).map_err(|why| Failure::usage(anyhow::anyhow!(why)))?;
        let sent: Vec<Value> = at.ask(&command(query))?;
        let read = |value: Value| serde_json::from_value(value.clone()).map(|row| (value, row));
        let rows = sent.into_iter().map(read).collect::<Result<_, _>>();
        let rows = rows.map_err(|error| {
            Failure::Run(anyhow::anyhow!("the gateway sent a row that cannot be read: {error}"))
        })?;
        Ok(selection.pick(rows, |(_, row)| row))
    }

    /// The text with the number of rows shown.
    pub fn shown(&self, rows: usize, noun: &str) -> String {
        let limited = self.limit == Some(rows);
        let counted = counted(rows as u64, noun);
        if limited { format!("{counted}; --limit allows no more") } else { counted }
    }
}
