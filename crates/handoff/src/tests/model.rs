//! Every interleaving, up to a depth and to a number of faults: messages that are lost, doubled and reordered, a
//! registry that is away, claims that it executes late, access points that crash and restart.

use std::collections::{BTreeSet, HashSet};

use lasthop_packet::Rng;

use crate::{Answer, Config, Entry, Handoff, Message, Output, Peer, Query, Standing};

/// A state that is served: where it began, and how often it has changed since.
type Token = (u8, u8);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    access_points: Vec<AccessPoint>,
    registry: Option<Entry>,
    /// The epoch of the last claim.
    epoch: u64,
    /// Claims whose senders have given up on them, and that may still be carried out.
    late: BTreeSet<(usize, Query)>,
    messages: Vec<(usize, usize, Message<Token>)>,
    client_at: usize,
    /// The number of states that have begun, and the newest change of each.
    newest: Vec<u8>,
    /// States that may be lost or served twice: their server has crashed, or two faults have come together.
    excused: BTreeSet<u8>,
    budget: Budget,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AccessPoint {
    machine: Handoff<Token>,
    serves: Option<Token>,
    query: Option<Query>,
    answer: Option<Answer>,
    life: u64,
}

/// How often what may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Budget {
    moves: u8,
    losses: u8,
    copies: u8,
    outages: u8,
    deaths: u8,
    timeouts: u8,
    changes: u8,
    lapses: u8,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Move(usize),
    Deliver(usize),
    Lose(usize),
    Copy(usize),
    /// The registry carries out the query of an access point.
    Query(usize),
    Answer(usize),
    /// An access point gets no answer.
    Away(usize),
    Late(usize),
    Timeout(usize),
    Die(usize),
    /// The state that an access point serves changes.
    Change(usize),
    /// The registry forgets who has claimed the client.
    Lapse,
}

const CONFIG: Config = Config {
    answer: std::time::Duration::from_millis(1),
    registry: std::time::Duration::from_millis(1),
    check: std::time::Duration::from_millis(1),
    max_tries: 1,
};

fn peer(index: usize) -> Peer {
    Peer(u32::try_from(index).expect("few access points"))
}

