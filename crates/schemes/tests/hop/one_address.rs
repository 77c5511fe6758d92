//! An invariant of every agent in the catalog: trouble of one connection does not affect others
//! of its address. Several devices share one address, as with a travel router with address
//! translation. Whatever one of them does, or stops doing, the others get their data: a download
//! takes about as long as without an agent.

use std::time::Duration;

use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::CATALOG;

use super::world::{Device, HOP, Trouble, World};

/// More than can be downloaded, and later than any measurement.
const ALL: u64 = 1 << 40;
const NEVER: u64 = 1_000_000;

/// The time and size of the download of the last device, which has no trouble.
#[derive(Clone, Copy, Debug)]
struct Download {
    opens: u64,
    octets: u64,
}

impl Download {
    /// The time that it takes while `count` devices with trouble download all the time.
    fn takes(self, scheme: Option<&Scheme>, trouble: Trouble, count: u16) -> Option<Duration> {
        let mut devices: Vec<Device> =
            (0..count).map(|number| Device::new(number, trouble, 0, ALL)).collect();
        devices.push(Device::new(count, Trouble::None, self.opens, self.octets));
        World::new(scheme, devices).last_download()
    }

    /// As long as without an agent, plus at most a time-out.
    #[track_caller]
    fn check(self, trouble: Trouble, count: u16) {
        let without = self.takes(None, trouble, count).expect("it ends");
        self.check_within(without.mul_f64(1.3) + Duration::from_millis(300), trouble, count);
    }

    #[track_caller]
    fn check_within(self, longest: Duration, trouble: Trouble, count: u16) {
        for scheme in CATALOG {
            let time = self.takes(Some(scheme), trouble, count);
            assert!(
                time.is_some_and(|time| time <= longest),
                "{}: {self:?} beside {count} with {trouble:?} took {time:?}, longer than {longest:?}",
                scheme.name
            );
        }
    }
}

#[test]
fn a_download_starts_at_once_after_others_have_disappeared() {
    for count in [1, 12] {
        for opens in [3_050, 3_300, 4_000, 7_000, 15_000] {
            Download { opens, octets: 200_000 }.check(Trouble::Gone(3_000, NEVER), count);
        }
    }
}

#[test]
fn a_download_continues_when_another_device_disappears() {
    for count in [1, 3] {
        Download { opens: 1_000, octets: 5_000_000 }.check(Trouble::Gone(2_000, NEVER), count);
    }
}

#[test]
fn a_returning_device_takes_at_most_its_share() {
    for back in [2_300, 4_000, 9_000] {
        for opens in [1_000, back - 100, back + 500] {
            let download = Download { opens, octets: 2_000_000 };
            let share = Duration::from_nanos(2 * download.octets * 1_000_000_000 / HOP);
            download.check_within(share.mul_f64(1.3) + Duration::from_secs(1), Trouble::Gone(2_000, back), 1);
        }
    }
}

#[test]
fn a_device_that_stops_reading_does_not_block_others() {
    for count in [1, 12] {
        Download { opens: 5_000, octets: 200_000 }.check(Trouble::ReadsNothing(2_000), count);
    }
}

#[test]
fn a_device_with_many_losses_takes_at_most_its_share() {
    for percent in [10, 50] {
        let download = Download { opens: 3_000, octets: 2_000_000 };
        let share = Duration::from_nanos(2 * download.octets * 1_000_000_000 / HOP);
        download.check_within(share.mul_f64(1.3) + Duration::from_millis(500), Trouble::Loses(percent), 1);
    }
}

#[test]
fn a_device_behind_a_slow_link_does_not_block_others() {
    // 0.2 to 4 Mbit/s, the queue before that link in milliseconds, and the number of devices behind
    // one.
    for (rate, wait, count) in [(25_000, 1_000, 1), (125_000, 100, 1), (125_000, 1_000, 3), (500_000, 100, 3)]
    {
        let slow = Trouble::Slow(rate, Duration::from_millis(wait));
        Download { opens: 100, octets: 5_000_000 }.check(slow, count);
        Download { opens: 3_000, octets: 10_000_000 }.check(slow, count);
    }
}

#[test]
fn data_to_a_slow_device_does_not_delay_a_short_download() {
    // 0.2 to 4 Mbit/s, with queues from the usual to the far too long.
    let links = [(25_000, 4_000), (125_000, 200), (125_000, 1_600), (500_000, 400)];
    for (rate, wait) in links {
        let slow = Trouble::Slow(rate, Duration::from_millis(wait));
        for opens in [1_000, 3_000, 3_300, 6_000] {
            for octets in [20_000, 100_000, 500_000] {
                let download = Download { opens, octets };
                let without = download.takes(None, slow, 1).expect("it ends");
                download.check_within(without.mul_f64(1.2) + Duration::from_millis(80), slow, 1);
            }
        }
    }
}
