//! Results as one table of CSV on standard output.

use anyhow::anyhow;
use lasthop_lab::rectangle::Table;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// Prints the results, which are objects as in JSON. The columns `first` come first, all others in
/// the order of their names. A number has the unit that is in its name; what is missing is empty.
pub fn print(first: &[&str], results: &[Value]) -> Result<(), Failure> {
    let text = Table::of(first, results).text();
    let text = text.map_err(|error| Failure::Run(anyhow!("cannot write CSV: {error}")))?;
    output::print(text.trim_end())
}
