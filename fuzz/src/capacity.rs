//! Capacity traces in the Mahimahi format.

use lasthop_sim::CapacityTrace;

/// A trace is refused or has a rate above zero.
pub fn capacity_trace(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(trace) = CapacityTrace::parse(text) {
        let rate = trace.mean_bps();
        assert!(rate > 0.0 && rate.is_finite(), "{rate}");
    }
}
