//! A grid of scenarios into one file.
