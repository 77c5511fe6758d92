//! Frames that survive others. 802.11b at 11 Mbit/s; times as in `access`.

use lasthop_packet::Instant;

use super::support::{Cell, RANGES, us};
use super::topologies::{SHORT, b};
use crate::output::Fate;
use crate::{Capture, MacFrame, Output, Receiver, WlanConfig};

#[test]
fn a_frame_ten_times_as_strong_as_others_is_captured() {
    let run = |capture: Option<Capture>| {
        let mut cell = Cell::new(WlanConfig { capture, ..b(RANGES) }, &[0.0, 50.0, 100.0]);
        cell.saturate(1, 0);
        cell.saturate(2, 0);
        cell.run(Instant::from_secs(20));
        let failed = |station: usize| {
            let failed = |fate: &&(u64, Fate, u32)| fate.1 == Fate::FirstTransmissionFailed;
            cell.fates(station).iter().filter(failed).count()
        };
        (failed(1), failed(2))
    };
    let (near, far) = run(None);
    assert!(near > 100 && far > 100);
    for later_frames in [false, true] {
        // 16 times as strong at half the distance.
        let (near, far) = run(Some(Capture { threshold: 10.0, later_frames }));
        assert!(near == 0 && far > 100, "{near} {far}");
        let (near, far) = run(Some(Capture { threshold: 20.0, later_frames }));
        assert!(near > 100 && far > 100, "{near} {far}");
    }
}

#[test]
fn a_later_frame_is_captured_only_if_receivers_look_for_it() {
    // The far station's frame has begun; the near one, which cannot hear it, begins another.
    let delivered = |later_frames| {
        let capture = Some(Capture { threshold: 10.0, later_frames });
        let mut cell = Cell::new(WlanConfig { capture, ..b(SHORT) }, &[0.0, 200.0, -110.0]);
        cell.send(us(1_000), 1, 0, 1);
        cell.send(us(1_500), 2, 0, 2);
        cell.run(us(2_900));
        cell.log.iter().filter(|(_, output)| matches!(output, Output::Delivered { .. })).count()
    };
    assert_eq!((delivered(false), delivered(true)), (0, 1));
}

#[test]
fn a_bystander_that_captures_one_of_two_frames_that_end_together_keeps_difs() {
    // The listener at 10 m; one sender at 50 m, another at 100 m, with broadcasts of one length.
    for metres in [[10.0, 50.0, 100.0], [10.0, 100.0, 50.0]] {
        let capture = Some(Capture { threshold: 10.0, later_frames: false });
        let mut cell = Cell::new(WlanConfig { capture, ..b(RANGES) }, &metres);
        for sender in [1, 2] {
            let frame = MacFrame { to: Receiver::Broadcast, ..cell.frame(0, sender) };
            cell.wlan.enqueue(us(1_000), cell.stations[sender as usize], frame);
        }
        cell.run(us(1_100));
        let end = 1_000 + 192 + 8 * 1_536;
        // It comes upon an idle medium, and waits for the rest of the interframe space.
        cell.send(us(end + 1), 0, 1, 0);
        cell.run(us(100_000));
        assert_eq!(cell.log.iter().filter(|(_, it)| matches!(it, Output::Delivered { .. })).count(), 2);
        assert_eq!(cell.begins(0), [(end + 50) * 1000], "{metres:?}");
    }
}
