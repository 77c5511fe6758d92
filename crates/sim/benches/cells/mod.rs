//! Saturated stations around one that only receives.

use lasthop_agent::Fate;
use lasthop_packet::Instant;
use lasthop_sim::wifi::{MacFrame, Output, Position, Receiver, StationConfig, Wlan, WlanConfig};

/// So many stations that send packets of 1,500 octets, a metre apart.
pub fn cell(stations: u32, config: WlanConfig) -> (Wlan, MacFrame) {
    let mut wlan = Wlan::new(config, 1);
    let sink = wlan.add_station(&StationConfig::default());
    let frame = MacFrame { to: Receiver::Station(sink), key: 0, octets: 1500 };
    let senders: Vec<_> = (0..stations)
        .map(|number| {
            let position = Position::new(f64::from(number), 0.0);
            wlan.add_station(&StationConfig { position, ..StationConfig::default() })
        })
        .collect();
    for sender in senders {
        wlan.enqueue(Instant::ZERO, sender, frame);
        wlan.enqueue(Instant::ZERO, sender, frame);
    }
    (wlan, frame)
}

/// Exchanges begun within so many simulated seconds.
pub fn run((mut wlan, frame): (Wlan, MacFrame), seconds: u64) -> u64 {
    let end = Instant::from_secs(seconds);
    while let Some(now) = wlan.next_event_at().filter(|now| *now <= end) {
        wlan.on_event(now);
        while let Some(output) = wlan.poll() {
            if let Output::Fate { from, fate: Fate::Delivered | Fate::GivenUp, .. } = output {
                wlan.enqueue(now, from, frame);
            }
        }
    }
    wlan.counters().attempts
}
