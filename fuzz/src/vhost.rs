//! What a guest of a kernel for user mode says about its devices, and what is in its rings.

use lasthop_uml::Hwsim;
use lasthop_uml::hwsim::{FromRadios, ReceivedFrame, TxStatus, parse};
use lasthop_uml::memory::Memory as _;
use lasthop_uml::ring::{Addresses, Chain, Direction, MAX_SIZE, Ring};
use lasthop_uml::vhost::{DeviceType as _, HEADER, LONGEST, Message, reply};

/// Messages, one after the other, until one is incomplete or refused. Each has the length that its header says, needs
/// all of its octets, and has as many descriptors as a device can take.
pub fn vhost_messages(data: &[u8]) {
    let mut octets = data;
    while let Ok(Some(message)) = Message::parse(octets) {
        assert!((HEADER..=LONGEST).contains(&message.length) && message.length <= octets.len());
        let size = u32::from_le_bytes([octets[8], octets[9], octets[10], octets[11]]);
        assert_eq!(message.length, HEADER + size as usize);
        assert_eq!(Message::parse(&octets[..message.length - 1]), Ok(None));
        assert!(message.request.descriptors() <= 8);
        assert_eq!(reply(&message.request, &[])[..4], octets[..4], "the number of the request");
        octets = &octets[message.length..];
    }
}

/// A message of the driver of simulated radios, in its buffer. What it is answered with is a message as well.
pub fn radio_messages(data: &[u8]) {
    let Some(message) = Hwsim.frame(data) else { return };
    assert!(message.len() <= data.len());
    let Ok(FromRadios::Frame(sent)) = parse(message) else { return };
    assert!(sent.octets.len() <= message.len());
    let mut answer = Vec::new();
    TxStatus {
        radio: sent.radio,
        cookie: sent.cookie,
        wants_status: sent.wants_status,
        no_ack: sent.no_ack,
        acknowledged: !sent.no_ack,
        dbm: -50,
        stages: sent.stages,
        air_time: sent.mhz,
    }
    .write(&mut answer);
    assert_eq!(Hwsim.frame(&answer), Some(&answer[..]));
    assert_eq!(parse(&answer), Ok(FromRadios::Other(3)));
    let received = ReceivedFrame { radio: sent.radio, octets: sent.octets, rate: 0, dbm: -50, mhz: sent.mhz };
    received.write(&mut answer);
    assert_eq!(Hwsim.frame(&answer), Some(&answer[..]));
    assert!(
        answer.windows(sent.octets.len().max(1)).any(|part| part == sent.octets) || sent.octets.is_empty()
    );
}

/// The first octets say where the ring is, the rest is the memory. Whatever is there, each buffer is within bounds, and a
/// device comes to an end. Every other time it looks, the guest changes an octet.
pub fn rings(data: &[u8]) {
    let [size, descriptors, available, used, base, flags, memory @ ..] = data else { return };
    let addresses = Addresses {
        descriptors: u64::from(*descriptors) * 16,
        available: u64::from(*available) * 2,
        used: u64::from(*used) * 4,
    };
    let base = u16::from(*base);
    let Ok(mut ring) = Ring::new(1 << (size & 15), addresses, base) else { return };
    let direction = if flags & 1 == 0 { Direction::FromGuest } else { Direction::ToGuest };
    let (mut memory, mut chain, mut octets) = (memory.to_vec(), Chain::default(), Vec::new());
    for step in 0..2 * usize::from(MAX_SIZE) {
        match ring.peek(&memory, direction, &mut chain) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
        assert!(chain.octets() <= 1 << 17);
        octets.clear();
        let whole = match direction {
            Direction::FromGuest => chain.read(&memory, &mut octets),
            Direction::ToGuest => chain.write(&mut memory, [&[7; 12], &[8; 2000]]),
        };
        if whole.is_ok() && direction == Direction::FromGuest {
            assert_eq!(octets.len(), chain.octets());
        }
        if step % 2 == 1 && !memory.is_empty() {
            let at = (step * 31) % memory.len();
            memory[at] = memory[at].wrapping_add(1);
        }
        if ring.complete(&mut memory, &chain, chain.octets() as u32).is_err() {
            return;
        }
    }
    let _ = ring.ask_for_notifications(&mut memory, true);
    let _ = memory.read_u16(0);
}
