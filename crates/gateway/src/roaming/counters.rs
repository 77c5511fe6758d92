//! What is counted of hand-offs.

use serde::{Deserialize, Serialize};

lasthop_agent::counters! {
    /// What is counted of hand-offs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct HandoffCounters {
        /// Clients that came.
        joins: JOINS = "client_joins",
        /// Clients that were served from then on with the state of their connections.
        received: RECEIVED_STATES = "handoffs_received",
        /// Clients that were served from then on without a state: new ones, and those whose former access point did
        /// not answer or had none.
        without_state: WITHOUT_STATE = "handoffs_without_state",
        /// Clients whose state was given to another access point.
        given: GIVEN_STATES = "handoffs_given",
        /// Clients whose state was given up, because another access point had claimed them without it.
        lost: LOST_STATES = "handoffs_lost",
        /// Clients whose state was given and may be lost: the registry says that another access point serves them, and
        /// none has said so itself.
        unreleased: UNRELEASED_STATES = "handoffs_unreleased",
        /// The sum of the times from when a client came until it was served, in microseconds.
        interruption_us: INTERRUPTION = "interruption_microseconds",
        /// Messages and answers that changed nothing, because they were old.
        stale: STALE = "stale_messages",
        /// Messages that were ignored: malformed, too long, or of another version.
        ignored: IGNORED = "ignored_messages",
        /// Messages that were ignored, because they were about attempts of other access points than their sender's or
        /// this one's.
        forged: FORGED = "forged_messages",
        /// Clients that were not handed over, because there was no room for another one.
        too_many: TOO_MANY_CLIENTS = "handoffs_too_many",
        /// Translations of clients that came, which go on here.
        translations_taken: TRANSLATIONS_TAKEN = "translations_taken",
        /// Translations of clients that came, which could not be those of the client, or found no port.
        translations_refused: TRANSLATIONS_REFUSED = "translations_refused",
        /// Connections that this gateway, which translates the site, has sent to another access point.
        redirected: REDIRECTED = "connections_redirected",
        /// Requests for that which were refused: most often, another access point has served the client since.
        redirections_refused: REDIRECTIONS_REFUSED = "redirections_refused",
        /// Clients that were served although the gateway that translates the site did not answer: their connections
        /// end.
        unredirected: UNREDIRECTED = "handoffs_unredirected",
    }
}
