//! The links of a world whose TCP connections are followed, so that they can be reset.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_agent::{FlowTable, Slot};
use lasthop_packet::{FlowKey, Instant, Packet, TcpFlags};

use crate::cut::{Cut, Passing, connection_of, opens};
use crate::id::{At, LinkId, NodeId, PipeId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

/// The most standing connections that a link follows, and the most ended ones that it remembers. The one that
/// has been silent for longest is forgotten first; its next segment is taken for a connection's first.
pub(crate) const MAX_CONNECTIONS: usize = 16_384;

/// All links whose connections are followed.
#[derive(Default)]
pub(crate) struct CutLinks {
    links: BTreeMap<LinkId, CutLink>,
    /// Whether there are any.
    are_any: bool,
}

struct CutLink {
    cut: Cut,
    /// Where packets come in, and the pipe that leads back to there.
    ways_back: [(At, PipeId); 2],
    standing: FlowTable<Passing>,
    /// Those that were cut or are over: some of their segments may still be on their way.
    ended: FlowTable<Passing>,
    timer: LazyTimer,
}

/// The way of a packet that a link has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayBack {
    /// Where it comes out of the link,
    pub(crate) at: At,
    /// by this pipe.
    pub(crate) pipe: PipeId,
    /// Where it goes from there, if that is known.
    pub(crate) node: Option<NodeId>,
}

/// The fate of a packet that is sent into a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entering {
    Passes,
    /// It would open a connection.
    IsRefused,
    /// Its connection has been cut.
    IsOfNone,
}

impl CutLinks {
    /// Whether there are any.
    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        self.are_any
    }

    pub(crate) fn has(&self, link: LinkId) -> bool {
        self.links.contains_key(&link)
    }

    /// Follows the connections of a link from now on.
    pub(crate) fn add(&mut self, link: LinkId, ways_back: [(At, PipeId); 2]) {
        let [standing, ended] = [(); 2].map(|()| FlowTable::new(Duration::ZERO));
        let followed = CutLink { cut: Cut::None, ways_back, standing, ended, timer: LazyTimer::default() };
        self.links.insert(link, followed);
        self.are_any = true;
    }

    /// A link cuts these connections from now on. Returns those that are to be cut at once.
    pub(crate) fn set(&mut self, link: LinkId, cut: Cut, transit: &mut Transit) -> Vec<FlowKey> {
        let Some(of) = self.links.get_mut(&link) else { return Vec::new() };
        let slots: Vec<Slot> = of.standing.slots().collect();
        if cut == Cut::Standing {
            return slots.into_iter().filter_map(|slot| of.standing.key(slot)).collect();
        }
        of.cut = cut;
        let is_due = |slot: &Slot| {
            let Some(passing) = of.standing.get(*slot) else { return false };
            let (since, got) = (passing.since(), passing.got());
            of.standing.clear_timer_at(*slot);
            match cut {
                Cut::None | Cut::Opening | Cut::Standing => false,
                Cut::AfterOctets(most) => got >= most,
                Cut::AfterTime(time) => {
                    let at = since + time;
                    if at > transit.now() {
                        of.standing.set_timer_at(*slot, at);
                    }
                    at <= transit.now()
                }
            }
        };
        let due: Vec<Slot> = slots.into_iter().filter(is_due).collect();
        let due = due.into_iter().filter_map(|slot| of.standing.key(slot)).collect();
        of.follow_timer(link, transit);
        due
    }

    /// A packet is sent into a link.
    pub(crate) fn enter(&mut self, at: At, link: LinkId, sent: PacketKey, transit: &mut Transit) -> Entering {
        let Some(of) = self.links.get_mut(&link) else { return Entering::Passes };
        let packet = transit.packet(sent);
        let Some((key, from, tcp)) = connection_of(packet) else { return Entering::Passes };
        let Some(side) = of.ways_back.iter().position(|(end, _)| *end == at) else {
            return Entering::Passes;
        };
        let is_new = match of.standing.touch(key, transit.now()) {
            Some(known) => opens(tcp) && known.is_followed_by(from, tcp),
            None => match of.ended.touch(key, transit.now()) {
                Some(ended) if !opens(tcp) => {
                    return if ended.is_cut() { Entering::IsOfNone } else { Entering::Passes };
                }
                _ if tcp.flags.has(TcpFlags::RST) => return Entering::Passes,
                _ => true,
            },
        };
        if is_new {
            if opens(tcp) && of.cut == Cut::Opening {
                of.forget(key);
                return Entering::IsRefused;
            }
            of.begin(key, Passing::new(transit.now(), side, from, tcp), transit.now());
        }
        if let Some(passing) = of.standing.peek_mut(key) {
            passing.record_sent(from, packet, tcp, transit.packets().destination(sent));
        }
        if is_new {
            of.follow_timer(link, transit);
        }
        Entering::Passes
    }

    /// A link has delivered a packet. Returns its connection if that is to be cut now.
    pub(crate) fn leave(&mut self, link: LinkId, packet: &Packet, now: Instant) -> Option<FlowKey> {
        let of = self.links.get_mut(&link)?;
        let (key, from, tcp) = connection_of(packet)?;
        let passing = of.standing.peek_mut(key)?;
        if passing.record_delivered(1 - from, packet, tcp) {
            of.end(key, now);
            return None;
        }
        matches!(of.cut, Cut::AfterOctets(most) if passing.got() >= most).then_some(key)
    }

    /// Whether a packet is of a connection that a link has cut.
    pub(crate) fn has_cut(&self, link: LinkId, packet: &Packet) -> bool {
        let of = self.links.get(&link).zip(connection_of(packet));
        of.is_some_and(|(of, (key, ..))| of.ended.peek(key).is_some_and(Passing::is_cut))
    }

    /// Whether a packet is a reset of a connection that a link has cut.
    pub(crate) fn has_made(&self, link: LinkId, packet: &Packet) -> bool {
        packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::RST)) && self.has_cut(link, packet)
    }

    /// Cuts a connection. Returns the resets for its ends, each with its way.
    pub(crate) fn cut(&mut self, link: LinkId, key: FlowKey, now: Instant) -> [Option<(WayBack, Packet)>; 2] {
        let Some(of) = self.links.get_mut(&link) else { return [None, None] };
        let Some(passing) = of.standing.peek_mut(key) else { return [None, None] };
        let resets = passing.cut(key);
        of.end(key, now);
        resets.map(|reset| {
            let (side, node, packet) = reset?;
            let (at, pipe) = of.ways_back[side];
            Some((WayBack { at, pipe, node }, packet))
        })
    }

    /// The way of an answer to a packet that has come in.
    pub(crate) fn way_back(&self, link: LinkId, at: At, packet: &Packet) -> Option<WayBack> {
        let of = self.links.get(&link)?;
        let (key, from, _) = connection_of(packet)?;
        let node =
            of.standing.peek(key).or_else(|| of.ended.peek(key)).and_then(|passing| passing.node(from));
        let (_, pipe) = of.ways_back.iter().find(|(end, _)| *end == at)?;
        Some(WayBack { at, pipe: *pipe, node })
    }

    /// Connections of a link whose time may have come: those that are to be cut now.
    pub(crate) fn due(&mut self, link: LinkId, transit: &mut Transit) -> Vec<FlowKey> {
        let Some(of) = self.links.get_mut(&link) else { return Vec::new() };
        if !of.timer.fired(transit.now()) {
            return Vec::new();
        }
        let due = std::iter::from_fn(|| of.standing.pop_timer(transit.now())).collect();
        of.follow_timer(link, transit);
        due
    }
}

