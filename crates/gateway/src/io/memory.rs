//! Ports in memory, for tests: frames go in and come out without a kernel.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lasthop_packet::Instant;

use super::{Fault, LONGEST_WAIT, PacketIo, Port, PortId, Sent, Wake};
use crate::frame::Frame;
use lasthop_linux::clock;

/// Ports in memory. A clone is a second handle on the same ones, so that a test can push and take
/// while somebody else owns the first, on this thread or another.
#[derive(Clone, Debug)]
pub struct Memory {
    ports: Vec<Port>,
    /// As they were when this handle was last asked.
    faults: Vec<Fault>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

#[derive(Debug, Default)]
struct Shared {
    arriving: VecDeque<(PortId, Frame)>,
    sent: Vec<(PortId, Frame)>,
    /// How many more frames there is room for; `None` for any number.
    room: Option<usize>,
    woken: bool,
    fault: Option<fn() -> io::Error>,
    faults: Vec<Fault>,
    last_heartbeat: Option<Instant>,
}

/// Frames that one call of `receive` hands out at most.
const BATCH: usize = 64;

impl Memory {
    /// Ports with nothing in them.
    pub fn new(ports: Vec<Port>) -> Self {
        Self { ports, faults: Vec::new(), shared: Arc::default() }
    }

    /// A frame comes in by a port.
    pub fn push(&self, port: PortId, frame: Frame) {
        self.lock().arriving.push_back((port, frame));
        self.shared.1.notify_all();
    }

    /// Takes the frames that were sent since the last time, in order.
    pub fn take_sent(&self) -> Vec<(PortId, Frame)> {
        std::mem::take(&mut self.lock().sent)
    }

    /// From now on there is room for so many frames, and what comes after them is lost; `None` for
    /// any number.
    pub fn set_room(&self, frames: Option<usize>) {
        self.lock().room = frames;
    }

    /// From now on, receiving fails with the error that `fault` returns, or with its panic.
    pub fn break_ports(&self, fault: fn() -> io::Error) {
        self.lock().fault = Some(fault);
    }

    /// From now on, this is wrong.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.lock().faults = faults;
    }

    /// Ends a wait, now or the next one.
    pub fn wake(&self) {
        self.lock().woken = true;
        self.shared.1.notify_all();
    }

    /// When the loop last said that it is alive.
    pub fn last_heartbeat(&self) -> Option<Instant> {
        self.lock().last_heartbeat
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PacketIo for Memory {
    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        let mut shared = self.lock();
        if let Some(fault) = shared.fault {
            return Err(fault());
        }
        let count = shared.arriving.len().min(BATCH);
        frames.extend(shared.arriving.drain(..count));
        Ok(())
    }

    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        let mut shared = self.lock();
        match &mut shared.room {
            Some(0) => return Ok(Sent::Lost),
            Some(room) => *room -= 1,
            None => {}
        }
        shared.sent.push((port, frame.clone()));
        Ok(Sent::Whole)
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let now = clock::now();
        let longest = until.map_or(LONGEST_WAIT, |until| until.since(now).min(LONGEST_WAIT));
        let waited = self
            .shared
            .1
            .wait_timeout_while(self.lock(), longest, |shared| shared.arriving.is_empty() && !shared.woken);
        waited.unwrap_or_else(PoisonError::into_inner).0.woken = false;
        Ok(())
    }

    fn waker(&self) -> Wake {
        let memory = self.clone();
        Box::new(move || memory.wake())
    }

    fn faults(&mut self, _now: Instant) -> &[Fault] {
        let faults = self.lock().faults.clone();
        self.faults = faults;
        &self.faults
    }

    fn can_step_out(&self) -> bool {
        true
    }

    fn heartbeat(&mut self, now: Instant) {
        self.lock().last_heartbeat = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use lasthop_agent::Side;

    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
        let test = Memory::new(vec![port("wired", Side::Core), port("radio", Side::Radio)]);
        let mut io = test.clone();
        let frame = Frame::plain(vec![1, 2, 3].into());
        test.push(PortId(1), frame.clone());
        io.wait(None).expect("there is one");
        let mut frames = Vec::new();
        io.receive(&mut frames).expect("memory does not fail");
        assert_eq!(frames, [(PortId(1), frame.clone())]);

        test.set_room(Some(1));
        assert_eq!(io.send(PortId(0), &frame).expect("memory"), Sent::Whole);
        assert_eq!(io.send(PortId(0), &frame).expect("memory"), Sent::Lost);
        assert_eq!(test.take_sent(), [(PortId(0), frame)]);

        io.heartbeat(Instant::from_secs(3));
        assert_eq!(test.last_heartbeat(), Some(Instant::from_secs(3)));
    }
}
