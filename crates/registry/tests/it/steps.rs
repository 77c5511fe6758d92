//! Random histories: what access points do, one step after another.

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_registry::state::Command;
use lasthop_registry::{AccessPoint, Client, Error, LeaseId, Limits, Refusal, Registry, State};

/// Small, so that histories reach them.
pub fn limits() -> Limits {
    let limits = Limits { clients: 5, access_points: 3, name_octets: 8, backlog: 6, file_octets: 0 };
    Limits { file_octets: limits.least_file(), ..limits }
}

pub fn client(number: u8) -> Client {
    Client::from([2, 0, 0, 0, 0, number])
}

pub fn access_point(number: u8) -> AccessPoint {
    AccessPoint::new(&format!("ap{number}"), (Ipv4Addr::new(10, 0, 0, number), 4433).into())
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Join { access_point: u8, seconds: u64 },
    Renew { lease: u64 },
    Leave { lease: u64 },
    Claim { client: u8, lease: u64, guess: Guess },
    Release { client: u8, guess: Guess },
    Wait { millis: u64 },
}

/// What the caller thinks a client's epoch is.
#[derive(Clone, Copy, Debug)]
pub enum Guess {
    Right,
    Nowhere,
    Other(u64),
}

impl Step {
    /// One that mostly changes something.
    pub fn draw(rng: &mut Rng) -> Self {
        let client = rng.below(7) as u8;
        let lease = rng.below(4);
        let guess = match rng.below(10) {
            0 => Guess::Nowhere,
            1 => Guess::Other(rng.below(40)),
            _ => Guess::Right,
        };
        match rng.below(20) {
            0..=2 => Self::Join { access_point: rng.below(9) as u8, seconds: 1 + rng.below(5) },
            3 => Self::Leave { lease },
            4..=6 => Self::Renew { lease },
            7 | 8 => Self::Wait { millis: rng.below(2_000) },
            9..=11 => Self::Release { client, guess },
            _ => Self::Claim { client, lease, guess },
        }
    }
}

/// What callers know: the time, and the leases that they have had.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    pub now: Instant,
    pub leases: Vec<LeaseId>,
}

/// What a step asks of the registry.
#[derive(Clone, Debug)]
pub enum Call {
    Command(Command),
    Renew(LeaseId),
    Nothing,
}

impl Callers {
    /// The call of a step, where `state` is what the registry has.
    pub fn call(&mut self, step: Step, state: &State) -> Call {
        // The latest are those that have not ended.
        let lease = |number: u64| {
            let index = self.leases.len().checked_sub(1 + number as usize);
            index.map_or(LeaseId::new(1_000_000), |index| self.leases[index])
        };
        let epoch = |of, guess| match guess {
            Guess::Right => state.get(&client(of)).map(|entry| entry.epoch),
            Guess::Nowhere => None,
            Guess::Other(epoch) => Some(epoch),
        };
        Call::Command(match step {
            Step::Wait { millis } => {
                self.now += Duration::from_millis(millis);
                return Call::Nothing;
            }
            Step::Renew { lease: number } => return Call::Renew(lease(number)),
            Step::Join { access_point: of, seconds } => {
                Command::Join { access_point: access_point(of), duration: Duration::from_secs(seconds) }
            }
            Step::Leave { lease: number } => Command::Leave(lease(number)),
            Step::Claim { client: of, lease: number, guess } => {
                Command::Claim { client: client(of), lease: lease(number), expected: epoch(of, guess) }
            }
            Step::Release { client: of, guess } => {
                Command::Release { client: client(of), epoch: epoch(of, guess).unwrap_or(0) }
            }
        })
    }
}

/// What a call returns; 0 where it is nothing.
pub fn on_registry(registry: &dyn Registry, call: &Call, now: Instant) -> Result<u64, Error> {
    match call {
        Call::Nothing => registry.snapshot(now).map(|_| 0),
        Call::Renew(lease) => registry.renew(*lease, now).map(|()| 0),
        Call::Command(Command::Join { access_point, duration }) => {
            registry.join(access_point, *duration, now).map(LeaseId::number)
        }
        Call::Command(Command::Leave(lease)) => registry.leave(*lease, now).map(|()| 0),
        Call::Command(Command::Claim { client, lease, expected }) => {
            registry.claim(client, *lease, *expected, now)
        }
        Call::Command(Command::Release { client, epoch }) => {
            registry.release(client, *epoch, now).map(|()| 0)
        }
    }
}

/// The same call on a state. `between` sees the state after each event.
pub fn on_state(
    state: &mut State,
    call: &Call,
    now: Instant,
    mut between: impl FnMut(&State),
) -> Result<u64, Refusal> {
    while let Some(event) = state.expired(now) {
        state.apply(event, now);
        between(state);
    }
    match call {
        Call::Nothing => Ok(0),
        Call::Renew(lease) => state.renew(*lease, now).map(|()| 0),
        Call::Command(command) => {
            let event = state.decide(command.clone())?;
            let revision = state.apply(event, now);
            between(state);
            let returns = matches!(command, Command::Join { .. } | Command::Claim { .. });
            Ok(if returns { revision } else { 0 })
        }
    }
}
