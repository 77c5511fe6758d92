//! The wire of a guest's devices: the control device, the model between the hosts' network devices, and the air of its
//! cells between the kernel's radios.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_emulator::framing::{Framing, Received};
use lasthop_emulator::stepped::Stepped;
use lasthop_packet::Instant;
use lasthop_uml::{DeviceId, Frames, Wire};

use super::air::Air;
use super::control::{self, Arrived, FromGuest, GUEST_DEVICE, Inbox};
use super::job::Job;
use super::task::Task;

/// The number of the control device.
const CONTROL: usize = 0;
/// The frames on it.
const FRAMING: Framing = Framing::ToHost(GUEST_DEVICE);

/// The model, and the other end of the control device.
pub(super) struct ModelWire<'a, T: Task> {
    task: T,
    /// The model whose time goes on.
    running: Option<Timed>,
    /// That of the run, until the guest is ready.
    of_run: Option<Stepped>,
    radios: Option<Radios>,
    /// The datagrams of the job that the guest has not asked for yet.
    job: VecDeque<Vec<u8>>,
    inbox: Inbox,
    report: Option<Result<T::Report, String>>,
    stop: &'a AtomicBool,
}

/// A model, and the guest's time at the model's time zero.
struct Timed {
    model: Stepped,
    zero: Instant,
}

/// The kernel's radios, and their device.
struct Radios {
    air: Air,
    device: DeviceId,
}

/// What is between the hosts of a run.
pub(super) struct Between {
    /// The model. Its time begins when the guest is ready.
    pub(super) model: Stepped,
    /// Another one, in whose cells the kernel's radios associate before that; and these.
    pub(super) radios: Option<(Stepped, Air)>,
    /// The number of the model's ends.
    pub(super) ends: usize,
}

/// What a run has led to.
pub(super) struct Finished<R> {
    /// The guest's report or its error, if it has said one.
    pub(super) report: Option<Result<R, String>>,
    /// The model; `None` if the guest was never ready.
    pub(super) model: Option<Stepped>,
    /// The kernel's radios.
    pub(super) air: Option<Air>,
}

impl<'a, T: Task> ModelWire<'a, T> {
    pub(super) fn new(
        between: Between,
        job: &Job,
        task: T,
        stop: &'a AtomicBool,
    ) -> serde_json::Result<Self> {
        let Between { model, radios, ends } = between;
        let (before, radios) = match radios {
            Some((before, air)) => (Some(before), Some(Radios { air, device: device_of(ends) })),
            None => (None, None),
        };
        Ok(Self {
            running: before.map(|model| Timed { model, zero: Instant::ZERO }),
            of_run: Some(model),
            radios,
            job: control::datagrams_of_job(job)?.into(),
            inbox: Inbox::default(),
            report: None,
            task,
            stop,
        })
    }

    pub(super) fn finish(self) -> Finished<T::Report> {
        let is_begun = self.of_run.is_none();
        let model = self.running.filter(|_| is_begun).map(|running| running.model);
        Finished { report: self.report, model, air: self.radios.map(|radios| radios.air) }
    }

    fn on_control(&mut self, now: Instant, frame: &[u8], out: &mut Frames) {
        // The kernel sends other packets, too, such as those by which IPv6 looks for routers.
        let Received::Packet(packet) = FRAMING.open(frame) else { return };
        let Some(datagram) = control::datagram_in(packet) else { return };
        match self.inbox.add(&datagram) {
            Ok(Arrived::Nothing) => {}
            Ok(Arrived::Message(FromGuest::Job)) => {
                if let Some(datagram) = self.job.pop_front() {
                    send(datagram, out);
                }
            }
            Ok(Arrived::Message(FromGuest::Ready)) => self.begin(now, out),
            Ok(Arrived::Message(FromGuest::Input)) => match self.task.input() {
                Ok(octets) => send(control::input(&octets), out),
                Err(problem) => self.report = Some(Err(problem)),
            },
            Ok(Arrived::Message(FromGuest::Done(report))) => {
                // What has happened until now is in the model.
                self.advance(now, out);
                self.report = Some(Ok(*report));
            }
            Ok(Arrived::Message(FromGuest::Failed(message))) => self.report = Some(Err(message)),
            Ok(Arrived::Printed(output, octets)) => {
                self.report = self.task.print(output, octets).or_else(|| self.report.take());
            }
            Err(problem) => self.report = Some(Err(format!("its first program has sent {problem}"))),
        }
    }

    /// The model's time begins.
    fn begin(&mut self, now: Instant, out: &mut Frames) {
        let Some(mut model) = self.of_run.take() else { return };
        if let Some(Radios { air, device }) = &mut self.radios {
            model.with_world(|world| {
                air.move_to(world, |message| out.push(*device, message));
                air.hand_out(world, |message| out.push(*device, message));
            });
        }
        self.running = Some(Timed { model, zero: now });
    }

    /// Takes a message of the radios' driver.
    fn on_radio(&mut self, now: Instant, message: &[u8], out: &mut Frames) {
        self.advance(now, out);
        let (Some(Timed { model, .. }), Some(Radios { air, device })) = (&mut self.running, &mut self.radios)
        else {
            return;
        };
        let taken: Result<(), String> = model.with_world(|world| {
            air.take(message, world, |message| out.push(*device, message))?;
            air.hand_out(world, |message| out.push(*device, message));
            Ok(())
        });
        if let Err(problem) = taken {
            self.report = Some(Err(format!("a message of its radios' driver: {problem}")));
        }
    }
}

impl<T: Task> Wire for ModelWire<'_, T> {
    fn next_event(&self) -> Option<Instant> {
        let Timed { model, zero } = self.running.as_ref()?;
        Some(*zero + model.next_event()?.since(Instant::ZERO))
    }

    fn advance(&mut self, now: Instant, out: &mut Frames) {
        let Some(running) = &mut self.running else { return };
        running.model.advance(running.now(now), |end, frame| out.push(device_of(end), frame));
        if let Some(Radios { air, device }) = &mut self.radios {
            running.model.with_world(|world| air.hand_out(world, |message| out.push(*device, message)));
        }
    }

    fn on_frame(&mut self, now: Instant, device: DeviceId, frame: &[u8], out: &mut Frames) {
        if device.device == CONTROL {
            return self.on_control(now, frame, out);
        }
        if self.radios.as_ref().is_some_and(|radios| radios.device == device) {
            return self.on_radio(now, frame, out);
        }
        // Before the run, the model has ends only where clients roam. Elsewhere hosts have nothing to say yet.
        let Some(running) = &mut self.running else { return };
        let now = running.now(now);
        running.model.take(now, device.device - 1, frame, |end, frame| out.push(device_of(end), frame));
    }

    fn is_over(&self) -> bool {
        self.report.is_some() || self.stop.load(Ordering::Relaxed)
    }
}

impl Timed {
    /// The model's time.
    fn now(&self, now: Instant) -> Instant {
        Instant::ZERO + now.since(self.zero)
    }
}

/// Sends a datagram over the control device.
fn send(datagram: Vec<u8>, out: &mut Frames) {
    let packet = control::packet_with(datagram);
    if let Some(header) = FRAMING.header(&packet) {
        out.push(DeviceId { guest: 0, device: CONTROL }, &[header.octets(), &packet].concat());
    }
}

/// The device of the host at an end of the model.
const fn device_of(end: usize) -> DeviceId {
    DeviceId { guest: 0, device: end + 1 }
}
