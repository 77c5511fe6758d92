//! The arbitration of a medium.

use crate::id::{HopId, NodeId};

/// A medium that the transmitters of a cell share: one exchange at a time.
#[derive(Debug, Default)]
pub(crate) struct Medium {
    radios: Vec<Radio>,
    /// The radio that is asked first when the medium is free.
    turn: usize,
    /// The hop whose exchange holds the medium.
    held_by: Option<HopId>,
}

/// A node's transmitter on a medium, with one queue a peer.
#[derive(Debug)]
struct Radio {
    node: NodeId,
    hops: Vec<HopId>,
    /// The peer that is asked first when this radio's turn comes.
    turn: usize,
}

impl Medium {
    pub(crate) fn add(&mut self, node: NodeId, hop: HopId) {
        match self.radios.iter_mut().find(|radio| radio.node == node) {
            Some(radio) => radio.hops.push(hop),
            None => self.radios.push(Radio { node, hops: vec![hop], turn: 0 }),
        }
    }

    /// The hop whose exchange holds the medium.
    pub(crate) const fn holder(&self) -> Option<HopId> {
        self.held_by
    }

    /// A hop holds the medium, which is free.
    pub(crate) const fn hold(&mut self, hop: HopId) {
        self.held_by = Some(hop);
    }

    /// The medium is free.
    pub(crate) const fn release(&mut self) {
        self.held_by = None;
    }

    /// The hop that transmits next, radios in turn and each radio's peers in turn.
    #[inline]
    pub(crate) fn next(&mut self, has_frame: impl Fn(HopId) -> bool) -> Option<HopId> {
        for step in 0..self.radios.len() {
            let at = (self.turn + step) % self.radios.len();
            let radio = &mut self.radios[at];
            let peers = radio.hops.len();
            let waiting =
                (0..peers).map(|step| (radio.turn + step) % peers).find(|peer| has_frame(radio.hops[*peer]));
            if let Some(peer) = waiting {
                radio.turn = (peer + 1) % peers;
                let hop = radio.hops[peer];
                self.turn = (at + 1) % self.radios.len();
                return Some(hop);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_take_turns_and_so_do_the_peers_of_a_node() {
        let mut medium = Medium::default();
        for (node, hop) in [(0, 0), (0, 1), (1, 2)] {
            medium.add(NodeId(node), HopId(hop));
        }
        let order: Vec<_> = (0..6).filter_map(|_| medium.next(|_| true)).map(HopId::index).collect();
        assert_eq!(order, [0, 2, 1, 2, 0, 2]);
        let only_one: Vec<_> =
            (0..2).filter_map(|_| medium.next(|hop| hop.index() == 1)).map(HopId::index).collect();
        assert_eq!(only_one, [1, 1]);
        assert_eq!(medium.next(|_| false), None);
    }
}
