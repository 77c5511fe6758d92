//! Hand-offs without a network: what each input makes an access point do.

use std::net::SocketAddr;
use std::sync::Arc;

use lasthop_handoff::Query;

use super::*;
use crate::roaming::nat::mapping::Mapping;

const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

/// Counts what hand-offs do.
#[derive(Default)]
struct Counts {
    sent: usize,
    /// What waits to be sent.
    waiting: Vec<Arc<()>>,
    arrived: u64,
    served: usize,
    asked: u64,
    lost: usize,
    /// The connections that a state of translations moves.
    moved: Vec<Moved>,
    released: usize,
    is_central: bool,
}

impl Outside for Counts {
    fn send(&mut self, _to: &Destination<'_>, _octets: Vec<u8>) -> Pending {
        self.sent += 1;
        let (message, pending) = Pending::new();
        self.waiting.push(message);
        pending
    }

    fn arrived_from(&self, _name: &str) -> u64 {
        self.arrived
    }

    fn ask(&mut self, _client: MacAddress, number: u64, _query: Query) {
        self.asked = number;
    }

    fn await_state(&mut self, _client: MacAddress) {}

    fn serve(&mut self, _client: MacAddress, _state: Option<Bytes>) {
        self.served += 1;
    }

    fn give(&mut self, _client: MacAddress) -> Bytes {
        Bytes::new()
    }

    fn lose(&mut self, _client: MacAddress) {
        self.lost += 1;
    }

    fn forget(&mut self, _client: MacAddress) {}

    fn take_up(&mut self, _client: MacAddress, _state: &Bytes) -> TakenUp {
        TakenUp { taken: self.moved.len() as u64, refused: 0, moved: self.moved.clone() }
    }

    fn release(&mut self, _client: MacAddress) {
        self.released += 1;
    }

    fn redirect(&mut self, _client: MacAddress, _to: &str, epoch: u64, moved: &[Moved]) -> Option<u64> {
        self.is_central.then(|| moved.len() as u64 + epoch)
    }
}

fn new(max_clients: usize) -> Handoffs {
    Handoffs::new("hall", max_clients, Config::default(), 1, Instant::ZERO)
}

/// Serves a client that no access point has served before.
fn serve(handoffs: &mut Handoffs, client: MacAddress, outside: &mut Counts) {
    handoffs.on_join(client, None, Instant::ZERO, outside);
    handoffs.on_answer(client, outside.asked, RegistryAnswer::Found(None), Instant::ZERO, outside);
    handoffs.on_answer(client, outside.asked, RegistryAnswer::Won(1), Instant::ZERO, outside);
    assert!(handoffs.places(Instant::ZERO).any(|place| place.client == client && place.is_here));
}

#[test]
fn a_packet_that_was_under_way_when_its_client_moved_does_not_call_it_back() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    serve(&mut handoffs, CLIENT, &mut outside);
    let mut known = AccessPoints::new("stairs");
    let attempt = Attempt { by: SELF, number: 5 };
    let request =
        message::encode(CLIENT, &Body::Handoff(Message::Request { attempt, epoch: Some(1) }), &known);
    known.number("hall");
    handoffs.on_message("stairs", &request, Instant::ZERO, &mut outside);
    assert_eq!((outside.sent, handoffs.counters().given), (1, 1), "the state is given");
    let late = Instant::ZERO + UNDER_WAY / 2;
    handoffs.on_notice(CLIENT, late, &mut outside);
    assert_eq!((outside.sent, outside.lost), (1, 1));
    // Later it is back, and its state is asked for.
    handoffs.on_notice(CLIENT, late + UNDER_WAY, &mut outside);
    assert_eq!((outside.sent, outside.lost), (2, 1));
}

/// What an access point with the name `stairs` sends to `hall`.
fn from_stairs(message: impl FnOnce(Peer, Peer) -> Message<Bytes>) -> Vec<u8> {
    let mut known = AccessPoints::new("stairs");
    let hall = known.number("hall").expect("there is room");
    message::encode(CLIENT, &Body::Handoff(message(SELF, hall)), &known)
}

fn request() -> Vec<u8> {
    from_stairs(|stairs, _| Message::Request { attempt: Attempt { by: stairs, number: 5 }, epoch: Some(1) })
}

fn at_stairs() -> RegistryAnswer {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    RegistryAnswer::Found(Some(Holder { name: "stairs".to_owned(), address, epoch: 7 }))
}

