//! Placeholder until the writer lands in this very commit series.