impl World {
    fn new(access_points: usize, budget: Budget) -> Self {
        let new = |index| AccessPoint {
            machine: Handoff::new(peer(index), 0, &CONFIG),
            serves: None,
            query: None,
            answer: None,
            life: 0,
        };
        let mut world = Self {
            access_points: (0..access_points).map(new).collect(),
            registry: None,
            epoch: 0,
            late: BTreeSet::new(),
            messages: Vec::new(),
            client_at: 0,
            newest: Vec::new(),
            excused: BTreeSet::new(),
            budget,
        };
        let outputs = world.access_points[0].machine.on_join(None);
        world.carry_out(0, outputs);
        world
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        let budget = &self.budget;
        for (index, it) in self.access_points.iter().enumerate() {
            let may = [
                (budget.moves > 0 && index != self.client_at, Action::Move(index)),
                (it.query.is_some(), Action::Query(index)),
                (it.answer.is_some(), Action::Answer(index)),
                (budget.outages > 0 && (it.query.is_some() || it.answer.is_some()), Action::Away(index)),
                (budget.timeouts > 0 && it.machine.timeout(&CONFIG).is_some(), Action::Timeout(index)),
                (budget.deaths > 0, Action::Die(index)),
                (budget.changes > 0 && it.serves.is_some(), Action::Change(index)),
            ];
            actions.extend(may.into_iter().filter(|(may, _)| *may).map(|(_, action)| action));
        }
        for index in 0..self.messages.len() {
            actions.push(Action::Deliver(index));
            if budget.losses > 0 {
                actions.push(Action::Lose(index));
            }
            if budget.copies > 0 {
                actions.push(Action::Copy(index));
            }
        }
        actions.extend((0..self.late.len()).map(Action::Late));
        if budget.lapses > 0 && self.registry.is_some() {
            actions.push(Action::Lapse);
        }
        actions
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Move(to) => {
                self.budget.moves -= 1;
                let from = std::mem::replace(&mut self.client_at, to);
                self.access_points[from].machine.on_leave();
                let outputs = self.access_points[to].machine.on_join(Some(peer(from)));
                self.carry_out(to, outputs);
            }
            Action::Deliver(index) => {
                let message = self.messages.remove(index);
                self.deliver(message);
            }
            Action::Lose(index) => {
                self.budget.losses -= 1;
                self.messages.remove(index);
            }
            Action::Copy(index) => {
                self.budget.copies -= 1;
                let message = self.messages[index].clone();
                self.deliver(message);
            }
            Action::Query(index) => {
                if let Some(query) = self.access_points[index].query.take() {
                    let answer = self.carry_out_query(index, query);
                    self.access_points[index].answer = Some(answer);
                }
            }
            Action::Answer(index) => {
                if let Some(answer) = self.access_points[index].answer.take() {
                    let outputs = self.access_points[index].machine.on_answer(answer);
                    self.carry_out(index, outputs);
                }
            }
            Action::Away(index) => {
                self.budget.outages -= 1;
                let it = &mut self.access_points[index];
                it.answer = None;
                if let Some(query @ Query::Claim { .. }) = it.query.take() {
                    self.late.insert((index, query));
                }
                let outputs = self.access_points[index].machine.on_answer(Answer::Away);
                self.carry_out(index, outputs);
            }
            Action::Late(number) => {
                let late = *self.late.iter().nth(number).expect("it is there");
                self.late.remove(&late);
                self.carry_out_query(late.0, late.1);
            }
            Action::Timeout(index) => {
                self.budget.timeouts -= 1;
                let outputs = self.access_points[index].machine.on_timeout();
                self.carry_out(index, outputs);
            }
            Action::Die(index) => {
                self.budget.deaths -= 1;
                self.die(index);
            }
            Action::Change(index) => {
                self.budget.changes -= 1;
                let serves = self.access_points[index].serves.as_mut().expect("it serves");
                serves.1 += 1;
                let newest = &mut self.newest[usize::from(serves.0)];
                *newest = (*newest).max(serves.1);
            }
            Action::Lapse => {
                self.budget.lapses -= 1;
                self.registry = None;
            }
        }
        self.messages.sort();
    }

    fn die(&mut self, index: usize) {
        // All that it has ever had may have been there alone.
        self.excused.extend(0..u8::try_from(self.newest.len()).expect("few states"));
        let it = &mut self.access_points[index];
        if let Some(query @ Query::Claim { .. }) = it.query.take() {
            self.late.insert((index, query));
        }
        let it = &mut self.access_points[index];
        it.life += 1;
        it.machine = Handoff::new(peer(index), it.life << 32, &CONFIG);
        (it.serves, it.answer) = (None, None);
        if self.client_at == index {
            // The clients of an access point that restarts associate again.
            let outputs = self.access_points[index].machine.on_join(None);
            self.carry_out(index, outputs);
        }
    }

    fn deliver(&mut self, (from, to, message): (usize, usize, Message<Token>)) {
        let it = &mut self.access_points[to];
        let serves = &mut it.serves;
        let freeze = || serves.take().expect("only what is served is frozen");
        let outputs = it.machine.on_message(peer(from), message, freeze);
        self.carry_out(to, outputs);
    }

    fn carry_out_query(&mut self, index: usize, query: Query) -> Answer {
        match query {
            Query::Claim { expected } if self.registry.map(|entry| entry.epoch) == expected => {
                // Others have claimed other clients meanwhile.
                self.epoch += 3;
                let epoch = self.epoch;
                self.registry = Some(Entry { holder: peer(index), epoch });
                Answer::Won(epoch)
            }
            Query::Claim { .. } | Query::Lookup => Answer::Found(self.registry),
        }
    }

    fn carry_out(&mut self, index: usize, outputs: Vec<Output<Token>>) {
        for output in outputs {
            match output {
                Output::Send(to, message) => self.messages.push((index, to.0 as usize, message)),
                Output::Ask(query) => {
                    let it = &mut self.access_points[index];
                    it.answer = None;
                    if let Some(earlier @ Query::Claim { .. }) = it.query.replace(query)
                        && earlier != query
                    {
                        self.late.insert((index, earlier));
                    }
                }
                Output::Serve(state) => {
                    let state = state.unwrap_or_else(|| {
                        self.newest.push(0);
                        (u8::try_from(self.newest.len() - 1).expect("few states"), 0)
                    });
                    assert_eq!(self.access_points[index].serves, None, "it serves already");
                    self.access_points[index].serves = Some(state);
                    // Two faults together: an access point that serves before the registry has confirmed it, and
                    // that the old one could not reach, loses what it has served.
                    let is_provisional = |it: &AccessPoint| {
                        it.serves.is_some_and(|other| other.0 == state.0)
                            && matches!(it.machine.service(), Some((_, Standing::Transferred)))
                    };
                    if self.access_points.iter().any(is_provisional) {
                        self.excused.insert(state.0);
                    }
                    let is_newest = self.newest[usize::from(state.0)] == state.1;
                    assert!(
                        is_newest || self.excused.contains(&state.0),
                        "an old state is served: {state:?}"
                    );
                }
                Output::Stop { is_lost } => {
                    let it = &mut self.access_points[index];
                    if is_lost {
                        let lost = it.serves.take().expect("only what is served is lost");
                        self.excused.insert(lost.0);
                    }
                    assert_eq!(it.serves, None, "it has been frozen");
                }
                Output::Forward(_) => {}
            }
        }
    }

    fn check(&self) {
        let servers: Vec<(usize, Token)> = self
            .access_points
            .iter()
            .enumerate()
            .filter_map(|(index, it)| it.serves.map(|token| (index, token)))
            .collect();
        for (index, _) in &servers {
            assert!(self.access_points[*index].machine.service().is_some(), "it has no standing");
        }
        for (position, (one, of_one)) in servers.iter().enumerate() {
            for (other, of_other) in &servers[position + 1..] {
                let [one, other] =
                    [one, other].map(|index| self.access_points[*index].machine.service().expect("checked"));
                assert_ne!(one.0, other.0, "two serve at one epoch");
                let is_provisional =
                    |(_, standing)| matches!(standing, Standing::Transferred | Standing::Returned { .. });
                let is_excused =
                    is_provisional(one) || is_provisional(other) || self.excused.contains(&of_one.0);
                assert!(of_one.0 != of_other.0 || is_excused, "one state is served twice");
            }
        }
    }

    /// Runs without faults until nothing changes. Then the access point of the client, and no other, serves it.
    fn settles(mut self) {
        for _ in 0..200 {
            let before = self.clone();
            for index in (0..self.late.len()).rev() {
                self.act(Action::Late(index));
            }
            for delivered in 0.. {
                assert!(delivered < 100, "they never stop to talk: {:?}", self.messages);
                if self.messages.is_empty() {
                    break;
                }
                self.act(Action::Deliver(0));
            }
            for index in 0..self.access_points.len() {
                self.act(Action::Query(index));
                self.act(Action::Answer(index));
            }
            if self.messages.is_empty() && self.access_points.iter().all(|it| it.query.is_none()) {
                for index in 0..self.access_points.len() {
                    if self.access_points[index].machine.timeout(&CONFIG).is_some() {
                        self.budget.timeouts = 1;
                        self.act(Action::Timeout(index));
                    }
                }
            }
            self.check();
            if self == before {
                break;
            }
        }
        for (index, it) in self.access_points.iter().enumerate() {
            assert_eq!(it.serves.is_some(), index == self.client_at, "{index} of {self:?}");
        }
        let standing = self.access_points[self.client_at].machine.service();
        assert!(matches!(standing, Some((_, Standing::Confirmed))), "{standing:?}");
    }
}

