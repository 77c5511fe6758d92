//! Saturation throughput: the simulator beside Bianchi's model. `cargo run --release -p lasthop-lab
//! --example bianchi -- SECONDS`, or `SECONDS MICROSECONDS` with that carrier-sense delay instead
//! of the slot.
#![expect(clippy::print_stdout, reason = "it is what the example is for")]

use std::time::Duration;

use lasthop_lab::bianchi::{Freezing, Saturation, measure};
use lasthop_wifi::{PhyConfig, Rate, Standard, WlanConfig};

/// An argument of the command line; `None` if it is missing or no number.
fn argument(index: usize) -> Option<u64> {
    std::env::args().nth(index).and_then(|it| it.parse().ok())
}

fn main() {
    let seconds = argument(1).unwrap_or(200);
    let b = WlanConfig::new(Standard::HrDsss);
    let a = WlanConfig::new(Standard::Ofdm);
    let g = WlanConfig::new(Standard::Erp);
    let mut pure_g = g.clone();
    pure_g.phy.eifs_rate = Rate::OFDM_6;
    // 34 octets around a datagram.
    let mut ns2 = b.clone();
    ns2.mac.overhead.llc = 6;
    ns2.phy.basic_rates = vec![Rate::DSSS_1];
    // No station decodes a collision, so that EIFS does not follow; no carrier-sense delay; ACKs at
    // 11 Mbit/s.
    let [ns3_b, ns3_a] = [&b, &a].map(|base| {
        let mut config = base.clone();
        config.mac.eifs = false;
        config.phy.carrier_sense_delay = Some(Duration::ZERO);
        config
    });
    let ns3_b = WlanConfig { phy: PhyConfig { basic_rates: vec![Rate::CCK_11], ..ns3_b.phy }, ..ns3_b };
    let cases = [
        ("b 11", b),
        ("b 11, ns-2's frames", ns2),
        ("b 11, as ns-3", ns3_b),
        ("a 54", a),
        ("a 54, as ns-3", ns3_a),
        ("g 54", g),
        ("g 54, EIFS at 6", pure_g),
    ];
    for (name, base) in cases {
        for rts in [false, true] {
            // The number of slots by which the stations of a collision are ahead of the others;
            // `None`: that of the standard's times.
            for ahead in [None, Some(0), Some(1), Some(2)] {
                let mut config = base.clone();
                if let Some(delay) = argument(2) {
                    config.phy.carrier_sense_delay = Some(Duration::from_micros(delay));
                }
                if rts {
                    config.mac.rts_threshold = 0;
                }
                let mut title = format!("{name}{}", if rts { ", RTS/CTS" } else { "" });
                if let Some(ahead) = ahead {
                    let equal = config.phy.eifs().saturating_sub(config.phy.difs());
                    config.mac.response_timeout = Some(equal.saturating_sub(config.phy.slot * ahead));
                    title = format!("{title}, ACKTimeout = EIFS - DIFS - {ahead} slots");
                }
                println!("{title}");
                for n in [1, 2, 5, 10, 20, 50] {
                    let model = Saturation::new(&config, n, 1500);
                    let plain = model.throughput(Freezing::Counts) / 1e6;
                    let refined = model.throughput(Freezing::Stops) / 1e6;
                    let measured = measure(&config, n, 1500, Duration::from_secs(seconds), 1) / 1e6;
                    println!(
                        "{n:4}  simulated {measured:8.4}  Bianchi {plain:8.4} ({:+6.2}%)  refined {refined:8.4} ({:+6.2}%)",
                        (measured / plain - 1.0) * 100.0,
                        (measured / refined - 1.0) * 100.0
                    );
                }
            }
        }
    }
}
