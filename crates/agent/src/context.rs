//! What a world hands to an agent in each call.

use std::net::IpAddr;

use bytes::Bytes;
use lasthop_packet::{FlowKey, Instant, LinkOptions, Packet, Rng};

use crate::budget::Budget;
use crate::bypass::Bypass;
use crate::counter::{DROPPED_HELD, DROPPED_HELD_OCTETS, DropReason};
use crate::report::Report;
use crate::side::Side;

/// What an agent wants sent and told, in order. Owned by the world, which empties it after each
/// call.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets to send, each with the side that it leaves to.
    pub packets: Vec<(Side, Packet)>,
    /// Telemetry.
    pub reports: Vec<Report>,
    /// What may pass from now on without asking, once the packets above have left. A world is free
    /// to ignore it.
    pub bypasses: Vec<Bypass>,
    /// Connections that the agent has no use for. A world is free to ignore it.
    pub left_alone: Vec<FlowKey>,
    /// Messages to the agents in other seats, each with the address of their node.
    pub messages: Vec<(IpAddr, Bytes)>,
    /// The options of the frame that the packet in hand will be in, or is in.
    pub attached: Option<LinkOptions>,
}

/// The world as an agent sees it during one call.
#[derive(Debug)]
pub struct Context<'a> {
    now: Instant,
    rng: &'a mut Rng,
    outbox: &'a mut Outbox,
    budget: Budget,
    neighbour: Option<IpAddr>,
    may_owe: bool,
    is_real: bool,
}

impl<'a> Context<'a> {
    /// A context for one call, with the default budget.
    pub fn new(now: Instant, rng: &'a mut Rng, outbox: &'a mut Outbox) -> Self {
        Self { now, rng, outbox, budget: Budget::default(), neighbour: None, may_owe: true, is_real: false }
    }

    /// The same with another budget.
    #[must_use]
    pub const fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The same for a packet or a link event at the interface to this neighbour.
    #[must_use]
    pub const fn with_neighbour(self, neighbour: Option<IpAddr>) -> Self {
        Self { neighbour, ..self }
    }

    /// The node at the other end of the radio link that the packet or the link event of this call
    /// is on: where a packet from the core side goes next, where one from the radio side comes
    /// from. `None` in a call that is about no link, and where the world does not know.
    pub const fn neighbour(&self) -> Option<IpAddr> {
        self.neighbour
    }

    /// The same, with new obligations allowed or refused.
    #[must_use]
    pub const fn with_obligations(self, may_owe: bool) -> Self {
        Self { may_owe, ..self }
    }

    /// Whether the agent may take on a new obligation for the connection of this call. Not where
    /// the world is at a bound, or wants the agent out of the connection's path as soon as it is
    /// [free](crate::Obligation::Free).
    pub const fn may_owe(&self) -> bool {
        self.may_owe
    }

    /// The same among real hosts, where simulated payloads have no octets.
    #[must_use]
    pub const fn among_real_hosts(self) -> Self {
        Self { is_real: true, ..self }
    }

    /// Whether the hosts are real: then no payload is simulated, and none that a state brings is
    /// taken.
    pub const fn is_real(&self) -> bool {
        self.is_real
    }

    /// How much memory the agent may take; see [`Accounts::octets`](crate::Accounts::octets).
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

    /// Sends a packet to one side. It leaves before the packet in hand.
    #[inline]
    pub fn send(&mut self, to: Side, packet: Packet) {
        self.outbox.packets.push((to, packet));
    }

    /// Sends a message to the agent in the seat at the node with this address, if there is one.
    /// Nothing says that it arrives, and a world without other seats drops it. See
    /// [`Agent::on_message`](crate::Agent::on_message).
    pub fn send_message(&mut self, peer: IpAddr, message: Bytes) {
        self.outbox.messages.push((peer, message));
    }

    /// Attaches options to the packet in hand, in place of those that it has; only for an agent that
    /// needs [`LinkSenses::LINK_OPTIONS`](crate::LinkSenses::LINK_OPTIONS).
    ///
    /// - In [`Agent::on_packet`](crate::Agent::on_packet) they stay with the packet at this node, and
    ///   are shown with it at its departure.
    /// - At a [`LinkEvent::Departure`](crate::LinkEvent::Departure) they go into the frame, which is so
    ///   much longer. A frame has no other options. It goes without where its receiver knows none.
    /// - At a [`LinkEvent::Transmission`](crate::LinkEvent::Transmission) they take the place of
    ///   those in the frame, if they are as long.
    pub const fn attach(&mut self, options: LinkOptions) {
        self.outbox.attached = Some(options);
    }

    /// Reports what happened.
    pub fn report(&mut self, report: Report) {
        self.outbox.reports.push(report);
    }

    /// Reports that data was dropped that is not the packet in hand, or only a part of it, which no
    /// verdict tells.
    pub fn report_dropped(&mut self, packet: &Packet, octets: usize, reason: DropReason) {
        let report = match packet.tcp() {
            Some(tcp) => Report::of(&DROPPED_HELD).at(tcp.seq),
            None => Report::of(&DROPPED_HELD),
        };
        let report = report.which(reason.about);
        self.report(report);
        self.report(Report { counter: &DROPPED_HELD_OCTETS, amount: octets as u64, ..report });
    }

    /// Lets packets of a connection pass without asking; in place of what was said of it before.
    pub fn allow_bypass(&mut self, bypass: Bypass) {
        self.outbox.bypasses.push(bypass);
    }

    /// Says that it has no use for a connection, or for the datagrams between two ports: they need
    /// not be shown to it any more. It owes nothing of them. A new TCP connection between the same
    /// ports is shown to it again.
    pub fn leave_alone(&mut self, connection: FlowKey) {
        self.outbox.left_alone.push(connection);
    }

    /// Passes on what an agent that this one is made of has put into its outbox, but for its packets and
    /// the options of the packet in hand: those are its owner's to place. A message is addressed to the
    /// same agent in another seat, by `addressed`. What an agent lets pass, or has no use for, the others
    /// have not seen: that goes on only if it is the only one.
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

    /// The same call, with another outbox and a budget beside others, who have taken that many octets
    /// of it: how an agent calls agents that it is made of.
    pub fn with_outbox<'b>(&'b mut self, outbox: &'b mut Outbox, taken: usize) -> Context<'b> {
        Context { outbox, ..self.beside(taken) }
    }

    /// The same call, with a budget beside others, who have taken that many octets of it.
    pub fn beside(&mut self, taken: usize) -> Context<'_> {
        let budget = self.budget.beside(taken);
        let Self { now, neighbour, may_owe, is_real, .. } = *self;
        Context { now, rng: self.rng, outbox: self.outbox, budget, neighbour, may_owe, is_real }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn of_an_inner_outbox_all_goes_on_that_concerns_others_and_nothing_stays() {
        let (mut rng, host) = (Rng::named(1, "context"), IpAddr::from(Ipv4Addr::LOCALHOST));
        let flow = FlowKey::tcp((host, 1), (host, 2));
        for is_alone in [false, true] {
            let mut inner = Outbox {
                reports: vec![Report::of(&DROPPED_HELD)],
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