impl CutLink {
    fn begin(&mut self, key: FlowKey, passing: Passing, now: Instant) {
        self.forget(key);
        let since = passing.since();
        keep(&mut self.standing, key, passing, now);
        if let Cut::AfterTime(time) = self.cut {
            self.standing.set_timer(key, since + time);
        }
    }

    fn end(&mut self, key: FlowKey, now: Instant) {
        if let Some(passing) = self.standing.remove(key) {
            keep(&mut self.ended, key, passing, now);
        }
    }

    fn forget(&mut self, key: FlowKey) {
        self.standing.remove(key);
        self.ended.remove(key);
    }

    fn follow_timer(&mut self, link: LinkId, transit: &mut Transit) {
        transit.follow(&mut self.timer, self.standing.next_timer(), Event::ConnectionsDue(link));
    }
}

/// Adds a connection, if need be in place of the one that was silent for longest.
fn keep(table: &mut FlowTable<Passing>, key: FlowKey, passing: Passing, now: Instant) {
    if table.len() >= MAX_CONNECTIONS
        && let Some((_, idlest)) = table.idlest()
    {
        table.remove(idlest);
    }
    // There is room.
    let _ = table.insert(key, passing, MAX_CONNECTIONS, now);
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use lasthop_packet::{Ip, Payload, Tcp, TcpFlags};

    use super::*;

    const LINK: LinkId = LinkId(0);
    const NEAR: At = (NodeId(0), 0);

    /// The first segment of a connection of this number is sent into the link.
    fn open(links: &mut CutLinks, number: usize, transit: &mut Transit) -> Entering {
        let ports = (1 + (number % 60_000) as u16, 80 + (number / 60_000) as u16);
        let tcp =
            Tcp { source_port: ports.0, destination_port: ports.1, flags: TcpFlags::SYN, ..Tcp::default() };
        let [near, far] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().expect("an address"));
        let packet = Packet::tcp_segment(Ip::new(near, far), tcp, Payload::EMPTY);
        let key = transit.packets_mut().insert(packet);
        let entering = links.enter(NEAR, LINK, key, transit);
        transit.packets_mut().remove(key);
        entering
    }

    #[test]
    fn the_connection_that_was_silent_for_longest_is_forgotten_for_another_one() {
        let (mut links, mut transit) = (CutLinks::default(), Transit::new());
        links.add(LINK, [(NEAR, PipeId::from_index(0)), ((NodeId(1), 0), PipeId::from_index(1))]);
        for number in 0..MAX_CONNECTIONS {
            transit.skip_to(Instant::from_millis(number as u64), 0);
            assert_eq!(open(&mut links, number, &mut transit), Entering::Passes);
        }
        // The first speaks again, so that the second goes.
        for number in [0, MAX_CONNECTIONS] {
            assert_eq!(open(&mut links, number, &mut transit), Entering::Passes);
        }
        assert_eq!(links.links[&LINK].standing.len(), MAX_CONNECTIONS);
        // Those that end make room for no others, and take none.
        for number in 2..MAX_CONNECTIONS {
            let key = links.links[&LINK].standing.idlest().expect("there are many").1;
            links.cut(LINK, key, transit.now());
            assert_eq!(open(&mut links, MAX_CONNECTIONS + number, &mut transit), Entering::Passes);
        }
        links.set(LINK, Cut::Opening, &mut transit);
        assert_eq!(open(&mut links, 0, &mut transit), Entering::Passes, "it stands");
        assert_eq!(open(&mut links, 1, &mut transit), Entering::IsRefused);
    }
}
