//! The arguments of a world's call of an agent.

use std::net::IpAddr;

use bytes::Bytes;
use lasthop_packet::{FlowKey, Instant, LinkOptions, Packet, Rng};

use crate::budget::Budget;
use crate::bypass::Bypass;
use crate::counter::{DROPPED_HELD, DROPPED_HELD_OCTETS, DropReason};
use crate::report::Report;
use crate::side::Side;

/// The output of an agent, in order. Owned by the world, which empties it after each call.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets to send, each with the side to send it to.
    pub packets: Vec<(Side, Packet)>,
    /// Telemetry.
    pub reports: Vec<Report>,
    /// Packets that may pass from now on without a call, once the packets above have left. A world
    /// may ignore this.
    pub bypasses: Vec<Bypass>,
    /// Connections that the agent does not need to see. A world may ignore this.
    pub left_alone: Vec<FlowKey>,
    /// Messages to the agents at other nodes, each with the address of the node.
    pub messages: Vec<(IpAddr, Bytes)>,
    /// The options of the frame that carries, or will carry, the current packet.
    pub attached: Option<LinkOptions>,
}

/// The world as an agent sees it during one call.
#[derive(Debug)]
pub struct Context<'a> {
    now: Instant,
    rng: &'a mut Rng,
    outbox: &'a mut Outbox,
    budget: Budget,
    neighbor: Option<IpAddr>,
    may_owe: bool,
    is_real: bool,
}

impl<'a> Context<'a> {
    /// A context for one call, with the default budget.
    pub fn new(now: Instant, rng: &'a mut Rng, outbox: &'a mut Outbox) -> Self {
        Self { now, rng, outbox, budget: Budget::default(), neighbor: None, may_owe: true, is_real: false }
    }

    /// Sets another budget.
    #[must_use]
    pub const fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Sets the neighbor at the interface of the packet or link event.
    #[must_use]
    pub const fn with_neighbor(self, neighbor: Option<IpAddr>) -> Self {
        Self { neighbor, ..self }
    }

    /// The node at the other end of the radio link of this call's packet or link event: the next
    /// hop of a packet from the core side, the previous hop of one from the radio side. `None` in a
    /// call without a link, and where the world does not know.
    pub const fn neighbor(&self) -> Option<IpAddr> {
        self.neighbor
    }

    /// Allows or refuses new obligations.
    #[must_use]
    pub const fn with_obligations(self, may_owe: bool) -> Self {
        Self { may_owe, ..self }
    }

    /// Whether the agent may take on a new obligation to the connection of this call. It may not
    /// where the world is at a bound, or will take the agent out of the connection's path as soon
    /// as it is [free](crate::Obligation::Free).
    pub const fn may_owe(&self) -> bool {
        self.may_owe
    }

    /// Declares the hosts to be real: simulated payloads have no octets there.
    #[must_use]
    pub const fn among_real_hosts(self) -> Self {
        Self { is_real: true, ..self }
    }

    /// Whether the hosts are real: then no payload is simulated, and imported states must not
    /// contain simulated ones.
    pub const fn is_real(&self) -> bool {
        self.is_real
    }

    /// The limits on the agent's memory; see [`Accounts::octets`](crate::Accounts::octets).
    pub const fn budget(&self) -> Budget {
        self.budget
    }

    /// The time of this call.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// This agent's own stream of randomness.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// Sends a packet to one side. It leaves before the current packet.
    #[inline]
    pub fn send(&mut self, to: Side, packet: Packet) {
        self.outbox.packets.push((to, packet));
    }

    /// Sends a message to the agent at the node with this address, if there is one. Delivery is not
    /// guaranteed, and a world with a single agent drops it. See
    /// [`Agent::on_message`](crate::Agent::on_message).
    pub fn send_message(&mut self, peer: IpAddr, message: Bytes) {
        self.outbox.messages.push((peer, message));
    }

    /// Attaches options to the current packet, in place of its present ones; only for an agent that
    /// needs [`LinkSenses::LINK_OPTIONS`](crate::LinkSenses::LINK_OPTIONS).
    ///
    /// - In [`Agent::on_packet`](crate::Agent::on_packet) they stay with the packet at this node,
    ///   and are shown with it at its departure.
    /// - At a [`LinkEvent::Departure`](crate::LinkEvent::Departure) they are put into the frame,
    ///   which becomes longer by their length. A frame has no other options. It has none if its
    ///   receiver does not support them.
    /// - At a [`LinkEvent::Transmission`](crate::LinkEvent::Transmission) they replace those in the
    ///   frame, if they have the same length.
    pub const fn attach(&mut self, options: LinkOptions) {
        self.outbox.attached = Some(options);
    }

