//! The calendar: who acts next, and when. Guests and the wire have events; the earliest comes first, the
//! wire's before a guest's of the same time, and guests in their order.
//!
//! - A guest runs until it waits. Its clock may advance by itself as long as it stays below the next event
//!   of all others.
//! - What it sends meanwhile may make an earlier event: then its turn ends earlier. It learns so before its
//!   kick is acknowledged.
//! - Frames and interrupts reach a guest only while it waits, all of one time together.
//!
//! So nothing depends on real time, nor on which socket has something first.

mod exchange;

use std::time::Duration;

use lasthop_packet::Instant;

use crate::error::{Error, Fault, GuestError, LastMessage};
use crate::guest::Guest;
use crate::kernel::Kernel;
use crate::machine::StartError;
use crate::memory_folder;
use crate::processor::Stay;
use crate::time::{Client, Schedule};
use crate::vhost::Counts;
use crate::wire::{DeviceId, Frames, Wire};

/// Guests, and their time.
#[derive(Debug)]
pub struct Calendar {
    /// In the order of their numbers.
    guests: Vec<Guest>,
    last: Vec<Option<LastMessage>>,
    /// Messages of each guest since the length of its console was looked at.
    unchecked: Vec<u32>,
    schedule: Option<Schedule>,
    now: Instant,
    /// No guest's clock passes this time.
    until: Instant,
    frames: Frames,
    settings: Settings,
    messages: Messages,
    sequence: u32,
    /// Steps since time has moved.
    steps: u32,
}

/// How guests are run, and what ends one that does not behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Real time without a message, while it is a guest's turn.
    pub patience: Duration,
    /// Messages and events while time stands still. A guest sends two or three for each frame.
    pub steps_at_one_time: u32,
    /// Octets of a guest's console. It is looked at while the guest runs, so that it may become somewhat longer.
    pub console: u64,
    /// Whether guests that can share the calendar's time in memory do so. It changes nothing but speed.
    pub shares_time: bool,
    /// The processor on which the guests run, and this thread while the calendar does. They take turns: on one
    /// processor, an exchange of messages costs half. Without one, the system chooses at all times.
    pub processor: Option<usize>,
    /// The time of day at the start of all guests, since 1970.
    pub time_of_day: Duration,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The wire says so.
    Wire,
    /// Nothing happens until the given time.
    Time,
    /// All guests have shut down.
    Guests,
}

/// How often what was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Turns that guests were given.
    pub turns: u64,
    /// Messages on time sockets, either way, without answers.
    pub time: u64,
    /// Requests of drivers, most of which are kicks.
    pub requests: u64,
    /// Interrupts.
    pub interrupts: u64,
}

/// A guest's turn ends after this time, so that a guest which needs no other one is heard of.
const LONGEST_TURN: Duration = Duration::from_millis(100);

impl Default for Settings {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            steps_at_one_time: 250_000,
            console: 64 << 20,
            shares_time: true,
            processor: None,
            // 1 January 2026.
            time_of_day: Duration::from_secs(1_767_225_600),
        }
    }
}

impl Calendar {
    /// Starts the guests. Their clocks stand at 0 until the calendar runs.
    pub fn start(kernels: Vec<Kernel>, settings: Settings) -> Result<Self, Error> {
        let time_of_day = u64::try_from(settings.time_of_day.as_nanos()).unwrap_or(u64::MAX);
        let octets = kernels.iter().map(Kernel::octets).sum();
        let of_memory = memory_folder::choose(octets).map_err(StartError::Memory)?;
        let start = |kernel| Guest::start(kernel, &of_memory, time_of_day, settings.processor);
        let guests = kernels.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let clients = u16::try_from(guests.len()).ok().filter(|_| settings.shares_time);
        Ok(Self {
            last: guests.iter().map(|_| None).collect(),
            unchecked: vec![0; guests.len()],
            guests,
            schedule: clients.map(Schedule::new).transpose()?,
            now: Instant::ZERO,
            until: Instant::ZERO,
            frames: Frames::default(),
            settings,
            messages: Messages::default(),
            sequence: 0,
            steps: 0,
        })
    }

    /// The time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What was said until now.
    pub const fn messages(&self) -> Messages {
        self.messages
    }

    /// What has passed a device.
    pub fn counts(&self, id: DeviceId) -> Option<Counts> {
        let guest = self.guests.get(id.guest)?;
        (id.device < guest.devices()).then(|| guest.device(id.device).counts())
    }

    /// The devices that have lost frames, each with how many, and why.
    pub fn losses(&self) -> impl Iterator<Item = (DeviceId, String)> {
        let of_guest = |(number, guest): (usize, &Guest)| {
            let losses = (0..guest.devices()).map(|device| guest.device(device).counts().losses());
            let of_device = |(device, losses): (usize, Option<String>)| {
                Some((DeviceId { guest: number, device }, losses?))
            };
            losses.enumerate().filter_map(of_device).collect::<Vec<_>>()
        };
        self.guests.iter().enumerate().flat_map(of_guest)
    }

