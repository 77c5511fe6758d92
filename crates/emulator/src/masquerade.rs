//! Forwarding and source address translation for the client of an emulated hop, so that it reaches
//! the hosts that this machine reaches.
//!
//! | file | contents |
//! |---|---|
//! | `rules` | the rules of an emulation |
//! | `forwarding` | the devices that forward |
//! | `nft`, `iptables` | the rules in the form of these programs |

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

/// Forwarding and address translation for one IPv4 subnet. Dropping this value undoes both.
/// Forwarding stays enabled until the last emulation ends, and afterwards if another program has
/// enabled it for all devices meanwhile. The next emulation undoes the changes of a killed one.
#[derive(Debug)]
pub struct Masquerade<'n> {
    namespace: &'n Namespace,
    directory: Directory,
    undo: Undo,
}

/// The changes of a [`Masquerade`] that must be undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Undo {
    rules: Rules,
    /// The indices of the devices on which forwarding was disabled before.
    switched_on: Vec<u32>,
}

impl<'n> Masquerade<'n> {
    /// Enables both for the client of a hop, with `nft` or, if that fails, with `iptables`. The
    /// error is a sentence for the user.
    pub fn start(hop: &'n ClientSide) -> Result<Self, String> {
        let (namespace, device) = (&hop.outside, &hop.device);
        let unreached = |why: String| format!("only this machine can be reached from behind the hop: {why}");
        // Two emulations that start or end at the same time must not interfere.
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

    /// The changes to undo, for another process.
    pub const fn undo(&self) -> &Undo {
        &self.undo
    }

    fn forward(&mut self) -> io::Result<()> {
        forwarding::switch_on(self.namespace, self.undo.rules.device())?;
        for (number, name) in forwarding::off(self.namespace)? {
            // Record the device first, so that forwarding is disabled at the end even if this
            // process is killed. If the record fails, forwarding would stay enabled after a kill.
            let _ = self.undo.rules.record(self.namespace, number);
            self.undo.switched_on.push(number);
            forwarding::switch_on(self.namespace, &name)?;
        }
        Ok(())
    }
}

impl Undo {
    /// Undoes the changes. Must be called with the lock. After an error the rules and their records
    /// remain, and the next emulation removes them.
    fn carry_out(&self, namespace: &Namespace) -> Result<(), String> {
        // Our own devices, and those of emulations that ended before.
        let mut switched_on = self.rules.records(namespace)?;
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
        // After an error, the changes are gone already, or the next emulation undoes them.
        let _ = self.undo.carry_out(self.namespace);
    }
}

/// Undoes the changes of a process that was killed and whose device is gone. If a device has that
/// name, another emulation has undone them already, or does so when it starts.
pub(super) fn undo_of_the_dead(
    namespace: &Namespace,
    directory: &Directory,
    device: &str,
    undo: Option<&Undo>,
) {
    let _lock = directory.lock();
    // Without a list of devices, no emulation is known to be dead.
    let Ok(links) = namespace.ip(&["link show"]) else { return };
    if links.contains(&format!(": {device}: ")) {
        return;
    }
    match undo {
        // After an error, the next emulation undoes the changes.
        Some(undo) => drop(undo.carry_out(namespace)),
        None => clear_after_the_dead(namespace, device),
    }
}

/// Undoes the rules whose devices are gone, and earlier ones for our own device's name.
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

/// Disables forwarding on the devices `numbers`. If another emulation still needs it, records them
/// in its rules instead, so that it disables forwarding at its end. `gone` are the rules of the
/// emulation that ends.
fn switch_off(namespace: &Namespace, gone: &Rules, numbers: &[u32]) -> Result<(), String> {
    match gone.others(namespace)?.first() {
        Some(heir) => {
            let recorded = heir.records(namespace)?;
            numbers
                .iter()
                .filter(|number| !recorded.contains(number))
                .try_for_each(|number| heir.record(namespace, *number))
        }
        None => forwarding::switch_off(namespace, numbers).map_err(|error| error.to_string()),
    }
}
