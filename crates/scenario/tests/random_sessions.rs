//! Sessions under every scheme in small random networks: data arrive as they were sent, every
//! packet is accounted for, every page, message and file completes, and no connection remains.

mod random;

use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{LinkSenses, Owed};
use lasthop_apps::session::{DialogueKind, Ftp, Mail, Pace, Size, Web};
use lasthop_apps::traffic::{Codec, Frames, Media, Spurts, Video, Voice};
use lasthop_packet::{Bitrate, Instant, Probability, Rng};
use lasthop_scenario::{ActivityModel, SchemeChoice, SessionModel};
use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::CATALOG;
use lasthop_sim::{Playout, SessionResult, World};

use random::scenario;

/// A few sessions between the fixed host and mobile ones, with the TCP settings of the first flow
/// if it has some.
fn sessions(shape: u64, mobiles: usize, tcp: &lasthop_tcp::Config) -> Vec<SessionModel> {
    let mut rng = Rng::named(shape, "sessions");
    let half = Probability::new(0.5).expect("50%");
    let session = |number: u64| {
        let voice = Voice {
            codec: if rng.below(2) == 0 { Codec::G729 } else { Codec::G711 { concealment: true } },
            packet_time: Duration::from_millis(20),
            spurts: (rng.below(2) == 0).then_some(Spurts::P59),
        };
        let pace = match rng.below(2) {
            0 => Pace::Think(Duration::from_millis(1 + rng.below(3000))),
            _ => Pace::Load(Bitrate::from_bps(5_000 + rng.below(30_000)).expect("above zero")),
        };
        let dialogue = |dialogue| ActivityModel::Dialogue { dialogue, pace, tcp: Box::new(tcp.clone()) };
        let call = Some(Media::Voice(voice, Playout { buffer: Duration::from_millis(60) }));
        let activity = match rng.below(5) {
            0 => dialogue(DialogueKind::Web(Web::evaluation_methodology())),
            1 => {
                dialogue(DialogueKind::Mail(Mail { message: Size::Fixed(1 + rng.below(20_000)), sent: half }))
            }
            2 => dialogue(DialogueKind::Ftp(Ftp { file: Size::Fixed(1 + rng.below(50_000)), stored: half })),
            3 => ActivityModel::Call([call, call]),
            _ => ActivityModel::Call([None, Some(Media::Video(Video::Variable(Frames::NEAR_REAL_TIME)))]),
        };
        SessionModel {
            name: format!("session {number}"),
            client: 2 + rng.below(mobiles as u64) as usize,
            server: 0,
            start: Duration::from_millis(rng.below(2000)),
            stop: Some(Duration::from_millis(3000 + rng.below(10_000))),
            activity,
        }
    };
    (0..=shape % 3).map(session).collect()
}

#[test]
fn sessions_keep_the_laws_under_every_scheme() {
    for shape in 0..300 {
        let mut scenario = scenario(shape, true);
        let tcp = scenario.flows.iter().find_map(|flow| flow.tcp()).map(|tcp| tcp.sender.clone());
        let tcp = tcp.unwrap_or_default();
        scenario.sessions = sessions(shape, scenario.nodes.len() - 2, &tcp);
        // The links here are not in an 802.11 cell.
        let has_senses = |scheme: &&&Scheme| !scheme.needs().contains(LinkSenses::LINK_OPTIONS);
        for scheme in CATALOG.iter().filter(has_senses) {
            let choice = SchemeChoice::new(scheme.name, toml::Table::new()).expect("it is in the catalog");
            let built = scenario.build(&choice, shape).expect("fates are reported");
            run_by_the_laws(built.world, &format!("{}, shape {shape}", scheme.name));
        }
    }
}

fn run_by_the_laws(mut world: World, which: &str) {
    for step in 1..=30 {
        world.run(Instant::from_secs(step), true);
        assert!(world.accounts().balance(), "{which}: {:?}", world.accounts());
    }
    world.run(Instant::from_secs(5_000), true);
    assert!(world.now() < Instant::from_secs(5_000), "{which}: it does not end");
    for id in world.sessions() {
        let outcome = world.session_outcome(id);
        assert!(outcome.intact, "{which}: {outcome:?}");
        match outcome.result {
            SessionResult::Call(call) => {
                for (_, stream) in call.streams {
                    let packets = stream.packets;
                    assert_eq!(
                        (packets.received + packets.lost, packets.in_transit),
                        (packets.sent, 0),
                        "{which}"
                    );
                }
            }
            SessionResult::Dialogue(of) => assert_eq!((of.failed, of.under_way), (0, 0), "{which}: {of:?}"),
        }
    }
    // All acknowledged data have arrived, and TIME-WAIT is over.
    world.run(world.now() + Duration::from_secs(200), false);
    assert!(world.accounts().balance(), "{which}: {:?}", world.accounts());
    assert_eq!(world.open_connections(), 0, "{which}");
    let lost = world.reported().get(&ACKNOWLEDGED_AND_LOST);
    assert_eq!((world.owed_by_agents(), lost), (Owed::default(), 0), "{which}");
}
