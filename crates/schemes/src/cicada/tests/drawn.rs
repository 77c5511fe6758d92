//! Random scenes and events, for proptest.

use std::time::Duration;

use lasthop_tcp::{
    AckPolicy, Config, Congestion, GiveUp, PacingRule, RackConfig, Recovery, RtoConfig, RtoRule, SlowStart,
};
use proptest::prelude::*;

use super::application::{Closing, Plan, Reading};
use super::channel::{Channel, Mtu};
use super::deeds::{Deed, Doing};
use super::end::Setup;
use super::world::{Opener, Scene};
use crate::cicada::{LegWindows, Settings};

/// An end retries for longer than the slowest repair on the other leg.
const MAX_TIMEOUTS: u32 = 25_000;

fn random_config() -> impl Strategy<Value = Config> {
    let window = prop_oneof![1u32..3000, 3000u32..70_000, 70_000u32..1_000_000];
    let ack_policy = prop_oneof![
        Just(AckPolicy::EverySegment),
        Just(AckPolicy::Delayed(Duration::from_millis(40))),
        Just(AckPolicy::Delayed(Duration::from_millis(200))),
        Just(AckPolicy::Linux),
    ];
    let parts = any::<[bool; 4]>().prop_map(|[tail_loss_probe, proportional_reduction, f_rto, undo]| {
        Recovery::Rack(RackConfig { tail_loss_probe, proportional_reduction, f_rto, undo })
    });
    let flavour = (
        prop::sample::select(&Congestion::ALL[..]),
        prop_oneof![3 => prop::sample::select(&Recovery::ALL[..]), 2 => parts],
        any::<[bool; 8]>(),
        prop::sample::select(&SlowStart::ALL[..]),
        prop_oneof![Just(RtoRule::Standard), Just(RtoRule::Linux)],
    );
    let window_max = prop::option::of(1u32..1_000_000);
    let send_window = prop::option::weighted(0.2, 1u32..20_000);
    let sizes = (88u32..2000, window, send_window, 1u32..12, window_max);
    (sizes, ack_policy, flavour).prop_map(|(sizes, ack_policy, flavour)| {
        let switches = flavour.2;
        Config {
            congestion: flavour.0,
            recovery: flavour.1,
            limited_transmit: switches[0],
            window_validation: switches[1],
            ecn: switches[2],
            segmentation_offload: switches[3],
            pacing: if switches[4] { PacingRule::Fq } else { PacingRule::Control },
            dsack: switches[5],
            ack_compression: switches[5],
            timestamps: switches[6],
            sack: switches[7],
            slow_start: flavour.3,
            mss: sizes.0,
            window: sizes.1,
            send_window: sizes.2,
            initial_window: sizes.3,
            window_max: sizes.4,
            ack_policy,
            rto: RtoConfig {
                rule: flavour.4,
                minimum: Duration::from_millis(100),
                maximum: Duration::from_secs(4),
                granularity: Duration::ZERO,
                ..RtoConfig::default()
            },
            max_timeouts: MAX_TIMEOUTS,
            time_wait: Duration::from_secs(600),
            ..Config::default()
        }
    })
}

/// With time-outs that expire during a test.
fn linux() -> Config {
    let config = Config::linux();
    let rto = RtoConfig { maximum: Duration::from_secs(4), ..config.rto };
    Config { max_timeouts: MAX_TIMEOUTS, give_up: GiveUp::Count, rto, ..config }
}

fn config() -> impl Strategy<Value = Config> {
    prop_oneof![4 => random_config(), 1 => Just(linux())]
}

