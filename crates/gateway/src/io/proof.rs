//! Proofs that frames get through a TAP device in both directions. A proof is a test frame: the
//! gateway writes it to the device, and the program there returns it at once.
//!
//! An administrator or a network manager may set a device down, remove or move it, or detach its
//! program. Frames that the kernel diverts to it, or that the gateway puts back through it, are
//! then lost without an error, so the device is tested as often as the heartbeat is sent.

use std::io;

use bytes::Bytes;
use rustix::io::Errno;

use crate::device::FrameDevice;
use crate::frame::Frame;
use lasthop_linux::device::QUEUE_LENGTH;

/// The `EtherType` of a proof: the first of those for local experiments (IEEE 802).
pub(super) const PROOF_TYPE: u16 = 0x88b5;

/// A proof. It is addressed to a group that no bridge forwards (IEEE 802.1Q, table 8-1): if the
/// program was detached, a bridge that contains the device may receive it.
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

/// The maximum number of consecutive missing proofs of a working device.
const MISSING: u32 = 3;

/// The number of consecutive missing proofs after which a device is replaced; this takes a second.
/// On a busy machine a few are missing although the device works, and a new device would not help.
const LASTING: u32 = 50;

/// The state of the proofs of a device.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Whether it is time to check the return of the last proof, and to send another one.
    is_due: bool,
    /// While a proof is outstanding: the number of frames received since it was sent.
    received_since: Option<u32>,
    /// The number of missing proofs since the last one that returned.
    missing: u32,
    /// The error if the last proof could not be sent.
    refused: Option<Errno>,
}

/// The fault of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The device is down.
    Down,
    /// The device has been removed.
    Removed,
    /// Frames do not get through.
    Blocked,
}

impl Proof {
    /// Schedules another proof for when the device is empty.
    pub(super) fn fall_due(&mut self) {
        self.is_due = true;
    }

    /// To be called when the device is empty. If it is time, judges the last proof and sends
    /// another.
    pub(super) fn on_empty(&mut self, device: &FrameDevice) {
        if std::mem::take(&mut self.is_due) {
            self.judge();
            self.refused = device.try_write(&Frame::plain(Bytes::from_static(&PROOF))).err();
            self.received_since = self.refused.is_none().then_some(0);
        }
    }

    /// Counts an outstanding proof as missing when the device is empty, unless its queue was full:
    /// then as many frames were received as the queue holds, and the device is busy, not broken.
    fn judge(&mut self) {
        if self.received_since.take().is_some_and(|frames| frames < QUEUE_LENGTH) {
            self.missing = self.missing.saturating_add(1);
        }
    }

    /// Whether a frame from the device is a returned proof, which is then recorded.
    pub(super) fn is_answer(&mut self, octets: &[u8]) -> bool {
        let is_answer = octets == PROOF;
        if is_answer {
            (self.missing, self.received_since) = (0, None);
        }
        if let Some(frames) = &mut self.received_since {
            *frames = frames.saturating_add(1);
        }
        is_answer
    }

    /// Records that the device has been removed.
    pub(super) fn on_removal(&mut self) {
        self.refused = Some(Errno::BADFD);
    }

    /// Whether the device is to be mended: the fault has lasted too long to be an effect of load.
    pub(super) fn is_lasting(&self) -> bool {
        self.broken().is_some_and(|broken| broken != Broken::Blocked || self.missing >= LASTING)
    }

    /// The known fault of the device.
    pub(super) fn broken(&self) -> Option<Broken> {
        match self.refused {
            Some(Errno::IO) => Some(Broken::Down),
            Some(Errno::BADFD) => Some(Broken::Removed),
            _ => (self.missing > MISSING).then_some(Broken::Blocked),
        }
    }
}

impl Broken {
    /// The description, for the device of this name.
    pub(super) fn of(self, name: &str) -> String {
        match self {
            Self::Down => format!("the device {name} is down"),
            Self::Removed => format!("the device {name} has been removed"),
            Self::Blocked => format!("frames do not get through the device {name}"),
        }
    }
}

/// Whether an error of a read or a write indicates that the device was removed.
pub(super) fn is_removal(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BADFD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a proof that does not return; this many other frames are received before the device is
    /// empty.
    fn miss(proof: &mut Proof, frames: u32) {
        proof.received_since = Some(0);
        for _ in 0..frames {
            assert!(!proof.is_answer(b"a frame"));
        }
        proof.judge();
    }

    #[test]
    fn a_device_is_broken_after_several_missing_proofs_until_one_returns() {
        let mut proof = Proof::default();
        for frames in [0, 1, QUEUE_LENGTH - 1] {
            miss(&mut proof, frames);
            assert_eq!(proof.broken(), None);
        }
        miss(&mut proof, 0);
        assert_eq!(proof.broken(), Some(Broken::Blocked));
        assert!(!proof.is_answer(&PROOF[..59]) && proof.is_answer(&PROOF));
        assert_eq!(proof.broken(), None);
    }

    #[test]
    fn a_device_that_is_blocked_for_less_than_a_second_is_not_mended() {
        let mut proof = Proof::default();
        for _ in 1..LASTING {
            miss(&mut proof, 0);
            assert!(!proof.is_lasting());
        }
        assert_eq!(proof.broken(), Some(Broken::Blocked));
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
    fn a_proof_that_cannot_be_sent_identifies_the_fault_at_once() {
        let refused = |errno| {
            let proof = Proof { refused: Some(errno), ..Proof::default() };
            (proof.broken(), proof.is_lasting())
        };
        assert_eq!(refused(Errno::IO), (Some(Broken::Down), true));
        assert_eq!(refused(Errno::BADFD), (Some(Broken::Removed), true));
        assert_eq!(refused(Errno::AGAIN), (None, false), "no room for a moment");
    }
}