    /// Adds a report.
    pub fn report(&mut self, report: Report) {
        self.outbox.reports.push(report);
    }

    /// Reports dropped data that is not the current packet, or only a part of it, so that no
    /// verdict shows it.
    pub fn report_dropped(&mut self, packet: &Packet, octets: usize, reason: DropReason) {
        let report = match packet.tcp() {
            Some(tcp) => Report::new(&DROPPED_HELD).at(tcp.seq),
            None => Report::new(&DROPPED_HELD),
        };
        let report = report.which(reason.about);
        self.report(report);
        self.report(Report { counter: &DROPPED_HELD_OCTETS, amount: octets as u64, ..report });
    }

    /// Lets packets of a connection pass without a call. Replaces an earlier bypass of the
    /// connection.
    pub fn allow_bypass(&mut self, bypass: Bypass) {
        self.outbox.bypasses.push(bypass);
    }

    /// Declares that the agent does not need to see a connection, or the datagrams between two
    /// ports: they need not be shown to it any more. It has no obligation to them. A new TCP
    /// connection between the same ports is shown to it again.
    pub fn leave_alone(&mut self, connection: FlowKey) {
        self.outbox.left_alone.push(connection);
    }

    /// Passes on the outbox of an agent that is a part of this one, except for its packets and the
    /// options of the current packet, which the caller places. `addressed` addresses a message to
    /// the same part at another node. The other parts have not seen what a part lets pass or does
    /// not need to see: that is passed on only if it is the only part.
    pub fn pass_on(&mut self, inner: &mut Outbox, is_alone: bool, addressed: impl Fn(Bytes) -> Bytes) {
        self.outbox.reports.append(&mut inner.reports);
        let messages = inner.messages.drain(..).map(|(peer, message)| (peer, addressed(message)));
        self.outbox.messages.extend(messages);
        if is_alone {
            self.outbox.bypasses.append(&mut inner.bypasses);
            self.outbox.left_alone.append(&mut inner.left_alone);
        } else {
            inner.bypasses.clear();
            inner.left_alone.clear();
        }
    }

    /// The same call with another outbox, and a budget less the octets that others have taken: for
    /// calls of the parts of an agent.
    pub fn with_outbox<'b>(&'b mut self, outbox: &'b mut Outbox, taken: usize) -> Context<'b> {
        Context { outbox, ..self.beside(taken) }
    }

    /// The same call with a budget less the octets that others have taken.
    pub fn beside(&mut self, taken: usize) -> Context<'_> {
        let budget = self.budget.beside(taken);
        let Self { now, neighbor, may_owe, is_real, .. } = *self;
        Context { now, rng: self.rng, outbox: self.outbox, budget, neighbor, may_owe, is_real }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn pass_on_empties_the_inner_outbox_and_keeps_bypasses_only_of_a_single_agent() {
        let (mut rng, host) = (Rng::named(1, "context"), IpAddr::from(Ipv4Addr::LOCALHOST));
        let flow = FlowKey::tcp((host, 1), (host, 2));
        for is_alone in [false, true] {
            let mut inner = Outbox {
                reports: vec![Report::new(&DROPPED_HELD)],
                bypasses: vec![Bypass { flow, limits: None }],
                left_alone: vec![flow],
                messages: vec![(host, Bytes::from_static(b"m"))],
                ..Outbox::default()
            };
            let mut outer = Outbox::default();
            let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outer);
            cx.pass_on(&mut inner, is_alone, |message| [b"to ", &message[..]].concat().into());
            let left =
                (inner.reports.len(), inner.bypasses.len(), inner.left_alone.len(), inner.messages.len());
            assert_eq!(left, (0, 0, 0, 0));
            let only_if_alone = usize::from(is_alone);
            assert_eq!((outer.bypasses.len(), outer.left_alone.len()), (only_if_alone, only_if_alone));
            assert_eq!(outer.reports.len(), 1);
            assert_eq!(outer.messages, [(host, Bytes::from_static(b"to m"))]);
        }
    }
}