    /// The process group of a guest.
    pub fn process(&self, guest: usize) -> Option<u32> {
        Some(self.guests.get(guest)?.machine().process())
    }

    /// The end of a guest's console.
    pub fn console(&mut self, guest: usize) -> Option<String> {
        Some(self.guests.get_mut(guest)?.machine_mut().console_tail())
    }

    /// Runs guests and wire until one of the [ends](End), at the latest when all that remains is after `until`. If a wire
    /// is over during a guest's turn, the guest is stopped there, and cannot be run again.
    pub fn run(&mut self, wire: &mut impl Wire, until: Instant) -> Result<End, Error> {
        match self.run_until(wire, until) {
            Err(Error::Guest(error)) if matches!(error.fault, Fault::Stopped) => Ok(End::Wire),
            over => over,
        }
    }

    fn run_until(&mut self, wire: &mut impl Wire, until: Instant) -> Result<End, Error> {
        self.until = until;
        let _stays = self.settings.processor.map(Stay::on).transpose()?;
        for guest in 0..self.guests.len() {
            self.serve_until_it_waits(guest, wire)?;
        }
        loop {
            if wire.is_over() {
                return Ok(End::Wire);
            }
            if self.guests.iter().all(Guest::has_ended) {
                return Ok(End::Guests);
            }
            self.deliver(wire)?;
            let event = wire.next_event();
            let request = self.next_request();
            let next = match (event, request) {
                (None, None) => return Err(Error::Stuck(self.now)),
                (Some(event), request) if request.is_none_or(|(time, _)| event <= time) => (event, None),
                (_, Some((time, guest))) => (time, Some(guest)),
                (Some(event), None) => (event, None),
            };
            if next.0 > until {
                return Ok(End::Time);
            }
            self.advance(next.0);
            match next.1 {
                Some(guest) => self.give_turn(guest, wire)?,
                None => self.run_wire(wire)?,
            }
        }
    }

    /// Moves time forward, if it is not there.
    fn advance(&mut self, to: Instant) {
        if to > self.now {
            self.now = to;
            self.steps = 0;
        }
    }

    fn run_wire(&mut self, wire: &mut impl Wire) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > self.settings.steps_at_one_time {
            return Err(Error::Wire { steps: self.steps, now: self.now });
        }
        wire.advance(self.now, &mut self.frames);
        self.distribute();
        Ok(())
    }

    /// The frames that the wire has handed over go to their devices. Those for devices that are not there are lost.
    fn distribute(&mut self) {
        for (id, frame) in self.frames.iter() {
            if let Some(guest) = self.guests.get_mut(id.guest)
                && !guest.has_ended()
                && id.device < guest.devices()
            {
                guest.device_mut(id.device).receive(frame);
            }
        }
        self.frames.clear();
    }

    /// The earliest request, of the first guest that has it.
    fn next_request(&self) -> Option<(Instant, usize)> {
        self.running().filter_map(|(number, guest)| Some((guest.turn().requested().time()?, number))).min()
    }

    /// What the clock of a guest that runs stays below.
    fn limit(&self, guest: usize, wire: &impl Wire) -> Instant {
        let must_wait = |guest: &Guest| {
            (0..guest.devices())
                .map(|device| guest.device(device))
                .any(|device| device.owes_interrupt() || device.has_pending())
        };
        if self.running().any(|(_, guest)| must_wait(guest)) {
            return self.now;
        }
        let others = self.running().filter(|(number, _)| *number != guest);
        let requests = others.filter_map(|(_, other)| other.turn().requested().time());
        let longest = (self.now + LONGEST_TURN).min(self.until.after_nanos(1));
        requests.chain(wire.next_event()).fold(longest, Instant::min).max(self.now)
    }

    /// The guests that have not ended.
    fn running(&self) -> impl Iterator<Item = (usize, &Guest)> {
        self.guests.iter().enumerate().filter(|(_, guest)| !guest.has_ended())
    }

    /// A guest's place in the shared schedule, if it uses it.
    fn shared(&self, guest: usize) -> Option<(&Schedule, Client)> {
        let schedule = self.schedule.as_ref()?;
        let client = schedule.client(guest as u16)?;
        schedule.is_used_by(client).then_some((schedule, client))
    }

    /// An error about a guest.
    fn error(&mut self, number: usize, fault: Fault) -> Error {
        let console = self.console(number).unwrap_or_default();
        let last = self.last[number].clone();
        Error::Guest(Box::new(GuestError { guest: number, now: self.now, last, fault, console }))
    }
}
