//! Files that are not what the registry wrote, and disks that fail.

use std::net::Ipv6Addr;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{
    AccessPoint, Client, Durability, Embedded, Error, LeaseId, Limits, OpenError, Refusal, Registry,
};

use crate::simulated_disk::SimulatedDisk;
use crate::steps::{access_point, client, limits};

fn open(disk: &SimulatedDisk, limits: Limits) -> Result<Embedded, OpenError> {
    Embedded::on(disk.clone(), limits, Durability::PowerLoss, Instant::ZERO)
}

/// A registry with an access point and three clients.
fn filled(disk: &SimulatedDisk) -> Embedded {
    let registry = open(disk, limits()).expect("a new file");
    let lease =
        registry.join(&access_point(1), Duration::from_secs(60), Instant::ZERO).expect("there is room");
    for number in 0..3 {
        registry.claim(&client(number), lease, None, Instant::ZERO).expect("it is free");
    }
    registry
}

#[test]
fn a_wrong_bit_is_found_unless_it_is_in_the_last_frame() {
    let disk = SimulatedDisk::new(0, None);
    let whole = filled(&disk).snapshot(Instant::ZERO).expect("it works");
    let octets = disk.content();
    for bit in 0..octets.len() * 8 {
        let mut damaged = octets.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match open(&SimulatedDisk::with_file(&damaged), limits()) {
            Err(OpenError::Damaged(_) | OpenError::NotARegistry) => {}
            Ok(registry) => {
                let found = registry.snapshot(Instant::ZERO).expect("it works");
                assert_eq!(found.entries, whole.entries[..2], "bit {bit}");
                assert!(bit / 8 > octets.len() - 40, "bit {bit} of {}", octets.len() * 8);
            }
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
}

#[test]
fn an_event_that_is_there_twice_is_damage() {
    let disk = SimulatedDisk::new(0, None);
    let registry = filled(&disk);
    let before = disk.content().len();
    registry.release(&client(0), 2, Instant::ZERO).expect("the epoch is right");
    let octets = disk.content();
    let opened = open(&SimulatedDisk::with_file(&[&octets, &octets[before..]].concat()), limits());
    assert!(matches!(opened, Err(OpenError::Damaged(at)) if at == octets.len() as u64));
}

#[test]
fn a_file_that_is_cut_in_its_first_state_is_damaged() {
    let disk = SimulatedDisk::new(0, None);
    drop(filled(&disk));
    // With the state at the beginning.
    drop(open(&disk, limits()).expect("it was not damaged"));
    let octets = disk.content();
    for length in 0..octets.len() {
        let opened = open(&SimulatedDisk::with_file(&octets[..length]), limits());
        assert!(matches!(opened, Err(OpenError::Damaged(_) | OpenError::NotARegistry)), "{length} octets");
    }
}

#[test]
fn a_file_that_exceeds_the_limits_is_not_used() {
    let disk = SimulatedDisk::new(0, None);
    drop(filled(&disk));
    let opened = open(&disk, Limits { clients: 2, ..limits() });
    let full = Refusal::Full { what: "clients", limit: 2 };
    assert!(matches!(opened, Err(OpenError::Exceeds(refusal)) if refusal == full));
    assert_eq!(
        filled(&SimulatedDisk::new(0, None)).snapshot(Instant::ZERO).expect("it works").entries.len(),
        3
    );
}

#[test]
fn a_file_must_have_room_for_twice_the_largest_state() {
    let least = limits().least_file();
    let opened = open(&SimulatedDisk::new(0, None), Limits { file_octets: least - 1, ..limits() });
    assert!(matches!(opened, Err(OpenError::LimitTooSmall(needed)) if needed == least));
}

#[test]
fn the_largest_state_takes_at_most_half_of_the_file() {
    let disk = SimulatedDisk::new(0, None);
    let registry = open(&disk, limits()).expect("a new file");
    let name = "n".repeat(usize::from(limits().name_octets));
    let access_point = AccessPoint::new(&name, (Ipv6Addr::LOCALHOST, u16::MAX).into());
    for _ in 0..limits().access_points {
        registry.join(&access_point, Duration::MAX, Instant::ZERO).expect("there is room");
    }
    for number in 0..limits().clients {
        let client = Client::new(&[number as u8; 32]).expect("a key");
        registry.claim(&client, LeaseId::new(1), None, Instant::ZERO).expect("there is room");
    }
    drop(registry);
    drop(open(&disk, limits()).expect("it is whole"));
    assert!(disk.content().len() as u64 <= limits().file_octets / 2);
}

#[test]
fn the_file_never_exceeds_its_limit() {
    let disk = SimulatedDisk::new(0, None);
    let registry = filled(&disk);
    let lease = registry.get(&client(1), Instant::ZERO).expect("it works").expect("it is there").lease;
    let mut largest = 0;
    for _ in 0..500 {
        let epoch = registry.get(&client(1), Instant::ZERO).expect("it works").map(|entry| entry.epoch);
        registry.claim(&client(1), lease, epoch, Instant::ZERO).expect("the epoch is right");
        largest = largest.max(disk.content().len() as u64);
    }
    assert!(largest <= limits().file_octets && largest > limits().file_octets / 2, "{largest} octets");
}

#[test]
fn after_a_failed_write_nothing_works_until_the_file_is_opened_again() {
    let disk = SimulatedDisk::new(0, None);
    let registry = filled(&disk);
    let mut watch = registry.watch(4).expect("it is kept");
    disk.stop_after(0);
    let released = registry.release(&client(0), 2, Instant::ZERO);
    assert!(matches!(released, Err(Error::Failed(_))));
    assert!(matches!(registry.get(&client(0), Instant::ZERO), Err(Error::Failed(_))));
    assert!(matches!(watch.next(Duration::ZERO), Err(Error::Failed(_))));
}

#[test]
fn only_one_registry_has_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry");
    let open = || Embedded::open(&path, Limits::default(), Durability::PowerLoss, Instant::ZERO);
    let first = open().expect("a new file");
    assert!(matches!(open(), Err(OpenError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock));
    drop(first);
    open().expect("nobody has it");
}

#[test]
fn a_file_that_others_may_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry");
    let open = || Embedded::open(&path, Limits::default(), Durability::PowerLoss, Instant::ZERO);
    drop(open().expect("a new file"));
    let metadata = std::fs::metadata(&path).expect("a file");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o622)).expect("it is ours");
    assert!(
        matches!(open(), Err(OpenError::Io(error)) if error.kind() == std::io::ErrorKind::PermissionDenied)
    );
}
