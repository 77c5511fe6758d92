//! Somebody on the path between two peers.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use lasthop_peering::{Error, Settings};

use super::site::{LONG, Site, next, settings};

/// What happens to octets towards the listener, once it is switched on.
#[derive(Clone, Copy)]
enum Fault {
    /// A bit of each piece is inverted.
    Damage,
    /// Half of a piece arrives, and the connection is cut after it.
    Cut,
    /// The first 20,000 octets arrive, and nothing after them.
    Hold,
    /// Each piece arrives twice.
    Repeat,
}

/// Forwards one connection to an address.
fn path(to: SocketAddr, fault: Fault) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let is_on = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&is_on);
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a connection");
        let server = TcpStream::connect(to).expect("it listens");
        let (back_from, back_to) =
            (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
        thread::spawn(move || forward(&back_from, &back_to, |octets| Some(octets.to_vec())));
        let (mut is_past, mut held_after) = (false, 0);
        forward(&client, &server, |octets| {
            if !is_on.load(SeqCst) {
                return Some(octets.to_vec());
            }
            let is_first = !std::mem::replace(&mut is_past, true);
            match fault {
                Fault::Damage => Some([&octets[..7], &[octets[7] ^ 1], &octets[8..]].concat()),
                Fault::Repeat => Some([octets, octets].concat()),
                Fault::Cut if is_first => {
                    client.shutdown(Shutdown::Read).expect("it is open");
                    Some(octets[..octets.len() / 2].to_vec())
                }
                Fault::Cut => None,
                Fault::Hold => {
                    let rest = octets.len().min(20_000 - held_after);
                    held_after += rest;
                    Some(octets[..rest].to_vec())
                }
            }
        });
    });
    (address, switch)
}

/// Forwards octets until the first piece of which nothing is left.
fn forward(mut from: &TcpStream, mut to: &TcpStream, mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) {
    let mut octets = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut octets) {
        let Some(changed) = change(&octets[..length]) else { break };
        if to.write_all(&changed).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// What the listener receives after a message of 100 octets that the fault meets.
fn received(fault: Fault, settings: Settings) -> Result<Option<Vec<u8>>, Error> {
    let site = Site::new(settings);
    let (address, switch) = path(site.address(), fault);
    let (ours, mut theirs) = site.channel_by(address);
    ours.send(b"untouched").expect("there is room");
    assert_eq!(next(&mut theirs), b"untouched");
    switch.store(true, SeqCst);
    ours.send(&[7; 100]).expect("there is room");
    let received = theirs.receive(LONG);
    if matches!(&received, Ok(Some(message)) if *message == [7; 100]) {
        return theirs.receive(LONG);
    }
    received
}

#[test]
fn a_message_with_a_wrong_bit_is_not_received() {
    assert!(matches!(received(Fault::Damage, settings()), Err(Error::Tls(_))));
}

#[test]
fn a_message_that_comes_a_second_time_is_not_received() {
    assert!(matches!(received(Fault::Repeat, settings()), Err(Error::Tls(_))));
}

#[test]
fn a_message_that_is_cut_off_is_not_received() {
    let received = received(Fault::Cut, settings());
    assert!(matches!(received, Err(Error::Closed | Error::Incomplete)), "{received:?}");
}

#[test]
fn a_message_of_several_records_that_is_cut_off_between_them_is_incomplete() {
    let site = Site::new(settings());
    let (address, switch) = path(site.address(), Fault::Cut);
    let (ours, mut theirs) = site.channel_by(address);
    switch.store(true, SeqCst);
    // It is cut somewhere; the first record may or may not be complete.
    let _ = ours.send(&vec![7; 1 << 19]);
    let received = theirs.receive(LONG);
    assert!(matches!(received, Err(Error::Closed | Error::Incomplete)), "{received:?}");
}

#[test]
fn a_message_that_never_ends_does_not_keep_a_receiver_for_ever() {
    let settings = Settings { message_time: Duration::from_millis(200), ..settings() };
    let site = Site::new(settings);
    let (address, switch) = path(site.address(), Fault::Hold);
    let (ours, mut theirs) = site.channel_by(address);
    switch.store(true, SeqCst);
    // Its first record, of 16 KiB, arrives.
    let _ = ours.send(&vec![7; 100_000]);
    let received = theirs.receive(LONG);
    assert!(matches!(received, Err(Error::TimedOut)), "{received:?}");
}
