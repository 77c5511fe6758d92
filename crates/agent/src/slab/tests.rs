//! Compares the slab with a simple model.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const LISTS: usize = 3;
/// A small number, so that known flows occur often.
const FLOWS: u16 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Which(usize);

impl IdleList for Which {
    fn index(self) -> usize {
        self.0
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Adds a flow, or changes the value of a known one.
    Insert(u16, Which),
    Remove(u16),
    Touch(u16, Which),
    Wait(u64),
    ReleaseMemory,
}

fn any_step() -> impl Strategy<Value = Step> {
    let (port, list) = (0..FLOWS, (0..LISTS).prop_map(Which));
    prop_oneof![
        4 => (port.clone(), list.clone()).prop_map(|(port, list)| Step::Insert(port, list)),
        3 => port.clone().prop_map(Step::Remove),
        4 => (port, list).prop_map(|(port, list)| Step::Touch(port, list)),
        2 => (1_u64..1500).prop_map(Step::Wait),
        1 => Just(Step::ReleaseMemory),
    ]
}

fn key(port: u16) -> FlowKey {
    let host = Ipv4Addr::LOCALHOST.into();
    FlowKey::tcp((host, port), (host, 80))
}

/// A model of the slab: flows in the order in which they moved to the end of their lists.
#[derive(Default)]
struct Model {
    flows: Vec<ModelFlow>,
    /// Free slots, the next one last.
    free: Vec<Slot>,
    /// The number of slots.
    slots: usize,
}

struct ModelFlow {
    port: u16,
    value: u32,
    slot: Slot,
    list: Which,
    moved: Instant,
}

/// Slab and model.
#[derive(Default)]
struct Run {
    slab: Slab<u32, Which, LISTS>,
    model: Model,
    now: Instant,
    values: u32,
}

impl Run {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Insert(port, list) => self.insert(port, list),
            Step::Remove(port) => self.remove(port),
            Step::Touch(port, list) => self.touch(port, list),
            Step::Wait(millis) => self.now += Duration::from_millis(millis),
            Step::ReleaseMemory => {
                self.slab.release_memory();
                if self.model.flows.is_empty() {
                    self.model = Model::default();
                    assert_eq!(self.slab.octets(), 0);
                }
            }
        }
    }

    fn insert(&mut self, port: u16, list: Which) {
        self.values += 1;
        let value = self.values;
        if let Some(flow) = self.model.flows.iter_mut().find(|flow| flow.port == port) {
            flow.value = value;
            *self.slab.get_mut(flow.slot).expect("it is there") = value;
            return;
        }
        let slot = self.slab.insert(key(port), value, list, self.now);
        let expected = self.model.free.pop().unwrap_or(Slot::at(self.model.slots));
        assert_eq!(slot, expected, "the slot that was left last, or the first new one");
        self.model.slots = self.model.slots.max(slot.index() + 1);
        self.model.flows.push(ModelFlow { port, value, slot, list, moved: self.now });
    }

    fn remove(&mut self, port: u16) {
        let Some(at) = self.model.flows.iter().position(|flow| flow.port == port) else {
            assert_eq!(self.slab.find(key(port)), None);
            return;
        };
        let ModelFlow { slot, value, .. } = self.model.flows.remove(at);
        self.model.free.push(slot);
        assert_eq!((self.slab.remove(slot), self.slab.remove(slot)), (Some(value), None));
        // A slot that is free stays so.
        self.slab.touch(slot, Which(0), self.now);
        assert_eq!(self.slab.get_mut(slot), None);
        assert_eq!((self.slab.get(slot), self.slab.key(slot), self.slab.last_used(slot)), (None, None, None));
        assert!(!self.slab.has(slot, key(port)));
    }

    fn touch(&mut self, port: u16, list: Which) {
        let Some(at) = self.model.flows.iter().position(|flow| flow.port == port) else { return };
        self.slab.touch(self.model.flows[at].slot, list, self.now);
        let flow = &self.model.flows[at];
        if flow.list != list || self.now.since(flow.moved) >= Duration::from_secs(1) {
            let flow = self.model.flows.remove(at);
            self.model.flows.push(ModelFlow { list, moved: self.now, ..flow });
        }
    }

    fn check(&self) {
        let Self { slab, model, .. } = self;
        assert_eq!((slab.len(), slab.is_empty()), (model.flows.len(), model.flows.is_empty()));
        for flow in &model.flows {
            assert_eq!(slab.find(key(flow.port)), Some(flow.slot), "it keeps its slot");
            assert_eq!((slab.get(flow.slot), slab.key(flow.slot)), (Some(&flow.value), Some(key(flow.port))));
            assert_eq!(slab.last_used(flow.slot), Some(flow.moved));
            assert!(slab.has(flow.slot, key(flow.port)) && !slab.has(flow.slot, key(FLOWS)));
        }
        for list in (0..LISTS).map(Which) {
            let expected = model.flows.iter().filter(|flow| flow.list == list).map(|flow| flow.slot);
            let expected = expected.collect::<Vec<_>>();
            assert_eq!(slab.idlest(list), expected.first().copied());
            assert_eq!(slab.in_order(list).collect::<Vec<_>>(), expected);
            let mut backwards =
                successors(slab.lists[list.0].latest, |slot| slab.entries[slot.index()].older)
                    .collect::<Vec<_>>();
            backwards.reverse();
            assert_eq!(backwards, expected, "both ways");
        }
    }

    /// The flows with their slots, in the order of the array.
    fn in_order_of_slots(&self) -> Vec<(Slot, FlowKey, u32)> {
        let all = self.model.flows.iter().map(|flow| (flow.slot, key(flow.port), flow.value));
        let mut sorted = all.collect::<Vec<_>>();
        sorted.sort_unstable();
        sorted
    }
}

