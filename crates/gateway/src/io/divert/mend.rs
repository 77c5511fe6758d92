//! Detection, report and repair of changes to the devices and programs by other processes.

use lasthop_agent::Side;
use lasthop_packet::Instant;

use super::{Divert, DivertError, PORTS, device_of, join};
use crate::device::tx_status::TxStatusPath;
use crate::io::Fault;
use crate::io::poller::Poller;
use crate::io::proof::Broken;
use crate::radio_probe;
use lasthop_linux::device::{Interface, LARGEST_MTU};

impl Divert {
    /// Schedules the proofs of the devices, and once a round mends devices and interfaces.
    pub(super) fn check_health(&mut self, now: Instant) {
        self.devices.schedule_proofs(now);
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

    /// Sets up a device that is down, and replaces a device that does not work.
    fn mend_devices(&mut self, now: Instant) {
        let broken: Vec<(usize, Broken)> = self.devices.to_be_mended().collect();
        if self.devices.broken().next().is_none() {
            self.health.attempts.reset(now);
        }
        if broken.is_empty() || !self.health.attempts.may_try(now) {
            return;
        }
        for (port, broken) in broken {
            let mended = match broken {
                // A device that was renamed cannot be set up under its old name.
                Broken::Down => match self.devices.device(port).bring_up(LARGEST_MTU, true) {
                    Ok(_) => Ok(()),
                    Err(_) => self.replace(port),
                },
                Broken::Removed | Broken::Blocked => self.replace(port),
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

    /// Diverts frames again at radio interfaces that were recreated, or from which our programs
    /// were removed. Returns the faults of those for which this fails.
    fn mend_radios(&mut self) -> Vec<String> {
        if let Some(detached) = self.poller.as_ref().and_then(Poller::latest) {
            self.detached = detached;
        }
        let indices: Vec<u32> = self.ring.radios().collect();
        let mut faults = Vec::new();
        for (radio, old_index) in indices.into_iter().enumerate() {
            let name = self.devices.ports()[radio * PORTS].name.clone();
            let interface = match Interface::find(&name) {
                Ok(Some(interface)) => interface,
                Ok(None) => {
                    faults.push(format!("the interface {name} has disappeared"));
                    continue;
                }
                // For example for lack of descriptors.
                Err(error) => {
                    faults.push(DivertError::Interface { name, error }.to_string());
                    continue;
                }
            };
            let mended = self.mend_radio(radio, &name, old_index, &interface);
            faults.extend(mended.err().map(|error| error.to_string()));
        }
        faults
    }

    /// The path to the driver of an interface that is back, if it is to report TX status. It must be the driver that was
    /// relied on at the start.
    fn path_back(
        &self,
        radio: usize,
        name: &str,
        interface: &Interface,
    ) -> Result<Option<TxStatusPath>, DivertError> {
        let Some(known) = self.drivers.get(radio) else { return Ok(None) };
        let driver = radio_probe::driver(name).map_err(DivertError::Driver)?;
        if driver != *known {
            let (name, known) = (name.to_owned(), known.clone());
            return Err(DivertError::OtherDriver { name, driver, known });
        }
        TxStatusPath::open(interface.index()).map(Some).map_err(DivertError::TxStatus)
    }

    fn mend_radio(
        &mut self,
        radio: usize,
        name: &str,
        old_index: u32,
        interface: &Interface,
    ) -> Result<(), DivertError> {
        let unclear = |error| DivertError::Interface { name: name.to_owned(), error };
        let is_back = interface.index() != old_index;
        if is_back {
            if !interface.is_ethernet().map_err(unclear)? {
                return Err(DivertError::NotEthernet { name: name.to_owned() });
            }
            // Another driver may be behind the name now.
            let path = self.path_back(radio, name, interface)?;
            self.claims.renew(name)?;
            for port in radio * PORTS..(radio + 1) * PORTS {
                let tap = Interface::named(self.devices.device(port).name()).map_err(unclear)?.index();
                join(&mut self.programs, &self.devices.ports()[port], interface.index(), tap)?;
            }
            self.programs.maps.forget(old_index);
            self.programs.forget(name);
            self.ring.renumber(radio, interface.index());
            if let Some(path) = path {
                self.devices.report_fates(radio * PORTS, path);
            }
            tracing::info!(interface = name, "the interface is back");
            if self.poller.is_some() {
                self.detached.extend([Side::Core, Side::Radio].map(|side| (radio, side)));
            }
        }
        let mut were_removed = false;
        while let Some(at) = self.detached.iter().position(|(index, _)| *index == radio) {
            let (_, side) = self.detached[at];
            // The poller's answer may be outdated.
            if !self.programs.diverts(side, name) {
                self.programs.divert(side, name, self.how)?;
                were_removed = true;
            }
            self.detached.swap_remove(at);
        }
        if were_removed && !is_back {
            tracing::warn!(
                interface = name,
                "our programs had been removed from the interface; they are attached again"
            );
        }
        Ok(())
    }
}
