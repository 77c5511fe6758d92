//! What access points say to each other, and to the registry.

/// The number of an access point in its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

/// The number of a claim: each claim of a client has a higher one than the last.
pub type Epoch = u64;

/// A request for a client's state, by the access point that makes it and a number that it never uses again, not
/// even after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    /// The access point that makes it.
    pub by: Peer,
    /// Its number.
    pub number: u64,
}

/// What the registry knows of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The access point that won the last claim.
    pub holder: Peer,
    /// Its epoch.
    pub epoch: Epoch,
}

/// A message about one client, from one access point to another. Messages may be lost, doubled and reordered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message<S> {
    /// The client has come: asks for its state.
    Request {
        /// The attempt, which the answer names.
        attempt: Attempt,
        /// The epoch at which the receiver is thought to hold the client; `None` if the registry is away.
        epoch: Option<Epoch>,
    },
    /// The state. The sender has stopped serving, and will not serve it again while the receiver may.
    Transfer {
        /// The attempt that it answers.
        attempt: Attempt,
        /// The sender's epoch.
        epoch: Epoch,
        /// The state.
        state: S,
    },
    /// The sender does not give the state.
    Refuse {
        /// The attempt that it answers.
        attempt: Attempt,
        /// Who has it, as far as the sender knows: the sender itself, if it may be able to give it in a while; `None`
        /// if it has never had it, or no longer.
        entry: Option<Entry>,
    },
    /// The client is served: the receiver need not keep anything.
    Release {
        /// By whom; at an epoch above the receiver's.
        entry: Entry,
    },
    /// Asks for the promise not to serve what was transferred.
    Cancel {
        /// The attempt of the receiver.
        attempt: Attempt,
        /// The epoch at which the sender froze the state.
        epoch: Epoch,
    },
    /// Promises that.
    Cancelled {
        /// The attempt of the sender.
        attempt: Attempt,
    },
    /// Refuses that: the sender serves.
    Taken {
        /// The attempt of the sender.
        attempt: Attempt,
    },
}

/// A question to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// Who holds the client?
    Lookup,
    /// Claims the client if its epoch is the one expected; `None`: if it has no holder.
    Claim {
        /// The epoch that is expected.
        expected: Option<Epoch>,
    },
}

/// An answer of the registry to the last question. Answers to earlier ones are not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// The answer to a lookup; to a claim, that another epoch was found than expected.
    Found(Option<Entry>),
    /// The claim was won.
    Won(Epoch),
    /// The registry did not answer. A claim may have been won or not.
    Away,
}
