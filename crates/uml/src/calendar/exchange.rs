//! The exchange of messages with one guest at a time.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::error::{Error, Fault, LastMessage};
use crate::guest::Input;
use crate::time::{Message, Operation, Received};
use crate::vhost::{self, Outcome};
use crate::wire::{DeviceId, Wire};

use super::Calendar;

/// The kind of a message from a guest.
enum Served {
    /// A question, which was answered.
    Answered,
    /// The answer to the calendar's message with this sequence number.
    Answer(u32),
    /// It has taken the interrupt.
    Interrupted,
    /// It has ended.
    Ended,
}

/// How many messages of a guest pass before the length of its console is looked at. Between two messages, it may print for
/// almost as long as [`SILENCE`].
const CONSOLE_CHECK: u32 = 16;

/// Real time without a message after which it is looked at whether the run is over.
const SILENCE: Duration = Duration::from_millis(100);

impl Calendar {
    /// The guest may run, from now until it waits.
    pub(super) fn give_turn(&mut self, number: usize, wire: &mut impl Wire) -> Result<(), Error> {
        self.messages.turns += 1;
        let limit = self.limit(number, wire);
        let now = self.now;
        if let Some((schedule, client)) = self.shared(number) {
            schedule.run(client, now, limit);
            self.guests[number].turn_mut().run(now, limit);
            self.send(number, Operation::Run, now)?;
        } else {
            // A guest forgets this when it waits.
            if limit > now && !self.command(number, Operation::FreeUntil, limit, wire)? {
                return Ok(());
            }
            self.guests[number].turn_mut().run(now, limit);
            if !self.command(number, Operation::Run, now, wire)? {
                return Ok(());
            }
        }
        self.serve_until_it_waits(number, wire)
    }

    /// Serves a guest that runs.
    pub(super) fn serve_until_it_waits(&mut self, number: usize, wire: &mut impl Wire) -> Result<(), Error> {
        while !self.guests[number].has_ended() && !self.guests[number].turn().is_waiting() {
            let served = self.serve(number, wire)?;
            self.expect_no_answer(number, &served)?;
        }
        self.take_request(number);
        Ok(())
    }

    /// Moves pending frames into the buffers of guests, which all wait, and interrupts those that need it.
    pub(super) fn deliver(&mut self, wire: &mut impl Wire) -> Result<(), Error> {
        for number in 0..self.guests.len() {
            for device in 0..self.guests[number].devices() {
                let port = self.guests[number].device_mut(device);
                if port.has_pending() {
                    port.flush().map_err(|cause| self.error(number, Fault::Device { device, cause }))?;
                }
                while !self.guests[number].has_ended()
                    && let Some(interrupt) = self.guests[number].device_mut(device).take_interrupt()
                {
                    self.interrupt(number, device, interrupt.queue, wire)?;
                }
            }
        }
        Ok(())
    }

    /// Interrupts a guest that waits. It asks for the time, and to run at this time, before it answers.
    fn interrupt(
        &mut self,
        number: usize,
        device: usize,
        queue: u16,
        wire: &mut impl Wire,
    ) -> Result<(), Error> {
        self.messages.interrupts += 1;
        // It waits, and what was left of its last turn is not its own any more.
        let now = self.now;
        self.guests[number].turn_mut().lower(now, now);
        if let Some((schedule, _)) = self.shared(number) {
            schedule.set_time(self.now);
        }
        let sent = self.guests[number].interrupt(device, queue);
        if !sent.map_err(|fault| self.error(number, fault))? {
            return Ok(());
        }
        loop {
            match self.serve(number, wire)? {
                Served::Interrupted => break,
                Served::Ended => return Ok(()),
                served => self.expect_no_answer(number, &served)?,
            }
        }
        self.take_request(number);
        Ok(())
    }

