use lasthop_lab::goel::network::*;
use lasthop_packet::Instant;
use lasthop_scenario::SchemeChoice;
use std::time::Duration;
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let p = Parameters {
        wired_delay: Duration::from_secs_f64(a[0] / 1e3),
        mean_bad: Duration::from_secs_f64(a[1]),
        window_kb: a[2] as u32,
    };
    let s = experiment(p);
    let mut base = 0.0;
    for name in ["no-loss", "none", "snoop", "simple-icmp", "refined-icmp"] {
        let c = SchemeChoice::new(name, toml::Table::new()).unwrap();
        let (mut t, mut to, mut fr, mut rt, mut gu, mut cm, mut sp) = (0.0, 0, 0, 0, 0, 0, 0);
        let n = 20;
        for seed in 0..n {
            let mut b = s.build(&c, seed).unwrap();
            b.world.run(Instant::from_secs(20000), true);
            let o = b.world.outcome(b.flows[0]);
            assert!(o.intact);
            assert!(b.world.accounts().balance(), "{:?}", b.world.accounts());
            t += o.completion.map_or(f64::NAN, |d| d.as_secs_f64());
            to += o.sender.timeouts;
            fr += o.sender.fast_retransmits;
            rt += o.sender.retransmits;
            sp += o.sender.timeouts_spared;
            gu += b.world.counters().frames_given_up;
            cm += b.world.counters().control_messages;
        }
        let nf = n as f64;
        if name == "none" {
            base = t;
        }
        println!(
            "{name:14} t {:8.3} impr {:6.2}% timeouts {:5.1} spared {:5.1} fast {:5.1} rtx {:6.1} givenup {:5.1} ctl {:5.1}",
            t / nf,
            (base - t) / base * 100.0,
            to as f64 / nf,
            sp as f64 / nf,
            fr as f64 / nf,
            rt as f64 / nf,
            gu as f64 / nf,
            cm as f64 / nf
        );
    }
}
