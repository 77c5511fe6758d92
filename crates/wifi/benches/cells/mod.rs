//! Saturated stations around one that only receives; stations with a packet now and then.

#![allow(dead_code, reason = "not every bench runs all of them")]
use lasthop_packet::Instant;
use lasthop_wifi::{
    Fate, MacFrame, Output, Position, PowerSaveConfig, Receiver, Standard, StationConfig, StationId, Wlan,
    WlanConfig,
};

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

/// So many stations around an access point, which sends each of them 1,500 octets twice a second
/// and gets as much from each; whether they doze.
pub fn sparse(stations: u32, dozing: bool) -> (Wlan, Vec<StationId>) {
    let mut wlan = Wlan::new(WlanConfig::new(Standard::HrDsss), 1);
    let all: Vec<_> = (0..=stations).map(|_| wlan.add_station(&StationConfig::default())).collect();
    if dozing {
        wlan.save_power(all[0], &all[1..], PowerSaveConfig::default());
    }
    (wlan, all)
}

/// Packets delivered within so many simulated seconds.
pub fn run_sparse((mut wlan, stations): (Wlan, Vec<StationId>), seconds: u64) -> u64 {
    let (access_point, others) = (stations[0], &stations[1..]);
    let end = Instant::from_secs(seconds);
    let gap = 250_000_000 / others.len() as u64;
    let mut at = Instant::ZERO;
    for count in 0.. {
        at = at.after_nanos(gap);
        if at > end {
            break;
        }
        while let Some(now) = wlan.next_event_at().filter(|now| *now <= at) {
            wlan.on_event(now);
            while wlan.poll().is_some() {}
        }
        let other = others[count / 2 % others.len()];
        let (from, to) = if count % 2 == 0 { (access_point, other) } else { (other, access_point) };
        wlan.enqueue(at, from, MacFrame { to: Receiver::Station(to), key: count as u32, octets: 1500 });
    }
    wlan.counters().delivered
}