    /// In shared memory, a guest's request is where it has left it.
    fn take_request(&mut self, number: usize) {
        let Some((schedule, client)) = self.shared(number) else { return };
        schedule.stop();
        let request = schedule.request(client);
        self.guests[number].turn_mut().request(request);
    }

    /// Sends a message on the time socket, and serves the guest until it answers; returns false if it has ended.
    fn command(
        &mut self,
        number: usize,
        operation: Operation,
        time: Instant,
        wire: &mut impl Wire,
    ) -> Result<bool, Error> {
        self.send(number, operation, time)?;
        let expected = self.sequence;
        loop {
            match self.serve(number, wire)? {
                Served::Answer(received) if received == expected => return Ok(true),
                Served::Answer(received) => {
                    let fault = Fault::Answer { received, expected: Some(expected) };
                    return Err(self.error(number, fault));
                }
                Served::Ended => return Ok(false),
                Served::Answered | Served::Interrupted => {}
            }
        }
    }

    fn send(&mut self, number: usize, operation: Operation, time: Instant) -> Result<(), Error> {
        self.messages.time += 1;
        self.sequence = self.sequence.wrapping_add(1);
        let message = Message { operation, sequence: self.sequence, time: time.as_nanos() };
        let sent = self.guests[number].send(message);
        sent.map_err(|fault| self.error(number, fault))
    }

    fn expect_no_answer(&mut self, number: usize, served: &Served) -> Result<(), Error> {
        match *served {
            Served::Answer(received) => Err(self.error(number, Fault::Answer { received, expected: None })),
            _ => Ok(()),
        }
    }

    /// Serves one message of a guest.
    fn serve(&mut self, number: usize, wire: &mut impl Wire) -> Result<Served, Error> {
        let served = self.try_serve(number, wire);
        served.map_err(|fault| self.error(number, fault))
    }

    fn try_serve(&mut self, number: usize, wire: &mut impl Wire) -> Result<Served, Fault> {
        self.steps += 1;
        if self.steps > self.settings.steps_at_one_time {
            return Err(Fault::Loop(self.steps));
        }
        match self.next_input(number, wire)? {
            Input::Time(message) => {
                self.last[number] = Some(LastMessage::Time(message));
                self.messages.time += 1;
                self.on_time(number, message)
            }
            Input::Request { device, message, files } => {
                self.messages.requests += 1;
                self.on_request(DeviceId { guest: number, device }, &message, files, wire)?;
                self.last[number] = Some(LastMessage::Request(device, message.request));
                Ok(Served::Answered)
            }
            Input::Interrupted => {
                self.last[number] = Some(LastMessage::Interrupted);
                Ok(Served::Interrupted)
            }
            Input::Ended => {
                self.guests[number].end();
                Ok(Served::Ended)
            }
        }
    }

    /// The next message of a guest, which may be silent for some real time. If the wire is over, so is the guest's turn.
    fn next_input(&mut self, number: usize, wire: &impl Wire) -> Result<Input, Fault> {
        let patience = self.settings.patience;
        let mut silent = Duration::ZERO;
        while silent < patience {
            if wire.is_over() {
                return Err(Fault::Stopped);
            }
            let pause = SILENCE.min(patience.saturating_sub(silent));
            let input = self.guests[number].next(pause)?;
            let unchecked = &mut self.unchecked[number];
            *unchecked += 1;
            if input.is_none() || *unchecked >= CONSOLE_CHECK {
                *unchecked = 0;
                self.check_console(number)?;
            }
            if let Some(input) = input {
                return Ok(input);
            }
            silent += pause;
        }
        Err(Fault::Hung(patience))
    }

    fn on_time(&mut self, number: usize, message: Message) -> Result<Served, Fault> {
        let now = self.now;
        let (answer, now) = match self.guests[number].turn_mut().receive(message, now)? {
            Received::Answer(sequence) => return Ok(Served::Answer(sequence)),
            Received::Question { answer, now } => (answer, now),
        };
        self.advance(now);
        if message.operation == Operation::Start {
            self.answer_start(number, message)?;
        } else if message.operation != Operation::Wait || self.shared(number).is_none() {
            self.guests[number].send(message.ack(answer))?;
        }
        Ok(Served::Answered)
    }

