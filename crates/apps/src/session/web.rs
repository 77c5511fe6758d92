//! Web: pages of a main object and embedded objects, over parallel connections.
//!
//! The distributions are those of the HTTP model in 3GPP2 C.R1002-0 ("cdma2000 Evaluation
//! Methodology"), which the evaluation methodology of IEEE 802.16m also uses. The document itself
//! was not available; the values are those of published tables. All requests have the same size.
//! Connections are persistent (HTTP/1.1) and not pipelined. The client opens the first one for the
//! main object. When it has parsed that, it opens more for the embedded objects, and sends the next
//! request on each as soon as it has received the previous object. After the page's last object it
//! closes all connections.

use std::time::Duration;

use lasthop_packet::Rng;

use super::script::{Lane, Party, Script, Turn};
use super::size::Size;
use crate::heavy_tails::{Lognormal, Pareto};

/// A client that browses, and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// The size of a request, in octets.
    pub request: u64,
    /// The size of a page's main object.
    pub main_object: Size,
    /// The number of embedded objects.
    pub objects: Objects,
    /// The size of an embedded object.
    pub object: Size,
    /// The mean time for which the client parses a main object before it requests the embedded
    /// ones; exponentially distributed.
    pub parse_time: Duration,
    /// The maximum number of parallel connections, above zero.
    pub connections: usize,
}

/// The number of embedded objects in a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objects {
    /// A constant.
    Fixed(u32),
    /// A draw minus the distribution's minimum, rounded down.
    Pareto(Pareto),
}

impl Web {
    /// The values of the source, with up to six connections: about 50 kB per page.
    pub fn evaluation_methodology() -> Self {
        Self {
            request: 350,
            main_object: Size::Lognormal(Lognormal { mu: 8.37, sigma: 1.37, min: 100.0, max: 2e6 }),
            objects: Objects::Pareto(Pareto { shape: 1.1, min: 2.0, max: 55.0 }),
            object: Size::Lognormal(Lognormal { mu: 6.17, sigma: 2.36, min: 50.0, max: 2e6 }),
            parse_time: Duration::from_millis(130),
            connections: 6,
        }
    }
}

/// HTTP's port.
const PORT: u16 = 80;
/// The connection for the main object.
const MAIN: Lane = 0;

/// The script of a browsing client and its server.
pub(super) struct Browsing {
    web: Web,
    main_object: u64,
    /// The sizes of the embedded objects that have not been requested.
    to_request: Vec<u64>,
    /// For each lane, the size of the object that was requested and has not arrived.
    requested: Vec<Option<u64>>,
    /// Whether the main object has arrived.
    has_main: bool,
}

impl Browsing {
    pub(super) fn new(web: Web) -> Self {
        let requested = vec![None; web.connections.max(1)];
        Self { web, main_object: 0, to_request: Vec::new(), requested, has_main: false }
    }

    fn request(&mut self, lane: Lane, octets: u64, turn: &mut Turn<'_>) {
        self.requested[lane] = Some(octets);
        turn.write(lane, Party::Client, self.web.request);
    }

    /// Requests the first embedded objects. Returns whether the page has none and is complete.
    fn advance(&mut self, turn: &mut Turn<'_>) -> bool {
        for lane in 0..self.requested.len() {
            let Some(octets) = self.to_request.pop() else { break };
            if lane != MAIN {
                turn.open(lane, PORT);
            }
            self.request(lane, octets, turn);
        }
        self.is_complete(turn)
    }

    fn is_complete(&mut self, turn: &mut Turn<'_>) -> bool {
        if !self.to_request.is_empty() || self.requested.iter().any(Option::is_some) {
            return false;
        }
        for lane in 0..self.requested.len() {
            turn.leave(lane, Party::Client);
        }
        true
    }
}

impl Script for Browsing {
    fn plan(&mut self, rng: &mut Rng) -> u64 {
        self.main_object = self.web.main_object.draw(rng);
        let objects = match self.web.objects {
            Objects::Fixed(objects) => objects,
            Objects::Pareto(pareto) => (pareto.draw(rng) - pareto.min) as u32,
        };
        self.to_request.clear();
        self.to_request.extend((0..objects).map(|_| self.web.object.draw(rng)));
        let replies = self.main_object + self.to_request.iter().sum::<u64>();
        replies + self.web.request * (1 + u64::from(objects))
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        self.has_main = false;
        turn.open(MAIN, PORT);
        self.request(MAIN, self.main_object, turn);
    }

    fn arrived(&mut self, lane: Lane, at: Party, turn: &mut Turn<'_>) -> bool {
        if at == Party::Server {
            if let Some(octets) = self.requested[lane] {
                turn.write(lane, Party::Server, octets);
            }
            return false;
        }
        self.requested[lane] = None;
        if !self.has_main {
            self.has_main = true;
            if self.to_request.is_empty() || self.web.parse_time.is_zero() {
                return self.advance(turn);
            }
            let parsed_at = turn.now + turn.rng.exponential(self.web.parse_time);
            turn.wake_at(parsed_at);
            return false;
        }
        if let Some(octets) = self.to_request.pop() {
            self.request(lane, octets, turn);
        }
        self.is_complete(turn)
    }

    fn woken(&mut self, turn: &mut Turn<'_>) {
        self.advance(turn);
    }

    fn failed(&mut self) {
        self.requested.fill(None);
        self.to_request.clear();
    }
}
