//! The 1997 thesis (see [`lasthop_schemes::icmp`] for the citation): its experiments, tables and
//! claims.
//!
//! | module | what is in it |
//! |---|---|
//! | [`network`] | figure 5.1 and table 5.1 as a scenario |
//! | [`tables`] | tables 5.4 to 5.12: 45 settings, four schemes each |
//! | [`timelines`] | figures 5.3 and 5.4, event by event |
//! | [`claims`] | the claims of the text and of the figures' captions |

pub mod claims;
pub mod network;
pub mod tables;
pub mod timelines;

use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let seeds: Vec<u64> = (1..=seeds.max(2)).collect();
    let cells = tables::measure(&tables::settings(), &seeds, progress)?;
    let mut rows = tables::rows(&cells);
    rows.extend(claims::rows(&cells, &seeds, progress)?);
    rows.extend(timelines::rows(progress)?);
    Ok(rows)
}