    /// A guest that cannot use the shared schedule passes over its number and its descriptors.
    fn answer_start(&mut self, number: usize, message: Message) -> Result<(), Fault> {
        let now = self.now;
        let client = self.schedule.as_ref().and_then(|schedule| schedule.client(number as u16));
        let (Some(schedule), Some(client)) = (&self.schedule, client) else {
            return self.guests[number].send(message.ack(0));
        };
        // It boots, and may not advance its clock.
        schedule.run(client, now, now);
        self.guests[number].send_schedule(message.ack(client.number().into()), schedule.file())
    }

    fn on_request(
        &mut self,
        id: DeviceId,
        message: &vhost::Message,
        files: Vec<std::os::fd::OwnedFd>,
        wire: &mut impl Wire,
    ) -> Result<(), Fault> {
        self.take_time(id.guest)?;
        let fault = |cause| Fault::Device { device: id.device, cause };
        let (now, frames) = (self.now, &mut self.frames);
        let guest = &mut self.guests[id.guest];
        let device = guest.device_mut(id.device);
        match device.handle(&message.request, files).map_err(fault)? {
            Outcome::Reply(reply) => return guest.reply(id.device, &reply),
            Outcome::Done => {}
            Outcome::Interrupts(socket) => guest.set_interrupts(id.device, socket)?,
            Outcome::Receives => device.has_buffers(),
            Outcome::Transmits => {
                device.transmit(|frame| wire.on_frame(now, id, frame, frames)).map_err(fault)?;
                self.distribute();
            }
        }
        self.lower_limit(id.guest, wire)?;
        if message.needs_reply {
            let done = vhost::done(&message.request);
            self.guests[id.guest].reply(id.device, &done)?;
        }
        Ok(())
    }

    /// In shared memory, a guest writes its time before each kick.
    fn take_time(&mut self, number: usize) -> Result<(), Fault> {
        let Some((schedule, _)) = self.shared(number) else { return Ok(()) };
        let time = schedule.time();
        let now = self.now;
        let now = self.guests[number].turn().advance(now, time)?;
        self.advance(now);
        Ok(())
    }

    /// What a guest that runs has sent may make an event that ends its turn earlier. It waits for the answer to its
    /// request, and reads its time socket meanwhile.
    fn lower_limit(&mut self, number: usize, wire: &mut impl Wire) -> Result<(), Fault> {
        let (limit, now) = (self.limit(number, wire), self.now);
        let turn = *self.guests[number].turn();
        if turn.is_waiting() || limit >= turn.limit() {
            return Ok(());
        }
        self.guests[number].turn_mut().lower(now, limit);
        if let Some((schedule, _)) = self.shared(number) {
            schedule.set_limit(limit);
            return Ok(());
        }
        self.messages.time += 1;
        self.sequence = self.sequence.wrapping_add(1);
        let expected = self.sequence;
        let message = Message { operation: Operation::FreeUntil, sequence: expected, time: limit.as_nanos() };
        self.guests[number].send(message)?;
        match self.next_input(number, wire)? {
            Input::Time(answer) if answer.operation == Operation::Ack && answer.sequence == expected => {
                self.messages.time += 1;
                Ok(())
            }
            Input::Time(other) => Err(Fault::Answer { received: other.sequence, expected: Some(expected) }),
            _ => Err(Fault::Answer { received: 0, expected: Some(expected) }),
        }
    }

    fn check_console(&mut self, number: usize) -> Result<(), Fault> {
        let most = self.settings.console;
        if self.guests[number].machine().console_length()? > most {
            Err(Fault::Console(most))
        } else {
            Ok(())
        }
    }
}
