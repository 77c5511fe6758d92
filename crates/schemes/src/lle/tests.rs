//! The rules of LLE-TCP.
