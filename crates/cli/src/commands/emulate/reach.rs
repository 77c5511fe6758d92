//! Access of the command to this machine and to other hosts.

use std::sync::Arc;

use anyhow::Context;
use lasthop_emulator::client_side::ClientSide;
use lasthop_emulator::datagrams::Datagrams;
use lasthop_emulator::machine::Machine;
use lasthop_emulator::masquerade::Masquerade;
use lasthop_emulator::redirect;
use lasthop_emulator::services::{Services, Wanted};
use lasthop_emulator::supervisor::Supervisor;

/// A note for users without root.
const RELAYED: &str = "without root, only TCP and UDP cross to this machine and, over IPv4, beyond, through a relay; use \
                       sudo for everything else";

/// The relays and rules for the command's access, which are removed when this value is dropped.
pub struct Reach<'h> {
    services: Option<Services>,
    _datagrams: Option<Datagrams>,
    _masquerade: Option<Masquerade<'h>>,
    /// What the command cannot reach, each a sentence.
    pub notes: Vec<String>,
}

impl<'h> Reach<'h> {
    /// Starts the relays and adds the rules, and reports to the supervisor what to undo.
    pub fn open(
        hop: &'h ClientSide,
        machine: Machine,
        mut listeners: Wanted,
        supervisor: &mut Supervisor,
    ) -> anyhow::Result<Self> {
        let mut notes = Vec::new();
        let machine = Arc::new(machine);
        let (mut masquerade, mut datagrams) = (None, None);
        if machine.is_here() {
            match Masquerade::start(hop) {
                Ok(started) => {
                    supervisor.watch_masquerade(&started)?;
                    masquerade = Some(started);
                }
                Err(sentence) => notes.push(sentence),
            }
        } else {
            notes.push(RELAYED.to_owned());
            match redirect::start(hop) {
                Ok(listener) => listeners.elsewhere = Some(listener),
                Err(sentence) => notes.push(sentence),
            }
            match Datagrams::start(hop, Arc::clone(&machine), listeners.localhost) {
                Ok(started) => datagrams = Some(started),
                Err(sentence) => notes.push(sentence),
            }
        }
        let services = (!machine.is_here() || listeners.localhost || !listeners.resolvers.is_empty())
            .then(|| Services::open(hop, machine, listeners))
            .transpose()
            .context("cannot let the command reach services of this machine")?;
        Ok(Self { services, _datagrams: datagrams, _masquerade: masquerade, notes })
    }

    /// Closes the relays, before their rules are removed. Returns what could not be done, each a
    /// sentence.
    pub fn close(mut self) -> Vec<String> {
        self.services.as_mut().map(Services::close).unwrap_or_default()
    }
}
