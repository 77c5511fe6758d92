//! The relay of one connection: copies octets in both directions until both ends have closed or one
//! is reset.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use portable_atomic::AtomicU64;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::set_socket_linger;

/// The size of the buffer for each direction, in octets, in addition to the kernel's.
const BUFFER: usize = 32 * 1024;

/// The outcome of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Both ends closed, or it was cut after the service had received all of the client's data.
    Over,
    /// It was cut before the service had received all of the client's data.
    Cut,
}

/// Copies octets in both directions until both ends have closed. If one end is reset, so is the
/// other. When `cut` becomes readable, both are reset, unless the client has closed its direction
/// and all its data have been relayed.
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
    let mut ways = [Direction::new(client, service), Direction::new(service, client)];
    let carried = loop {
        match ways.iter_mut().try_for_each(|way| way.carry(progress)) {
            Ok(()) if ways.iter().all(|way| way.is_closed) => return Ok(Outcome::Over),
            Ok(()) => {}
            Err(error) => break Err(error),
        }
        match wait(&ways, cut) {
            Ok(false) => {}
            Ok(true) => {
                // The kernel delivers the data that it has accepted.
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

/// Makes a connection end with a reset when it is closed.
pub(super) fn reset_at_close(stream: &TcpStream) {
    // This fails only for a connection that is gone.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// One direction.
struct Direction<'s> {
    from: &'s TcpStream,
    to: &'s TcpStream,
    buffer: Vec<u8>,
    /// The part of the buffer that has not been sent.
    unsent: std::ops::Range<usize>,
    /// Whether `from` has closed.
    is_over: bool,
    /// Whether the close has been forwarded to `to`.
    is_closed: bool,
}

impl<'s> Direction<'s> {
    fn new(from: &'s TcpStream, to: &'s TcpStream) -> Self {
        Self { from, to, buffer: vec![0; BUFFER], unsent: 0..0, is_over: false, is_closed: false }
    }

    fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Copies as much as is possible without blocking.
    fn carry(&mut self, progress: &AtomicU64) -> io::Result<()> {
        loop {
            if self.is_empty() && !self.is_over {
                let Some(len) = now((&mut self.from).read(&mut self.buffer))? else { return Ok(()) };
                self.unsent = 0..len;
                self.is_over = len == 0;
            }
            if self.is_empty() {
                if !self.is_closed {
                    self.to.shutdown(Shutdown::Write)?;
                    self.is_closed = true;
                }
                return Ok(());
            }
            let sent = now((&mut self.to).write(&self.buffer[self.unsent.clone()]))?;
            let Some(sent) = sent else { return Ok(()) };
            self.unsent.start += sent;
            progress.fetch_add(sent as u64, Ordering::Relaxed);
        }
    }

    fn can_read(&self) -> bool {
        self.is_empty() && !self.is_over
    }
}

/// The outcome of a non-blocking call; `None` if it would block.
fn now(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // The caller retries it.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until octets can be copied. Returns whether to end.
fn wait([up, down]: &[Direction<'_>; 2], cut: &OwnedFd) -> io::Result<bool> {
    let events = |way_in: &Direction<'_>, way_out: &Direction<'_>| {
        let read = if way_in.can_read() { PollFlags::IN } else { PollFlags::empty() };
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

/// Polls `file` for `events`. Without events, polls `instead`: otherwise the poll would return
/// whenever the file's other end is gone.
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
    fn a_reset_of_one_end_resets_the_other() {
        for from_client in [true, false] {
            let Relay { client, service, thread, .. } = relay();
            let (mut aborting, other) = if from_client { (client, service) } else { (service, client) };
            aborting.write_all(b"part").expect("it is connected");
            (&other).read_exact(&mut [0; 4]).expect("it arrives");
            reset_at_close(&aborting);
            drop(aborting);
            let error = read_to_end(&other).expect_err("no clean end");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            thread.join().expect("no panic").expect_err("a reset");
        }
    }

    #[test]
    fn a_connection_that_is_cut_with_data_left_is_reset_and_counted() {
        let Relay { mut client, service, cut, thread } = relay();
        client.set_nonblocking(true).expect("it is a socket");
        // Until no buffer has room.
        let mut blocked = 0;
        let octets = vec![0; 65_536];
        while blocked < 20 {
            // A part of it may have been accepted.
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
