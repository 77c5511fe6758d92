//! What happened at a listener.

use std::sync::atomic::Ordering::Relaxed;

use portable_atomic::AtomicU64;

/// What happened at a listener since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were closed at once, because there were too many.
    pub too_many: u64,
    /// Handshakes that failed: no TLS, no such service, a key that the peer does not have, or too slow.
    pub failed: u64,
    /// Peers whose key is not known.
    pub unknown_keys: u64,
    /// Channels that were opened.
    pub channels: u64,
    /// Keys that were enrolled.
    pub enrolled: u64,
    /// Enrolments that were refused: without the site key, or with the proof of another connection.
    pub wrong_proofs: u64,
    /// Enrolments that were refused because there were too many wrong ones.
    pub paused: u64,
    /// Enrolments with the site key that were refused: the name has another key, or there are too many.
    pub refused: u64,
}

macro_rules! counters {
    ($($name:ident),+) => {
        /// The same, while it is counted.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $name: Counter,)+
        }

        impl Counters {
            pub fn counts(&self) -> Counts {
                Counts { $($name: self.$name.0.load(Relaxed),)+ }
            }
        }
    };
}

counters!(too_many, failed, unknown_keys, channels, enrolled, wrong_proofs, paused, refused);

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}
