//! Stations that upload over 802.11b, as `benches/ns2/wlan.tcl` has them: `wlan SECONDS STATIONS` prints the number of data packets
//! delivered. For `benches/compare-ns2-wlan.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

use lasthop_packet::Instant;
use lasthop_sim::wifi::{Standard, StationConfig, WlanConfig};
use lasthop_sim::{FlowConfig, NodeConfig, NodeKind, Opening, World};

const MSS: u32 = 1460;

fn main() {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, stations) = (argument(1, 100), argument(2, 1));
    let mut config = WlanConfig::new(Standard::HrDsss);
    // ns-2's frames have no LLC.
    config.mac.overhead.llc = 0;
    let mut world = World::new(1);
    let cell = world.add_wlan("cell", config);
    let sink = world.add_node(NodeConfig::new("sink", NodeKind::Host));
    let center = world.add_station(cell, sink, &StationConfig::default());
    let tcp = lasthop_tcp::Config { mss: MSS, window: 40 * MSS, ..lasthop_tcp::Config::default() };
    let flows: Vec<_> = (0..stations)
        .map(|number| {
            let name = format!("station {number}");
            let node = world.add_node(NodeConfig::new(&name, NodeKind::Host));
            let station = world.add_station(cell, node, &StationConfig::default());
            world.add_radio_link(&name, cell, center, station);
            world.add_flow(FlowConfig {
                name,
                from: node,
                to: sink,
                size: None,
                start: Instant::from_millis(10 * number),
                stop: None,
                opening: Opening::Established,
                sender: tcp.clone(),
                receiver: tcp.clone(),
                extension: None,
            })
        })
        .collect();
    world.run(Instant::from_secs(seconds), false);
    assert!(world.accounts().balance(), "a broken simulation");
    let octets: u64 = flows.iter().map(|flow| world.outcome(*flow).octets).sum();
    println!("{}", octets / u64::from(MSS));
}
