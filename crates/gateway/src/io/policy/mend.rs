//! Looking after the devices, rules and routes: what others may have changed is found, told, and mended.

use lasthop_packet::Instant;

use super::{Numbers, Policy, PolicyError, set_up};
use crate::device::FrameDevice;
use crate::io::Fault;
use lasthop_linux::device::{Interface, Kind};

impl Policy {
    /// Once a round, looks for what is wrong, and mends what was wrong in the round before.
    pub(super) fn look_after(&mut self, now: Instant) {
        if !self.health.is_round(now) {
            return;
        }
        let was_broken = self.health.faults.iter().any(|fault| fault.loses_frames);
        if !was_broken {
            self.health.attempts.start_anew(now);
        }
        let mended = if was_broken && self.health.attempts.may_try(now) { self.mend() } else { Ok(()) };
        self.check_rules();
        let mut faults = self.renew_ports();
        faults.extend(self.broken().map(|what| Fault { what, loses_frames: true }));
        if let Err(error) = mended {
            tracing::debug!(%error, "cannot mend the way to the devices");
        }
        self.health.faults = faults;
    }

    /// Finds out whether rules and routes are there. What the poller says may be from before they were
    /// mended.
    fn check_rules(&mut self) {
        let answer = match self.poller.latest() {
            Some(Ok(false)) => self.rules.are_whole()(),
            Some(answer) => answer,
            None => return,
        };
        match answer {
            Ok(are_whole) => self.are_rules_whole = are_whole,
            Err(error) => tracing::debug!(%error, "cannot list rules and routes"),
        }
    }

    /// What is wrong with the way of packets to the devices and on, if anything. The rules of a device
    /// that is down lead nowhere, and the kernel forwards.
    fn broken(&self) -> Option<String> {
        for (port, Numbers { tun, .. }) in self.numbers.iter().enumerate() {
            let name = self.devices.device(port).name();
            match Interface::find(name) {
                Ok(Some(interface)) if interface.index() == *tun => {
                    if interface.is_up().is_ok_and(|is_up| !is_up) {
                        return Some(format!("the device {name} is down"));
                    }
                }
                Ok(_) => return Some(format!("the device {name} has been removed")),
                // Out of descriptors, for example: the next round will show.
                Err(error) => tracing::debug!(%error, "cannot look at a device"),
            }
        }
        (!self.are_rules_whole).then(|| "rules or routes of ours have been removed".to_owned())
    }

    fn mend(&mut self) -> Result<(), PolicyError> {
        for port in 0..self.numbers.len() {
            let device = self.devices.device(port);
            let number = Interface::find(device.name()).map_err(PolicyError::Wait)?;
            let number = number.map(|interface| interface.index());
            if number == Some(self.numbers[port].tun) {
                set_up(device)?;
            } else {
                let device = FrameDevice::new("lasthop%d", Kind::Tun)?;
                self.numbers[port].tun = set_up(&device)?;
                self.devices.replace(port, device);
            }
        }
        self.lead()?;
        self.are_rules_whole = true;
        Ok(())
    }

    /// Claims ports that have come back. Rules go by the name of an interface, and apply again to one
    /// that comes back. What is wrong with the others.
    fn renew_ports(&mut self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (port, Numbers { port: number, .. }) in self.devices.ports().iter().zip(&mut self.numbers) {
            let what = match Interface::find(&port.name) {
                Ok(Some(interface)) if interface.index() == *number => continue,
                Ok(Some(interface)) => match self.claims.renew(&port.name) {
                    Ok(()) => {
                        *number = interface.index();
                        tracing::info!(interface = port.name, "the interface is back");
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
                Ok(None) => format!("the interface {} has disappeared", port.name),
                Err(error) => format!("cannot look at the interface {}: {error}", port.name),
            };
            faults.push(Fault { what, loses_frames: false });
        }
        faults
    }
}
