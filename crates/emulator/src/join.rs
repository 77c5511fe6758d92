//! One relayed connection: octets both ways, until both ends have closed or one is reset.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use portable_atomic::AtomicU64;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::set_socket_linger;

/// What waits in each direction, at most, beside what the kernel holds.
const BUFFER: usize = 32 * 1024;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Both ends closed, or one was reset and so was the other.
    Over,
    /// It was cut before the service had taken all that the guest had sent.
    Cut,
}

/// Carries octets both ways until both ends have closed. If one is reset, the other is, too. Once
/// `cut` is readable, what is not closed yet is reset.
pub(super) fn join(
    client: &TcpStream,
    service: &TcpStream,
    cut: &OwnedFd,
    progress: &AtomicU64,
) -> io::Result<Outcome> {
    for stream in [client, service] {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
    }
    let mut ways = [Way::new(client, service), Way::new(service, client)];
    let carried = loop {
        match ways.iter_mut().try_for_each(|way| way.carry(progress)) {
            Ok(()) if ways.iter().all(|way| way.is_closed) => return Ok(Outcome::Over),
            Ok(()) => {}
            Err(error) => break Err(error),
        }
        match wait(&ways, cut) {
            Ok(false) => {}
            Ok(true) => {
                // The kernel delivers what it was given before the end.
                let [up, _] = &ways;
                if up.is_closed {
                    return Ok(Outcome::Over);
                }
                break Ok(if up.is_empty() { Outcome::Over } else { Outcome::Cut });
            }
            Err(error) => break Err(error),
        }
    };
    reset_at_close(client);
    reset_at_close(service);
    carried
}

/// Has a connection end with a reset once it is closed.
pub(super) fn reset_at_close(stream: &TcpStream) {
    // One that is gone needs none.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// One direction.
struct Way<'s> {
    from: &'s TcpStream,
    to: &'s TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer is to be sent.
    waiting: std::ops::Range<usize>,
    /// Nothing more comes.
    is_over: bool,
    /// The other end knows.
    is_closed: bool,
}

impl<'s> Way<'s> {
    fn new(from: &'s TcpStream, to: &'s TcpStream) -> Self {
        Self { from, to, buffer: vec![0; BUFFER], waiting: 0..0, is_over: false, is_closed: false }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Moves what can be moved now.
    fn carry(&mut self, progress: &AtomicU64) -> io::Result<()> {
        loop {
            if self.is_empty() && !self.is_over {
                let Some(len) = now((&mut self.from).read(&mut self.buffer))? else { return Ok(()) };
                self.waiting = 0..len;
                self.is_over = len == 0;
            }
            if self.is_empty() {
                if !self.is_closed {
                    self.to.shutdown(Shutdown::Write)?;
                    self.is_closed = true;
                }
                return Ok(());
            }
            let sent = now((&mut self.to).write(&self.buffer[self.waiting.clone()]))?;
            let Some(sent) = sent else { return Ok(()) };
            self.waiting.start += sent;
            progress.fetch_add(sent as u64, Ordering::Relaxed);
        }
    }

    fn wants_to_read(&self) -> bool {
        self.is_empty() && !self.is_over
    }
}

/// What came of a call that must not wait; `None` if it would have to.
fn now(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // Once more, soon.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// Until something can be moved; whether it is time to end.
fn wait([up, down]: &[Way<'_>; 2], cut: &OwnedFd) -> io::Result<bool> {
    let events = |way_in: &Way<'_>, way_out: &Way<'_>| {
        let read = if way_in.wants_to_read() { PollFlags::IN } else { PollFlags::empty() };
        let write = if way_out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        read | write
    };
    let mut files = [
        watched(up.from.as_fd(), events(up, down), cut),
        watched(down.from.as_fd(), events(down, up), cut),
        PollFd::new(cut, PollFlags::IN),
    ];
    match poll(&mut files, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(files[2].revents().contains(PollFlags::IN)),
        Err(error) => Err(error.into()),
    }
}

/// A file of which nothing is wanted now would wake us all the same once its other end is gone.
fn watched<'f>(file: BorrowedFd<'f>, events: PollFlags, instead: &'f OwnedFd) -> PollFd<'f> {
    if events.is_empty() {
        PollFd::new(instead, PollFlags::IN)
    } else {
        PollFd::from_borrowed_fd(file, events)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    struct Relay {
        client: TcpStream,
        service: TcpStream,
        cut: Arc<OwnedFd>,
        thread: JoinHandle<io::Result<Outcome>>,
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let stream = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        (stream, listener.accept().expect("a client").0)
    }

    fn relay() -> Relay {
        let ((client, far), (near, service)) = (pair(), pair());
        let cut = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor"));
        let end = Arc::clone(&cut);
        let thread = std::thread::spawn(move || join(&far, &near, &end, &AtomicU64::new(0)));
        Relay { client, service, cut, thread }
    }

    fn read_to_end(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets).map(|_| octets)
    }

    #[test]
    fn each_direction_closes_on_its_own_and_nothing_is_lost() {
        let Relay { mut client, mut service, thread, .. } = relay();
        let octets: Vec<u8> = (0..3_000_000u32).map(|index| index as u8).collect();
        let sent = octets.clone();
        let sender = std::thread::spawn(move || {
            client.write_all(&sent).expect("it is taken");
            client.shutdown(Shutdown::Write).expect("it is connected");
            read_to_end(&client).expect("an answer")
        });
        assert!(read_to_end(&service).expect("all of it") == octets);
        service.write_all(b"answer").expect("half of it is open");
        drop(service);
        assert_eq!(sender.join().expect("no panic"), b"answer");
        assert_eq!(thread.join().expect("no panic").expect("no error"), Outcome::Over);
    }

    #[test]
    fn a_reset_of_one_end_is_one_of_the_other() {
        for from_guest in [true, false] {
            let Relay { client, service, thread, .. } = relay();
            let (mut aborts, hears) = if from_guest { (client, service) } else { (service, client) };
            aborts.write_all(b"part").expect("it is connected");
            (&hears).read_exact(&mut [0; 4]).expect("it arrives");
            reset_at_close(&aborts);
            drop(aborts);
            let error = read_to_end(&hears).expect_err("no clean end");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            thread.join().expect("no panic").expect_err("a reset");
        }
    }

    #[test]
    fn what_is_cut_with_data_left_is_reset_and_counted() {
        let Relay { mut client, service, cut, thread } = relay();
        client.set_nonblocking(true).expect("it is a socket");
        // Until nobody takes more.
        let mut blocked = 0;
        let octets = vec![0; 65_536];
        while blocked < 20 {
            // Part of it may have been taken all the same.
            if client.write_all(&octets).is_err() {
                blocked += 1;
                std::thread::park_timeout(Duration::from_millis(5));
            }
        }
        rustix::io::write(&*cut, &1u64.to_ne_bytes()).expect("it is open");
        assert_eq!(thread.join().expect("no panic").expect("no error"), Outcome::Cut);
        let error = read_to_end(&service).expect_err("no clean end");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
