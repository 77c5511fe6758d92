//! 6.10 and 6.11: broken links and RERRs.

use super::support::{ALL, Did, Script, at, error, ms, quiet, reply, request, script};
use crate::message::Rreq;
use crate::{AodvConfig, RouteLookup};

/// Routes to 8 (number 30) and 7 (number 40) through 4, with these precursors.
fn relay(precursors: &[u8]) -> Script {
    let mut node = script(quiet());
    for (id, precursor) in (1..).zip(precursors) {
        let originator = 100 + precursor;
        node.receive_request(*precursor, 1, Rreq { id, ..request(originator, 5, 0) });
        node.receive_reply(4, reply(originator, 8, 2, 30));
        node.receive_reply(4, reply(originator, 7, 0, 40));
    }
    if precursors.is_empty() {
        node.receive_reply(4, reply(1, 8, 2, 30));
    }
    node
}

#[test]
fn a_broken_link_ends_all_routes_through_it_and_their_users_get_the_next_numbers() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    // There was also a route to neighbor 4 itself, whose sequence number is unknown.
    let did = node.did();
    assert_eq!(did, [Did::Send(at(3), 1, error(&[(4, 0), (7, 41), (8, 31)]))]);
    assert_eq!((node.knows(4), node.knows(7), node.knows(8)), (None, None, None));
    assert_eq!(node.aodv.counters().links_broken, 1);
    node.aodv.on_given_up(at(4), None, node.now);
    assert_eq!((node.did(), node.aodv.counters().links_broken), (vec![], 1));
}

#[test]
fn several_users_are_notified_by_one_broadcast_and_none_by_no_message() {
    let mut node = relay(&[3, 5]);
    node.aodv.on_given_up(at(4), None, node.now);
    assert!(matches!(node.did()[..], [Did::Send(to, 1, _)] if to == ALL));
    let mut node = relay(&[]);
    node.aodv.on_given_up(at(4), None, node.now);
    assert_eq!(node.did(), []);
    assert_eq!(node.knows(8), None);
}

#[test]
fn an_error_counts_only_for_routes_through_its_sender_and_is_forwarded() {
    let mut node = relay(&[3]);
    assert_eq!(node.receive_error(5, &[(8, 31)]), []);
    assert!(node.knows(8).is_some());
    assert_eq!(node.receive_error(4, &[(8, 35), (99, 1)]), [Did::Send(at(3), 1, error(&[(8, 35)]))]);
    assert_eq!(node.knows(8), None);
    assert!(node.knows(7).is_some());
    assert_eq!(node.receive_error(4, &[(8, 36)]), [], "it is known");
}

#[test]
fn an_error_with_an_old_number_still_ends_the_route() {
    let mut node = relay(&[3]);
    assert_eq!(node.receive_error(4, &[(8, 12)]), [Did::Send(at(3), 1, error(&[(8, 31)]))]);
    assert_eq!(node.knows(8), None);
}

#[test]
fn a_packet_without_a_route_is_answered_with_an_error_towards_its_source() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    node.did();
    assert_eq!(node.forward(103, 8), RouteLookup::None);
    assert_eq!(node.did(), [Did::Send(at(3), 1, error(&[(8, 31)]))]);
    // Neither is known.
    assert_eq!(node.forward(55, 66), RouteLookup::None);
    assert_eq!(node.did(), [Did::Send(ALL, 1, error(&[(66, 0)]))]);
}

#[test]
fn errors_above_the_rate_limit_are_omitted() {
    let mut node = script(AodvConfig { rerr_rate_limit: 4, ..quiet() });
    for far in 10..20 {
        assert_eq!(node.forward(55, far), RouteLookup::None);
    }
    assert_eq!(node.did().len(), 4);
    node.until(ms(1_000));
    node.forward(55, 30);
    assert_eq!(node.did().len(), 1);
}

#[test]
fn after_a_break_only_a_route_with_a_newer_number_is_accepted() {
    let mut node = relay(&[3]);
    node.aodv.on_given_up(at(4), None, node.now);
    node.did();
    // A neighbor may have learned number 30 from this node.
    node.receive_reply(5, reply(103, 8, 0, 30));
    assert_eq!(node.knows(8), None);
    node.receive_reply(5, reply(103, 8, 5, 31));
    assert_eq!(node.knows(8), Some((at(5), 6, Some(31))));
}

#[test]
fn an_expired_route_gets_the_next_number_and_is_deleted_after_the_delete_period() {
    let mut node = relay(&[3]);
    // RREP lifetimes are 6 s, and DELETE_PERIOD is 15 s.
    node.until(ms(20_999));
    let requested = |node: &mut Script, id| node.receive_request(3, 9, Rreq { id, ..request(9, 8, 0) });
    let known = requested(&mut node, 81);
    assert!(format!("{known:?}").contains("destination_sequence: Some(31)"), "{known:?}");
    node.until(ms(21_000));
    let known = requested(&mut node, 82);
    assert!(format!("{known:?}").contains("destination_sequence: None"), "{known:?}");
}

#[test]
fn packets_for_an_invalid_route_keep_it_in_memory() {
    let mut node = relay(&[3]);
    node.until(ms(6_000));
    for second in 0..40 {
        node.until(ms(6_000 + second * 1_000));
        assert_eq!(node.forward(103, 8), RouteLookup::None);
        node.did();
    }
    node.receive_reply(5, reply(103, 8, 0, 30));
    assert_eq!(node.knows(8), None, "the number from before the break is still refused");
}

#[test]
fn without_link_layer_feedback_a_frame_that_was_given_up_has_no_effect() {
    let mut node = script(AodvConfig { link_layer_feedback: false, ..quiet() });
    node.receive_reply(4, reply(1, 8, 2, 30));
    node.aodv.on_given_up(at(4), None, node.now);
    assert!(node.knows(8).is_some());
}
