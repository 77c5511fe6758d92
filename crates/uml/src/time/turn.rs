//! What a guest's messages mean to the calendar: whose turn it is, and until when.

use lasthop_packet::Instant;

use super::message::{Message, Operation};

/// A guest's state as its calendar knows it, for a guest that speaks over the time socket.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    has_started: bool,
    is_waiting: bool,
    request: Request,
    /// What the guest's clock may not pass before the next turn.
    limit: Instant,
    time_of_day: u64,
}

/// When a guest wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// At no time: only an interrupt wakes it.
    Never,
    /// At this time, or now if it is past.
    At(Instant),
}

/// What follows from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The guest waits for an answer; its time field is this. The guest's clock shows `now`.
    Question {
        /// The time field of the answer.
        answer: u64,
        /// The time, which may be later than before.
        now: Instant,
    },
    /// It is the answer to the calendar's message with this sequence number.
    Answer(u32),
}

/// A message that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// A guest starts once, before it says anything else.
    #[error("{0:?} on the time socket, where START comes first and once")]
    Start(Operation),
    /// Only a calendar sends this.
    #[error("{0:?} on the time socket, which only a calendar sends")]
    Direction(Operation),
    /// Its clock ran backwards.
    #[error("the guest's clock ran backwards, from {from} to {to}")]
    Backwards {
        /// The calendar's time.
        from: Instant,
        /// The guest's.
        to: Instant,
    },
    /// Its clock ran further than it was allowed to.
    #[error("the guest's clock shows {to}, and may not pass {limit} before its next turn")]
    TooFar {
        /// What it was allowed.
        limit: Instant,
        /// The guest's time.
        to: Instant,
    },
}

/// A guest that asks for this time, which is the last of Linux's `ktime_t`, asks for none.
const NEVER: u64 = i64::MAX as u64;

impl Request {
    /// The request for a time in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        if nanos >= NEVER { Self::Never } else { Self::At(Instant::from_nanos(nanos)) }
    }

    /// The time, if there is one.
    pub const fn time(self) -> Option<Instant> {
        match self {
            Self::Never => None,
            Self::At(time) => Some(time),
        }
    }
}

impl Turn {
    /// A guest that has not said anything. It learns `time_of_day`, in nanoseconds since 1970, as
    /// that of its start.
    pub const fn new(time_of_day: u64) -> Self {
        Self {
            has_started: false,
            is_waiting: false,
            request: Request::Never,
            limit: Instant::ZERO,
            time_of_day,
        }
    }

    /// Whether it stands still until it may run.
    pub const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Whether it has said START.
    pub const fn has_started(&self) -> bool {
        self.has_started
    }

    /// When it wants to run.
    pub const fn requested(&self) -> Request {
        self.request
    }

    /// What its clock may not pass: the end of its turn.
    pub const fn limit(&self) -> Instant {
        self.limit
    }

    /// A message from the guest, at the calendar's time `now`.
    pub fn receive(&mut self, message: Message, now: Instant) -> Result<Received, TurnError> {
        let operation = message.operation;
        if operation == Operation::Ack {
            return Ok(Received::Answer(message.sequence));
        }
        if self.has_started == (operation == Operation::Start) {
            return Err(TurnError::Start(operation));
        }
        let mut received = (0, now);
        match operation {
            Operation::Start => self.has_started = true,
            Operation::Request => self.request(Request::from_nanos(message.time)),
            Operation::Wait => self.wait(),
            Operation::Get => received.0 = now.as_nanos(),
            Operation::Update => received.1 = self.advance(now, Instant::from_nanos(message.time))?,
            Operation::TimeOfDay => received.0 = self.time_of_day,
            Operation::Broadcast => {}
            Operation::Ack | Operation::Run | Operation::FreeUntil => {
                return Err(TurnError::Direction(operation));
            }
        }
        Ok(Received::Question { answer: received.0, now: received.1 })
    }

    /// The guest's clock has reached `to`; returns the calendar's time.
    pub fn advance(&self, from: Instant, to: Instant) -> Result<Instant, TurnError> {
        if to < from {
            Err(TurnError::Backwards { from, to })
        } else if to > self.limit {
            Err(TurnError::TooFar { limit: self.limit, to })
        } else {
            Ok(to)
        }
    }

