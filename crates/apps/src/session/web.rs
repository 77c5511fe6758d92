//! Web: pages of a main object and those embedded in it, over parallel connections.
//!
//! The distributions are those of the HTTP model in 3GPP2 C.R1002-0 ("cdma2000 Evaluation
//! Methodology"), which the evaluation methodology of IEEE 802.16m has, too; the document itself
//! was not available, and the values are those of published tables. Requests are of one size.
//! Connections are persistent (HTTP/1.1) and not pipelined. The client opens the first one for the
//! main object; when it has read that, it opens more for the embedded objects, and asks on each for
//! the next as soon as it has the last. With the page's last object it closes them all.

use std::time::Duration;

use lasthop_packet::Rng;

use super::script::{Lane, Party, Script, Turn};
use super::size::Size;
use crate::heavy_tails::{Lognormal, Pareto};

/// A client that browses, and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// A request.
    pub request: u64,
    /// A page's main object.
    pub main_object: Size,
    /// How many objects are embedded in it.
    pub objects: Objects,
    /// An embedded object.
    pub object: Size,
    /// How long the client reads a main object before it asks for what is embedded: exponentially
    /// distributed, with this mean.
    pub parse_time: Duration,
    /// Connections at once, above zero.
    pub connections: usize,
}

/// How many objects are embedded in a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objects {
    /// Always as many.
    Fixed(u32),
    /// A draw less the distribution's least, rounded down.
    Pareto(Pareto),
}

impl Web {
    /// The source's, in up to six connections: some 50 kB a page.
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
/// Where the main object comes.
const MAIN: Lane = 0;

/// Browsing at work.
pub(super) struct Browsing {
    web: Web,
    main_object: u64,
    /// Embedded objects that are still to be asked for.
    to_ask: Vec<u64>,
    /// By lane, what is asked for there and not yet here.
    asked: Vec<Option<u64>>,
    /// The main object is here.
    has_main: bool,
}

impl Browsing {
    pub(super) fn new(web: Web) -> Self {
        let asked = vec![None; web.connections.max(1)];
        Self { web, main_object: 0, to_ask: Vec::new(), asked, has_main: false }
    }

    fn ask(&mut self, lane: Lane, octets: u64, turn: &mut Turn<'_>) {
        self.asked[lane] = Some(octets);
        turn.write(lane, Party::Client, self.web.request);
    }

    /// Asks for the embedded objects; whether there are none.
    fn advance(&mut self, turn: &mut Turn<'_>) -> bool {
        for lane in 0..self.asked.len() {
            let Some(octets) = self.to_ask.pop() else { break };
            if lane != MAIN {
                turn.open(lane, PORT);
            }
            self.ask(lane, octets, turn);
        }
        self.is_complete(turn)
    }

    fn is_complete(&mut self, turn: &mut Turn<'_>) -> bool {
        if !self.to_ask.is_empty() || self.asked.iter().any(Option::is_some) {
            return false;
        }
        for lane in 0..self.asked.len() {
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
        self.to_ask.clear();
        self.to_ask.extend((0..objects).map(|_| self.web.object.draw(rng)));
        let replies = self.main_object + self.to_ask.iter().sum::<u64>();
        replies + self.web.request * (1 + u64::from(objects))
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        self.has_main = false;
        turn.open(MAIN, PORT);
        self.ask(MAIN, self.main_object, turn);
    }

    fn arrived(&mut self, lane: Lane, at: Party, turn: &mut Turn<'_>) -> bool {
        if at == Party::Server {
            if let Some(octets) = self.asked[lane] {
                turn.write(lane, Party::Server, octets);
            }
            return false;
        }
        self.asked[lane] = None;
        if !self.has_main {
            self.has_main = true;
            if self.to_ask.is_empty() || self.web.parse_time.is_zero() {
                return self.advance(turn);
            }
            let read_at = turn.now + turn.rng.exponential(self.web.parse_time);
            turn.wake_at(read_at);
            return false;
        }
        if let Some(octets) = self.to_ask.pop() {
            self.ask(lane, octets, turn);
        }
        self.is_complete(turn)
    }

    fn woken(&mut self, turn: &mut Turn<'_>) {
        self.advance(turn);
    }

    fn failed(&mut self) {
        self.asked.fill(None);
        self.to_ask.clear();
    }
}
