//! The wire of the guests' devices: the control devices, the model between the hosts' network devices, and the air of its
//! cells between the kernels' radios.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_emulator::framing::{Framing, Received};
use lasthop_emulator::stepped::Stepped;
use lasthop_packet::Instant;
use lasthop_uml::{DeviceId, Frames, Wire};

use super::air::Air;
use super::control::{self, Arrived, FromGuest, GUEST_DEVICE, Inbox};
use super::job::Job;
use super::layout::{CONTROL, Layout};
use super::task::Task;

/// The frames on control devices.
const FRAMING: Framing = Framing::ToHost(GUEST_DEVICE);

/// The model, and the other ends of the control devices.
pub(super) struct ModelWire<'a, T: Task> {
    task: T,
    layout: Layout,
    guests: Vec<Guest<T::Report>>,
    /// The model whose time goes on.
    running: Option<Timed>,
    /// That of the run, until all guests are ready.
    of_run: Option<Stepped>,
    air: Option<Air>,
    /// The first guest that has failed, and why.
    failed: Option<(usize, String)>,
    stop: &'a AtomicBool,
}

/// A guest, as it is known here.
struct Guest<R> {
    /// The datagrams of the job that it has not asked for yet.
    job: VecDeque<Vec<u8>>,
    inbox: Inbox,
    is_ready: bool,
    /// Whether its flows are over; a guest that is alone does not say so.
    is_over: bool,
    report: Option<R>,
}

/// A model, and the guests' time at the model's time zero.
struct Timed {
    model: Stepped,
    zero: Instant,
}

/// What is between the hosts of a run.
pub(super) struct Between {
    /// The model. Its time begins when all guests are ready.
    pub(super) model: Stepped,
    /// Another one, in whose cells the kernels' radios associate before that; and these.
    pub(super) radios: Option<(Stepped, Air)>,
    /// The devices at the model's ends, and those of radios.
    pub(super) layout: Layout,
}

/// What a run has led to.
pub(super) struct Finished<R> {
    /// What each guest has reported; `None` from a guest that has not.
    pub(super) reports: Vec<Option<R>>,
    /// The first guest that has failed, and why.
    pub(super) failed: Option<(usize, String)>,
    /// The model; `None` if not all guests were ready.
    pub(super) model: Option<Stepped>,
    /// The kernels' radios.
    pub(super) air: Option<Air>,
}

impl<'a, T: Task> ModelWire<'a, T> {
    /// For guests with these jobs.
    pub(super) fn new(
        between: Between,
        jobs: &[Job],
        task: T,
        stop: &'a AtomicBool,
    ) -> serde_json::Result<Self> {
        let Between { model, radios, layout } = between;
        let (before, air) = radios.unzip();
        let guest = |job| {
            let job = control::datagrams_of_job(job)?.into();
            Ok(Guest { job, inbox: Inbox::default(), is_ready: false, is_over: false, report: None })
        };
        Ok(Self {
            layout,
            guests: jobs.iter().map(guest).collect::<serde_json::Result<_>>()?,
            running: before.map(|model| Timed { model, zero: Instant::ZERO }),
            of_run: Some(model),
            air,
            failed: None,
            task,
            stop,
        })
    }

    pub(super) fn finish(self) -> Finished<T::Report> {
        let is_begun = self.of_run.is_none();
        let model = self.running.filter(|_| is_begun).map(|running| running.model);
        let reports = self.guests.into_iter().map(|guest| guest.report).collect();
        Finished { reports, failed: self.failed, model, air: self.air }
    }

    fn on_control(&mut self, now: Instant, number: usize, frame: &[u8], out: &mut Frames) {
        // The kernel sends other packets, too, such as those by which IPv6 looks for routers.
        let Received::Packet(packet) = FRAMING.open(frame) else { return };
        let Some(datagram) = control::datagram_in(packet) else { return };
        let Some(guest) = self.guests.get_mut(number) else { return };
        match guest.inbox.add(&datagram) {
            Ok(Arrived::Nothing) => {}
            Ok(Arrived::Message(FromGuest::Job)) => {
                if let Some(datagram) = guest.job.pop_front() {
                    send(number, datagram, out);
                }
            }
            Ok(Arrived::Message(FromGuest::Ready)) => {
                let is_news = !std::mem::replace(&mut guest.is_ready, true);
                if is_news && self.guests.iter().all(|guest| guest.is_ready) {
                    self.begin(now, out);
                    self.tell_all(out);
                }
            }
            Ok(Arrived::Message(FromGuest::Over)) => {
                let is_news = !std::mem::replace(&mut guest.is_over, true);
                if is_news && self.guests.iter().all(|guest| guest.is_over) {
                    self.tell_all(out);
                }
            }
            Ok(Arrived::Message(FromGuest::Input)) => match self.task.input() {
                Ok(octets) => send(number, control::input(&octets), out),
                Err(problem) => self.fail(number, problem),
            },
            Ok(Arrived::Message(FromGuest::Done(report))) => {
                guest.report = Some(*report);
                // What has happened until now is in the model.
                self.advance(now, out);
            }
            Ok(Arrived::Message(FromGuest::Failed(message))) => self.fail(number, message),
            Ok(Arrived::Printed(output, octets)) => match self.task.print(output, octets) {
                Some(Ok(report)) => guest.report = Some(report),
                Some(Err(problem)) => self.fail(number, problem),
                None => {}
            },
            Err(problem) => self.fail(number, format!("its first program has sent {problem}")),
        }
    }

