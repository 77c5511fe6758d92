//! Questions to the packet loops from other threads. Each loop answers for its own share of the
//! clients; here the answers become one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use lasthop_packet::FlowKey;

use super::engine::{EngineReport, FlowPage, Selected};
use super::link::{self, LinkReporter};
use super::packet_loop::{LoopReport, Request};
use super::plan::Plan;
use crate::io::Wake;

/// A packet loop answers in far less; one that does not has a fault.
const PATIENCE: Duration = Duration::from_secs(5);

/// Channels to all packet loops that also wake them.
#[derive(Clone)]
pub(super) struct Requests {
    loops: Arc<[Mailbox]>,
    patience: Duration,
}

/// What a loop hears, and what ends its waits.
pub(super) struct Mailbox {
    pub(super) to: Sender<Request>,
    pub(super) wake: Wake,
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// A loop has ended.
    Ended,
    /// One is busy with something that takes seconds.
    Late,
    /// All were ready for a change, and one has been busy since: it makes the change as soon as it goes on.
    Pending,
}

/// Stops all loops when it is dropped: for a thread without which they should not go on, however it
/// ends.
pub(super) struct StopAtEnd(pub(super) Requests);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Requests {
    /// To these loops, in the order of the workers.
    pub(super) fn new(loops: Vec<Mailbox>) -> Self {
        Self { loops: loops.into(), patience: PATIENCE }
    }

    /// Has all loops drain, and end. A loop that has ended already is skipped.
    pub(super) fn stop(&self) {
        for mailbox in self.loops.iter() {
            let _ = mailbox.put(Request::Stop);
        }
    }

    pub(super) fn report(&self) -> Result<LoopReport, Unanswered> {
        self.ask_all(|_, to| Request::Report(to)).map(LoopReport::of_all)
    }

    /// A page of the connections, from a place on: first those of the first loop, and so on. A place
    /// is the slot in a loop's table, times the number of loops, plus the loop's own number.
    pub(super) fn flows(&self, from: usize) -> Result<FlowPage, Unanswered> {
        let loops = self.loops.len();
        let (worker, slot) = (from % loops, from / loops);
        let page = self.loops[worker].ask(|to| Request::Flows(slot, to))?.wait(self.patience)?;
        let next_loop = (worker + 1 < loops).then_some(worker + 1);
        Ok(FlowPage { next: page.next.map(|slot| slot * loops + worker).or(next_loop), ..page })
    }

    /// Has each follow its share of another plan: all or none. Returns what of the connections its rules
    /// select.
    pub(super) fn reload(&self, plan: &Plan) -> Result<Selected, Unanswered> {
        let share = |worker| Box::new(plan.share(worker, self.loops.len()));
        self.change_all(|worker, to| Request::Reload(share(worker), to)).map(Selected::of_all)
    }

    /// Has all drain, or none.
    pub(super) fn drain(&self) -> Result<EngineReport, Unanswered> {
        self.change_all(|_, to| Request::Drain(to)).map(EngineReport::of_all)
    }

    /// Whether there was such a connection.
    pub(super) fn set_aside(&self, flow: FlowKey) -> Result<bool, Unanswered> {
        // Either end may be named first, so that we do not know which is the client: all are asked.
        self.change_all(|_, to| Request::Aside(flow, to)).map(|found| found.contains(&true))
    }

    /// Opens a queue to each loop for what a link layer tells about that loop's clients. Each queue
    /// has room for `room` events.
    pub(super) fn link_reporter(&self, room: usize) -> Result<LinkReporter, Unanswered> {
        let tell = |mailbox: &Mailbox| {
            let (inbox, queue) = link::queue(room);
            Ok(queue(mailbox.ask(|to| Request::Hear(inbox, to))?.wait(self.patience)?))
        };
        self.loops.iter().map(tell).collect::<Result<_, _>>().map(LinkReporter::to)
    }

    /// Has all do something in two phases. Only once all have answered that they are ready is any told
    /// to do it, so that after [`Unanswered::Late`] none has. One that is ready and then does not answer in
    /// time does it as soon as it goes on ([`Unanswered::Pending`]): nothing can stop it from then on but its
    /// end, which ends all.
    fn change_all<T>(&self, change: impl Fn(usize, Sender<T>) -> Request) -> Result<Vec<T>, Unanswered> {
        self.ask_all(|_, to| Request::Ready(to))?;
        self.ask_all(change).map_err(|why| if why == Unanswered::Late { Unanswered::Pending } else { why })
    }

    /// Asks all at once, then waits for all.
    fn ask_all<T>(&self, question: impl Fn(usize, Sender<T>) -> Request) -> Result<Vec<T>, Unanswered> {
        let asked =
            self.loops.iter().enumerate().map(|(worker, mailbox)| mailbox.ask(|to| question(worker, to)));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        asked.into_iter().map(|asked| asked.wait(self.patience)).collect()
    }
}

impl Mailbox {
    /// Sends a question.
    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Request) -> Result<Asked<T>, Unanswered> {
        let (to, answer) = channel();
        self.put(question(to))?;
        Ok(Asked(answer))
    }

    fn put(&self, request: Request) -> Result<(), Unanswered> {
        self.to.send(request).map_err(|_| Unanswered::Ended)?;
        (self.wake)();
        Ok(())
    }
}

/// A question on its way.
struct Asked<T>(Receiver<T>);

impl<T> Asked<T> {
    fn wait(self, patience: Duration) -> Result<T, Unanswered> {
        self.0.recv_timeout(patience).map_err(|error| match error {
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
    fn a_change_that_all_were_ready_for_is_not_said_to_have_failed() {
        let (to, inbox) = channel();
        let inbox = Mutex::new((inbox, Vec::new()));
        // It is busy as soon as it has said that it is ready: what comes then waits.
        let wake = move || {
            let (inbox, waiting) = &mut *inbox.lock().expect("no thread panics with it");
            match inbox.try_recv() {
                Ok(Request::Ready(to)) => to.send(()).expect("the asker waits"),
                request => waiting.push(request),
            }
        };
        let mailbox = Mailbox { to, wake: Box::new(wake) };
        let requests = Requests { patience: Duration::from_millis(50), ..Requests::new(vec![mailbox]) };
        assert_eq!(requests.set_aside(flow()), Err(Unanswered::Pending));
    }

    #[test]
    fn a_change_that_one_of_several_loops_does_not_answer_for_happens_in_none() {
        let mailbox = || {
            let (to, inbox) = channel();
            (Mailbox { to, wake: Box::new(|| {}) }, inbox)
        };
        let ((first, inbox), (second, _hung)) = (mailbox(), mailbox());
        let requests = Requests { patience: Duration::from_millis(50), ..Requests::new(vec![first, second]) };
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
