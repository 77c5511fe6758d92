//! Proofs that frames get through a TAP device, both ways: we write one to the device, and the
//! program there sends it back to us at once.
//!
//! A device may be set down, removed, moved, or lose its program, by an administrator or by a network
//! manager. What the kernel diverts to it, or what we give back by it, is lost then. Nobody tells us,
//! so we try it as often as we beat.

use std::io;

use bytes::Bytes;
use rustix::io::Errno;

use crate::device::FrameDevice;
use crate::frame::Frame;
use lasthop_linux::device::QUEUE_LENGTH;

/// The `EtherType` of a proof: the first of those for local experiments (IEEE 802).
pub(super) const PROOF_TYPE: u16 = 0x88b5;

/// A proof. It is addressed to a bridge's own group (IEEE 802.1Q, table 8-1), which no bridge forwards:
/// where the program is not there any more, a bridge that has the device may get it.
static PROOF: [u8; 60] = {
    let mut frame = [0; 60];
    let head = [0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0xb5];
    let mut at = 0;
    while at < head.len() {
        frame[at] = head[at];
        at += 1;
    }
    frame
};

/// So many in a row may be missing.
const MISSING: u32 = 3;

/// A device is replaced if this many in a row are missing, which takes a second. On a busy machine a few are missing
/// although the device works; another one would do no better.
const LASTING: u32 = 50;

/// What is known of a device.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// It is time to find out whether the last one came back, and to send another.
    is_due: bool,
    /// Since one was sent that has not come back: how many frames came instead.
    came_since: Option<u32>,
    /// How many are missing since the last one came back.
    missing: u32,
    /// Why the last one could not even be sent.
    refused: Option<Errno>,
}

/// What is the matter with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It is down.
    Down,
    /// It has been removed.
    Removed,
    /// Frames do not come through.
    Deaf,
}

impl Proof {
    /// It is time for another one, once the device is found empty.
    pub(super) fn fall_due(&mut self) {
        self.is_due = true;
    }

    /// The device is empty. Judges the last proof and sends another one, if it is time.
    pub(super) fn on_empty(&mut self, device: &FrameDevice) {
        if std::mem::take(&mut self.is_due) {
            self.judge();
            self.refused = device.try_write(&Frame::plain(Bytes::from_static(&PROOF))).err();
            self.came_since = self.refused.is_none().then_some(0);
        }
    }

    /// All that was in the device has come. A proof that found no room in its queue is not missing:
    /// then as many frames came as the queue holds, and the device is busy, not broken.
    fn judge(&mut self) {
        if self.came_since.take().is_some_and(|frames| frames < QUEUE_LENGTH) {
            self.missing = self.missing.saturating_add(1);
        }
    }

    /// Whether a frame from the device is a proof: then it is taken.
    pub(super) fn is_answer(&mut self, octets: &[u8]) -> bool {
        let is_answer = octets == PROOF;
        if is_answer {
            (self.missing, self.came_since) = (0, None);
        }
        if let Some(frames) = &mut self.came_since {
            *frames = frames.saturating_add(1);
        }
        is_answer
    }

    /// The device has been removed.
    pub(super) fn on_removal(&mut self) {
        self.refused = Some(Errno::BADFD);
    }

    /// Whether the device is to be mended: the fault has lasted for too long to be the machine's load.
    pub(super) fn is_lasting(&self) -> bool {
        self.broken().is_some_and(|broken| broken != Broken::Deaf || self.missing >= LASTING)
    }

    /// What is known to be the matter.
    pub(super) fn broken(&self) -> Option<Broken> {
        match self.refused {
            Some(Errno::IO) => Some(Broken::Down),
            Some(Errno::BADFD) => Some(Broken::Removed),
            _ => (self.missing > MISSING).then_some(Broken::Deaf),
        }
    }
}

impl Broken {
    /// In words, of the device of this name.
    pub(super) fn of(self, name: &str) -> String {
        match self {
            Self::Down => format!("the device {name} is down"),
            Self::Removed => format!("the device {name} has been removed"),
            Self::Deaf => format!("frames do not get through the device {name}"),
        }
    }
}

/// Whether an error of a read or a write says that the device is gone.
pub(super) fn is_removal(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BADFD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proof is sent and does not come back, but this many frames do, before the device has been read empty.
    fn miss(proof: &mut Proof, frames: u32) {
        proof.came_since = Some(0);
        for _ in 0..frames {
            assert!(!proof.is_answer(b"a frame"));
        }
        proof.judge();
    }

    #[test]
    fn a_device_is_broken_once_several_proofs_are_missing_until_one_comes() {
        let mut proof = Proof::default();
        for frames in [0, 1, QUEUE_LENGTH - 1] {
            miss(&mut proof, frames);
            assert_eq!(proof.broken(), None);
        }
        miss(&mut proof, 0);
        assert_eq!(proof.broken(), Some(Broken::Deaf));
        assert!(!proof.is_answer(&PROOF[..59]) && proof.is_answer(&PROOF));
        assert_eq!(proof.broken(), None);
    }

    #[test]
    fn one_that_is_deaf_for_less_than_a_second_is_not_to_be_mended() {
        let mut proof = Proof::default();
        for _ in 1..LASTING {
            miss(&mut proof, 0);
            assert!(!proof.is_lasting());
        }
        assert_eq!(proof.broken(), Some(Broken::Deaf));
        miss(&mut proof, 0);
        assert!(proof.is_lasting());
        assert!(proof.is_answer(&PROOF) && !proof.is_lasting());
    }

    #[test]
    fn a_device_whose_queue_was_full_is_not_broken() {
        let mut proof = Proof::default();
        for _ in 0..10 {
            miss(&mut proof, QUEUE_LENGTH);
        }
        assert_eq!(proof.broken(), None);
    }

    #[test]
    fn one_that_is_refused_says_at_once_what_is_the_matter() {
        let refused = |errno| {
            let proof = Proof { refused: Some(errno), ..Proof::default() };
            (proof.broken(), proof.is_lasting())
        };
        assert_eq!(refused(Errno::IO), (Some(Broken::Down), true));
        assert_eq!(refused(Errno::BADFD), (Some(Broken::Removed), true));
        assert_eq!(refused(Errno::AGAIN), (None, false), "no room for a moment");
    }
}