/// Lets all time-outs come that are due within `time`; octets come before each.
fn wait(
    handoffs: &mut Handoffs,
    from: Instant,
    time: Duration,
    octets: u64,
    outside: &mut Counts,
) -> Instant {
    while let Some(at) = handoffs.deadline().filter(|at| *at <= from + time) {
        outside.arrived += octets;
        handoffs.on_deadline(at, outside);
    }
    from + time
}

#[test]
fn a_state_is_awaited_as_long_as_octets_of_the_access_point_that_has_it_arrive() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
    handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
    assert_eq!(outside.sent, 1, "a request");
    // The state is large, and takes three seconds.
    let now = wait(&mut handoffs, Instant::ZERO, Duration::from_secs(3), 10_000, &mut outside);
    assert_eq!((outside.sent, outside.served), (1, 0), "no access point is asked again");
    handoffs.on_message("stairs", &transfer(), now, &mut outside);
    handoffs.on_answer(CLIENT, outside.asked, RegistryAnswer::Won(8), now, &mut outside);
    assert_eq!((handoffs.counters().received, handoffs.counters().without_state), (1, 0));
}

#[test]
fn an_access_point_that_sends_anything_but_the_state_is_not_awaited_for_ever() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
    handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
    let asked = outside.asked;
    wait(&mut handoffs, Instant::ZERO, LONGEST_TRANSFER * 2, 10_000, &mut outside);
    assert_eq!(outside.sent, 3, "it was asked three times");
    assert!(outside.asked > asked, "its epoch is claimed");
}

#[test]
fn a_state_that_waits_to_be_sent_is_neither_sent_twice_nor_asked_back() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    serve(&mut handoffs, CLIENT, &mut outside);
    handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
    handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
    let now = wait(&mut handoffs, Instant::ZERO, Duration::from_secs(3), 0, &mut outside);
    assert_eq!(outside.sent, 1);
    // It has left, and was lost.
    outside.waiting.clear();
    handoffs.on_message("stairs", &request(), now, &mut outside);
    assert_eq!(outside.sent, 2);
    outside.waiting.clear();
    wait(&mut handoffs, now, Duration::from_millis(250), 0, &mut outside);
    assert_eq!(outside.sent, 3, "the other access point is asked whether it has it");
}

#[test]
fn a_given_state_that_nobody_says_to_have_taken_is_counted() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    serve(&mut handoffs, CLIENT, &mut outside);
    handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
    outside.waiting.clear();
    let asked = outside.asked;
    while outside.asked == asked {
        let at = handoffs.deadline().expect("it waits for a release");
        outside.waiting.clear();
        handoffs.on_deadline(at, &mut outside);
    }
    assert_eq!(handoffs.counters().unreleased, 0);
    handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
    assert_eq!(handoffs.counters().unreleased, 1);
}

#[test]
fn malformed_messages_and_answers_to_earlier_questions_are_counted_and_change_nothing() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    serve(&mut handoffs, CLIENT, &mut outside);
    handoffs.on_message("stairs", b"?", Instant::ZERO, &mut outside);
    handoffs.on_message("", b"?", Instant::ZERO, &mut outside);
    handoffs.on_answer(CLIENT, 1, RegistryAnswer::Found(None), Instant::ZERO, &mut outside);
    let counters = handoffs.counters();
    assert_eq!((counters.ignored, counters.stale, counters.lost), (2, 1, 0));
    assert_eq!(handoffs.places(Instant::ZERO).filter(|place| place.is_here).count(), 1);
}

#[test]
fn messages_about_unknown_clients_are_answered_and_take_no_memory() {
    let (mut handoffs, mut outside) = (new(4), Counts::default());
    let known = AccessPoints::new("stairs");
    for last in 0..100 {
        let request = Message::Request { attempt: Attempt { by: SELF, number: 5 }, epoch: None };
        let octets = message::encode(MacAddress([2, 0, 0, 0, 1, last]), &Body::Handoff(request), &known);
        handoffs.on_message("stairs", &octets, Instant::ZERO, &mut outside);
    }
    assert_eq!((outside.sent, handoffs.places(Instant::ZERO).count()), (100, 0));
}

#[test]
fn clients_beyond_the_bound_are_counted() {
    let (mut handoffs, mut outside) = (new(2), Counts::default());
    for last in 0..3 {
        handoffs.on_join(MacAddress([2, 0, 0, 0, 1, last]), None, Instant::ZERO, &mut outside);
    }
    assert_eq!((handoffs.counters().too_many, handoffs.places(Instant::ZERO).count()), (1, 2));
}