    /// The guest asks to run then, and no longer at another time.
    pub const fn request(&mut self, request: Request) {
        self.request = request;
    }

    /// The guest stands still.
    pub const fn wait(&mut self) {
        self.is_waiting = true;
    }

    /// The guest runs from `now` on. As long as its clock stays below `limit`, it does not wait.
    pub fn run(&mut self, now: Instant, limit: Instant) {
        self.is_waiting = false;
        self.request = Request::Never;
        self.limit = limit.max(now);
    }

    /// The guest's turn ends earlier than it knew, or has ended.
    pub fn lower(&mut self, now: Instant, limit: Instant) {
        self.limit = limit.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(5);

    fn message(operation: Operation, time: u64) -> Message {
        Message { operation, sequence: 3, time }
    }

    fn started() -> Turn {
        let mut turn = Turn::new(77);
        turn.receive(message(Operation::Start, 1), Instant::ZERO).expect("the first");
        turn
    }

    fn answer(turn: &mut Turn, operation: Operation, time: u64) -> (u64, Instant) {
        match turn.receive(message(operation, time), NOW).expect("a rightful message") {
            Received::Question { answer, now } => (answer, now),
            Received::Answer(_) => panic!("an answer"),
        }
    }

    #[test]
    fn start_comes_first_and_once() {
        let mut turn = Turn::new(0);
        let first = turn.receive(message(Operation::Get, 0), NOW);
        assert_eq!(first, Err(TurnError::Start(Operation::Get)));
        let second = started().receive(message(Operation::Start, 0), NOW);
        assert_eq!(second, Err(TurnError::Start(Operation::Start)));
    }

    #[test]
    fn only_the_last_request_counts_and_a_turn_ends_it() {
        let mut turn = started();
        answer(&mut turn, Operation::Request, 8_000_000);
        answer(&mut turn, Operation::Request, 7_000_000);
        answer(&mut turn, Operation::Wait, u64::MAX);
        assert!(turn.is_waiting());
        assert_eq!(turn.requested(), Request::At(Instant::from_millis(7)));
        turn.run(Instant::from_millis(7), Instant::from_millis(9));
        assert!(!turn.is_waiting());
        assert_eq!(turn.requested(), Request::Never);
    }

    #[test]
    fn the_last_time_of_all_means_never() {
        let mut turn = started();
        answer(&mut turn, Operation::Request, i64::MAX as u64);
        assert_eq!(turn.requested().time(), None);
    }

    #[test]
    fn questions_are_answered_with_the_time_and_the_time_of_day() {
        let mut turn = started();
        assert_eq!(answer(&mut turn, Operation::Get, u64::MAX), (5_000_000, NOW));
        assert_eq!(answer(&mut turn, Operation::TimeOfDay, u64::MAX), (77, NOW));
        assert_eq!(answer(&mut turn, Operation::Broadcast, 4), (0, NOW));
    }

    #[test]
    fn a_clock_moves_forward_and_not_beyond_its_turn() {
        let mut turn = started();
        turn.run(NOW, Instant::from_millis(9));
        assert_eq!(answer(&mut turn, Operation::Update, 6_000_000), (0, Instant::from_millis(6)));
        let too_far = turn.receive(message(Operation::Update, 9_000_001), NOW);
        assert!(matches!(too_far, Err(TurnError::TooFar { .. })), "{too_far:?}");
        let backwards = turn.receive(message(Operation::Update, 4_000_000), NOW);
        assert!(matches!(backwards, Err(TurnError::Backwards { .. })), "{backwards:?}");
        turn.lower(NOW, Instant::ZERO);
        assert_eq!(turn.limit(), NOW);
    }

    #[test]
    fn what_only_a_calendar_sends_is_refused() {
        for operation in [Operation::Run, Operation::FreeUntil] {
            let refused = started().receive(message(operation, 0), NOW);
            assert_eq!(refused, Err(TurnError::Direction(operation)));
        }
        let answer = started().receive(message(Operation::Ack, 0), NOW);
        assert_eq!(answer, Ok(Received::Answer(3)));
    }
}
