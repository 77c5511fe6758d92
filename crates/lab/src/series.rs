//! A run as time series.
