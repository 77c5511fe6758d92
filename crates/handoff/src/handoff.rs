//! The state machine of one client at one access point.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::message::{Answer, Attempt, Entry, Epoch, Message, Peer, Query};

/// How long an access point waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// For another access point's answer. Default 250 ms.
    pub answer: Duration,
    /// Before it asks a registry again that was away. Default 1 s.
    pub registry: Duration,
    /// How often it asks another access point that does not answer. Default 3.
    pub max_tries: u8,
    /// How often an access point that serves a client asks the registry whether it still holds it. Default 10 s.
    pub check: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(250),
            registry: Duration::from_secs(1),
            max_tries: 3,
            check: Duration::from_secs(10),
        }
    }
}

/// What an access point is to do for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<S> {
    /// Send a message to another access point.
    Send(Peer, Message<S>),
    /// Ask the registry.
    Ask(Query),
    /// Serve the client from now on, with this state if there is one. Packets and connections that the state does
    /// not cover are carried as they are.
    Serve(Option<S>),
    /// The state that was served here is no longer: it was transferred (`is_lost` is `false`), or another access
    /// point has claimed the client without it.
    Stop {
        /// Whether what was owed to the client's connections is lost.
        is_lost: bool,
    },
    /// Packets for the client that arrive here belong to another access point.
    Forward(Peer),
}

/// How sure an access point is that it serves a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It has won the claim of its epoch.
    Confirmed,
    /// The former server has transferred the state, and the registry is away.
    Transferred,
    /// The access point that it had transferred the state to has promised not to serve it. It may have claimed.
    Returned {
        /// That access point.
        by: Peer,
    },
}

/// One client at one access point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handoff<S> {
    me: Peer,
    state: State<S>,
    /// Whether the client is associated here.
    has_client: bool,
    /// The access point that the client said it came from.
    hint: Option<Peer>,
    /// The number of the next attempt.
    next_attempt: u64,
    /// Own attempts whose transfers were served without the registry's confirmation: their senders keep copies.
    unconfirmed: BTreeSet<u64>,
    /// Messages and answers that changed nothing because they were old.
    stale: u64,
    max_tries: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum State<S> {
    /// Knows nothing.
    Idle,
    /// Has asked the registry who holds the client.
    Locating,
    /// Has asked another access point for the state.
    Requesting { of: Asked, attempt: Attempt, tries: u8 },
    /// Has claimed the client, to serve it with the state that was transferred, or without.
    Claiming { expected: Option<Epoch>, transfer: Option<Transfer<S>> },
    /// Serves the client.
    Serving(Service),
    /// Has transferred the state, and keeps a copy until it learns that the client is served.
    Frozen { service: Service, gift: Gift<S>, tries: u8 },
    /// The access point that it transferred the state to does not answer: has claimed the client.
    Reclaiming { service: Service, gift: Gift<S> },
    /// Another access point serves the client.
    Forwarding { entry: Entry },
}

/// The access point that is asked for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Asked {
    holder: Peer,
    /// `None` if the registry is away.
    epoch: Option<Epoch>,
    /// Whether the registry names it as the holder. If so and it has no state, the state is lost.
    is_registered: bool,
    /// How many access points in a row have said that another one has it.
    hops: u8,
}

/// How a client is served, or was until its state was frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Service {
    epoch: Epoch,
    standing: Standing,
    /// The access point that keeps what it has transferred until the registry confirms this service, and the attempt
    /// that it answered.
    keeper: Option<(Peer, Attempt)>,
}

/// A state that was frozen and transferred to another access point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Gift<S> {
    state: S,
    to: Peer,
    attempt: Attempt,
}

/// A state that was received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Transfer<S> {
    from: Peer,
    attempt: Attempt,
    epoch: Epoch,
    state: S,
}

