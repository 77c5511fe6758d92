//! Tests of the ICMP schemes.
