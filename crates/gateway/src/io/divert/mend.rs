//! Looking after the devices and programs: what others may have changed is found, told, and mended.

use lasthop_agent::Side;
use lasthop_packet::Instant;

use super::{Divert, DivertError, PORTS, device_of, join};
use crate::io::Fault;
use crate::io::poller::Poller;
use crate::io::proof::Broken;
use lasthop_linux::device::{Interface, LARGEST_MTU};

impl Divert {
    /// Tries the devices, and once a round everything else.
    pub(super) fn look_after(&mut self, now: Instant) {
        self.devices.try_all(now);
        let is_round = self.health.is_round(now);
        if is_round {
            self.mend_devices(now);
            self.radio_faults = self.mend_radios();
        }
        let devices = &self.devices;
        if is_round || !self.health.faults.is_empty() || devices.broken().next().is_some() {
            let broken = devices.broken().map(|(port, broken)| Fault {
                what: broken.of(devices.device(port).name()),
                loses_frames: true,
            });
            let radios =
                self.radio_faults.iter().map(|what| Fault { what: what.clone(), loses_frames: false });
            self.health.faults = broken.chain(radios).collect();
        }
    }

    /// Sets a device up that is down, and puts another in the place of one that cannot be used.
    fn mend_devices(&mut self, now: Instant) {
        let broken: Vec<(usize, Broken)> = self.devices.to_be_mended().collect();
        if self.devices.broken().next().is_none() {
            self.health.attempts.start_anew(now);
        }
        if broken.is_empty() || !self.health.attempts.may_try(now) {
            return;
        }
        for (port, broken) in broken {
            let mended = match broken {
                // One that has another name by now cannot be set up under its own.
                Broken::Down => match self.devices.device(port).bring_up(LARGEST_MTU, true) {
                    Ok(_) => Ok(()),
                    Err(_) => self.replace(port),
                },
                Broken::Removed | Broken::Deaf => self.replace(port),
            };
            if let Err(error) = mended {
                tracing::debug!(%error, "cannot mend a device");
            }
        }
    }

    fn replace(&mut self, port: usize) -> Result<(), DivertError> {
        let Some(radio) = self.ring.radios().nth(port / PORTS) else { return Ok(()) };
        let old = self.devices.device(port).name().to_owned();
        let old_index = Interface::named(&old).map(|interface| interface.index());
        self.programs.forget(&old);
        let device = device_of(&mut self.programs, &self.devices.ports()[port], radio, self.how)?;
        if let Ok(old_index) = old_index {
            self.programs.maps.forget(old_index);
        }
        tracing::info!(old, new = device.name(), "a device was replaced");
        self.devices.replace(port, device);
        Ok(())
    }

    /// Takes frames at radio interfaces that have come back, or from which our programs were removed.
    /// What is wrong with those at which that fails.
    fn mend_radios(&mut self) -> Vec<String> {
        if let Some(detached) = self.poller.as_ref().and_then(Poller::latest) {
            self.detached = detached;
        }
        let numbers: Vec<u32> = self.ring.radios().collect();
        let mut wrong = Vec::new();
        for (radio, number) in numbers.into_iter().enumerate() {
            let name = self.devices.ports()[radio * PORTS].name.clone();
            let interface = match Interface::find(&name) {
                Ok(Some(interface)) => interface,
                Ok(None) => {
                    wrong.push(format!("the interface {name} has disappeared"));
                    continue;
                }
                // Out of descriptors, for example.
                Err(error) => {
                    wrong.push(DivertError::Interface { name, error }.to_string());
                    continue;
                }
            };
            let mended = self.mend_radio(radio, &name, number, &interface);
            wrong.extend(mended.err().map(|error| error.to_string()));
        }
        wrong
    }

    fn mend_radio(
        &mut self,
        radio: usize,
        name: &str,
        number: u32,
        interface: &Interface,
    ) -> Result<(), DivertError> {
        let unclear = |error| DivertError::Interface { name: name.to_owned(), error };
        if interface.index() != number {
            if !interface.is_ethernet().map_err(unclear)? {
                return Err(DivertError::NotEthernet { name: name.to_owned() });
            }
            self.claims.renew(name)?;
            for port in radio * PORTS..(radio + 1) * PORTS {
                let tap = Interface::named(self.devices.device(port).name()).map_err(unclear)?.index();
                join(&mut self.programs, &self.devices.ports()[port], interface.index(), tap)?;
            }
            self.programs.maps.forget(number);
            self.programs.forget(name);
            self.ring.renumber(radio, interface.index());
            tracing::info!(interface = name, "the interface is back");
            if self.poller.is_some() {
                self.detached.extend([Side::Core, Side::Radio].map(|side| (radio, side)));
            }
        }
        while let Some(at) = self.detached.iter().position(|(place, _)| *place == radio) {
            let (_, side) = self.detached[at];
            // It was looked for some time ago.
            if !self.programs.diverts(side, name) {
                self.programs.divert(side, name, self.how)?;
                tracing::warn!(
                    interface = name,
                    "our program had been removed from the interface; it is attached again"
                );
            }
            self.detached.swap_remove(at);
        }
        Ok(())
    }
}
