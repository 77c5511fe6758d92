//! The calculated capacity of a path of stations that share a medium, without backoff and
//! collisions.

use std::time::Duration;

use lasthop_wifi::{DataOverhead, PhyConfig, Rate, Standard};

/// Octets of the payload of a segment, and of the headers of IPv4 and TCP.
const PAYLOAD: u32 = 1000;
const HEADERS: u32 = 40;
/// Octets of the TCP options of data segments and of ACKs.
const OF_DATA: u32 = 12;
const OF_ACKS: u32 = 16;
const HOPS: u32 = 3;

/// The air time of a packet over one hop: RTS, CTS, the frame, its ACK, and the interframe spaces.
fn exchange(phy: &PhyConfig, octets: u32) -> Duration {
    let control = phy.initial_control_rate(phy.rate, false);
    let frames = phy.air_time(control, 20)
        + phy.air_time(phy.response_rate(control), 14)
        + phy.air_time(phy.rate, octets + DataOverhead::STANDARD.octets())
        + phy.air_time(phy.response_rate(phy.rate), 14);
    frames + 3 * phy.sifs + phy.difs()
}

/// The capacity of the string in Mbit/s of payload, if only one of its hops is busy at a time,
/// beside datagrams of 1000 octets at this rate in bit/s.
pub(super) fn string_capacity_bps(datagrams_bps: f64) -> f64 {
    let mut phy = PhyConfig::new(Standard::HrDsss);
    phy.basic_rates = vec![Rate::DSSS_1];
    let round = exchange(&phy, PAYLOAD + HEADERS + OF_DATA) + exchange(&phy, HEADERS + OF_ACKS);
    let taken = datagrams_bps / 8000.0 * exchange(&phy, 1028).as_secs_f64();
    (1.0 - taken) * f64::from(PAYLOAD) * 8.0 / (HOPS * round).as_secs_f64() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_carries_a_third_of_a_hop_less_what_datagrams_take() {
        // RTS 352, CTS 304, data 192 and 792, ACK 304, three SIFS, DIFS: 2024 us. An ACK of TCP's:
        // 192 and 67.
        let alone = string_capacity_bps(0.0);
        let round = 3.0 * (2.024 + 1.299);
        assert!((alone - 8.0 / round).abs() < 0.01, "{alone}");
        assert!(string_capacity_bps(200_000.0) < 0.96 * alone);
    }
}
