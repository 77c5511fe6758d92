//! An agent, and the actions of a world on it.

use std::time::Duration;

use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, FlowState, Obligation, Outbox, Owed, Scope, Side, Transfer,
    Verdict,
};
use lasthop_packet::{FlowKey, Instant, Packet, Rng};
use proptest::prelude::*;

use super::watch::Watch;
use crate::cicada::{Cicada, Settings};

/// A node with an agent, or with none any more.
pub struct Seat {
    pub agent: Option<Cicada>,
    pub settings: Settings,
    pub budget: Budget,
    pub may_owe: bool,
    /// Whether the budget has not shrunk.
    pub is_within_budget: bool,
    /// Whether the agent's reports are compared with its packets.
    pub is_watched: bool,
    /// Whether forged packets arrive, unseen by the watch: the agent's packets need not be right,
    /// but its obligations must.
    pub receives_forgeries: bool,
    /// Whether all packets were sent by the ends themselves.
    pub is_exact: bool,
    pub watch: Watch,
    pub packets: u32,
    /// Until then all packets bypass the agent.
    pub away_until: Option<Instant>,
    /// States that follow, and when.
    pub late: Vec<(Instant, FlowState)>,
    pub rng: Rng,
}

impl Seat {
    pub fn new(settings: Settings) -> Self {
        Self {
            agent: Some(Cicada::new(&settings)),
            settings,
            budget: Budget::default(),
            may_owe: true,
            is_within_budget: true,
            is_watched: true,
            receives_forgeries: false,
            is_exact: true,
            watch: Watch::default(),
            packets: 0,
            away_until: None,
            late: Vec::new(),
            rng: Rng::named(1, "agent"),
        }
    }

    /// Calls the agent. Returns its packets, in order.
    pub fn call<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Cicada, &mut Context<'_>) -> R,
    ) -> Option<(R, Vec<(Side, Packet)>)> {
        let mut outbox = Outbox::default();
        let mut cx =
            Context::new(now, &mut self.rng, &mut outbox).within(self.budget).with_obligations(self.may_owe);
        let agent = self.agent.as_mut()?;
        let result = call(agent, &mut cx);
        Some((result, outbox.packets))
    }

    /// Passes a packet to it. Returns all packets that leave, in order.
    pub fn pass(
        &mut self,
        mut packet: Packet,
        from: Side,
        now: Instant,
    ) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        self.packets += 1;
        if self.is_away(now) {
            return Ok(vec![(from.opposite(), packet)]);
        }
        if self.is_watched {
            self.watch.on_arrival(&packet, from);
        }
        let Some((verdict, mut sent)) = self.call(now, |agent, cx| agent.on_packet(&mut packet, from, cx))
        else {
            return Ok(vec![(from.opposite(), packet)]);
        };
        self.check(&sent)?;
        if verdict == Verdict::Forward {
            sent.push((from.opposite(), packet));
        }
        Ok(sent)
    }

    /// Performs the due work.
    pub fn on_deadline(&mut self, now: Instant) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        if self.is_away(now) {
            return Ok(Vec::new());
        }
        let mut sent = self.import_late(now)?;
        sent.extend(self.call(now, Cicada::on_deadline).map_or(Vec::new(), |((), sent)| sent));
        self.check(&sent)?;
        Ok(sent)
    }

    /// Imports the states that have followed by now.
    fn import_late(&mut self, now: Instant) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        let mut sent = Vec::new();
        while let Some(at) = self.late.iter().position(|(at, _)| *at <= now) {
            let (_, state) = self.late.remove(at);
            // The connection may have been reset.
            let is_there =
                self.agent.as_ref().is_some_and(|agent| agent.obligation(state.connection).octets() > 0);
            if is_there {
                sent.extend(self.import(&state, now)?);
            }
        }
        Ok(sent)
    }

    fn import(&mut self, state: &FlowState, now: Instant) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        let called = self.call(now, |agent, cx| agent.import(state, cx));
        let Some((result, sent)) = called else { return Ok(Vec::new()) };
        prop_assert!(result.is_ok() || !self.is_within_budget, "{result:?}");
        Ok(sent)
    }

    pub fn deadline(&self) -> Option<Deadline> {
        let agent = self.agent.as_ref()?;
        let late = self.late.iter().map(|(at, _)| Deadline { at: *at, reason: "the rest of a state" });
        let late = late.min_by_key(|deadline| deadline.at);
        let of_agent = Deadline::earliest(agent.deadline(), late);
        self.away_until.map(|at| Deadline { at, reason: "its return" }).or(of_agent)
    }

    /// Whether its process is absent; informs the agent on return.
    fn is_away(&mut self, now: Instant) -> bool {
        if self.away_until.is_some_and(|until| until <= now) {
            self.away_until = None;
            self.call(now, Transfer::on_return);
        }
        self.away_until.is_some()
    }

    pub fn owed(&self) -> Owed {
        self.agent.as_ref().map_or_else(Owed::default, Accounts::owed)
    }

    /// Replaces the agent by another one with its state, of which what a connection does not need at once follows after
    /// this time.
    pub fn move_on(
        &mut self,
        now: Instant,
        rest_after: Duration,
    ) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        let Some((states, mut sent)) = self.call(now, |agent, cx| agent.export(Scope::All, cx)) else {
            return Ok(Vec::new());
        };
        prop_assert_eq!(self.owed(), Owed::default(), "it has given all away");
        self.agent = Some(Cicada::new(&self.settings));
        let mut known = Vec::new();
        for state in states {
            if known.contains(&state.connection) {
                self.late.push((now + rest_after, state));
            } else {
                known.push(state.connection);
                sent.extend(self.import(&state, now)?);
            }
        }
        sent.extend(self.import_late(now)?);
        self.check(&sent)?;
        Ok(sent)
    }

    /// The invariants after every call.
    pub fn check(&mut self, sent: &[(Side, Packet)]) -> Result<(), TestCaseError> {
        let Some(agent) = &self.agent else { return Ok(()) };
        let key = super::world::KEY;
        let obligation = agent.obligation(key);
        prop_assert_eq!(agent.owed(), Owed::of(obligation), "the sum of what is owed");
        prop_assert_eq!(agent.obligation(key.reversed()), Obligation::Free);
        let max = 2 * self.settings.vcache as u64;
        prop_assert!(obligation.octets() <= max, "{obligation:?} is more than {max}");
        if self.is_within_budget {
            prop_assert!(agent.octets() <= self.budget.octets_in_all, "{} octets", agent.octets());
        }
        if self.is_watched {
            for (to, packet) in sent {
                let result = self.watch.on_departure(packet, *to);
                if !self.receives_forgeries {
                    result?;
                }
            }
            let (min, max) = self.watch.at_risk();
            let reported = obligation.octets();
            prop_assert!(
                reported >= min,
                "{reported} octets at risk, and {min} were acknowledged before their time"
            );
            // A packet that is dropped for lack of memory, or rejected for its timestamp, has no
            // effect.
            prop_assert!(
                reported <= max || !self.is_exact || !self.is_within_budget || self.receives_forgeries,
                "{reported} octets at risk of {max}"
            );
        }
        Ok(())
    }
}

trait Sum {
    fn of(obligation: Obligation) -> Self;
}

impl Sum for Owed {
    fn of(obligation: Obligation) -> Self {
        let mut owed = Self::default();
        owed.change(Obligation::Free, obligation);
        owed
    }
}

/// A connection's direction from the core side to the radio side.
pub const fn key(fixed: (std::net::IpAddr, u16), mobile: (std::net::IpAddr, u16)) -> FlowKey {
    FlowKey::tcp(fixed, mobile)
}
