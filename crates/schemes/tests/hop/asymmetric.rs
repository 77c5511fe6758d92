//! An invariant of every agent in the catalog: over a hop with a narrow return path for ACKs, a
//! download takes about as long as without an agent. Packets to a host must not make it send more
//! ACKs.

use std::time::Duration;

use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::CATALOG;
use lasthop_tcp::{AckPolicy, Config, Congestion};

use super::world::{Device, Trouble, World};

/// Octets per second on the return path: 0.1 to 0.5 Mbit/s.
const RATES: [u64; 4] = [12_500, 25_000, 50_000, 62_500];

/// A download over such a hop.
#[derive(Clone, Copy, Debug)]
struct Download {
    octets: u64,
    congestion: Congestion,
    ack_policy: AckPolicy,
    has_timestamps: bool,
    /// Octets per second on the return path, and the maximum delay of its queue.
    rate: u64,
    queue: Duration,
    /// The loss rate of the data.
    loss: f64,
    uploads: bool,
}

impl Download {
    const fn over(rate: u64) -> Self {
        Self {
            octets: 10_000_000,
            congestion: Congestion::CubicLinux,
            ack_policy: AckPolicy::Linux,
            has_timestamps: true,
            rate,
            queue: Duration::from_secs(1),
            loss: 0.0,
            uploads: false,
        }
    }

    fn takes(self, scheme: Option<&Scheme>) -> Option<Duration> {
        let receiver =
            Config { ack_policy: self.ack_policy, timestamps: self.has_timestamps, ..Config::linux() };
        let device = Device::new(0, Trouble::None, 0, self.octets).with(self.congestion, receiver);
        let world = World::new(scheme, vec![device]).with_way_back(self.rate, self.queue, self.loss);
        if self.uploads { world.uploading() } else { world }.last_download()
    }

    /// Checks that with each of these schemes it takes at most `most` times as long as without one.
    #[track_caller]
    fn check(self, schemes: impl Iterator<Item = &'static &'static Scheme>, max: f64) {
        let without = self.takes(None).expect("it ends");
        for scheme in schemes {
            let with = self.takes(Some(scheme));
            assert!(
                with.is_some_and(|with| with <= without.mul_f64(max)),
                "{}: {self:?} took {with:?} instead of {without:?}",
                scheme.name
            );
        }
    }
}

/// Schemes that hold packets, while the ends communicate with each other.
fn holding_back() -> impl Iterator<Item = &'static &'static Scheme> {
    CATALOG.iter().filter(|scheme| ["snoop", "wtcp"].contains(&scheme.name))
}

/// Schemes that retransmit one end's data in its place, with its own numbers.
fn in_place_of_the_sender() -> impl Iterator<Item = &'static &'static Scheme> {
    CATALOG.iter().filter(|scheme| ["cicada", "as-tcp"].contains(&scheme.name))
}

#[test]
fn a_narrow_return_path_does_not_slow_a_download() {
    for rate in RATES {
        Download::over(rate).check(CATALOG.iter(), 1.25);
    }
}

#[test]
fn queued_acks_are_not_mistaken_for_a_queue_of_data() {
    for rate in RATES {
        for octets in [1_000_000, 3_000_000] {
            Download { octets, ..Download::over(rate) }.check(holding_back(), 1.25);
        }
        for congestion in [Congestion::CubicLinux, Congestion::RenoAbc] {
            let queue = Duration::from_secs(8);
            Download { congestion, queue, ..Download::over(rate) }.check(holding_back(), 1.05);
        }
    }
}

#[test]
fn acks_dropped_on_the_return_path_cause_no_wait() {
    for rate in RATES {
        for queue in [50, 100, 300] {
            let queue = Duration::from_millis(queue);
            Download { queue, ..Download::over(rate) }.check(holding_back(), 1.1);
        }
    }
}

#[test]
fn delayed_acks_do_not_slow_a_download() {
    for rate in RATES {
        for ack_policy in [AckPolicy::EverySegment, AckPolicy::Delayed(Duration::from_millis(200))] {
            let queue = Duration::from_secs(8);
            Download { ack_policy, queue, ..Download::over(rate) }.check(holding_back(), 1.05);
        }
    }
}

#[test]
fn a_sender_that_ignores_losses_has_no_more_of_them() {
    for rate in RATES {
        for loss in [0.0, 0.001, 0.01] {
            let congestion = Congestion::Bbr;
            Download { congestion, loss, ..Download::over(rate) }.check(holding_back(), 1.1);
        }
    }
}

#[test]
fn an_upload_does_not_slow_a_download() {
    for rate in RATES {
        Download { uploads: true, octets: 2_000_000, ..Download::over(rate) }.check(holding_back(), 1.25);
    }
}

#[test]
fn acks_dropped_by_a_short_queue_cause_no_wait_in_place_of_the_sender() {
    for rate in RATES {
        for queue in [50, 100, 300] {
            let queue = Duration::from_millis(queue);
            for congestion in [Congestion::CubicLinux, Congestion::Bbr] {
                Download { octets: 20_000_000, queue, congestion, ..Download::over(rate) }
                    .check(in_place_of_the_sender(), 1.1);
            }
        }
    }
}

// An ACK of an original that arrives after the copy was sent does not measure the copy's round
// trip: otherwise everything would be sent twice from then on.
#[test]
fn each_loss_on_the_hop_is_repaired_once() {
    for rate in RATES {
        for queue in [300, 1_000].map(Duration::from_millis) {
            for has_timestamps in [true, false] {
                for congestion in [Congestion::CubicLinux, Congestion::Bbr] {
                    Download { loss: 0.01, queue, has_timestamps, congestion, ..Download::over(rate) }
                        .check(in_place_of_the_sender(), 1.1);
                }
            }
        }
    }
}
