//! 6.6 and 6.7: RREPs.

use std::time::Duration;

use super::support::{Did, at, ms, quiet, reply, request, script};
use crate::message::{Message, Rrep, Rreq};
use crate::{AodvConfig, Way};

#[test]
fn the_destination_replies_with_the_larger_of_its_own_number_and_the_one_asked_for() {
    let mut node = script(quiet());
    let said = node.hear_request(4, 5, Rreq { destination_sequence: Some(11), ..request(9, 1, 2) });
    let expected = Rrep { lifetime: Duration::from_secs(6), ..reply(9, 1, 0, 11) };
    assert_eq!(said, [Did::Say(at(4), 35, Message::Reply(expected))]);
    let said = node.hear_request(4, 5, Rreq { id: 8, destination_sequence: Some(3), ..request(9, 1, 2) });
    assert_eq!(said, [Did::Say(at(4), 35, Message::Reply(expected))], "11 is its own now");
}

#[test]
fn who_has_a_route_as_fresh_replies_for_what_is_left_of_its_lifetime_and_the_request_ends_there() {
    let mut node = script(quiet());
    node.hear_request(3, 1, request(7, 5, 0));
    node.hear_reply(4, reply(7, 8, 2, 30));
    node.until(ms(1_000));
    let rreq = Rreq { destination_sequence: Some(30), ..request(9, 8, 0) };
    let said = node.hear_request(5, 9, rreq);
    let expected = Rrep { lifetime: Duration::from_secs(5), ..reply(9, 8, 3, 30) };
    assert_eq!(said, [Did::Say(at(5), 35, Message::Reply(expected))]);
    let precursors = &node.aodv.active_route(at(8)).expect("it is active").precursors;
    assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(3), at(5)]);
    let precursors = &node.aodv.active_route(at(9)).expect("it is active").precursors;
    assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(4)]);
}

#[test]
fn nobody_replies_in_the_place_of_a_destination_with_older_news_or_where_only_it_may() {
    let mut node = script(quiet());
    node.hear_request(3, 1, request(7, 5, 0));
    node.hear_reply(4, reply(7, 8, 2, 30));
    let fresher = Rreq { id: 1, destination_sequence: Some(31), ..request(9, 8, 0) };
    let only = Rreq { id: 2, destination_only: true, ..request(9, 8, 0) };
    // A neighbour whose number is not known.
    let nameless = Rreq { id: 3, ..request(9, 4, 0) };
    for rreq in [fresher, only, nameless] {
        let said = node.hear_request(5, 9, rreq);
        assert!(matches!(said[..], [Did::Say(_, 8, Message::Request(_))]), "{said:?}");
    }
}

#[test]
fn a_gratuitous_reply_tells_the_destination_of_the_way_back() {
    let mut node = script(quiet());
    node.hear_request(3, 1, request(7, 5, 0));
    node.hear_reply(4, reply(7, 8, 2, 30));
    let said = node.hear_request(5, 9, Rreq { gratuitous: true, ..request(9, 8, 1) });
    let lifetime = Duration::from_millis(5_600 - 160);
    let gratuitous = Rrep { lifetime, ..reply(8, 9, 2, 20) };
    assert_eq!(
        said,
        [
            Did::Say(at(5), 35, Message::Reply(reply(9, 8, 3, 30))),
            Did::Say(at(4), 35, Message::Reply(gratuitous)),
        ]
    );
}

#[test]
fn a_reply_makes_the_route_goes_on_along_the_way_back_and_names_precursors() {
    let mut node = script(quiet());
    node.hear_request(3, 1, request(9, 8, 0));
    let said = node.hear_reply(4, reply(9, 8, 2, 30));
    assert_eq!(said, [Did::Say(at(3), 29, Message::Reply(reply(9, 8, 3, 30)))]);
    assert_eq!(node.knows(8), Some((at(4), 3, Some(30))));
    for far in [8, 4] {
        let precursors = &node.aodv.active_route(at(far)).expect("it is active").precursors;
        assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(3)]);
    }
}

#[test]
fn a_reply_that_is_no_better_is_not_taken_and_goes_no_farther_unless_it_repeats_what_is_known() {
    let mut node = script(quiet());
    node.hear_request(3, 1, request(9, 8, 0));
    node.hear_reply(4, reply(9, 8, 2, 30));
    assert_eq!(node.hear_reply(5, reply(9, 8, 2, 30)), [], "as long");
    assert_eq!(node.hear_reply(5, reply(9, 8, 0, 29)), [], "older");
    assert_eq!(node.hear_reply(4, reply(9, 8, 2, 30)).len(), 1, "the same again");
    assert_eq!(node.hear_reply(5, reply(9, 8, 1, 30)).len(), 1, "shorter");
    assert_eq!(node.hear_reply(4, reply(9, 8, 7, 31)).len(), 1, "fresher");
    assert_eq!(node.knows(8), Some((at(4), 8, Some(31))));
}

#[test]
fn a_reply_to_oneself_lets_go_what_waits() {
    let mut node = script(quiet());
    assert_eq!(node.send(8), Way::Wait);
    node.did();
    assert_eq!(node.hear_reply(4, reply(1, 8, 2, 30)), [Did::Find(at(8))]);
    assert_eq!(node.send(8), Way::Next(at(4)));
    assert_eq!(node.until(ms(60_000)), [], "the search is over");
}

#[test]
fn a_request_of_the_one_that_is_looked_for_is_a_route_to_it() {
    let mut node = script(quiet());
    node.send(8);
    node.did();
    let did = node.hear_request(4, 1, request(8, 7, 1));
    assert_eq!(did, [Did::Find(at(8))]);
    assert_eq!(node.send(8), Way::Next(at(4)));
}

#[test]
fn a_reply_that_asks_for_an_acknowledgment_gets_one() {
    let mut node = script(quiet());
    let said = node.hear_reply(4, Rrep { wants_ack: true, ..reply(1, 8, 2, 30) });
    assert_eq!(said, [Did::Say(at(4), 1, Message::ReplyAck)]);
}

#[test]
fn a_route_lives_as_long_as_it_is_used_and_the_way_back_with_it() {
    let config = AodvConfig { my_route_timeout: Some(Duration::from_secs(1)), ..quiet() };
    let mut node = script(config);
    node.hear_request(3, 1, request(9, 8, 0));
    node.hear_reply(4, Rrep { lifetime: Duration::from_secs(1), ..reply(9, 8, 2, 30) });
    for second in 1..20 {
        node.until(ms(second * 1_000 - 1));
        assert_eq!(node.forward(9, 8), Way::Next(at(4)), "{second}");
    }
    assert_eq!(node.forward(8, 9), Way::Next(at(3)), "nothing went back so far");
    node.until(ms(18_999 + 2_999));
    assert_eq!((node.forward(9, 8), node.forward(8, 9)), (Way::Next(at(4)), Way::Next(at(3))));
    node.until(ms(21_998 + 3_000));
    assert_eq!((node.forward(9, 8), node.forward(8, 9)), (Way::None, Way::None));
}
