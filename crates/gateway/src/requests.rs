//! Requests to the packet loops from other threads. Each loop answers for its own share of the
//! clients; this module merges the answers.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use lasthop_packet::FlowKey;
#[cfg(feature = "roaming")]
use lasthop_packet::Instant;

#[cfg(feature = "roaming")]
use super::engine::{Engine, Outgoing};
use super::engine::{EngineReport, FlowPage, Selected};
use super::link::{self, LinkReporter};
use super::packet_loop::{LoopReport, Request};
use super::plan::Plan;
use crate::io::Wake;

/// The maximum time to wait for an answer. A packet loop without a fault answers in far less.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Channels to all packet loops, which also wake them.
#[derive(Clone)]
pub(super) struct Requests {
    loops: Arc<[Mailbox]>,
    timeout: Duration,
}

/// The channel to a loop, and the function that wakes it.
pub(super) struct Mailbox {
    pub(super) to: Sender<Request>,
    pub(super) wake: Wake,
}

/// Why a request was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// A loop has ended.
    Ended,
    /// A loop did not answer in time.
    Late,
    /// All loops were ready for a change, and one did not complete it in time. It makes the change
    /// as soon as it continues.
    Pending,
}

/// Stops all loops when dropped: a guard for a thread without which they should not run, however
/// that thread ends.
pub(super) struct StopAtEnd(pub(super) Requests);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Requests {
    /// Creates requests to these loops, in the order of the workers.
    pub(super) fn new(loops: Vec<Mailbox>) -> Self {
        Self { loops: loops.into(), timeout: TIMEOUT }
    }

    /// Has all loops drain and end. Skips loops that have already ended.
    pub(super) fn stop(&self) {
        for mailbox in self.loops.iter() {
            let _ = mailbox.put(Request::Stop);
        }
    }

    pub(super) fn report(&self) -> Result<LoopReport, Unanswered> {
        self.request_all(|_, to| Request::Report(to)).map(LoopReport::from_reports)
    }

    /// A page of the connections, starting at a place, in the order of the loops. A place is the
    /// slot in a loop's table, times the number of loops, plus the loop's number.
    pub(super) fn flows(&self, from: usize) -> Result<FlowPage, Unanswered> {
        let loops = self.loops.len();
        let (worker, slot) = (from % loops, from / loops);
        let page = self.loops[worker].request(|to| Request::Flows(slot, to))?.wait(self.timeout)?;
        let next_loop = (worker + 1 < loops).then_some(worker + 1);
        Ok(FlowPage { next: page.next.map(|slot| slot * loops + worker).or(next_loop), ..page })
    }

    /// Has each loop apply its share of another plan, all or none. Returns how many connections the
    /// rules select.
    pub(super) fn reload(&self, plan: &Plan) -> Result<Selected, Unanswered> {
        let share = |worker| Box::new(plan.share(worker, self.loops.len()));
        self.change_all(|worker, to| Request::Reload(share(worker), to)).map(Selected::from_parts)
    }

    /// Has all loops drain, or none.
    pub(super) fn drain(&self) -> Result<EngineReport, Unanswered> {
        self.change_all(|_, to| Request::Drain(to)).map(EngineReport::from_reports)
    }

    /// Has a connection set aside. Returns whether it is known.
    pub(super) fn set_aside(&self, flow: FlowKey) -> Result<bool, Unanswered> {
        // The key may have either direction, so the client's loop is unknown: the request goes to
        // all.
        self.change_all(|_, to| Request::Aside(flow, to)).map(|found| found.contains(&true))
    }

    /// Opens a queue to each loop for the link-layer events of that loop's clients. Each queue has
    /// room for `room` events.
    pub(super) fn link_reporter(&self, room: usize) -> Result<LinkReporter, Unanswered> {
        let attach = |mailbox: &Mailbox| {
            let (inbox, queue) = link::queue(room);
            Ok(queue(mailbox.request(|to| Request::AttachLink(inbox, to))?.wait(self.timeout)?))
        };
        self.loops.iter().map(attach).collect::<Result<_, _>>().map(LinkReporter::to)
    }

    /// The number of loops.
    #[cfg(feature = "roaming")]
    pub(super) fn workers(&self) -> usize {
        self.loops.len()
    }

    /// Has the engine of each loop do something, and answer. `task` gets the number of the worker.
    #[cfg(feature = "roaming")]
    pub(super) fn engines<T: Send + 'static>(
        &self,
        task: impl Fn(usize, &mut Engine, Instant, &mut Outgoing) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>, Unanswered> {
        let task = Arc::new(task);
        self.request_all(|worker, to| {
            let task = Arc::clone(&task);
            Request::Engine(Box::new(move |engine, now, out| {
                // If the caller has stopped waiting, the answer is discarded.
                let _ = to.send(task(worker, engine, now, out));
            }))
        })
    }

