//! The registry in etcd with three members, which the tests start.

#[path = "../../registry/tests/suite/behaviour.rs"]
mod behaviour;
mod cluster;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use behaviour::{LONG, NOW, client, join};
use cluster::{Cluster, wait_for};
use lasthop_etcd::{Config, Etcd, User};
use lasthop_needs::{program, tests};
use lasthop_registry::{Error, LeaseId, Refusal, Registry};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [etcd]: it_behaves_like_the_other_back_ends, calls_go_on_while_one_member_is_killed;
        [etcd]: a_claim_whose_answer_is_lost_is_made_once, a_watch_misses_nothing_while_one_member_is_killed, with_all_members_killed_nothing_is_believed;
        [etcd, etcdctl, openssl]: requests_go_over_tls_with_a_token;
    })
}

fn etcd() -> Result<(), String> {
    program("etcd")
}

fn etcdctl() -> Result<(), String> {
    program("etcdctl")
}

fn openssl() -> Result<(), String> {
    program("openssl")
}

fn it_behaves_like_the_other_back_ends() {
    let cluster = Cluster::start();
    behaviour::all(&cluster.registry(), "lobby");
}

/// Claims until it succeeds, as an access point does whose registry is away for a while. Returns the epoch.
fn claim(registry: &Etcd, lease: LeaseId, mut expected: Option<u64>) -> u64 {
    for _ in 0..100 {
        match registry.claim(&client(1), lease, expected, NOW) {
            Ok(epoch) => return epoch,
            Err(Error::Refused(Refusal::Stale(there))) => expected = there.map(|entry| entry.epoch),
            Err(Error::Failed(_)) => thread::park_timeout(Duration::from_millis(100)),
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("no claim succeeded")
}

fn calls_go_on_while_one_member_is_killed() {
    let mut cluster = Cluster::start();
    let registry = cluster.registry();
    let lease = join(&registry, "lobby");
    let mut epoch = None;
    for round in 0..60 {
        match round {
            20 => cluster.kill(0),
            40 => cluster.run(0),
            _ => {}
        }
        let next = claim(&registry, lease, epoch);
        assert!(Some(next) > epoch, "an epoch fell");
        epoch = Some(next);
    }
    let entry = registry.get(&client(1), NOW).expect("it works").expect("it was claimed");
    assert_eq!((entry.lease, Some(entry.epoch)), (lease, epoch));
}

fn a_claim_whose_answer_is_lost_is_made_once() {
    let cluster = Cluster::start();
    wait_for(&cluster.registry());
    let (address, loses_answers) = path(cluster.url(0).trim_start_matches("http://"));
    let members = vec![format!("http://{address}"), cluster.url(1)];
    let registry = Etcd::new(&Config { members, ..cluster.config() }).expect("it can be read");
    let lease = join(&registry, "lobby");
    let first = registry.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    loses_answers.store(true, SeqCst);
    let second = registry.claim(&client(1), lease, Some(first), NOW).expect("another member answers");
    assert!(second > first);
    let snapshot = registry.snapshot(NOW).expect("it works");
    assert_eq!(snapshot.revision, second, "nothing happened after the claim");
    let mut watch = registry.watch(first).expect("it is kept");
    let changes = watch.next(LONG).expect("it works");
    assert_eq!(changes.iter().map(|change| change.revision).collect::<Vec<_>>(), [second]);
    // A later claim with the same epoch is another one.
    let refused = registry.claim(&client(1), lease, Some(first), NOW);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Stale(Some(_))))), "{refused:?}");
}

/// Forwards connections to a member, until it is switched: then each is closed at its next answer.
fn path(to: &str) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let loses_answers = Arc::new(AtomicBool::new(false));
    let (switch, to) = (Arc::clone(&loses_answers), to.to_owned());
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a connection");
            let member = TcpStream::connect(&to).expect("it listens");
            let switch = Arc::clone(&switch);
            let (from, into) = (client.try_clone().expect("a socket"), member.try_clone().expect("a socket"));
            thread::spawn(move || forward(&from, &into, || true));
            thread::spawn(move || forward(&member, &client, || !switch.load(SeqCst)));
        }
    });
    (address, loses_answers)
}

