//! 6.10 and 6.11: broken links and RERRs.

use super::support::{ALL, Did, Script, at, error, ms, quiet, reply, request, script};
use crate::message::Rreq;
use crate::{AodvConfig, Way};

/// Routes to 8 (number 30) and 7 (number 40) through 4, with these precursors.
fn relay(precursors: &[u8]) -> Script {
    let mut node = script(quiet());
    for (id, precursor) in (1..).zip(precursors) {
        let originator = 100 + precursor;
        node.hear_request(*precursor, 1, Rreq { id, ..request(originator, 5, 0) });
        node.hear_reply(4, reply(originator, 8, 2, 30));
        node.hear_reply(4, reply(originator, 7, 0, 40));
    }
    if precursors.is_empty() {
        node.hear_reply(4, reply(1, 8, 2, 30));
    }
    node
}

#[test]
fn a_broken_link_ends_every_route_through_it_and_who_uses_them_is_told_with_the_next_numbers() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    // To the neighbour 4 itself there was a route, too, whose number nobody knows.
    let did = node.did();
    assert_eq!(did, [Did::Say(at(3), 1, error(&[(4, 0), (7, 41), (8, 31)]))]);
    assert_eq!((node.knows(4), node.knows(7), node.knows(8)), (None, None, None));
    assert_eq!(node.aodv.counters().links_broken, 1);
    node.aodv.on_given_up(at(4), None, node.now);
    assert_eq!((node.did(), node.aodv.counters().links_broken), (vec![], 1));
}

#[test]
fn several_users_are_told_by_one_broadcast_and_none_by_none() {
    let mut node = relay(&[3, 5]);
    node.aodv.on_given_up(at(4), None, node.now);
    assert!(matches!(node.did()[..], [Did::Say(to, 1, _)] if to == ALL));
    let mut node = relay(&[]);
    node.aodv.on_given_up(at(4), None, node.now);
    assert_eq!(node.did(), []);
    assert_eq!(node.knows(8), None);
}

#[test]
fn an_error_counts_only_for_routes_through_who_sent_it_and_is_passed_on_with_its_numbers() {
    let mut node = relay(&[3]);
    assert_eq!(node.hear_error(5, &[(8, 31)]), []);
    assert!(node.knows(8).is_some());
    assert_eq!(node.hear_error(4, &[(8, 35), (99, 1)]), [Did::Say(at(3), 1, error(&[(8, 35)]))]);
    assert_eq!(node.knows(8), None);
    assert!(node.knows(7).is_some());
    assert_eq!(node.hear_error(4, &[(8, 36)]), [], "it is known");
}

#[test]
fn an_error_with_an_old_number_ends_the_route_all_the_same() {
    let mut node = relay(&[3]);
    assert_eq!(node.hear_error(4, &[(8, 12)]), [Did::Say(at(3), 1, error(&[(8, 31)]))]);
    assert_eq!(node.knows(8), None);
}

#[test]
fn a_packet_without_a_route_is_answered_with_an_error_towards_its_source() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    node.did();
    assert_eq!(node.forward(103, 8), Way::None);
    assert_eq!(node.did(), [Did::Say(at(3), 1, error(&[(8, 31)]))]);
    // Nothing is known of either.
    assert_eq!(node.forward(55, 66), Way::None);
    assert_eq!(node.did(), [Did::Say(ALL, 1, error(&[(66, 0)]))]);
}

#[test]
fn errors_over_the_rate_limit_are_left_out() {
    let mut node = script(AodvConfig { rerr_rate_limit: 4, ..quiet() });
    for far in 10..20 {
        assert_eq!(node.forward(55, far), Way::None);
    }
    assert_eq!(node.did().len(), 4);
    node.until(ms(1_000));
    node.forward(55, 30);
    assert_eq!(node.did().len(), 1);
}

#[test]
fn after_a_break_only_news_that_is_as_fresh_makes_a_route_again() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    node.did();
    // Number 30 may be what somebody has learned from here.
    node.hear_reply(5, reply(103, 8, 0, 30));
    assert_eq!(node.knows(8), None);
    node.hear_reply(5, reply(103, 8, 5, 31));
    assert_eq!(node.knows(8), Some((at(5), 6, Some(31))));
}

#[test]
fn a_route_that_expires_takes_the_next_number_and_is_forgotten_after_the_delete_period() {
    let mut node = relay(&[3]);
    // RREP lifetimes are 6 s, and DELETE_PERIOD is 15 s.
    node.until(ms(20_999));
    let asked = |node: &mut Script, id| node.hear_request(3, 9, Rreq { id, ..request(9, 8, 0) });
    let known = asked(&mut node, 81);
    assert!(format!("{known:?}").contains("destination_sequence: Some(31)"), "{known:?}");
    node.until(ms(21_000));
    let known = asked(&mut node, 82);
    assert!(format!("{known:?}").contains("destination_sequence: None"), "{known:?}");
}

#[test]
fn packets_for_an_invalid_route_keep_it_in_memory() {
    let mut node = relay(&[3]);
    node.until(ms(6_000));
    for second in 0..40 {
        node.until(ms(6_000 + second * 1_000));
        assert_eq!(node.forward(103, 8), Way::None);
        node.did();
    }
    node.hear_reply(5, reply(103, 8, 0, 30));
    assert_eq!(node.knows(8), None, "what is older than the break is still known to be");
}

#[test]
fn without_link_layer_feedback_a_frame_that_was_given_up_means_nothing() {
    let mut node = script(AodvConfig { link_layer_feedback: false, ..quiet() });
    node.hear_reply(4, reply(1, 8, 2, 30));
    node.aodv.on_given_up(at(4), None, node.now);
    assert!(node.knows(8).is_some());
}