    fn fail(&mut self, guest: usize, problem: String) {
        self.failed.get_or_insert((guest, problem));
    }

    /// All guests learn that each of them has come as far. One alone does not wait for that.
    fn tell_all(&self, out: &mut Frames) {
        let several = 0..self.guests.len();
        for guest in several.filter(|_| self.guests.len() > 1) {
            send(guest, control::together(), out);
        }
    }

    /// The model's time begins.
    fn begin(&mut self, now: Instant, out: &mut Frames) {
        let Some(mut model) = self.of_run.take() else { return };
        if let Some(air) = &mut self.air {
            let layout = &self.layout;
            model.with_world(|world| {
                air.move_to(world, |radio, message| out.push(layout.radio(radio), message));
                air.hand_out(world, |radio, message| out.push(layout.radio(radio), message));
            });
        }
        self.running = Some(Timed { model, zero: now });
    }

    /// Takes a message of the radios' driver in a guest.
    fn on_radio(&mut self, now: Instant, guest: usize, message: &[u8], out: &mut Frames) {
        self.advance(now, out);
        let Self { running: Some(Timed { model, zero }), air: Some(air), layout, .. } = self else { return };
        let taken = model.with_world(|world| {
            air.take(guest, message, world, |radio, message| out.push(layout.radio(radio), message))
        });
        exchange(model, (air, layout), model_time(now, *zero), Vec::new(), out);
        if let Err(problem) = taken {
            self.fail(guest, format!("a message of its radios' driver: {problem}"));
        }
    }
}

impl<T: Task> Wire for ModelWire<'_, T> {
    fn next_event(&self) -> Option<Instant> {
        let Timed { model, zero } = self.running.as_ref()?;
        Some(*zero + model.next_event()?.since(Instant::ZERO))
    }

    fn advance(&mut self, now: Instant, out: &mut Frames) {
        let Self { running: Some(Timed { model, zero }), air, layout, .. } = self else { return };
        let mut packets = Vec::new();
        model.advance(model_time(now, *zero), |end, frame| layout.hand_out(end, frame, out, &mut packets));
        if let Some(air) = air {
            exchange(model, (air, layout), model_time(now, *zero), packets, out);
        }
    }

    fn on_frame(&mut self, now: Instant, device: DeviceId, frame: &[u8], out: &mut Frames) {
        if device.device == CONTROL {
            return self.on_control(now, device.guest, frame, out);
        }
        if self.layout.is_of_radios(device) {
            return self.on_radio(now, device.guest, frame, out);
        }
        // Before the run, the model has ends only where clients roam. Elsewhere hosts have nothing to say yet.
        let Self { running: Some(Timed { model, zero }), air, layout, .. } = self else { return };
        let Some(end) = layout.end(device) else { return };
        let (now, mut packets) = (model_time(now, *zero), Vec::new());
        model.take(now, end, frame, |end, frame| layout.hand_out(end, frame, out, &mut packets));
        if let Some(air) = air.as_mut().filter(|_| !packets.is_empty()) {
            exchange(model, (air, layout), now, packets, out);
        }
    }

    fn is_over(&self) -> bool {
        let has_all = || self.guests.iter().all(|guest| guest.report.is_some());
        self.failed.is_some() || has_all() || self.stop.load(Ordering::Relaxed)
    }
}

/// Has simulated stations send these packets of their hosts, and their hosts take what the stations receive, until nothing
/// is left for now.
fn exchange(
    model: &mut Stepped,
    (air, layout): (&mut Air, &Layout),
    now: Instant,
    mut packets: Vec<(usize, Vec<u8>)>,
    out: &mut Frames,
) {
    loop {
        model.with_world(|world| {
            for (station, packet) in packets.drain(..) {
                air.send_packet(station, &packet, world);
            }
            air.hand_out(world, |radio, message| out.push(layout.radio(radio), message));
        });
        let received = air.take_received();
        if received.is_empty() {
            return;
        }
        for (station, packet) in received {
            let end = layout.end_count() + station;
            model.take(now, end, &packet, |end, frame| layout.hand_out(end, frame, out, &mut packets));
        }
    }
}

/// The time of the model whose time zero is this.
fn model_time(now: Instant, zero: Instant) -> Instant {
    Instant::ZERO + now.since(zero)
}

/// Sends a datagram over the control device of a guest.
fn send(guest: usize, datagram: Vec<u8>, out: &mut Frames) {
    let packet = control::packet_with(datagram);
    if let Some(header) = FRAMING.header(&packet) {
        out.push(DeviceId { guest, device: CONTROL }, &[header.octets(), &packet].concat());
    }
}
