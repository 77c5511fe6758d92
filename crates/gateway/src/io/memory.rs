//! Ports in memory, for tests: frames go in and come out without a kernel.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lasthop_packet::Instant;

use super::{Fault, LONGEST_WAIT, PacketIo, Port, PortId, Sent, Wake};
use crate::frame::Frame;
use lasthop_linux::clock;

/// Ports in memory. A clone is a second handle for the same ports, so that a test can push and take
/// frames while a packet loop owns the first handle.
#[derive(Clone, Debug)]
pub struct Memory {
    ports: Vec<Port>,
    /// The faults at the last call of [`PacketIo::faults`] on this handle.
    faults: Vec<Fault>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

#[derive(Debug, Default)]
struct Shared {
    arriving: VecDeque<(PortId, Frame)>,
    sent: Vec<(PortId, Frame)>,
    /// The number of further frames that are not lost; `None` for any number.
    room: Option<usize>,
    woken: bool,
    fault: Option<fn() -> io::Error>,
    faults: Vec<Fault>,
    last_heartbeat: Option<Instant>,
}

/// The maximum number of frames that one call of `receive` returns.
const BATCH: usize = 64;

impl Memory {
    /// Creates ports without frames.
    pub fn new(ports: Vec<Port>) -> Self {
        Self { ports, faults: Vec::new(), shared: Arc::default() }
    }

    /// Adds a frame to be received on a port.
    pub fn push(&self, port: PortId, frame: Frame) {
        self.lock().arriving.push_back((port, frame));
        self.shared.1.notify_all();
    }

    /// Returns the frames sent since the previous call, in order.
    pub fn take_sent(&self) -> Vec<(PortId, Frame)> {
        std::mem::take(&mut self.lock().sent)
    }

    /// Has all frames lost after this number of further frames; `None` for no loss.
    pub fn set_room(&self, frames: Option<usize>) {
        self.lock().room = frames;
    }

    /// Has receiving fail with the error that `fault` returns, or with its panic.
    pub fn break_ports(&self, fault: fn() -> io::Error) {
        self.lock().fault = Some(fault);
    }

    /// Sets the faults of the ports.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.lock().faults = faults;
    }

    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        self.lock().woken = true;
        self.shared.1.notify_all();
    }

    /// The time of the loop's last heartbeat.
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
    fn frames_are_received_and_sent_unchanged() {
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