    /// Has each loop report the clients that arrive.
    #[cfg(feature = "roaming")]
    pub(super) fn report_arrivals(
        &self,
        to: impl Fn(Vec<crate::frame::MacAddress>) + Clone + Send + 'static,
    ) -> Result<(), Unanswered> {
        let mut loops = self.loops.iter();
        loops.try_for_each(|mailbox| mailbox.put(Request::ReportArrivals(Box::new(to.clone()))))
    }

    /// Has all loops make a change, in two phases. The change is requested only after all loops
    /// have confirmed that they are ready, so that after [`Unanswered::Late`] no loop has made it.
    /// A loop that confirmed and then does not answer in time makes the change as soon as it
    /// continues ([`Unanswered::Pending`]): only its end, which ends all loops, can prevent that.
    fn change_all<T>(&self, change: impl Fn(usize, Sender<T>) -> Request) -> Result<Vec<T>, Unanswered> {
        self.request_all(|_, to| Request::Ready(to))?;
        self.request_all(change)
            .map_err(|why| if why == Unanswered::Late { Unanswered::Pending } else { why })
    }

    /// Sends a request to all loops, then waits for all answers.
    fn request_all<T>(&self, request: impl Fn(usize, Sender<T>) -> Request) -> Result<Vec<T>, Unanswered> {
        let loops = self.loops.iter().enumerate();
        let answers = loops.map(|(worker, mailbox)| mailbox.request(|to| request(worker, to)));
        let answers = answers.collect::<Result<Vec<_>, _>>()?;
        answers.into_iter().map(|answer| answer.wait(self.timeout)).collect()
    }
}

impl Mailbox {
    /// Sends a request that has an answer.
    fn request<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<PendingAnswer<T>, Unanswered> {
        let (to, answer) = channel();
        self.put(request(to))?;
        Ok(PendingAnswer(answer))
    }

    fn put(&self, request: Request) -> Result<(), Unanswered> {
        self.to.send(request).map_err(|_| Unanswered::Ended)?;
        (self.wake)();
        Ok(())
    }
}

/// The answer to a request that was sent.
struct PendingAnswer<T>(Receiver<T>);

impl<T> PendingAnswer<T> {
    fn wait(self, timeout: Duration) -> Result<T, Unanswered> {
        self.0.recv_timeout(timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unanswered::Late,
            RecvTimeoutError::Disconnected => Unanswered::Ended,
        })
    }
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ended => "the packet loop has ended",
            Self::Late => "the packet loop does not answer",
            Self::Pending => "accepted; a packet loop that is busy makes the change as soon as it goes on",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use lasthop_agent::LinkSenses;

    use super::*;
    use crate::config;

    fn flow() -> FlowKey {
        let end = |address: &str| (address.parse().expect("an address"), 1);
        FlowKey::tcp(end("192.0.2.1"), end("10.0.0.7"))
    }

    #[test]
    fn a_change_is_pending_if_a_loop_that_confirmed_does_not_answer() {
        let (to, inbox) = channel();
        let inbox = Mutex::new((inbox, Vec::new()));
        // The loop is busy once it has confirmed that it is ready: later requests wait.
        let wake = move || {
            let (inbox, waiting) = &mut *inbox.lock().expect("no thread panics with it");
            match inbox.try_recv() {
                Ok(Request::Ready(to)) => to.send(()).expect("the asker waits"),
                request => waiting.push(request),
            }
        };
        let mailbox = Mailbox { to, wake: Box::new(wake) };
        let requests = Requests { timeout: Duration::from_millis(50), ..Requests::new(vec![mailbox]) };
        assert_eq!(requests.set_aside(flow()), Err(Unanswered::Pending));
    }

    #[test]
    fn no_loop_makes_a_change_unless_all_confirm_that_they_are_ready() {
        let mailbox = || {
            let (to, inbox) = channel();
            (Mailbox { to, wake: Box::new(|| {}) }, inbox)
        };
        let ((first, inbox), (second, _hung)) = (mailbox(), mailbox());
        let requests = Requests { timeout: Duration::from_millis(50), ..Requests::new(vec![first, second]) };
        let answering = thread::spawn(move || {
            let mut changes = 0;
            for request in inbox {
                match request {
                    Request::Ready(to) => drop(to.send(())),
                    _ => changes += 1,
                }
            }
            changes
        });
        let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
        assert_eq!(requests.reload(&plan), Err(Unanswered::Late));
        assert_eq!(requests.drain().err(), Some(Unanswered::Late));
        assert_eq!(requests.set_aside(flow()), Err(Unanswered::Late));
        drop(requests);
        assert_eq!(answering.join().expect("it ends"), 0);
    }
}