/// Inputs. Each returns what is to be done, in this order.
impl<S: Clone> Handoff<S> {
    /// A client that this access point knows nothing of. `first_attempt`: a number that is above those of all its
    /// attempts before, for this client, in this life of the access point or an earlier one.
    pub const fn new(me: Peer, first_attempt: u64, config: &Config) -> Self {
        Self {
            me,
            state: State::Idle,
            has_client: false,
            hint: None,
            next_attempt: first_attempt,
            unconfirmed: BTreeSet::new(),
            stale: 0,
            max_tries: config.max_tries,
        }
    }

    /// The client has associated here; it says that it comes from `previous`.
    pub fn on_join(&mut self, previous: Option<Peer>) -> Vec<Output<S>> {
        let mut outputs = Vec::new();
        self.has_client = true;
        self.hint = previous.filter(|previous| *previous != self.me);
        match &self.state {
            State::Idle | State::Forwarding { .. } => self.look(&mut outputs),
            // The client has returned before anybody else has served it.
            State::Frozen { service, gift, .. } => outputs.push(cancel(service, gift)),
            _ => {}
        }
        outputs
    }

    /// The client is no longer associated here. Its state stays until another access point requests it.
    pub const fn on_leave(&mut self) {
        self.has_client = false;
    }

    /// A message of another access point. `freeze` stops serving and returns the state; it is called at most once,
    /// and only if this access point serves the client.
    pub fn on_message(
        &mut self,
        from: Peer,
        message: Message<S>,
        freeze: impl FnOnce() -> S,
    ) -> Vec<Output<S>> {
        let mut outputs = Vec::new();
        match message {
            Message::Request { attempt, epoch } => {
                self.on_request(from, attempt, epoch, freeze, &mut outputs);
            }
            Message::Transfer { attempt, epoch, state } => {
                self.on_transfer(Transfer { from, attempt, epoch, state }, &mut outputs);
            }
            Message::Refuse { attempt, entry } => self.on_refusal(attempt, entry, &mut outputs),
            Message::Release { entry } => self.on_release(entry, &mut outputs),
            Message::Cancel { attempt, epoch } => self.on_cancel(from, attempt, epoch, &mut outputs),
            Message::Cancelled { attempt } => self.on_cancelled(attempt, &mut outputs),
            Message::Taken { attempt } => self.on_taken(attempt, &mut outputs),
        }
        outputs
    }

    /// The registry's answer to the last [`Output::Ask`].
    pub fn on_answer(&mut self, answer: Answer) -> Vec<Output<S>> {
        let mut outputs = Vec::new();
        match &self.state {
            State::Locating => self.on_located(answer, &mut outputs),
            State::Claiming { .. } => self.on_claimed(answer, &mut outputs),
            State::Serving(service) => self.on_checked(*service, answer, &mut outputs),
            State::Reclaiming { .. } => self.on_reclaimed(answer, &mut outputs),
            _ => self.stale += 1,
        }
        outputs
    }

    /// The time since the last input that changed anything has come to [`Self::timeout`].
    pub fn on_timeout(&mut self) -> Vec<Output<S>> {
        let mut outputs = Vec::new();
        let claim = |expected| Output::Ask(Query::Claim { expected });
        match &mut self.state {
            State::Locating => outputs.push(Output::Ask(Query::Lookup)),
            State::Requesting { of, attempt, tries } if *tries < self.max_tries => {
                *tries += 1;
                let request = Message::Request { attempt: *attempt, epoch: of.epoch };
                outputs.push(Output::Send(of.holder, request));
            }
            // It is dead, or out of reach: its epoch is claimed without its state.
            State::Requesting { of: Asked { epoch, is_registered: true, .. }, .. } => {
                let expected = *epoch;
                self.claim(expected, None, &mut outputs);
            }
            State::Requesting { .. } => {
                self.hint = None;
                self.locate(&mut outputs);
            }
            State::Claiming { expected, .. } => outputs.push(claim(*expected)),
            State::Serving(Service { standing: Standing::Confirmed, .. }) => {
                outputs.push(Output::Ask(Query::Lookup));
            }
            State::Frozen { service, gift, tries } if *tries < self.max_tries => {
                *tries += 1;
                outputs.push(cancel(service, gift));
            }
            State::Frozen { service, gift, .. } => {
                outputs.push(claim(Some(service.epoch)));
                self.state = State::Reclaiming { service: *service, gift: gift.clone() };
            }
            State::Serving(service) | State::Reclaiming { service, .. } => {
                outputs.push(claim(Some(service.epoch)));
            }
            State::Idle | State::Forwarding { .. } => {}
        }
        outputs
    }

