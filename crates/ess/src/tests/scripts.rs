//! Scripts of single clients.

use std::time::Duration;

use lasthop_packet::Instant;

use super::air::{Air, config};
use crate::client::{Margin, Output, Reason, Steering};
use crate::{AccessPointConfig, AccessPointId, Channel, ClientConfig, ClientId, Frame, Security};

const AP: fn(u32) -> AccessPointId = AccessPointId;

fn associations(air: &Air) -> Vec<(ClientId, Output)> {
    air.log.iter().map(|(_, client, output)| (*client, output.clone())).collect()
}

fn joined(access_point: u32, previous: Option<u32>) -> Output {
    Output::Joined { access_point: AP(access_point), previous: previous.map(AP) }
}

fn left(access_point: u32, reason: Reason) -> Output {
    Output::Left { access_point: AP(access_point), reason }
}

#[test]
fn a_client_scans_all_channels_and_associates_with_the_strongest_access_point() {
    let mut air = Air::new(&[0.0, 30.0], &AccessPointConfig::default(), 1);
    air.logs_all = true;
    let client = air.add(25.0, config());
    air.run(Instant::from_secs(1));
    let send = |to: Option<u32>, frame| Output::Send { to: to.map(AP), frame };
    let expected = [
        (0, Output::Tune(Channel(0))),
        (33, send(None, Frame::ProbeRequest)),
        (63, Output::Tune(Channel(1))),
        (96, send(None, Frame::ProbeRequest)),
        (127, Output::Tune(Channel(2))),
        (160, send(None, Frame::ProbeRequest)),
        (190, Output::Tune(Channel(1))),
        (193, send(Some(1), Frame::AuthenticationRequest)),
        (195, send(Some(1), Frame::AssociationRequest { previous: None })),
        (197, joined(1, None)),
    ];
    assert_eq!(air.log, expected.map(|(at, output)| (at, client, output)));
    assert!(air.access_points[1].0.is_associated(client));
}

#[test]
fn a_client_that_walks_roams_once_another_access_point_is_stronger_by_the_margin() {
    let mut air = Air::new(&[0.0, 100.0], &AccessPointConfig::default(), 1);
    let margin = Margin::Fixed(8);
    let interval = Duration::from_secs(1);
    let client = air.add(5.0, ClientConfig { margin, short_interval: interval, ..config() });
    // A metre a second.
    for second in 1..95u32 {
        air.clients[0].metres = 5.0 + f64::from(second);
        air.run(Instant::from_secs(second.into()));
        if air.clients[0].client.access_point() == Some(AP(1)) {
            break;
        }
    }
    let expected = [joined(0, None), left(0, Reason::Roams), joined(1, Some(0))];
    assert_eq!(associations(&air), expected.map(|output| (client, output)));
    // 8 dB at 30 dB for a factor of ten: at 65 m of 100, and a scan later.
    assert!((64.0..70.0).contains(&air.clients[0].metres), "{}", air.clients[0].metres);
    // The radio changes its channel, and two frames go each way.
    let [.., (left, ..), (joined, ..)] = air.log[..] else { panic!("{:?}", air.log) };
    assert_eq!(joined - left, 3 + 4);
    assert!(!air.access_points[0].0.is_associated(client));
}

#[test]
fn while_it_scans_other_channels_its_access_point_is_told() {
    let mut air = Air::new(&[0.0], &AccessPointConfig::default(), 1);
    let client = air.add(50.0, ClientConfig { long_interval: Duration::from_secs(2), ..config() });
    air.run(Instant::from_secs(1));
    air.logs_all = true;
    air.log.clear();
    air.run(Instant::from_secs(3));
    let null = |power_save| Output::Send { to: Some(AP(0)), frame: Frame::Null { power_save } };
    let probe = Output::Send { to: None, frame: Frame::ProbeRequest };
    let visit = |channel| {
        [null(true), Output::Tune(Channel(channel)), probe.clone(), Output::Tune(Channel(0)), null(false)]
    };
    assert_eq!(associations(&air), [visit(1), visit(2)].concat().map_client(client));
}

#[test]
fn an_access_point_that_falls_silent_is_left_and_another_one_found() {
    let mut air = Air::new(&[0.0, 40.0], &AccessPointConfig::default(), 1);
    let client = air.add(5.0, config());
    air.run(Instant::from_secs(1));
    air.dead.push(AP(0));
    air.run(Instant::from_secs(3));
    let expected = [joined(0, None), left(0, Reason::NoBeacons), joined(1, Some(0))];
    assert_eq!(associations(&air), expected.map(|output| (client, output)));
}

