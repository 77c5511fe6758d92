use proptest::prelude::*;

use super::*;

const SIZE: u16 = 8;
const ADDRESSES: Addresses = Addresses { descriptors: 0, available: 128, used: 152 };
const BUFFERS: u64 = 256;

/// The driver's side of a queue in 1 KiB.
struct Driver {
    memory: Vec<u8>,
    available: u16,
}

impl Driver {
    fn new() -> Self {
        Self { memory: vec![0; 1024], available: 0 }
    }

    fn describe(&mut self, descriptor: u16, address: u64, length: u32, flags: u16, next: u16) {
        let fields = u128::from(address)
            | u128::from(length) << 64
            | u128::from(flags) << 96
            | u128::from(next) << 112;
        self.memory.write(16 * u64::from(descriptor), &fields.to_le_bytes()).expect("in the table");
    }

    fn offer(&mut self, head: u16) {
        let entry = 132 + 2 * u64::from(self.available % SIZE);
        self.memory.write(entry, &head.to_le_bytes()).expect("in the ring");
        self.available = self.available.wrapping_add(1);
        self.memory.write(130, &self.available.to_le_bytes()).expect("in the ring");
    }

    fn used(&self) -> u16 {
        self.memory.read_u16(154).expect("in the ring")
    }

    fn element(&self, entry: u64) -> [u8; 8] {
        let mut element = [0; 8];
        self.memory.read(156 + 8 * entry, &mut element).expect("in the ring");
        element
    }
}

fn ring() -> Ring {
    Ring::new(SIZE.into(), ADDRESSES, 0).expect("a rightful ring")
}

fn refused(driver: &Driver, direction: Direction) -> RingError {
    ring().peek(&driver.memory, direction, &mut Chain::default()).expect_err("it breaks a rule")
}