/// One connection that a state moves.
fn one_connection() -> Vec<Moved> {
    use lasthop_linux::conntrack::{Entry, Protocol, Status, Tuple};

    let end = |text: &str| text.parse().expect("an address and a port");
    let (source, destination) = (end("10.77.0.7:40000"), end("192.0.2.9:53"));
    let original = Tuple { protocol: Protocol::Udp, source, destination };
    let reply = Tuple { destination: end("10.0.0.1:1024"), ..original.reversed() };
    let (status, timeout) = (Status::default(), Duration::from_secs(1));
    let entry = Entry { original, reply, status, timeout, mark: 0, tcp: None };
    let mapping = Mapping::of(&entry, [10, 0, 0, 1].into()).expect("a translation");
    vec![mapping.moved(end("10.0.0.2:1024")).expect("it has another end")]
}

/// A client has come from `stairs` with the translation of a connection, and `gate` is asked to redirect it.
fn asks_central() -> (Handoffs, Counts) {
    let mut handoffs = new(4).with_central("gate");
    let mut outside = Counts { moved: one_connection(), ..Counts::default() };
    handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
    handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
    handoffs.on_message("stairs", &transfer(), Instant::ZERO, &mut outside);
    handoffs.on_answer(CLIENT, outside.asked, RegistryAnswer::Won(8), Instant::ZERO, &mut outside);
    assert_eq!((outside.sent, outside.served), (2, 0), "a request, and a redirection");
    (handoffs, outside)
}

fn transfer() -> Vec<u8> {
    from_stairs(|_, hall| Message::Transfer {
        attempt: Attempt { by: hall, number: 1 },
        epoch: 7,
        state: Bytes::from_static(b"state"),
    })
}

fn redirected(epoch: u64) -> Vec<u8> {
    message::encode(CLIENT, &Body::Redirected { epoch }, &AccessPoints::new("gate"))
}

#[test]
fn a_client_is_served_and_its_former_access_point_released_when_its_connections_are_redirected() {
    let (mut handoffs, mut outside) = asks_central();
    // Another access point asks for the state meanwhile, and has to ask again.
    handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
    handoffs.on_message("gate", &redirected(7), Instant::ZERO, &mut outside);
    handoffs.on_message("stairs", &redirected(8), Instant::ZERO, &mut outside);
    assert_eq!((outside.sent, outside.served), (2, 0));
    let counters = handoffs.counters();
    assert_eq!((counters.stale, counters.forged, counters.translations_taken), (1, 1, 1));
    handoffs.on_message("gate", &redirected(8), Instant::ZERO, &mut outside);
    assert_eq!((outside.sent, outside.served), (3, 1), "it is released");
    handoffs.on_message("gate", &redirected(8), Instant::ZERO, &mut outside);
    assert_eq!((outside.served, handoffs.counters().stale), (1, 2));
    assert_eq!(outside.released, 0);
}

#[test]
fn a_gateway_that_does_not_redirect_is_asked_again_and_not_awaited_for_ever() {
    let (mut handoffs, mut outside) = asks_central();
    let config = Config::default();
    let now = wait(&mut handoffs, Instant::ZERO, config.answer * 2, 0, &mut outside);
    assert_eq!((outside.sent, outside.served), (4, 0), "three redirections");
    wait(&mut handoffs, now, config.answer, 0, &mut outside);
    assert_eq!((outside.sent, outside.served, handoffs.counters().unredirected), (5, 1, 1));
}

#[test]
fn translations_are_kept_until_their_client_is_served_elsewhere() {
    let (mut handoffs, mut outside) = (new(4).with_central("gate"), Counts::default());
    serve(&mut handoffs, CLIENT, &mut outside);
    handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
    assert_eq!(outside.released, 0, "they were given");
    let release = from_stairs(|stairs, _| Message::Release { entry: Entry { holder: stairs, epoch: 9 } });
    handoffs.on_message("stairs", &release, Instant::ZERO, &mut outside);
    assert_eq!(outside.released, 1);
}

#[test]
fn only_a_gateway_that_translates_the_site_redirects() {
    let known = AccessPoints::new("stairs");
    let body = Body::Redirect { epoch: 8, moved: one_connection() };
    let octets = message::encode(CLIENT, &body, &known);
    for (is_central, counts) in [(false, (0, 0, 1)), (true, (1, 9, 0))] {
        let (mut handoffs, mut outside) = (new(4), Counts { is_central, ..Counts::default() });
        handoffs.on_message("stairs", &octets, Instant::ZERO, &mut outside);
        let counters = handoffs.counters();
        assert_eq!((outside.sent, counters.redirected, counters.redirections_refused), counts);
        assert_eq!(handoffs.places(Instant::ZERO).count(), 0, "it takes no memory");
    }
}