#[test]
fn a_client_follows_a_request_or_not_as_it_is_configured() {
    // 20 m from one, 30 m from the other: 6 dB weaker.
    for (steering, goes) in
        [(Steering::Follow, true), (Steering::IfStronger, false), (Steering::Refuse, false)]
    {
        let mut air = Air::new(&[0.0, 50.0], &AccessPointConfig::default(), 1);
        let client = air.add(20.0, ClientConfig { steering, ..config() });
        air.run(Instant::from_secs(1));
        air.access_points[0].0.steer(client, &[AP(0), AP(7), AP(1)]);
        air.run(Instant::from_secs(2));
        let went = [left(0, Reason::Steered), joined(1, Some(0))];
        let expected = [vec![joined(0, None)], if goes { went.to_vec() } else { Vec::new() }].concat();
        assert_eq!(associations(&air), expected.map_client(client), "{steering:?}");
    }
}

#[test]
fn a_client_that_is_asked_reports_what_it_receives_on_the_channels_and_stays() {
    // Channels 0, 1, 2 and 0.
    let mut air = Air::new(&[0.0, 12.0, 30.0, 40.0], &AccessPointConfig::default(), 1);
    let client = air.add(5.0, config());
    air.run(Instant::from_secs(1));
    air.access_points[0].0.measure(client, vec![Channel(1), Channel(9)]);
    air.run(Instant::from_secs(2));
    let [(at, by, heard)] = &air.reports[..] else { panic!("{:?}", air.reports) };
    assert_eq!(*by, client);
    // A visit to channel 1, whose access point is 7 m away, and the access points of its own channel.
    let ids: Vec<u32> = heard.iter().map(|heard| heard.access_point.0).collect();
    assert_eq!(ids, [0, 1, 3]);
    assert!(heard.windows(2).all(|pair| pair[0].signal > pair[1].signal), "{heard:?}");
    // The request goes out with a beacon after 1,024 ms. Three frames, 3 ms, 30 ms, 30 ms, 3 ms.
    assert!((1_090..1_095).contains(at), "{at}");
    assert_eq!(associations(&air), [(client, joined(0, None))]);
}

#[test]
fn a_client_that_scans_for_itself_does_not_answer_a_beacon_request() {
    let mut air = Air::new(&[0.0, 12.0], &AccessPointConfig::default(), 1);
    let client = air.add(5.0, ClientConfig { long_interval: Duration::from_secs(1), ..config() });
    air.run(Instant::from_millis(1_250));
    air.access_points[0].0.measure(client, vec![Channel(1)]);
    air.run(Instant::from_secs(3));
    assert_eq!(air.reports, []);
}

#[test]
fn an_access_point_that_is_full_refuses_and_the_next_best_is_taken() {
    let full = AccessPointConfig { max_clients: 1, ..AccessPointConfig::default() };
    let mut air = Air::new(&[0.0, 40.0], &full, 1);
    let clients = [1.0, 2.0, 3.0].map(|metres| air.add(metres, config()));
    air.run(Instant::from_secs(2));
    let joined: Vec<_> = associations(&air);
    assert_eq!(joined.len(), 2, "{joined:?}");
    let with = clients.map(|client| air.clients[client.0 as usize].client.access_point());
    let count = |access_point| with.iter().filter(|with| **with == access_point).count();
    assert_eq!([Some(AP(0)), Some(AP(1)), None].map(count), [1, 1, 1]);
}

#[test]
fn a_handshake_follows_an_association_and_with_fast_transition_only_the_first() {
    for (security, frames_take) in
        [(Security::Open, 4), (Security::FourWayHandshake, 6), (Security::FastTransition, 4)]
    {
        let config_of_all = AccessPointConfig { security, ..AccessPointConfig::default() };
        let mut air = Air::new(&[0.0, 50.0], &config_of_all, 1);
        let client = air.add(20.0, config());
        air.run(Instant::from_secs(1));
        air.access_points[0].0.steer(client, &[AP(1)]);
        air.run(Instant::from_secs(2));
        let [_, (left, ..), (joined, ..)] = air.log[..] else { panic!("{:?}", air.log) };
        assert_eq!(joined - left, 3 + frames_take, "{security:?}");
        assert!(air.access_points[1].0.is_associated(client));
    }
}

#[test]
fn a_client_that_is_not_authenticated_is_told_so() {
    let mut access_point = crate::AccessPoint::new(AccessPointConfig::default());
    access_point.on_frame(ClientId(3), &Frame::AssociationRequest { previous: None }, Instant::ZERO);
    let answer = crate::access_point::Output::Send { to: ClientId(3), frame: Frame::Disassociation };
    assert_eq!(access_point.poll(), Some(answer));
    assert_eq!(access_point.poll(), None);
}

/// Pairs outputs with a client.
trait OfClient {
    fn map_client(self, client: ClientId) -> Vec<(ClientId, Output)>;
}

impl<T: IntoIterator<Item = Output>> OfClient for T {
    fn map_client(self, client: ClientId) -> Vec<(ClientId, Output)> {
        self.into_iter().map(|output| (client, output)).collect()
    }
}
