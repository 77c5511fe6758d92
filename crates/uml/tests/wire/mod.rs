//! A wire for tests: it delays frames, and sends them at a rate.

use std::collections::VecDeque;

use lasthop_packet::{Instant, Rng};
use lasthop_uml::{DeviceId, Frames, Wire};

/// A frame that a device has sent, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub time: Instant,
    pub device: DeviceId,
    pub frame: Vec<u8>,
}

/// A link between two devices, the same in both directions.
pub struct Link {
    /// The other end of a device.
    peer: fn(DeviceId) -> DeviceId,
    /// Nanoseconds.
    delay: u64,
    /// Bits in a second; without one, frames take no time.
    rate: Option<u64>,
    /// When the last frame of each direction has left.
    free: [Instant; 2],
    under_way: [VecDeque<(Instant, DeviceId, Vec<u8>)>; 2],
    records: Vec<Record>,
    /// Frames of a thousand that are lost, in both directions.
    loss: u64,
    rng: Rng,
}

/// Frames in a queue before the link; what comes beyond is lost.
const QUEUE: usize = 200;

impl Link {
    /// Between the two devices of a guest.
    pub fn between_devices(delay: u64, rate: Option<u64>) -> Self {
        Self::new(|id| DeviceId { device: 1 - id.device, ..id }, delay, rate)
    }

    /// Between the first devices of two guests.
    pub fn between_guests(delay: u64) -> Self {
        Self::new(|id| DeviceId { guest: 1 - id.guest, ..id }, delay, None)
    }

    fn new(peer: fn(DeviceId) -> DeviceId, delay: u64, rate: Option<u64>) -> Self {
        Self {
            peer,
            delay,
            rate,
            free: [Instant::ZERO; 2],
            under_way: Default::default(),
            records: Vec::new(),
            loss: 0,
            rng: Rng::named(1, "link"),
        }
    }

    /// Loses this number of frames of a thousand, which a seed chooses.
    pub fn losing(self, loss: u64, seed: u64) -> Self {
        Self { loss, rng: Rng::named(seed, "link"), ..self }
    }

    /// All frames that were sent, in order.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }
}

impl Wire for Link {
    fn next_event(&self) -> Option<Instant> {
        self.under_way.iter().filter_map(|queue| Some(queue.front()?.0)).min()
    }

    fn advance(&mut self, now: Instant, out: &mut Frames) {
        for queue in &mut self.under_way {
            while queue.front().is_some_and(|&(time, ..)| time <= now) {
                let (_, device, frame) = queue.pop_front().expect("it is there");
                out.push(device, &frame);
            }
        }
    }

    fn on_frame(&mut self, now: Instant, device: DeviceId, frame: &[u8], _out: &mut Frames) {
        let direction = (device.guest + device.device) % 2;
        self.records.push(Record { time: now, device, frame: frame.to_vec() });
        let time = self.rate.map_or(0, |rate| frame.len() as u64 * 8 * 1_000_000_000 / rate);
        let waits =
            self.under_way[direction].iter().filter(|(arrival, ..)| *arrival > now.after_nanos(self.delay));
        let is_lost = self.loss > 0 && self.rng.below(1000) < self.loss;
        if waits.count() < QUEUE && !is_lost {
            let end = self.free[direction].max(now).after_nanos(time);
            self.free[direction] = end;
            let arrival = end.after_nanos(self.delay);
            self.under_way[direction].push_back((arrival, (self.peer)(device), frame.to_vec()));
        }
    }
}
