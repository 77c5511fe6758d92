//! The wired and the wireless case of `benches/worlds` with one kind of queue or another, as a
//! program: `queues wired|wireless drop-tail|red|codel|fq-codel SECONDS` prints the number of data
//! packets delivered. For `benches/instructions.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/worlds/mod.rs"]
mod worlds;

use lasthop_packet::Instant;
use lasthop_sim::queue::{CoDelConfig, FqCoDelConfig, RedConfig};
use lasthop_sim::{Discipline, QueueConfig, QueueLimit};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let [link, discipline, seconds] = [(); 3].map(|()| arguments.next().unwrap_or_default());
    let discipline = match discipline.as_str() {
        "red" => Discipline::Red(RedConfig::default()),
        "codel" => Discipline::CoDel(CoDelConfig::default()),
        "fq-codel" => Discipline::FqCoDel(FqCoDelConfig::default()),
        _ => Discipline::DropTail,
    };
    let queue = |limit| QueueConfig { limit, discipline };
    let ((mut world, flow), mss) = match link.as_str() {
        "wireless" => (worlds::wireless_with(queue(QueueLimit::Unlimited)), 1024),
        _ => (worlds::wired_with(&worlds::reno(), queue(QueueLimit::Packets(50))), worlds::MSS),
    };
    world.run(Instant::from_secs(seconds.parse().unwrap_or(1000)), false);
    let outcome = world.outcome(flow);
    assert!(outcome.intact && world.accounts().balance(), "a broken simulation");
    println!("{}", outcome.octets / u64::from(mss));
}
