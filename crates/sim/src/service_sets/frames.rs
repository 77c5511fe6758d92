//! Management frames on the air, by the keys that the MAC knows them by.

use lasthop_ess::Frame;

#[derive(Default)]
pub(super) struct Frames {
    frames: Vec<Option<Frame>>,
    vacant: Vec<u32>,
}

impl Frames {
    /// The key of all beacons, which have the same contents.
    pub(super) const BEACON: u32 = u32::MAX;

    pub(super) fn insert(&mut self, frame: Frame) -> u32 {
        if frame == Frame::Beacon {
            return Self::BEACON;
        }
        if let Some(key) = self.vacant.pop() {
            self.frames[key as usize] = Some(frame);
            return key;
        }
        self.frames.push(Some(frame));
        self.frames.len() as u32 - 1
    }

    pub(super) fn get(&self, key: u32) -> Option<&Frame> {
        if key == Self::BEACON {
            return Some(&Frame::Beacon);
        }
        self.frames.get(key as usize)?.as_ref()
    }

    /// A frame is no longer on the air.
    pub(super) fn remove(&mut self, key: u32) {
        if self.frames.get_mut(key as usize).is_some_and(|frame| frame.take().is_some()) {
            self.vacant.push(key);
        }
    }
}
