//! Proofs that frames get through a TAP device, both ways: we write one to the device, and the
//! program there sends it back to us at once.
//!
//! A device may be set down, removed, moved, or lose its program, by an administrator or by a network
//! manager. What the kernel diverts to it, or what we give back by it, is lost then. Nobody tells us,
//! so we try it as often as we beat.

use std::io;

use bytes::Bytes;
use rustix::io::Errno;

use crate::device::Device;
use crate::frame::Frame;

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

/// So many in a row may be missing. One may be late, or be lost where there is no room for a moment.
const MISSING: u32 = 3;

/// What is known of a device.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// How many were sent since the last one came back.
    unanswered: u32,
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
    /// Sends one.
    pub(super) fn ask(&mut self, device: &Device) {
        self.unanswered = self.unanswered.saturating_add(1);
        let sent = device.try_write(&Frame::plain(Bytes::from_static(&PROOF)));
        self.refused = sent.err();
    }

    /// Whether a frame from the device is a proof: then it is taken.
    pub(super) fn is_answer(&mut self, octets: &[u8]) -> bool {
        let is_answer = octets == PROOF;
        if is_answer {
            self.unanswered = 0;
        }
        is_answer
    }

    /// What is known to be the matter.
    pub(super) fn broken(&self) -> Option<Broken> {
        match self.refused {
            Some(Errno::IO) => Some(Broken::Down),
            Some(Errno::BADFD) => Some(Broken::Removed),
            _ => (self.unanswered > MISSING).then_some(Broken::Deaf),
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

    #[test]
    fn a_device_is_broken_once_several_proofs_are_missing_until_one_comes() {
        let mut proof = Proof { unanswered: MISSING, refused: None };
        assert_eq!(proof.broken(), None);
        proof.unanswered += 1;
        assert_eq!(proof.broken(), Some(Broken::Deaf));
        assert!(!proof.is_answer(&PROOF[..59]) && proof.is_answer(&PROOF));
        assert_eq!(proof.broken(), None);
    }

    #[test]
    fn one_that_is_refused_says_at_once_what_is_the_matter() {
        let refused = |errno| Proof { unanswered: 1, refused: Some(errno) }.broken();
        assert_eq!(refused(Errno::IO), Some(Broken::Down));
        assert_eq!(refused(Errno::BADFD), Some(Broken::Removed));
        assert_eq!(refused(Errno::AGAIN), None, "no room for a moment");
    }
}
