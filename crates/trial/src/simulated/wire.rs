//! The wire of a guest's devices: the control device, and the model between all others.

use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_emulator::framing::{Framing, Received};
use lasthop_emulator::stepped::Stepped;
use lasthop_packet::Instant;
use lasthop_uml::{DeviceId, Frames, Wire};

use super::control::{self, FromGuest, GUEST_DEVICE, Inbox, Job};
use crate::hosts::HostResults;

/// The number of the control device.
const CONTROL: usize = 0;
/// The frames on it.
const FRAMING: Framing = Framing::ToHost(GUEST_DEVICE);

/// The model, and the other end of the control device.
pub(super) struct ModelWire<'a> {
    model: Stepped,
    /// The guest's time at the model's time zero; `None` until the guest is ready.
    epoch: Option<Instant>,
    /// The datagrams of the job.
    job: Vec<Vec<u8>>,
    inbox: Inbox,
    results: Option<Result<HostResults, String>>,
    stop: &'a AtomicBool,
}

impl<'a> ModelWire<'a> {
    pub(super) fn new(model: Stepped, job: &Job, stop: &'a AtomicBool) -> serde_json::Result<Self> {
        let job = control::datagrams(job)?;
        Ok(Self { model, epoch: None, job, inbox: Inbox::default(), results: None, stop })
    }

    /// The guest's results or its error, if it has reported one, and the model.
    pub(super) fn finish(self) -> (Option<Result<HostResults, String>>, Stepped) {
        (self.results, self.model)
    }

    fn on_control(&mut self, now: Instant, frame: &[u8], out: &mut Frames) {
        // The kernel sends other packets, too, such as those by which IPv6 looks for routers.
        let Received::Packet(packet) = FRAMING.open(frame) else { return };
        let Some(datagram) = control::datagram_in(packet) else { return };
        match self.inbox.add(&datagram) {
            Ok(None) => {}
            Ok(Some(FromGuest::Hello)) => self.send_job(out),
            Ok(Some(FromGuest::Ready)) => self.epoch = Some(now),
            Ok(Some(FromGuest::Results(results))) => self.results = Some(Ok(*results)),
            Ok(Some(FromGuest::Failed(message))) => self.results = Some(Err(message)),
            Err(problem) => self.results = Some(Err(format!("its first program has sent {problem}"))),
        }
    }

    fn send_job(&self, out: &mut Frames) {
        for datagram in &self.job {
            let packet = control::packet_with(datagram.clone());
            if let Some(header) = FRAMING.header(&packet) {
                out.push(DeviceId { guest: 0, device: CONTROL }, &[header.octets(), &packet].concat());
            }
        }
    }
}

impl Wire for ModelWire<'_> {
    fn next_event(&self) -> Option<Instant> {
        Some(self.epoch? + self.model.next_event()?.since(Instant::ZERO))
    }

    fn advance(&mut self, now: Instant, out: &mut Frames) {
        let Some(epoch) = self.epoch else { return };
        self.model.advance(Instant::ZERO + now.since(epoch), |end, frame| out.push(device_of(end), frame));
    }

    fn on_frame(&mut self, now: Instant, device: DeviceId, frame: &[u8], out: &mut Frames) {
        if device.device == CONTROL {
            return self.on_control(now, frame, out);
        }
        // Hosts that are not ready have nothing to say.
        let Some(epoch) = self.epoch else { return };
        let now = Instant::ZERO + now.since(epoch);
        self.model.take(now, device.device - 1, frame, |end, frame| out.push(device_of(end), frame));
    }

    fn is_over(&self) -> bool {
        self.results.is_some() || self.stop.load(Ordering::Relaxed)
    }
}

/// The device of the host at an end of the model.
const fn device_of(end: usize) -> DeviceId {
    DeviceId { guest: 0, device: end + 1 }
}
