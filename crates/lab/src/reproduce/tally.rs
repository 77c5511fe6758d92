//! Counts of the rows that agree, and of those whose agreement says something about a scheme.

use std::fmt::{self, Display, Formatter};

use super::Row;

/// Counts of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows of the papers' own experiments.
    pub rows: usize,
    /// Rows of these that agree.
    pub agree: usize,
    /// Rows of these that agree, and would also agree without an agent, or with an effect of 0%.
    pub agree_without_effect: usize,
    /// Rows of experiments with an alternative choice.
    pub alternatives: usize,
    /// Rows of these that agree.
    pub alternatives_agree: usize,
}

impl Tally {
    /// Counts rows.
    pub fn from_rows<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut tally = Self::default();
        for row in rows {
            if row.alternative {
                tally.alternatives += 1;
                tally.alternatives_agree += usize::from(row.agrees);
                continue;
            }
            tally.rows += 1;
            tally.agree += usize::from(row.agrees);
            tally.agree_without_effect += usize::from(row.agrees && row.no_effect_agrees == Some(true));
        }
        tally
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} rows agree", self.agree, self.rows)?;
        if self.agree_without_effect > 0 {
            write!(f, "; {} of these would with no agent or no effect, too", self.agree_without_effect)?;
        }
        if self.alternatives > 0 {
            write!(
                f,
                "\n{} of {} rows with another choice agree",
                self.alternatives_agree, self.alternatives
            )?;
        }
        Ok(())
    }
}