    /// How long to wait for [`Self::on_timeout`]; `None`: for ever.
    pub const fn timeout(&self, config: &Config) -> Option<Duration> {
        match self.state {
            State::Idle | State::Forwarding { .. } => None,
            State::Serving(Service { standing: Standing::Confirmed, .. }) => Some(config.check),
            State::Requesting { .. } | State::Frozen { .. } => Some(config.answer),
            State::Locating | State::Claiming { .. } | State::Reclaiming { .. } | State::Serving(_) => {
                Some(config.registry)
            }
        }
    }

    /// Whether it serves the client: at which epoch, and how sure it is of that.
    pub const fn service(&self) -> Option<(Epoch, Standing)> {
        match self.state {
            State::Serving(Service { epoch, standing, .. }) => Some((epoch, standing)),
            _ => None,
        }
    }

    /// The access point that is asked for the state: while its answer is on the way, however long that is, nobody needs
    /// to call [`Self::on_timeout`].
    pub const fn asks(&self) -> Option<Peer> {
        match self.state {
            State::Requesting { of: Asked { holder, .. }, .. } => Some(holder),
            _ => None,
        }
    }

    /// The own attempt that has no answer yet.
    pub const fn attempt(&self) -> Option<Attempt> {
        match self.state {
            State::Requesting { attempt, .. } => Some(attempt),
            _ => None,
        }
    }

    /// The access point that the state was given to, and the attempt that this answered, while a copy is kept.
    pub const fn gave(&self) -> Option<(Peer, Attempt)> {
        match &self.state {
            State::Frozen { gift, .. } | State::Reclaiming { gift, .. } => Some((gift.to, gift.attempt)),
            _ => None,
        }
    }

    /// Messages and answers that changed nothing because they were old.
    pub const fn stale(&self) -> u64 {
        self.stale
    }
}

/// The new access point.
impl<S: Clone> Handoff<S> {
    /// Asks the access point that the client came from, or the registry if it came from none.
    fn look(&mut self, outputs: &mut Vec<Output<S>>) {
        match self.hint.take() {
            Some(hint) => self.request_of(hint, None, outputs),
            None => self.locate(outputs),
        }
    }

    fn locate(&mut self, outputs: &mut Vec<Output<S>>) {
        self.state = State::Locating;
        outputs.push(Output::Ask(Query::Lookup));
    }

    fn request(&mut self, of: Asked, outputs: &mut Vec<Output<S>>) {
        let attempt = Attempt { by: self.me, number: self.next_attempt };
        self.next_attempt += 1;
        self.state = State::Requesting { of, attempt, tries: 1 };
        outputs.push(Output::Send(of.holder, Message::Request { attempt, epoch: of.epoch }));
    }

    /// Asks an access point that was named by the client, or by another access point.
    fn request_of(&mut self, holder: Peer, epoch: Option<Epoch>, outputs: &mut Vec<Output<S>>) {
        self.request(Asked { holder, epoch, is_registered: false, hops: 0 }, outputs);
    }

    fn claim(
        &mut self,
        expected: Option<Epoch>,
        transfer: Option<Transfer<S>>,
        outputs: &mut Vec<Output<S>>,
    ) {
        self.state = State::Claiming { expected, transfer };
        outputs.push(Output::Ask(Query::Claim { expected }));
    }

