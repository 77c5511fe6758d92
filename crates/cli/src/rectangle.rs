//! Results as a CSV table on standard output.

use anyhow::anyhow;
use lasthop_lab::rectangle::Table;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// Prints results, which are JSON objects. The columns `first` come first, all others in the order
/// of their names. The unit of a number is part of the column's name; missing values are empty.
pub fn print(first: &[&str], results: &[Value]) -> Result<(), Failure> {
    let text = Table::from_results(first, results).text();
    let text = text.map_err(|error| Failure::Run(anyhow!("cannot write CSV: {error}")))?;
    output::print(text.trim_end())
}
