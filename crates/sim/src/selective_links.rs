//! The links of a world that impair a part of the traffic: the way of the rest.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use lasthop_packet::ends::{Ends, Fragment};
use lasthop_packet::{FlowKey, Packet};

use crate::id::{At, LinkId, PipeId};
use crate::selection::Selection;

/// Packets of which the first fragment is remembered at most. One that is forgotten had this many others
/// behind it.
const MAX_FRAGMENTED: usize = 256;

/// All links that impair a part of the traffic, or have done so.
#[derive(Default)]
pub(crate) struct SelectiveLinks {
    links: BTreeMap<LinkId, SelectiveLink>,
    /// Whether any link does.
    are_any: bool,
}

struct SelectiveLink {
    selection: Selection,
    /// Where packets come in, and the pipe around the link from there.
    ways_around: [(At, PipeId); 2],
    fragmented: VecDeque<Fragmented>,
}

/// A packet of which the first fragment has crossed.
struct Fragmented {
    whole: Whole,
    is_selected: bool,
}

/// What all fragments of a packet have in common.
type Whole = (IpAddr, IpAddr, u8, u32);

impl SelectiveLinks {
    /// Changes what a link impairs, if it has ways around.
    pub(crate) fn set(&mut self, link: LinkId, selection: &Selection) -> bool {
        let Some(known) = self.links.get_mut(&link) else { return false };
        known.selection = selection.clone();
        known.fragmented.clear();
        self.are_any = self.links.values().any(|link| !link.selection.is_everything());
        true
    }

    /// A link impairs a part of the traffic from now on, and others cross it by these pipes.
    pub(crate) fn add(&mut self, link: LinkId, selection: &Selection, ways_around: [(At, PipeId); 2]) {
        self.are_any |= !selection.is_everything();
        let selection = selection.clone();
        self.links.insert(link, SelectiveLink { selection, ways_around, fragmented: VecDeque::new() });
    }

    /// Whether any link impairs a part of the traffic.
    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        self.are_any
    }

    /// The pipe around a link for a packet that it does not impair.
    pub(crate) fn way_around(&mut self, at: At, link: LinkId, packet: &Packet) -> Option<PipeId> {
        let link = self.links.get_mut(&link)?;
        if link.selects(packet) {
            return None;
        }
        link.ways_around.iter().find(|(from, _)| *from == at).map(|(_, pipe)| *pipe)
    }

    /// Whether a link impairs a packet.
    pub(crate) fn selects(&mut self, link: LinkId, packet: &Packet) -> bool {
        self.links.get_mut(&link).is_none_or(|link| link.selects(packet))
    }

    /// Whether a link impairs the segments of a TCP connection.
    pub(crate) fn selects_connection(&self, link: LinkId, key: FlowKey) -> bool {
        self.links.get(&link).is_none_or(|link| link.selection.selects_between(&Ends::from_connection(key)))
    }
}

impl SelectiveLink {
    /// Fragments are treated as the first of their packet; before that has come, as packets without ports.
    fn selects(&mut self, packet: &Packet) -> bool {
        let is_selected = self.selection.selects(packet);
        let Ends { source, destination, protocol, fragment } = Ends::from_packet(packet);
        let Some(Fragment { identification, is_first }) = fragment else { return is_selected };
        let whole = (source.0, destination.0, protocol, identification);
        let known = self.fragmented.iter_mut().find(|fragmented| fragmented.whole == whole);
        match known {
            Some(known) if is_first => known.is_selected = is_selected,
            Some(known) => return known.is_selected,
            None if is_first => {
                if self.fragmented.len() >= MAX_FRAGMENTED {
                    self.fragmented.pop_front();
                }
                self.fragmented.push_back(Fragmented { whole, is_selected });
            }
            None => {}
        }
        is_selected
    }
}
