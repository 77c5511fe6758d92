//! The shared schedule: time in memory that a calendar shares with its guests, so that most
//! messages on the time socket are not sent (`struct um_timetravel_schedshm`, since Linux 6.11).
//!
//! Times in it are the calendar's. Client 0 is the calendar itself. All guests map the
//! same file for writing, so that a field of a guest is what that guest has written, or another one
//! that does not behave: such a guest can change when others run, and have them reported in its place,
//! but not move the calendar's time back or past the end of a turn. Each reader checks the fields. A guest without support does not
//! set its capability, and goes on with messages.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lasthop_packet::Instant;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use super::turn::Request;
use crate::memory::{Mapping, MappingError};

/// The memory of a calendar and its guests.
#[derive(Debug)]
pub struct Schedule {
    file: OwnedFd,
    memory: Mapping,
    clients: u16,
}

/// A guest's place in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client(u16);

const VERSION: u32 = 2;
const HEADER: usize = 4096;
const CLIENT: usize = 128;
/// Offsets of the header's fields.
const FREE_UNTIL: usize = 8;
const CURRENT_TIME: usize = 16;
const RUNNING: usize = 24;
/// Offsets of a client's fields.
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUEST_TIME: usize = 8;
/// The capability to use this memory, and the flag of a client that has a request.
const TIME_SHARE: u32 = 1;
const HAS_REQUEST: u32 = 1;

impl Client {
    /// The number that the answer to START carries.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl Schedule {
    /// Memory for a calendar and this number of guests, at time 0. Nothing may run yet.
    pub fn new(guests: u16) -> Result<Self, MappingError> {
        let clients = guests.saturating_add(1);
        let length = HEADER + CLIENT * usize::from(clients);
        let file = memfd_create("schedule", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
        let file = file.map_err(io::Error::from)?;
        ftruncate(&file, length as u64).map_err(io::Error::from)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(io::Error::from)?;
        let schedule = Self { memory: Mapping::new(&file, 0, length as u64)?, file, clients };
        schedule.write(0, &VERSION.to_le_bytes());
        schedule.write(4, &(length as u32).to_le_bytes());
        schedule.write(RUNNING + 2, &clients.to_le_bytes());
        // A guest leaves its request here only if the client that runs can read it, and at times the calendar is that client.
        schedule.write(HEADER + CAPABILITIES, &TIME_SHARE.to_le_bytes());
        Ok(schedule)
    }

    /// The file, for guests.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The place of the guest with this number, from 0 on.
    pub fn client(&self, guest: u16) -> Option<Client> {
        guest.checked_add(1).filter(|&number| number < self.clients).map(Client)
    }

    /// Whether a guest uses the schedule. It does not before it has received the answer to START.
    pub fn is_used_by(&self, client: Client) -> bool {
        u32::from_le_bytes(self.read(Self::of(client, CAPABILITIES))) & TIME_SHARE != 0
    }

    /// A guest is about to run from `now` on, and may advance its clock while it stays below `limit`.
    pub fn run(&self, client: Client, now: Instant, limit: Instant) {
        self.set_time(now);
        self.set_limit(limit);
        self.write(RUNNING, &client.0.to_le_bytes());
    }

    /// All guests stand still, and it is the calendar's turn.
    pub fn stop(&self) {
        self.write(RUNNING, &0_u16.to_le_bytes());
    }

    /// The time that guests read.
    pub fn set_time(&self, now: Instant) {
        self.write(CURRENT_TIME, &now.as_nanos().to_le_bytes());
    }

    /// What the running guest's clock stays below.
    pub fn set_limit(&self, limit: Instant) {
        self.write(FREE_UNTIL, &limit.as_nanos().to_le_bytes());
    }

    /// The time, which the running guest may have advanced.
    pub fn time(&self) -> Instant {
        Instant::from_nanos(u64::from_le_bytes(self.read(CURRENT_TIME)))
    }

    /// When a guest wants to run.
    pub fn request(&self, client: Client) -> Request {
        if u32::from_le_bytes(self.read(Self::of(client, FLAGS))) & HAS_REQUEST == 0 {
            return Request::Never;
        }
        Request::from_nanos(u64::from_le_bytes(self.read(Self::of(client, REQUEST_TIME))))
    }

    const fn of(client: Client, field: usize) -> usize {
        HEADER + CLIENT * client.0 as usize + field
    }

    fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut octets = [0; N];
        self.memory
            .read(at, &mut octets)
            .expect("a field of a client or of the header is within the mapping");
        octets
    }

    fn write(&self, at: usize, octets: &[u8]) {
        self.memory.write(at, octets).expect("a field of a client or of the header is within the mapping");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a guest sees it.
    fn octets(schedule: &Schedule, at: usize) -> u64 {
        u64::from_le_bytes(schedule.read(at))
    }

    #[test]
    fn the_header_says_version_length_and_number_of_clients() {
        let schedule = Schedule::new(2).expect("memory");
        assert_eq!(octets(&schedule, 0), 2 | (4096 + 3 * 128) << 32);
        assert_eq!(octets(&schedule, 24), 3 << 16);
        assert_eq!(octets(&schedule, 4096), 1);
        assert!(schedule.memory.is_sealed());
    }

    #[test]
    fn a_guest_that_runs_finds_time_and_limit() {
        let schedule = Schedule::new(1).expect("memory");
        let client = schedule.client(0).expect("the first");
        assert_eq!(schedule.client(1), None);
        schedule.run(client, Instant::from_nanos(7), Instant::from_nanos(9));
        assert_eq!([8, 16, 24].map(|at| octets(&schedule, at)), [9, 7, 1 | 2 << 16]);
        schedule.stop();
        assert_eq!(octets(&schedule, 24), 2 << 16);
    }

    #[test]
    fn a_guest_asks_by_its_flag_and_its_time() {
        let schedule = Schedule::new(2).expect("memory");
        let client = schedule.client(1).expect("the second");
        assert!(!schedule.is_used_by(client));
        assert_eq!(schedule.request(client), Request::Never);
        let place = 4096 + 2 * 128;
        schedule.write(place, &1_u32.to_le_bytes());
        schedule.write(place + 8, &500_u64.to_le_bytes());
        assert!(schedule.is_used_by(client));
        assert_eq!(schedule.request(client), Request::Never);
        schedule.write(place + 4, &1_u32.to_le_bytes());
        assert_eq!(schedule.request(client), Request::At(Instant::from_nanos(500)));
        schedule.write(place + 8, &(i64::MAX as u64).to_le_bytes());
        assert_eq!(schedule.request(client), Request::Never);
    }
}