fn plan() -> impl Strategy<Value = Plan> {
    let octets = prop_oneof![1 => Just(0u64), 1 => 1u64..100, 3 => 100u64..60_000];
    let pieces = prop_oneof![
        2 => Just((u64::MAX, 0)),
        1 => (1u64..5000, 1u64..200).prop_map(|(piece, every_ms)| (piece.max(300), every_ms)),
    ];
    let reading = prop_oneof![
        4 => Just(Reading::AtOnce),
        1 => (1u64..40).prop_map(Reading::Piecemeal),
        1 => (100u64..1500).prop_map(Reading::Seldom),
    ];
    let closing = prop_oneof![3 => Just(Closing::Written), 2 => Just(Closing::Second)];
    (octets, pieces, reading, closing).prop_map(|(octets, (piece, every_ms), reading, closing)| Plan {
        octets,
        piece,
        every_ms,
        reading,
        closing,
        abort_ms: None,
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    let iss = prop_oneof![1..=u32::MAX, (0u32..40_000).prop_map(|before| u32::MAX - before)];
    (config(), iss, plan()).prop_map(|(config, iss, plan)| Setup { config, iss, plan })
}

fn channel() -> impl Strategy<Value = Channel> {
    let marking = prop_oneof![2 => Just(0.0), 1 => 0.0..0.3f64];
    let loss = prop_oneof![1 => Just(0.0), 3 => 0.0..0.25f64];
    let jitter_ms = prop_oneof![1 => Just(0), 1 => 0u64..60];
    let outage = prop::option::weighted(0.15, (0u64..3000, 100u64..10_000));
    (loss, 0.0..0.2f64, marking, 0u64..80, jitter_ms, outage).prop_map(
        |(loss, doubling, marking, delay_ms, jitter_ms, outage)| Channel {
            loss,
            doubling,
            marking,
            delay_ms,
            jitter_ms,
            outage: outage.map(|(from, long)| (from, from + long)),
            mtu: None,
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let vcache = prop_oneof![1 => Just(65_536usize), 1 => 65_536usize..1_500_000];
    let rules = (any::<bool>(), any::<bool>());
    (vcache, 1u64..300, 0u64..20, 2u32..12, rules).prop_map(
        |(vcache, minimum, delay, least_window, rules)| Settings {
            vcache,
            windows: if rules.0 { LegWindows::Bsd } else { LegWindows::Hop },
            route_duplicates: rules.1,
            minimum_timeout: Duration::from_millis(minimum),
            local_delay: Duration::from_millis(delay),
            least_window,
            ..Settings::default()
        },
    )
}

/// A scene with hops whose MTU may be smaller than the negotiated segments, with or without
/// notification.
pub fn narrow_scene(agents: usize) -> impl Strategy<Value = Scene> {
    // At least the smallest segment size that is tried.
    let mtu = || {
        prop::option::of(
            (560u32..1400, any::<bool>()).prop_map(|(octets, is_reported)| Mtu { octets, is_reported }),
        )
    };
    (scene(agents), [mtu(), mtu(), mtu(), mtu()]).prop_map(|(mut scene, mtus)| {
        let channels = scene.wire.iter_mut().chain(&mut scene.air);
        channels.zip(mtus).for_each(|(channel, mtu)| channel.mtu = mtu);
        for end in &mut scene.ends {
            end.config.mtu_probing = true;
            end.config.mss = end.config.mss.max(1200);
        }
        scene
    })
}

/// A connection between two ends with this number of agents in a row between them.
pub fn scene(agents: usize) -> impl Strategy<Value = Scene> {
    let opener = prop_oneof![Just(Opener::Fixed), Just(Opener::Mobile)];
    let channels = [channel(), channel(), channel(), channel()];
    ([setup(), setup()], opener, settings(), channels, any::<u64>()).prop_map(
        move |(mut ends, opener, settings, [a, b, c, d], seed)| {
            // One of them has to send first.
            if ends.iter().all(|end| end.plan.closing == Closing::Second) {
                ends[0].plan.closing = Closing::Written;
            }
            let (wire, air, deeds) = ([a, b], [c, d], Vec::new());
            Scene { ends, opener, settings, agents, wire, air, deeds, forging: 0.0, seed }
        },
    )
}

/// A scene in which an end aborts.
pub fn aborting_scene() -> impl Strategy<Value = Scene> {
    (scene(1), 0u64..3000, prop::option::of(0u64..3000), any::<bool>()).prop_map(
        |(mut scene, first, second, swaps)| {
            let times = if swaps { [second, Some(first)] } else { [Some(first), second] };
            for (end, abort_ms) in scene.ends.iter_mut().zip(times) {
                end.plan.abort_ms = abort_ms;
            }
            scene
        },
    )
}

/// With these events.
pub fn with(scene: Scene, deeds: impl IntoIterator<Item = Doing>) -> Scene {
    Scene { deeds: deeds.into_iter().collect(), ..scene }
}

/// Packets that an agent has seen.
pub fn moment() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..12, 0u32..150, 0u32..600]
}

/// Milliseconds after which the rest of a state follows.
pub fn rest_after() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0_u64), 1..20_u64, 1..1000_u64]
}

/// An event at one of this number of agents.
pub fn doing(agents: usize) -> impl Strategy<Value = Doing> {
    let deed = prop_oneof![
        1 => Just(Deed::Kill),
        4 => rest_after().prop_map(Deed::Move),
        2 => any::<bool>().prop_map(Deed::MayOwe),
        1 => (8_000usize..200_000).prop_map(Deed::Budget),
        1 => Just(Deed::Drain),
        1 => Just(Deed::Release),
        2 => Just(Deed::Call),
    ];
    (0..agents, moment(), any::<bool>(), deed).prop_map(|(seat, after, waits, deed)| Doing {
        seat,
        after,
        waits,
        deed,
    })
}
