//! Which of a guest's sockets has something.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::kernel::MAX_DEVICES;

/// Waits for a guest's sockets, and for the end of its process.
#[derive(Debug)]
pub struct Watch {
    epoll: OwnedFd,
}

/// What can have something. If several have, the first in this order comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The time socket.
    Time,
    /// The socket of a device's requests.
    Device(usize),
    /// The socket of a device's interrupts.
    Interrupt(usize),
    /// The process has ended.
    End,
}

/// Time, the two sockets of each device, the process.
const MAX_SOURCES: usize = 2 * MAX_DEVICES + 2;

impl Watch {
    /// Waits for nothing.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Waits for this as well: until its descriptor is closed, if no other process has it, or until it is
    /// [removed](Self::remove).
    pub fn add(&self, source: Source, file: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, file, EventData::new_u64(source.number()), EventFlags::IN)?)
    }

    /// Does not wait for this any more.
    pub fn remove(&self, file: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, file)?)
    }

    /// The first that has something; `None` if nothing has for `patience` of real time.
    pub fn wait(&self, patience: Duration) -> io::Result<Option<Source>> {
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; MAX_SOURCES];
        let number = loop {
            match epoll::wait(&self.epoll, &mut events, Some(&patience)) {
                Err(Errno::INTR) => {}
                number => break number?,
            }
        };
        Ok(events[..number].iter().map(|event| Source::of(event.data.u64())).min())
    }
}

impl Source {
    const END: u64 = u64::MAX;
    const INTERRUPTS: u64 = 1 << 32;

    /// In the order of the sources.
    const fn number(self) -> u64 {
        match self {
            Self::Time => 0,
            Self::Device(device) => 1 + device as u64,
            Self::Interrupt(device) => Self::INTERRUPTS + device as u64,
            Self::End => Self::END,
        }
    }

    const fn of(number: u64) -> Self {
        match number {
            0 => Self::Time,
            Self::END => Self::End,
            Self::INTERRUPTS.. => Self::Interrupt((number - Self::INTERRUPTS) as usize),
            _ => Self::Device((number - 1) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_first_in_order_comes_first() {
        let watch = Watch::new().expect("epoll");
        let sources =
            [Source::End, Source::Interrupt(0), Source::Device(15), Source::Device(0), Source::Time];
        let mut sockets = Vec::new();
        for source in sources {
            let (here, mut there) = UnixStream::pair().expect("a pair");
            watch.add(source, &here).expect("it is new");
            assert_eq!(watch.wait(Duration::ZERO).expect("epoll").is_some(), !sockets.is_empty());
            there.write_all(b"x").expect("there is room");
            assert_eq!(watch.wait(Duration::from_secs(60)).expect("epoll"), Some(source));
            sockets.push((here, there));
        }
        let (first, _others) = sockets.pop().expect("there are five");
        watch.remove(&first).expect("it was added");
        assert_eq!(watch.wait(Duration::ZERO).expect("epoll"), Some(Source::Device(0)));
        drop(sockets);
        assert_eq!(watch.wait(Duration::ZERO).expect("epoll"), None);
    }
}