    /// Looks for the state at the access point that the registry names, if the client is still here.
    fn look_for(&mut self, entry: Entry, outputs: &mut Vec<Output<S>>) {
        if entry.holder == self.me {
            // What was served here at that epoch is no longer.
            self.claim(Some(entry.epoch), None, outputs);
        } else if self.has_client {
            let (holder, epoch) = (entry.holder, Some(entry.epoch));
            self.request(Asked { holder, epoch, is_registered: true, hops: 0 }, outputs);
        } else {
            self.state = State::Forwarding { entry };
            outputs.push(Output::Forward(entry.holder));
        }
    }

    fn on_located(&mut self, answer: Answer, outputs: &mut Vec<Output<S>>) {
        match (answer, self.hint) {
            _ if !self.has_client => self.state = State::Idle,
            (Answer::Found(None), _) => self.claim(None, None, outputs),
            (Answer::Found(Some(entry)), _) => self.look_for(entry, outputs),
            (Answer::Away, Some(hint)) => self.request_of(hint, None, outputs),
            // A time-out follows.
            (Answer::Away | Answer::Won(_), _) => {}
        }
    }

    fn on_transfer(&mut self, transfer: Transfer<S>, outputs: &mut Vec<Output<S>>) {
        match &self.state {
            State::Requesting { attempt, .. } if *attempt == transfer.attempt => {
                self.claim(Some(transfer.epoch), Some(transfer), outputs);
            }
            _ => self.stale += 1,
        }
    }

    fn on_refusal(&mut self, answered: Attempt, entry: Option<Entry>, outputs: &mut Vec<Output<S>>) {
        let State::Requesting { of, attempt, .. } = &self.state else {
            self.stale += 1;
            return;
        };
        let of = *of;
        match entry {
            _ if *attempt != answered => self.stale += 1,
            // The state is lost: the access point that the registry names has none, or knows of an older one only.
            None if of.is_registered => self.claim(of.epoch, None, outputs),
            // If it serves the client itself, it does not know yet that it has won its last claim.
            Some(entry) if of.is_registered && Some(entry.epoch) < of.epoch && entry.holder != of.holder => {
                self.claim(of.epoch, None, outputs);
            }
            Some(Entry { holder, epoch })
                if ![self.me, of.holder].contains(&holder)
                    && Some(epoch) >= of.epoch
                    && of.hops < self.max_tries =>
            {
                let hops = of.hops + 1;
                self.request(Asked { holder, epoch: Some(epoch), is_registered: false, hops }, outputs);
            }
            // The access point that the client came from knows nothing of it.
            None if of.epoch.is_none() => self.locate(outputs),
            // Who has it may know more in a while: a time-out follows.
            _ => self.state = State::Locating,
        }
    }

    fn on_claimed(&mut self, answer: Answer, outputs: &mut Vec<Output<S>>) {
        let State::Claiming { expected, transfer } = &self.state else { return };
        let (expected, transfer) = (*expected, transfer.clone());
        match answer {
            Answer::Won(epoch) => self.serve(epoch, transfer, outputs),
            // It was won, and the answer was lost.
            Answer::Found(Some(entry)) if entry.holder == self.me && Some(entry.epoch) > expected => {
                self.serve(entry.epoch, transfer, outputs);
            }
            Answer::Found(entry) => {
                if let Some(Transfer { from, attempt, .. }) = transfer {
                    outputs.push(Output::Send(from, Message::Cancelled { attempt }));
                }
                match entry {
                    Some(entry) => self.look_for(entry, outputs),
                    None => self.claim(None, None, outputs),
                }
            }
            Answer::Away => {
                if let Some(Transfer { from, attempt, epoch, state }) = transfer {
                    let keeper = Some((from, attempt));
                    self.unconfirmed.insert(attempt.number);
                    self.state = State::Serving(Service { epoch, standing: Standing::Transferred, keeper });
                    outputs.push(Output::Serve(Some(state)));
                }
            }
        }
    }

    fn serve(&mut self, epoch: Epoch, transfer: Option<Transfer<S>>, outputs: &mut Vec<Output<S>>) {
        let keeper = transfer.as_ref().map(|transfer| (transfer.from, transfer.attempt));
        outputs.push(Output::Serve(transfer.map(|transfer| transfer.state)));
        self.confirm(epoch, keeper, outputs);
    }

