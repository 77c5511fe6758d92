//! Lets a host behind an emulated hop reach what this machine reaches: forwarding, and this
//! machine's own address on what it sends.
//!
//! | file | what is in it |
//! |---|---|
//! | `rules` | the rules of an emulation |
//! | `forwarding` | which devices forward |
//! | `nft`, `iptables` | what they are for these programs |

mod forwarding;
mod iptables;
mod nft;
mod rules;

use std::io;

use serde::{Deserialize, Serialize};

use super::client_side::ClientSide;
use super::directory::Directory;
use lasthop_linux::namespace::Namespace;
use rules::Rules;

/// Forwarding and address translation for one subnet, of IPv4. All of it is undone with this value.
/// Forwarding that was switched on stays on until the last one ends, and for good if somebody else has
/// switched it on for all devices meanwhile. What one left behind that was killed is undone with the
/// next.
#[derive(Debug)]
pub struct Masquerade<'n> {
    namespace: &'n Namespace,
    directory: Directory,
    undo: Undo,
}

/// What undoes a [`Masquerade`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Undo {
    rules: Rules,
    /// The numbers of the devices that did not forward before.
    switched_on: Vec<u32>,
}

impl<'n> Masquerade<'n> {
    /// For the host behind a hop; with `nft`, or else with `iptables`. The error is a sentence for the
    /// user.
    pub fn start(hop: &'n ClientSide) -> Result<Self, String> {
        let (namespace, device) = (&hop.outside, &hop.device);
        let unreached = |why: String| format!("only this machine can be reached from behind the hop: {why}");
        // Without it two emulations that start or end at once could get in each other's way.
        let lock = hop.directory.lock();
        clear_after_the_dead(namespace, device);
        let rules = Rules::add(namespace, &hop.subnet(), device).map_err(unreached)?;
        let undo = Undo { rules, switched_on: Vec::new() };
        let mut started = Self { namespace, directory: hop.directory.clone(), undo };
        let forwarded = started.forward();
        drop(lock);
        forwarded.map_err(|error| unreached(format!("cannot enable forwarding: {error}")))?;
        Ok(started)
    }

    /// What another process needs to undo it.
    pub const fn undo(&self) -> &Undo {
        &self.undo
    }

    fn forward(&mut self) -> io::Result<()> {
        forwarding::switch_on(self.namespace, self.undo.rules.device())?;
        for (number, name) in forwarding::off(self.namespace)? {
            // The note comes first, so that forwarding never stays on, whenever we are killed.
            // Without it, it does.
            let _ = self.undo.rules.note(self.namespace, number);
            self.undo.switched_on.push(number);
            forwarding::switch_on(self.namespace, &name)?;
        }
        Ok(())
    }
}

impl Undo {
    /// To be called with the lock. After an error the rules are there still, and their note: the next
    /// emulation carries it out.
    fn carry_out(&self, namespace: &Namespace) -> Result<(), String> {
        // Those that we switched on, and those of somebody who ended before us.
        let mut switched_on = self.rules.notes(namespace)?;
        switched_on.extend(&self.switched_on);
        switched_on.sort_unstable();
        switched_on.dedup();
        if !switched_on.is_empty() {
            switch_off(namespace, &self.rules, &switched_on)?;
        }
        self.rules.remove(namespace)
    }
}

impl Drop for Masquerade<'_> {
    fn drop(&mut self) {
        let _lock = self.directory.lock();
        // What cannot be undone now has gone already, or is left to the next emulation.
        let _ = self.undo.carry_out(self.namespace);
    }
}

/// Undoes what a process left behind that was killed and whose device is gone. If a device has that
/// name, another emulation has cleared up already, or does so when it starts.
pub(super) fn undo_of_the_dead(
    namespace: &Namespace,
    directory: &Directory,
    device: &str,
    undo: Option<&Undo>,
) {
    let _lock = directory.lock();
    // Without a list of devices, no emulation can be taken for dead.
    let Ok(links) = namespace.ip(&["link show"]) else { return };
    if links.contains(&format!(": {device}: ")) {
        return;
    }
    match undo {
        // What cannot be undone now is left to the next emulation.
        Some(undo) => drop(undo.carry_out(namespace)),
        None => clear_after_the_dead(namespace, device),
    }
}

/// Undoes the rules whose devices are gone, and those that had our own device's name before.
fn clear_after_the_dead(namespace: &Namespace, device: &str) {
    let rules = Rules::all(namespace);
    if rules.is_empty() {
        return;
    }
    let Ok(links) = namespace.ip(&["link show"]) else { return };
    let is_left = |name: &str| name == device || !links.contains(&format!(": {name}: "));
    for rules in rules.into_iter().filter(|rules| is_left(rules.device())) {
        let _ = Undo { rules, switched_on: Vec::new() }.carry_out(namespace);
    }
}

/// Switches forwarding off where it was off before us, unless another emulation still needs it: it does
/// so at its end. `gone` are the rules of one that does not need it any more.
fn switch_off(namespace: &Namespace, gone: &Rules, numbers: &[u32]) -> Result<(), String> {
    match gone.others(namespace)?.first() {
        Some(heir) => {
            let noted = heir.notes(namespace)?;
            numbers
                .iter()
                .filter(|number| !noted.contains(number))
                .try_for_each(|number| heir.note(namespace, *number))
        }
        None => forwarding::switch_off(namespace, numbers).map_err(|error| error.to_string()),
    }
}