fn forward(mut from: &TcpStream, mut to: &TcpStream, may: impl Fn() -> bool) {
    let mut octets = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut octets) {
        if !may() || to.write_all(&octets[..length]).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn a_watch_misses_nothing_while_one_member_is_killed() {
    let mut cluster = Cluster::start();
    let registry = cluster.registry();
    let lease = join(&registry, "lobby");
    let mut watch = registry.watch(registry.snapshot(NOW).expect("it works").revision).expect("it is kept");
    let (mut epochs, mut epoch) = (Vec::new(), None);
    for round in 0..30 {
        if round == 10 {
            // The watch is at this one.
            cluster.kill(0);
        }
        let next = claim(&registry, lease, epoch);
        epochs.push(next);
        epoch = Some(next);
    }
    let mut seen = Vec::new();
    while seen.last() != epoch.as_ref() {
        let changes = watch.next(LONG).expect("it goes on");
        assert!(!changes.is_empty(), "{seen:?} of {epochs:?}");
        seen.extend(changes.iter().map(|change| change.revision));
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "a change came twice: {seen:?}");
    assert!(epochs.iter().all(|epoch| seen.contains(epoch)), "{seen:?} without some of {epochs:?}");
}

fn with_all_members_killed_nothing_is_believed() {
    let mut cluster = Cluster::start();
    let registry = cluster.registry();
    let lease = join(&registry, "lobby");
    let epoch = registry.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    (0..3).for_each(|member| cluster.kill(member));
    let calls = [
        registry.claim(&client(1), lease, Some(epoch), NOW).map(drop),
        registry.claim(&client(2), lease, None, NOW).map(drop),
        registry.release(&client(1), epoch, NOW),
        registry.renew(lease, NOW),
        registry.get(&client(1), NOW).map(drop),
        registry.snapshot(NOW).map(drop),
        registry.watch(epoch).map(drop),
    ];
    for call in calls {
        assert!(matches!(call, Err(Error::Failed(_))), "{call:?}");
    }
    (0..3).for_each(|member| cluster.run(member));
    wait_for(&registry);
    let entries = registry.snapshot(NOW).expect("it works").entries;
    let entries: Vec<_> = entries.iter().map(|(client, entry)| (*client, entry.epoch)).collect();
    assert_eq!(entries, [(client(1), epoch)], "what was acknowledged, and nothing else");
}

fn requests_go_over_tls_with_a_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let openssl = |arguments: &str| {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder.path()).output();
        let done = done.expect("it starts");
        assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    };
    std::fs::write(path("names"), "subjectAltName=IP:127.0.0.1\n").expect("a file");
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {new} -keyout authority.key -out authority.pem -subj /CN=authority -days 2"));
    openssl(&format!("req {new} -keyout member.key -out member.csr -subj /CN=member"));
    openssl(
        "x509 -req -in member.csr -CA authority.pem -CAkey authority.key -CAcreateserial -out member.pem \
         -days 2 -extfile names",
    );
    let (authorities, tls) = (path("authority.pem"), [path("member.pem"), path("member.key")]);
    let cluster = Cluster::start_in(folder, Some(tls));

    let config = Config { authorities: Some(authorities.clone()), ..cluster.config() };
    let anonymous = Etcd::new(&config).expect("it can be read");
    wait_for(&anonymous);
    cluster::enable_users(&cluster, &authorities, "secret");
    let refused = anonymous.snapshot(NOW);
    assert!(matches!(refused, Err(Error::Failed(_))), "{refused:?}");

    let user = |password: &str| Some(User { name: "root".to_owned(), password: password.to_owned() });
    let other = Etcd::new(&Config { user: user("wrong"), ..config.clone() }).expect("it can be read");
    assert!(matches!(other.snapshot(NOW), Err(Error::Failed(_))));
    let registry = Etcd::new(&Config { user: user("secret"), ..config.clone() }).expect("it can be read");
    behaviour::all(&registry, "lobby");

    let stranger = Etcd::new(&Config { authorities: None, ..config }).expect("there is no file");
    assert!(matches!(stranger.snapshot(NOW), Err(Error::Failed(_))), "its certificate is not of the web");
}
