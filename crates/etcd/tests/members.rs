//! The registry in etcd with three members, which the tests start.

#[path = "../../registry/tests/suite/behaviour.rs"]
mod behaviour;
mod cluster;

use std::process::{Command, ExitCode};
use std::time::Duration;

use behaviour::{LONG, NOW, client, join};
use cluster::{Cluster, wait_for};
use lasthop_etcd::{Config, Etcd, User};
use lasthop_needs::{program, tests};
use lasthop_registry::{Error, LeaseId, Refusal, Registry};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [etcd]: it_behaves_like_the_other_back_ends, calls_go_on_while_one_member_is_killed;
        [etcd]: a_watch_misses_nothing_while_one_member_is_killed, with_all_members_killed_nothing_is_believed;
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
            Err(Error::Failed(_)) => std::thread::park_timeout(Duration::from_millis(100)),
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