/// Explores all interleavings from the beginning, to a depth.
fn explore(access_points: usize, budget: Budget, depth: u32) -> usize {
    let mut seen = HashSet::new();
    let mut layer = vec![(World::new(access_points, budget), Vec::new())];
    for _ in 0..depth {
        let mut next = Vec::new();
        for (world, path) in layer {
            for action in world.actions() {
                let path = [path.as_slice(), &[action]].concat();
                let result = std::panic::catch_unwind(|| {
                    let mut after = world.clone();
                    after.act(action);
                    after.check();
                    after.clone().settles();
                    after
                });
                let Ok(after) = result else { panic!("after {path:?}") };
                if seen.insert(after.clone()) {
                    next.push((after, path));
                }
            }
        }
        layer = next;
    }
    seen.len()
}

const NONE: Budget =
    Budget { moves: 0, losses: 0, copies: 0, outages: 0, deaths: 0, timeouts: 0, changes: 0, lapses: 0 };

/// The number of worlds that each exploration surely reaches.
const MIN_WORLDS: usize = 5_000;

#[test]
fn without_faults_the_state_follows_the_client() {
    let worlds = explore(3, Budget { moves: 2, changes: 1, ..NONE }, 22);
    assert!(worlds > MIN_WORLDS, "{worlds}");
}

#[test]
fn messages_may_be_lost_doubled_and_late() {
    let worlds = explore(3, Budget { moves: 2, losses: 1, copies: 1, timeouts: 2, changes: 1, ..NONE }, 12);
    assert!(worlds > MIN_WORLDS, "{worlds}");
}

#[test]
fn the_registry_may_be_away() {
    let worlds = explore(3, Budget { moves: 2, outages: 1, timeouts: 2, changes: 1, ..NONE }, 12);
    assert!(worlds > MIN_WORLDS, "{worlds}");
}

#[test]
fn claims_may_lapse() {
    let worlds = explore(3, Budget { moves: 2, lapses: 1, timeouts: 2, changes: 1, ..NONE }, 12);
    assert!(worlds > MIN_WORLDS, "{worlds}");
}

#[test]
fn access_points_may_die() {
    let worlds = explore(3, Budget { moves: 2, deaths: 1, timeouts: 2, changes: 1, ..NONE }, 12);
    assert!(worlds > MIN_WORLDS, "{worlds}");
}

#[test]
fn long_histories_with_faults_of_all_kinds_keep_the_rules() {
    let all = Budget {
        moves: 12,
        losses: 6,
        copies: 6,
        outages: 6,
        deaths: 2,
        timeouts: 30,
        changes: 6,
        lapses: 3,
    };
    for seed in 0..20_000 {
        // A crash excuses all states that there are: half of the histories have none.
        let deaths = if seed % 2 == 0 { 0 } else { all.deaths };
        let budget = Budget { deaths, ..all };
        let mut rng = Rng::named(seed, "history");
        let mut world = World::new(2 + (seed / 2 % 3) as usize, budget);
        let mut path = Vec::new();
        for _ in 0..120 {
            let actions = world.actions();
            if actions.is_empty() {
                break;
            }
            let action = actions[rng.below(actions.len() as u64) as usize];
            path.push(action);
            let result = std::panic::catch_unwind(move || {
                world.act(action);
                world.check();
                world
            });
            world = result.unwrap_or_else(|_| panic!("history {seed}: {path:?}"));
        }
        std::panic::catch_unwind(|| world.settles()).unwrap_or_else(|_| panic!("history {seed}: {path:?}"));
    }
}