#[test]
fn a_buffer_of_several_descriptors_is_read_as_one() {
    let mut driver = Driver::new();
    driver.memory[256..262].copy_from_slice(b"abcdef");
    driver.describe(3, BUFFERS + 4, 2, 1, 5);
    driver.describe(5, 0, 0, 1, 0);
    driver.describe(0, BUFFERS, 3, 0, 99);
    driver.offer(3);
    let (mut ring, mut chain, mut octets) = (ring(), Chain::default(), Vec::new());
    assert_eq!(ring.peek(&driver.memory, Direction::FromGuest, &mut chain), Ok(true));
    assert_eq!((chain.head(), chain.octets()), (3, 5));
    chain.read(&driver.memory, &mut octets).expect("in memory");
    assert_eq!(octets, b"efabc");
    assert_eq!(ring.complete(&mut driver.memory, &chain, 0), Ok(true));
    assert_eq!((driver.used(), driver.element(0)), (1, [3, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(ring.peek(&driver.memory, Direction::FromGuest, &mut chain), Ok(false));
}

#[test]
fn a_buffer_is_filled_over_its_descriptors_as_far_as_it_goes() {
    let mut driver = Driver::new();
    driver.describe(0, BUFFERS, 3, 3, 1);
    driver.describe(1, BUFFERS + 10, 2, 2, 0);
    driver.offer(0);
    let mut chain = Chain::default();
    assert_eq!(ring().peek(&driver.memory, Direction::ToGuest, &mut chain), Ok(true));
    chain.write(&mut driver.memory, [b"ab", b"cdef"]).expect("in memory");
    assert_eq!(driver.memory[256..268], *b"abc\0\0\0\0\0\0\0de");
    assert_eq!(driver.memory[268], 0);
}

#[test]
fn a_buffer_that_was_only_looked_at_is_the_next_one_again() {
    let mut driver = Driver::new();
    driver.describe(2, BUFFERS, 1, 2, 0);
    driver.offer(2);
    let (ring, mut chain) = (ring(), Chain::default());
    for _ in 0..2 {
        assert_eq!(ring.peek(&driver.memory, Direction::ToGuest, &mut chain), Ok(true));
        assert_eq!(chain.head(), 2);
    }
}

#[test]
fn a_driver_says_whether_it_needs_an_interrupt_and_learns_whether_it_should_notify() {
    let mut driver = Driver::new();
    driver.offer(0);
    driver.memory[128] = 1;
    let (mut ring, mut chain) = (ring(), Chain::default());
    assert_eq!(ring.peek(&driver.memory, Direction::FromGuest, &mut chain), Ok(true));
    assert_eq!(ring.complete(&mut driver.memory, &chain, 0), Ok(false));
    ring.ask_for_notifications(&mut driver.memory, false).expect("in memory");
    assert_eq!(driver.memory[152], 1);
    ring.ask_for_notifications(&mut driver.memory, true).expect("in memory");
    assert_eq!(driver.memory[152], 0);
}

#[test]
fn an_index_that_jumps_by_more_than_the_size_is_refused() {
    let mut driver = Driver::new();
    driver.available = SIZE;
    driver.offer(0);
    let jump = RingError::Jump { from: 0, to: 9, size: 8 };
    assert_eq!(refused(&driver, Direction::FromGuest), jump);
}

#[test]
fn a_ring_whose_chain_loops_is_refused() {
    let mut driver = Driver::new();
    driver.describe(0, BUFFERS, 1, 1, 1);
    driver.describe(1, BUFFERS, 1, 1, 0);
    driver.offer(0);
    assert_eq!(refused(&driver, Direction::FromGuest), RingError::Chain(ChainError::Loop));
}

#[test]
fn descriptors_out_of_range_are_refused() {
    let mut driver = Driver::new();
    driver.describe(0, BUFFERS, 1, 1, SIZE);
    driver.offer(0);
    let missing = ChainError::NoDescriptor { descriptor: SIZE, size: SIZE };
    assert_eq!(refused(&driver, Direction::FromGuest), RingError::Chain(missing));
    let mut driver = Driver::new();
    driver.offer(u16::MAX);
    let missing = ChainError::NoDescriptor { descriptor: u16::MAX, size: SIZE };
    assert_eq!(refused(&driver, Direction::FromGuest), RingError::Chain(missing));
}

#[test]
fn flags_that_were_not_negotiated_and_wrong_directions_are_refused() {
    for (flags, direction) in [
        (4, Direction::FromGuest),
        (2, Direction::FromGuest),
        (0, Direction::ToGuest),
        (6, Direction::ToGuest),
    ] {
        let mut driver = Driver::new();
        driver.describe(0, BUFFERS, 1, flags, 0);
        driver.offer(0);
        assert_eq!(refused(&driver, direction), RingError::Chain(ChainError::Flags(flags)));
    }
}

#[test]
fn buffers_that_are_too_long_are_refused() {
    let mut driver = Driver::new();
    driver.describe(0, BUFFERS, u32::MAX, 0, 0);
    driver.offer(0);
    assert_eq!(refused(&driver, Direction::FromGuest), RingError::Chain(ChainError::TooLong));
}

#[test]
fn rings_of_a_wrong_size_or_place_are_refused() {
    for size in [0, 3, 2048, 65_536 + 8] {
        assert_eq!(Ring::new(size, ADDRESSES, 0).expect_err("a wrong size"), RingError::Size(size));
    }
    for addresses in [
        Addresses { descriptors: 8, ..ADDRESSES },
        Addresses { available: 129, ..ADDRESSES },
        Addresses { used: 154, ..ADDRESSES },
        Addresses { descriptors: u64::MAX - 15, ..ADDRESSES },
        Addresses { available: u64::MAX - 1, ..ADDRESSES },
    ] {
        let refused = Ring::new(8, addresses, 0).expect_err("a wrong place");
        assert_eq!(refused, RingError::Addresses(addresses));
    }
}

#[test]
fn indices_wrap_around_after_65535() {
    let mut driver = Driver::new();
    driver.available = u16::MAX;
    driver.describe(4, BUFFERS, 1, 0, 0);
    let mut ring = Ring::new(SIZE.into(), ADDRESSES, u16::MAX).expect("a rightful ring");
    let mut chain = Chain::default();
    for _ in 0..2 {
        driver.offer(4);
        assert_eq!(ring.peek(&driver.memory, Direction::FromGuest, &mut chain), Ok(true));
        ring.complete(&mut driver.memory, &chain, 0).expect("in memory");
    }
    assert_eq!(driver.used(), 1);
}

proptest! {
    /// Against a model: a queue of messages. Each comes out once, in order, whatever descriptors it has.
    #[test]
    fn messages_come_out_as_they_went_in(
        messages in prop::collection::vec(prop::collection::vec(0_usize..9, 1..4), 1..60)
    ) {
        let (mut driver, mut ring, mut chain) = (Driver::new(), ring(), Chain::default());
        for (number, lengths) in messages.into_iter().enumerate() {
            let (mut model, mut at) = (Vec::new(), 256);
            for (index, &length) in lengths.iter().enumerate() {
                let part: Vec<u8> = (0..length).map(|octet| (number * 7 + index + octet) as u8).collect();
                driver.memory[at..at + length].copy_from_slice(&part);
                let is_last = index + 1 == lengths.len();
                driver.describe(index as u16, at as u64, length as u32, u16::from(!is_last), index as u16 + 1);
                model.extend(part);
                at += 16;
            }
            driver.offer(0);
            prop_assert_eq!(ring.peek(&driver.memory, Direction::FromGuest, &mut chain), Ok(true));
            let mut octets = Vec::new();
            chain.read(&driver.memory, &mut octets).expect("in memory");
            prop_assert_eq!(octets, model);
            ring.complete(&mut driver.memory, &chain, 0).expect("in memory");
            prop_assert_eq!(driver.used(), number as u16 + 1);
        }
    }

    /// With any memory, a device ends with an error or without buffers, after the ring's entries at most.
    #[test]
    fn any_memory_is_refused_or_used_up(
        mut memory in prop::collection::vec(any::<u8>(), 200..400),
        base: u16,
        small: bool,
    ) {
        if small {
            // Descriptors and heads that exist more often.
            for octet in &mut memory[..152] { *octet &= 0x0b; }
            let available = base.wrapping_add(u16::from(memory[0]));
            memory[130..132].copy_from_slice(&available.to_le_bytes());
        }
        let mut ring = Ring::new(SIZE.into(), ADDRESSES, base).expect("a rightful ring");
        let (mut chain, mut octets) = (Chain::default(), Vec::new());
        let mut buffers = 0;
        while let Ok(true) = ring.peek(&memory, Direction::FromGuest, &mut chain) {
            octets.clear();
            let _ = chain.read(&memory, &mut octets);
            prop_assert!(octets.len() <= chain.octets() && chain.octets() <= chain::MAX_OCTETS);
            if ring.complete(&mut memory, &chain, 0).is_err() { break; }
            buffers += 1;
            // What the device writes may fall into the index that it reads, if the parts overlap; here they do not.
            prop_assert!(buffers <= SIZE);
        }
    }
}
