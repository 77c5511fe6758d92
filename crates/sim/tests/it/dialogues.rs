//! Dialogues: pages, messages and files against arithmetic; connections that come and go.

use std::time::Duration;

use allocation_counter::measure;
use lasthop_apps::session::{DialogueKind, Ftp, Mail, Objects, Pace, Size, Web};
use lasthop_packet::{Bitrate, Instant, Probability};
use lasthop_sim::{
    Activity, DialogueOutcome, Direction, NodeId, NodeKind, QueueLimit, SessionConfig, SessionId,
    SessionResult, SessionTcp, World,
};
use lasthop_tcp::Config;

use crate::support::{direction, hash, node, percent, wired};

/// A client and a server, joined by a wire of this direction and 10 ms.
fn pair(direction: &Direction, seed: u64) -> (World, [NodeId; 2]) {
    let mut world = World::new(seed);
    let ends = ["client", "server"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", direction, 10));
    (world, ends)
}

fn config([client, server]: [NodeId; 2], dialogue: DialogueKind, pace: Pace) -> SessionConfig {
    let tcp = SessionTcp::alike(&Config { mss: 1000, initial_window: 10, ..Config::default() });
    SessionConfig {
        name: "session".to_owned(),
        index: 0,
        client,
        server,
        start: Instant::ZERO,
        stop: None,
        activity: Activity::Dialogue { dialogue, pace, tcp },
    }
}

fn outcome(world: &World, id: SessionId) -> DialogueOutcome {
    let outcome = world.session_outcome(id);
    assert!(outcome.intact && world.accounts().balance());
    let SessionResult::Dialogue(dialogue) = outcome.result else { panic!("it is a dialogue") };
    dialogue
}

fn web(objects: u32, connections: usize) -> Web {
    Web {
        request: 500,
        main_object: Size::Fixed(4000),
        objects: Objects::Fixed(objects),
        object: Size::Fixed(2000),
        parse_time: Duration::ZERO,
        connections,
    }
}

const THINK: Pace = Pace::Think(Duration::from_secs(1));

/// A page is alone in a run.
const RARE: Pace = Pace::Think(Duration::from_secs(100_000));

/// Microseconds at 8 Mbit/s.
fn us(octets: u64) -> u64 {
    octets
}

#[test]
fn a_page_over_a_perfect_link_takes_the_time_that_arithmetic_says() {
    let (mut world, ends) = pair(&direction(8000), 1);
    let id = world.add_session(config(ends, DialogueKind::Web(web(0, 6)), RARE));
    world.advance_to(Instant::from_millis(300));
    // SYN and its answer (44 octets each), the request, which acknowledges (540), four segments of
    // 1,040; a wire of 10 ms each time.
    let main = us(44) + us(44) + us(540) + us(4 * 1040) + 4 * 10_000;
    let page = outcome(&world, id);
    assert_eq!((page.times.count(), page.connections, page.retransmits), (1, 1, 0));
    let close = |measured: f64, expected_us: u64| (measured - expected_us as f64 / 1e6).abs() < 1e-9;
    assert!(close(page.times.mean_s().expect("a page"), main), "{page:?} {main}");

    // Two objects, one after the other on the connection that is there.
    let (mut world, ends) = pair(&direction(8000), 1);
    let id = world.add_session(config(ends, DialogueKind::Web(web(2, 1)), RARE));
    world.advance_to(Instant::from_millis(300));
    let object = us(540) + us(2 * 1040) + 2 * 10_000;
    let page = outcome(&world, id);
    assert_eq!((page.times.count(), page.connections), (1, 1));
    assert!(close(page.times.mean_s().expect("a page"), main + 2 * object), "{page:?} {}", main + 2 * object);

    // With a connection for each of six objects the page is there two turns and a handshake later.
    let (mut world, ends) = pair(&direction(8000), 1);
    let id = world.add_session(config(ends, DialogueKind::Web(web(6, 6)), RARE));
    world.advance_to(Instant::from_millis(300));
    let page = outcome(&world, id);
    assert_eq!((page.times.count(), page.connections, page.offered), (1, 6, 4000 + 6 * 2000 + 7 * 500));
    let all = (page.times.mean_s().expect("a page") * 1e6) as u64;
    let alone = main + us(44) + us(44) + 20_000 + object;
    assert!(all >= alone && all <= alone + us(5 * (540 + 2 * 1040) + 6 * 88), "{all} {alone}");
}

#[test]
fn connections_are_closed_with_each_page_and_wait_as_a_host_s_do() {
    let (mut world, ends) = pair(&direction(8000), 1);
    let id = world.add_session(config(ends, DialogueKind::Web(web(12, 6)), THINK));
    world.advance_to(Instant::from_secs(50));
    let before = outcome(&world, id);
    assert_eq!(before.connections, before.times.count() * 6);
    assert_eq!(world.open_connections() as u64, before.connections, "all wait in TIME-WAIT");
    world.advance_to(Instant::from_secs(1000));
    let after = outcome(&world, id);
    assert!(after.times.count() > 800 && after.failed == 0, "{after:?}");
    // A page each 1.1 s and more, for 60 s.
    assert!((200..450).contains(&world.open_connections()), "{}", world.open_connections());
}

#[test]
fn memory_does_not_grow_over_long_runs() {
    let (mut world, ends) = pair(&direction(8000), 1);
    let id = world.add_session(config(ends, DialogueKind::Web(web(12, 6)), THINK));
    world.advance_to(Instant::from_secs(1000));
    let growth = measure(|| world.advance_to(Instant::from_secs(5000)));
    assert!(outcome(&world, id).times.count() > 3000);
    assert!(growth.bytes_current.abs() < 300_000, "{growth:?}");
}

#[test]
fn a_load_is_offered_as_it_was_asked_for() {
    for (kind, kbps) in [
        (DialogueKind::Web(Web::evaluation_methodology()), 200),
        (
            DialogueKind::Mail(Mail {
                message: Mail::measured_sizes(),
                sent: Probability::new(0.3).expect("30%"),
            }),
            100,
        ),
        (DialogueKind::Ftp(Ftp { file: Ftp::EVALUATION_METHODOLOGY, stored: Probability::ZERO }), 500),
    ] {
        let (mut world, ends) = pair(&direction(20_000), 1);
        let rate = Bitrate::from_bps(kbps * 1000).expect("above zero");
        let id = world.add_session(config(ends, kind.clone(), Pace::Load(rate)));
        world.advance_to(Instant::from_secs(40_000));
        let dialogue = outcome(&world, id);
        let offered = dialogue.offered as f64 * 8.0 / 40_000.0 / 1000.0;
        assert!((offered / kbps as f64 - 1.0).abs() < 0.06, "{kind:?}: {offered} kbit/s of {kbps}");
        let goodput = world.session_outcome(id).goodput_bps();
        assert!((goodput / 1000.0 / offered - 1.0).abs() < 0.01, "{kind:?}: {goodput}");
    }
}

#[test]
fn mail_and_files_go_both_ways_and_take_the_turns_that_their_protocols_have() {
    let half = Probability::new(0.5).expect("50%");
    for (kind, connections, turns) in [
        // POP3 has eight turns before a message and five behind, SMTP nine and four; the first is the
        // greeting's, behind the handshake.
        (DialogueKind::Mail(Mail { message: Size::Fixed(1000), sent: half }), 1.0, (15.0, 17.0)),
        // Within a session that is logged in: PASV, RETR with a handshake beside it, the file.
        (DialogueKind::Ftp(Ftp { file: Size::Fixed(1000), stored: half }), 1.0, (5.0, 9.0)),
    ] {
        let (mut world, ends) = pair(&direction(80_000), 1);
        let id = world.add_session(config(ends, kind.clone(), THINK));
        world.advance_to(Instant::from_secs(1000));
        let dialogue = outcome(&world, id);
        assert!(dialogue.times.count() > 700 && dialogue.failed == 0, "{dialogue:?}");
        let each = dialogue.connections as f64 / dialogue.times.count() as f64;
        assert!((each / connections - 1.0).abs() < 0.01, "{kind:?}: {each}");
        // A turn is 10 ms.
        let mean = dialogue.times.mean_s().expect("some") * 100.0;
        assert!(mean > turns.0 && mean < turns.1, "{kind:?}: {mean} turns");
    }
}

#[test]
fn losses_delay_pages_and_corrupt_none() {
    let lossy =
        Direction { loss: percent(5.0).into(), queue: QueueLimit::Packets(20).into(), ..direction(2000) };
    let (mut world, ends) = pair(&lossy, 1);
    let id = world.add_session(config(ends, DialogueKind::Web(Web::evaluation_methodology()), THINK));
    world.advance_to(Instant::from_secs(2000));
    let dialogue = outcome(&world, id);
    assert!(
        dialogue.times.count() > 300 && dialogue.retransmits > 1000 && dialogue.timeouts > 100,
        "{dialogue:?}"
    );
    assert!(dialogue.times.quantile_s(0.95) > dialogue.times.quantile_s(0.5));
}

#[test]
fn where_nothing_gets_through_a_transaction_fails_and_the_next_is_tried() {
    let (mut world, ends) = pair(&Direction { loss: percent(100.0).into(), ..direction(2000) }, 1);
    let mut session = config(ends, DialogueKind::Web(web(2, 2)), THINK);
    if let Activity::Dialogue { tcp, .. } = &mut session.activity {
        (tcp.client.max_timeouts, tcp.server.max_timeouts) = (2, 2);
    }
    let id = world.add_session(session);
    world.advance_to(Instant::from_secs(3000));
    let dialogue = outcome(&world, id);
    assert!(dialogue.times.count() == 0 && dialogue.failed > 50, "{dialogue:?}");
    assert!(world.open_connections() <= 1);
}

#[test]
fn a_session_that_is_stopped_finishes_what_it_has_begun() {
    let (mut world, ends) = pair(&direction(100), 1);
    let page = Web { main_object: Size::Fixed(50_000), ..web(0, 1) };
    let config = config(ends, DialogueKind::Web(page), THINK);
    let id = world.add_session(SessionConfig { stop: Some(Instant::from_secs(2)), ..config });
    world.run(Instant::from_secs(100), true);
    let dialogue = outcome(&world, id);
    assert_eq!((dialogue.times.count(), dialogue.under_way), (1, 0));
    assert!(world.now() > Instant::from_secs(4) && world.now() < Instant::from_secs(5), "{:?}", world.now());
}

#[test]
fn one_seed_gives_one_trace_of_dialogues_and_another_seed_another() {
    let run = |seed: u64| {
        let lossy = Direction { loss: percent(2.0).into(), ..direction(2000) };
        let (mut world, ends) = pair(&lossy, seed);
        let sizes = Mail::measured_sizes();
        let kinds = [
            DialogueKind::Web(Web::evaluation_methodology()),
            DialogueKind::Mail(Mail { message: sizes, sent: percent(20.0) }),
            DialogueKind::Ftp(Ftp { file: Size::Fixed(100_000), stored: percent(50.0) }),
        ];
        for (index, kind) in kinds.into_iter().enumerate() {
            world.add_session(SessionConfig { index, ..config(ends, kind, THINK) });
        }
        let hash = hash(&mut world);
        world.advance_to(Instant::from_secs(100));
        hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