    /// The registry has confirmed the service: the former server may drop its copy.
    fn confirm(&mut self, epoch: Epoch, keeper: Option<(Peer, Attempt)>, outputs: &mut Vec<Output<S>>) {
        self.state = State::Serving(Service { epoch, standing: Standing::Confirmed, keeper: None });
        self.unconfirmed.clear();
        let entry = Entry { holder: self.me, epoch };
        outputs.extend(keeper.map(|(keeper, _)| Output::Send(keeper, Message::Release { entry })));
    }

    /// The registry confirms what is served already, or knows that another access point has claimed the client.
    fn on_checked(&mut self, service: Service, answer: Answer, outputs: &mut Vec<Output<S>>) {
        let Service { epoch, standing, keeper } = service;
        match (answer, standing) {
            (Answer::Away, _) => {}
            (Answer::Won(won), _) => self.confirm(won, keeper, outputs),
            (Answer::Found(Some(entry)), Standing::Confirmed)
                if entry == (Entry { holder: self.me, epoch }) => {}
            (Answer::Found(Some(entry)), _) if entry.holder == self.me && entry.epoch > epoch => {
                self.confirm(entry.epoch, keeper, outputs);
            }
            // That access point has claimed before it gave its promise.
            (Answer::Found(Some(entry)), Standing::Returned { by })
                if entry.holder == by && entry.epoch > epoch =>
            {
                outputs.push(Output::Ask(Query::Claim { expected: Some(entry.epoch) }));
            }
            // The claim has lapsed, and nobody has claimed since: the state is still the newest.
            (Answer::Found(None), _) => outputs.push(Output::Ask(Query::Claim { expected: None })),
            (Answer::Found(Some(entry)), _) => {
                outputs.push(Output::Stop { is_lost: true });
                self.look_for(entry, outputs);
            }
        }
    }

    /// The old access point, which froze the state at `epoch`, asks for the promise not to serve it.
    fn on_cancel(&mut self, from: Peer, attempt: Attempt, epoch: Epoch, outputs: &mut Vec<Output<S>>) {
        let answer = match &self.state {
            // The transfer has not arrived; if it does, it is stale.
            State::Requesting { attempt: own, .. } if *own == attempt => {
                self.locate(outputs);
                Message::Cancelled { attempt }
            }
            // The answer of the registry decides.
            State::Claiming { .. } => return,
            State::Serving(service) | State::Frozen { service, .. } | State::Reclaiming { service, .. }
                if service.keeper == Some((from, attempt)) =>
            {
                Message::Taken { attempt }
            }
            State::Serving(service) | State::Frozen { service, .. } | State::Reclaiming { service, .. }
                if service.epoch > epoch =>
            {
                Message::Release { entry: Entry { holder: self.me, epoch: service.epoch } }
            }
            State::Forwarding { entry } if entry.epoch > epoch && entry.holder != from => {
                Message::Release { entry: *entry }
            }
            // What was transferred then has gone on from here, perhaps to others.
            _ if attempt.by == self.me && self.unconfirmed.contains(&attempt.number) => {
                Message::Taken { attempt }
            }
            _ => Message::Cancelled { attempt },
        };
        outputs.push(Output::Send(from, answer));
    }
}

