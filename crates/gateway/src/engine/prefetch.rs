//! Prefetch: the state that the frames of a batch will need is fetched from memory for all of them
//! at once.
//!
//! With many connections, the state of a connection is rarely in the processor's cache when its
//! packet arrives, and it consists of several objects that point to each other. Processed one after
//! the other, each frame would wait for each of these objects; here the waits overlap.

use lasthop_agent::Slot;
use lasthop_packet::FlowKey;

use super::Engine;
use crate::frame::Frame;
use crate::io::PortId;

/// The number of connections below which their state, some 2 MB, fits into a near cache anyway.
const FEW: usize = 2000;

/// Lists that are reused for each batch.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    keys: Vec<FlowKey>,
    slots: Vec<Slot>,
}

impl Engine {
    /// Prefetches the state for frames that [`Engine::on_frame`] is about to receive. It has no
    /// visible effect.
    pub fn prefetch(&mut self, frames: &[(PortId, Frame)]) {
        if frames.len() < 2 || self.connections.len() < FEW || self.is_drained {
            return;
        }
        let Prefetch { keys, slots } = &mut self.prefetch;
        keys.clear();
        for (port, frame) in frames {
            let Some(port) = self.ports.get(usize::from(port.0)) else { continue };
            let Some(key) = frame.peek_flow_key(port.ethernet) else { continue };
            let key = port.side.connection(key);
            if keys.last() != Some(&key) {
                keys.push(key);
            }
        }
        self.connections.prefetch(keys, slots);
        for (index, rule) in self.rules.iter().enumerate() {
            let slots = slots.iter().copied();
            let its_own = slots.filter(|slot| self.connections.at(*slot).rule == Some(index as u16));
            keys.clear();
            keys.extend(its_own.map(|slot| self.connections.key(slot)));
            rule.prefetch(keys);
        }
    }
}
