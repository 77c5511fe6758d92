//! Detection, report and repair of changes to the devices, rules and routes by other processes.

use lasthop_packet::Instant;

use super::{Numbers, Policy, PolicyError, set_up};
use crate::device::FrameDevice;
use crate::io::Fault;
use lasthop_linux::device::{Interface, Kind};

impl Policy {
    /// Once a round, detects faults, and mends those of the previous round.
    pub(super) fn check_health(&mut self, now: Instant) {
        if !self.health.is_round(now) {
            return;
        }
        let was_broken = self.health.faults.iter().any(|fault| fault.loses_frames);
        if !was_broken {
            self.health.attempts.reset(now);
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

    /// Checks whether all rules and routes exist. A negative answer of the poller may be older than
    /// the last repair, and is verified.
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

    /// The first fault of the devices, rules and routes, if there is one. Rules for a device that
    /// is down have no effect, and the kernel forwards as usual.
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
                // For example for lack of descriptors: the next round tries again.
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
        self.divert()?;
        self.are_rules_whole = true;
        Ok(())
    }

    /// Claims ports that were recreated. Rules match the name of an interface, so they apply to it
    /// again. Returns the faults of ports.
    fn renew_ports(&mut self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (port, Numbers { port: index, .. }) in self.devices.ports().iter().zip(&mut self.numbers) {
            let what = match Interface::find(&port.name) {
                Ok(Some(interface)) if interface.index() == *index => continue,
                Ok(Some(interface)) => match self.claims.renew(&port.name) {
                    Ok(()) => {
                        *index = interface.index();
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