/// The old access point.
impl<S: Clone> Handoff<S> {
    fn on_request(
        &mut self,
        from: Peer,
        attempt: Attempt,
        asked: Option<Epoch>,
        freeze: impl FnOnce() -> S,
        outputs: &mut Vec<Output<S>>,
    ) {
        let mut send = |to, message| outputs.push(Output::Send(to, message));
        match &self.state {
            State::Serving(service) if asked.is_none_or(|asked| asked == service.epoch) => {
                let (service, state) = (*service, freeze());
                send(from, Message::Transfer { attempt, epoch: service.epoch, state: state.clone() });
                outputs.push(Output::Stop { is_lost: false });
                self.state = State::Frozen { service, gift: Gift { state, to: from, attempt }, tries: 0 };
            }
            State::Serving(service) => {
                let entry = Some(Entry { holder: self.me, epoch: service.epoch });
                send(from, Message::Refuse { attempt, entry });
            }
            State::Frozen { service, gift, .. } if gift.attempt == attempt => {
                send(from, Message::Transfer { attempt, epoch: service.epoch, state: gift.state.clone() });
            }
            // It is given once: the access point that has it is asked for the promise.
            State::Frozen { service, gift, .. } => {
                let entry = Some(Entry { holder: gift.to, epoch: service.epoch });
                send(from, Message::Refuse { attempt, entry });
                outputs.push(cancel(service, gift));
            }
            State::Forwarding { entry } => send(from, Message::Refuse { attempt, entry: Some(*entry) }),
            // It has the state, or may have it soon.
            State::Reclaiming { service: Service { epoch, .. }, .. }
            | State::Claiming { transfer: Some(Transfer { epoch, .. }), .. }
            | State::Requesting { of: Asked { epoch: Some(epoch), .. }, .. } => {
                let entry = Some(Entry { holder: self.me, epoch: *epoch });
                send(from, Message::Refuse { attempt, entry });
            }
            State::Idle | State::Locating | State::Claiming { .. } | State::Requesting { .. } => {
                send(from, Message::Refuse { attempt, entry: None });
            }
        }
    }

    fn on_release(&mut self, entry: Entry, outputs: &mut Vec<Output<S>>) {
        match &self.state {
            State::Frozen { service, .. } | State::Reclaiming { service, .. }
                if entry.epoch > service.epoch && entry.holder != self.me =>
            {
                let release = Message::Release { entry };
                outputs.extend(service.keeper.map(|(keeper, _)| Output::Send(keeper, release)));
                self.look_for(entry, outputs);
            }
            _ => self.stale += 1,
        }
    }

    fn on_cancelled(&mut self, cancelled: Attempt, outputs: &mut Vec<Output<S>>) {
        match &self.state {
            State::Frozen { service, gift, .. } | State::Reclaiming { service, gift }
                if gift.attempt == cancelled =>
            {
                let (epoch, state) = (service.epoch, gift.state.clone());
                self.state =
                    State::Serving(Service { standing: Standing::Returned { by: gift.to }, ..*service });
                outputs.push(Output::Serve(Some(state)));
                outputs.push(Output::Ask(Query::Claim { expected: Some(epoch) }));
            }
            _ => self.stale += 1,
        }
    }

    fn on_taken(&mut self, taken: Attempt, outputs: &mut Vec<Output<S>>) {
        match &mut self.state {
            State::Frozen { gift, tries, .. } if gift.attempt == taken => {
                *tries = 0;
                if self.has_client {
                    let to = gift.to;
                    self.request_of(to, None, outputs);
                }
            }
            _ => self.stale += 1,
        }
    }

    fn on_reclaimed(&mut self, answer: Answer, outputs: &mut Vec<Output<S>>) {
        let State::Reclaiming { service, gift } = &self.state else { return };
        let (service, gift) = (*service, gift.clone());
        match answer {
            Answer::Won(epoch) => {
                outputs.push(Output::Serve(Some(gift.state)));
                self.confirm(epoch, service.keeper, outputs);
            }
            Answer::Found(Some(entry)) if entry.holder == self.me && entry.epoch > service.epoch => {
                outputs.push(Output::Serve(Some(gift.state)));
                self.confirm(entry.epoch, service.keeper, outputs);
            }
            Answer::Found(Some(entry)) => self.look_for(entry, outputs),
            Answer::Found(None) | Answer::Away => self.state = State::Frozen { service, gift, tries: 0 },
        }
    }
}

/// Asks the access point that a state was given to for the promise not to serve it.
const fn cancel<S>(service: &Service, gift: &Gift<S>) -> Output<S> {
    Output::Send(gift.to, Message::Cancel { attempt: gift.attempt, epoch: service.epoch })
}
