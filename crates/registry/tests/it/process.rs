//! `kill -9` of a process that uses a registry on a real disk.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{Durability, Embedded, Limits, Registry};

use crate::steps::{access_point, client};

/// Where the registry of the process is.
const FOLDER: &str = "LASTHOP_REGISTRY_FOLDER";
const KILLS: usize = 20;

fn open(folder: &Path, durability: Durability) -> Embedded {
    // Small, so that the file is often rewritten.
    let limits = Limits { clients: 16, access_points: 64, ..Limits::default() };
    let limits = Limits { file_octets: limits.least_file(), ..limits };
    Embedded::open(&folder.join("registry"), limits, durability, Instant::ZERO).expect("the file is whole")
}

#[test]
fn no_acknowledged_claim_is_lost_by_kill_9() {
    let folder = tempfile::tempdir().expect("a folder");
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["process::claims_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut claims = lines.filter_map(|line| claim_of(&line.expect("UTF-8")));
        let mut acknowledged: BTreeMap<u8, u64> = claims.by_ref().take(20 + 37 * kill).collect();
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        acknowledged.extend(claims);
        assert!(!acknowledged.is_empty());

        let registry = open(folder.path(), Durability::PowerLoss);
        let highest = acknowledged.values().max().copied().unwrap_or(0);
        assert!(registry.snapshot(Instant::ZERO).expect("it works").revision <= highest + 1);
        for (number, epoch) in acknowledged {
            let entry = registry.get(&client(number), Instant::ZERO).expect("it works").expect("it is there");
            // The claim that was not acknowledged may be there.
            assert!(entry.epoch == epoch || entry.epoch == highest + 1, "{entry:?} after {epoch}");
        }
    }
}

/// Client and epoch of a line.
fn claim_of(line: &str) -> Option<(u8, u64)> {
    let (client, epoch) = line.strip_prefix("claimed ")?.split_once(' ')?;
    Some((client.parse().ok()?, epoch.parse().ok()?))
}

#[test]
#[ignore = "the process that no_acknowledged_claim_is_lost_by_kill_9 kills"]
fn claims_until_it_is_killed() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the folder"));
    let registry = open(&folder, Durability::ProcessEnd);
    let now = Instant::ZERO;
    let lease = registry.join(&access_point(1), Duration::from_secs(60), now).expect("there is room");
    for number in (0..16).cycle() {
        let client = client(number);
        let expected = registry.get(&client, now).expect("it works").map(|entry| entry.epoch);
        let epoch = registry.claim(&client, lease, expected, now).expect("the epoch is right");
        writeln!(std::io::stdout(), "claimed {number} {epoch}").expect("the pipe is open");
    }
}
