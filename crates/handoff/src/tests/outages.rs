//! Histories during an outage of the registry that have lost a state before.

use crate::{Answer, Config, Entry, Handoff, Message, Output, Peer, Query, Standing};

const CONFIG: Config = Config {
    answer: std::time::Duration::from_millis(1),
    registry: std::time::Duration::from_millis(1),
    check: std::time::Duration::from_millis(1),
    max_tries: 1,
};

const OLD: Peer = Peer(0);
const NEW: Peer = Peer(1);
const THIRD: Peer = Peer(2);

/// An access point that serves the client, at epoch 1.
fn serving(me: Peer) -> Handoff<u8> {
    let mut handoff = Handoff::new(me, 0, &CONFIG);
    handoff.on_join(None);
    handoff.on_answer(Answer::Found(None));
    handoff.on_answer(Answer::Won(1));
    handoff
}

/// The message that an access point sends first.
fn sent(outputs: Vec<Output<u8>>) -> (Peer, Message<u8>) {
    let sent = outputs.into_iter().find_map(|output| match output {
        Output::Send(to, message) => Some((to, message)),
        _ => None,
    });
    sent.expect("it sends a message")
}

/// Moves the state from one access point to another while the registry is away. Returns the request.
fn move_to(
    (to, to_peer): (&mut Handoff<u8>, Peer),
    (from, from_peer): (&mut Handoff<u8>, Peer),
) -> Message<u8> {
    let (_, request) = sent(to.on_join(Some(from_peer)));
    let (_, transfer) = sent(from.on_message(to_peer, request.clone(), || 7));
    to.on_message(from_peer, transfer, || unreachable!("it does not serve"));
    let outputs = to.on_answer(Answer::Away);
    assert_eq!(outputs, [Output::Serve(Some(7))]);
    request
}

#[test]
fn nobody_promises_not_to_serve_a_state_that_has_come_back_from_a_third_access_point() {
    let [mut old, mut new, mut third] =
        [serving(OLD), Handoff::new(NEW, 0, &CONFIG), Handoff::new(THIRD, 0, &CONFIG)];
    let Message::Request { attempt, .. } = move_to((&mut new, NEW), (&mut old, OLD)) else { unreachable!() };
    move_to((&mut third, THIRD), (&mut new, NEW));
    // `new` gets it back: it asks `third`, which says that it has it.
    let (_, cancel) = sent(new.on_join(None));
    let (_, taken) = sent(third.on_message(NEW, cancel, || 7));
    let (_, request) = sent(new.on_message(THIRD, taken, || 7));
    let (_, transfer) = sent(third.on_message(NEW, request, || 7));
    new.on_message(THIRD, transfer, || 7);
    assert_eq!(new.on_answer(Answer::Away), [Output::Serve(Some(7))]);
    // `old` has waited for a release, and asks.
    let (to, cancel) = sent(old.on_timeout());
    assert_eq!((to, &cancel), (NEW, &Message::Cancel { attempt, epoch: 1 }));
    assert_eq!(sent(new.on_message(OLD, cancel, || 7)).1, Message::Taken { attempt });
    assert_eq!(new.service(), Some((1, Standing::Transferred)));
}

#[test]
fn a_state_is_not_given_up_if_its_server_does_not_know_yet_that_it_has_won_its_last_claim() {
    let [mut old, mut new, mut third] =
        [serving(OLD), Handoff::new(NEW, 0, &CONFIG), Handoff::new(THIRD, 0, &CONFIG)];
    move_to((&mut new, NEW), (&mut old, OLD));
    // The claim of `new` is carried out late: the registry names it at epoch 2, and `new` serves at epoch 1.
    third.on_join(None);
    let named = Answer::Found(Some(Entry { holder: NEW, epoch: 2 }));
    let (_, request) = sent(third.on_answer(named));
    let (_, refusal) = sent(new.on_message(THIRD, request, || unreachable!("it is at another epoch")));
    assert_eq!(third.on_message(NEW, refusal, || unreachable!("it does not serve")), []);
    // It asks again in a while.
    assert_eq!(third.on_timeout(), [Output::Ask(Query::Lookup)]);
    assert!(!matches!(new.on_answer(Answer::Won(2))[..], [Output::Serve(_), ..]), "it serves already");
    let (_, request) = sent(third.on_answer(named));
    assert!(matches!(sent(new.on_message(THIRD, request, || 8)).1, Message::Transfer { state: 8, .. }));
}

#[test]
fn a_client_whose_claim_has_lapsed_is_served_on_and_claimed_again() {
    let mut old = serving(OLD);
    let claims = [Output::Ask(Query::Claim { expected: None })];
    assert_eq!(old.on_timeout(), [Output::Ask(Query::Lookup)]);
    assert_eq!(old.on_answer(Answer::Found(None)), claims);
    assert_eq!(old.service(), Some((1, Standing::Confirmed)), "what it serves is the newest state");
    assert_eq!(old.on_answer(Answer::Won(4)), []);
    assert_eq!(old.service(), Some((4, Standing::Confirmed)));
    // Another access point was faster.
    old.on_timeout();
    assert_eq!(old.on_answer(Answer::Found(None)), claims);
    let outputs = old.on_answer(Answer::Found(Some(Entry { holder: NEW, epoch: 5 })));
    assert_eq!(outputs[0], Output::Stop { is_lost: true });
}

#[test]
fn a_state_that_the_registry_has_not_confirmed_is_served_on_after_its_claim_has_lapsed() {
    let [mut old, mut new] = [serving(OLD), Handoff::new(NEW, 0, &CONFIG)];
    move_to((&mut new, NEW), (&mut old, OLD));
    new.on_timeout();
    assert_eq!(new.on_answer(Answer::Found(None)), [Output::Ask(Query::Claim { expected: None })]);
    let release = Message::Release { entry: Entry { holder: NEW, epoch: 4 } };
    assert_eq!(new.on_answer(Answer::Won(4)), [Output::Send(OLD, release)]);
}
