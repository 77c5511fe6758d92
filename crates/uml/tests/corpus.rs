//! Runs the fuzz targets of this crate on their corpora and on inputs derived from these, and contains the generator of
//! the corpora.

#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/vhost.rs"]
mod targets;

use std::fs;

use replay::{corpus, replay};

#[test]
fn no_input_breaks_a_rule_of_vhost_user() {
    replay("vhost_messages", targets::vhost_messages);
}

#[test]
fn no_input_breaks_a_rule_of_rings() {
    replay("rings", targets::rings);
}

#[test]
fn no_input_breaks_a_rule_of_simulated_radios() {
    replay("radio_messages", targets::radio_messages);
}

#[test]
#[ignore = "writes the corpora; run it once after a change of the samples"]
fn write_the_corpora() {
    let write = |target: &str, samples: Vec<(&str, Vec<u8>)>| {
        fs::create_dir_all(corpus(target)).expect("a writable corpus");
        for (name, octets) in samples {
            fs::write(corpus(target).join(name), octets).expect("a writable corpus");
        }
    };
    write("vhost_messages", messages());
    write("rings", rings());
    write("radio_messages", radios());
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

fn message(request: u32, payload: &[u8]) -> Vec<u8> {
    [words(&[request, 9, payload.len() as u32]), payload.to_vec()].concat()
}

fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let table = message(5, &longs(&[1, 0x10_0000, 0x1_0000, 0x10_0000, 0, 0, 0, 0, 0]));
    let addresses = message(9, &longs(&[0, 0x10_0000, 0x10_0200, 0x10_0100, u64::MAX]));
    let configuration = message(24, &[words(&[0, 6, 0]), vec![0; 6]].concat());
    let kick = message(35, &words(&[1, 0]));
    vec![
        ("boot", [message(3, &[]), message(1, &[]), message(15, &[]), message(21, &[])].concat()),
        ("features", [message(2, &longs(&[1 << 32])), message(16, &longs(&[0x4228]))].concat()),
        ("table", table.clone()),
        ("table-of-too-many", message(5, &longs(&[9, 0, 0, 0, 0]))),
        ("queue", [message(8, &words(&[0, 256])), message(10, &words(&[0, 0])), addresses].concat()),
        ("enable", [message(18, &words(&[0, 1])), kick.clone()].concat()),
        ("configuration", configuration),
        ("configuration-beyond", message(24, &words(&[u32::MAX, u32::MAX, 0]))),
        ("cut", kick[..19].to_vec()),
        ("other-version", words(&[35, 2, 8, 0, 0])),
        ("longest", words(&[25, 1, 512])),
    ]
}

/// A ring of 4 entries: descriptors at 0, available ring at 64, used ring at 80, buffers from 128 on.
fn rings() -> Vec<(&'static str, Vec<u8>)> {
    let ring = |flags: u8, heads: &[u16], chains: &[(u64, u32, u16, u16)]| {
        let mut memory = vec![0; 256];
        for (number, &(address, length, flags, next)) in chains.iter().enumerate() {
            let fields =
                [longs(&[address]), words(&[length, u32::from(flags) | u32::from(next) << 16])].concat();
            memory[16 * number..16 * number + 16].copy_from_slice(&fields);
        }
        memory[66] = heads.len() as u8;
        for (entry, head) in heads.iter().enumerate() {
            memory[68 + 2 * entry..70 + 2 * entry].copy_from_slice(&head.to_le_bytes());
        }
        [vec![2, 0, 32, 20, 0, flags], memory].concat()
    };
    vec![
        ("empty", ring(0, &[], &[])),
        ("one", ring(0, &[0], &[(128, 60, 0, 0)])),
        ("three", ring(0, &[2, 0, 1], &[(128, 60, 1, 3), (140, 9, 0, 0), (150, 0, 0, 0), (130, 70, 0, 0)])),
        ("loop", ring(0, &[0], &[(128, 1, 1, 1), (128, 1, 1, 0)])),
        ("outside", ring(0, &[0], &[(250, 60, 0, 0)])),
        ("beyond-the-last-address", ring(0, &[0], &[(u64::MAX, 60, 0, 0)])),
        ("too-long", ring(0, &[0], &[(128, u32::MAX, 0, 0)])),
        ("no-descriptor", ring(0, &[9], &[])),
        ("jump", ring(0, &[0; 6], &[(128, 60, 0, 0)])),
        ("indirect", ring(0, &[0], &[(128, 16, 4, 0)])),
    ]
}

/// Messages of generic netlink: attributes with their types.
fn radios() -> Vec<(&'static str, Vec<u8>)> {
    let message = |command: u8, attributes: &[(u16, &[u8])]| {
        let mut octets = vec![0; 16];
        octets.extend([command, 1, 0, 0]);
        for (kind, value) in attributes {
            octets.extend(words(&[(4 + value.len() as u32) | (u32::from(*kind) << 16)]));
            octets.extend_from_slice(value);
            octets.resize(octets.len().next_multiple_of(4), 0);
        }
        let length = words(&[octets.len() as u32]);
        octets[..4].copy_from_slice(&length);
        octets
    };
    let (radio, flags, mhz, cookie) = ([0x42, 0, 0, 0, 1, 0], words(&[1]), words(&[2412]), longs(&[9]));
    let tries = [3, 2, 0, 5, 0xff, 0, 0, 0];
    let rate_flags = [3, 4, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
    let of_frame: [(u16, &[u8]); 8] = [
        (2, &radio),
        (3, &[0x80; 61]),
        (4, &flags),
        (19, &mhz),
        (7, &tries),
        (21, &rate_flags),
        (20, &[]),
        (8, &cookie),
    ];
    let whole = message(2, &of_frame);
    vec![
        ("frame", whole.clone()),
        ("frame-in-a-buffer", [whole.clone(), vec![0; 64]].concat()),
        ("frame-without-cookie", message(2, &of_frame[..7])),
        ("frame-of-no-octets", message(2, &[&of_frame[..1], &[(3, &[])], &of_frame[2..]].concat())),
        ("cut", whole[..90].to_vec()),
        ("address", message(7, &[(2, &radio), (1, &[2, 0, 0, 0, 1, 0])])),
        ("address-too-short", message(8, &[(2, &radio), (1, &[2])])),
        ("unknown", message(200, &[(99, &[1])])),
    ]
}