fn run(steps: &[Step]) -> Run {
    let mut run = Run::default();
    for step in steps {
        run.step(step);
        run.check();
    }
    run
}

proptest! {
    #[test]
    fn it_does_what_a_table_that_searches_does(steps in proptest::collection::vec(any_step(), 1..200)) {
        run(&steps);
    }

    #[test]
    fn pages_have_every_flow_once_in_order_of_slots(
        steps in proptest::collection::vec(any_step(), 1..100),
        slots in 1_usize..10,
    ) {
        let run = run(&steps);
        let (mut paged, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let (page, after) = run.slab.page(from, slots);
            let before = paged.len();
            paged.extend(page.map(|(key, value)| (key, *value)));
            prop_assert!(paged.len() - before <= slots && after.is_none_or(|after| after == from + slots));
            next = after;
        }
        let expected = run.in_order_of_slots();
        prop_assert_eq!(paged, expected.iter().map(|(_, key, value)| (*key, *value)).collect::<Vec<_>>());
        prop_assert_eq!(run.slab.slots().collect::<Vec<_>>(), expected.iter().map(|flow| flow.0).collect::<Vec<_>>());
        prop_assert_eq!(run.slab.page(usize::MAX, slots).1, None);
    }

    #[test]
    fn prefetch_looks_at_what_is_there_and_misses_no_flow_but_for_another(
        steps in proptest::collection::vec(any_step(), 1..100),
        ports in proptest::collection::vec(0..2 * FLOWS, 0..100),
    ) {
        let run = run(&steps);
        let keys = ports.iter().copied().map(key).collect::<Vec<_>>();
        let mut looked = 0;
        run.slab.prefetch(&keys, |slot, value| {
            assert_eq!(run.slab.get(slot), Some(value));
            looked += 1;
        });
        let here = keys.iter().filter(|key| run.slab.find(**key).is_some()).count();
        prop_assert!((here..=keys.len()).contains(&looked), "{} of {}", looked, here);
        run.check();
    }
}

#[test]
fn a_slab_with_reserved_memory_does_not_grow_through_insertions_and_removals() {
    // The maximum in a hash table of 1024 slots: removals would make a table of that size grow.
    const MAX: u16 = 896;
    let mut later = Slab::<u16>::new();
    later.reserve(MAX.into());
    for mut slab in [Slab::with_capacity(MAX.into()), later] {
        let before = slab.octets();
        assert!(before <= usize::from(MAX) * Slab::<u16>::octets_per_entry(), "{before}");
        for round in 0..50_000 {
            if slab.len() == usize::from(MAX) {
                let idlest = slab.idlest(()).expect("it is full");
                slab.remove(idlest);
            }
            slab.insert(key(round), round, (), Instant::ZERO);
        }
        assert_eq!(slab.octets(), before);
    }
}

#[test]
fn slots_are_reused_so_that_memory_depends_on_the_number_of_flows() {
    let mut slab = Slab::<u16>::new();
    let mut slots = BTreeSet::new();
    for round in 0..10_000_u16 {
        slots.insert(slab.insert(key(round), round, (), Instant::ZERO));
        if slab.len() == 10 {
            let idlest = slab.idlest(()).expect("there are ten");
            assert_eq!(slab.remove(idlest), Some(round - 9), "the first that came");
        }
    }
    assert_eq!(slots.len(), 10);
}

#[test]
fn a_value_is_dropped_when_its_flow_is_removed() {
    struct Counted(Rc<Cell<u32>>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let mut slab = Slab::<Counted>::new();
    let slots = [1, 2].map(|port| slab.insert(key(port), Counted(Rc::clone(&dropped)), (), Instant::ZERO));
    slab.remove(slots[0]);
    assert_eq!(dropped.get(), 1, "not only when another takes its slot");
    drop(slab);
    assert_eq!(dropped.get(), 2);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn an_entry_has_forty_eight_octets_besides_key_and_value() {
    // Of these, 24 belong to the entry: when it moved, its neighbors, its list and whether it is in
    // use; the others belong to the hash table.
    let own = |octets: usize, value: usize| octets - size_of::<FlowKey>().next_multiple_of(8) - value;
    assert_eq!(own(Slab::<u64>::octets_per_entry(), 8), 48);
    // A single list takes no memory, nor does the `None` of values with a niche.
    assert_eq!(own(Slab::<Box<u64>>::octets_per_entry(), 8), 40);
    assert_eq!(size_of::<Option<Slot>>(), 4);
}
