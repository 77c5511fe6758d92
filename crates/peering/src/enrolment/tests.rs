use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::ServerConnection;

use super::*;
use crate::identity::Identity;
use crate::settings::Settings;
use crate::tls;

const NAME: &str = "lobby";

/// An enrolment's channel between a client and somebody who listens.
fn channel(client: &Identity, server: &Identity) -> (Channel, Channel) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let theirs = tls::client(client, None, SERVICE).expect("a configuration");
    let ours = ServerConnection::new(tls::server(server, &[SERVICE]).expect("a configuration"));
    thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let stream = TcpStream::connect(address).expect("it listens");
            Channel::open(stream, theirs, &Settings::default(), long()).expect("a handshake")
        });
        let (stream, _) = listener.accept().expect("a connection");
        let ours = ours.expect("a connection").into();
        let ours = Channel::open(stream, ours, &Settings::default(), long()).expect("a handshake");
        (theirs.join().expect("no panic"), ours)
    })
}

fn long() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

fn identity() -> Identity {
    Identity::ephemeral().expect("random numbers")
}

fn site_key() -> SiteKey {
    "5".repeat(64).parse().expect("64 digits")
}

/// What the client sends.
fn proof(channel: &Channel, client: &Identity, server: &Identity) -> Vec<u8> {
    let occasion = Occasion::new(channel, client.fingerprint(), server.fingerprint(), NAME);
    let proof = site_key().prove(End::Client, &occasion.expect("it is open"));
    [&proof, NAME.as_bytes()].concat()
}

/// What the listener says to it.
fn verdict(theirs: &Channel, mut ours: Channel, server: &Identity, request: &[u8]) -> Result<Peer, Verdict> {
    theirs.send(request).expect("there is room");
    let peers = Arc::new(Peers::new(4));
    let admitted = admit(&mut ours, server.fingerprint(), &site_key(), &peers, false, long());
    assert_eq!(peers.list(), Vec::from_iter(admitted.clone().ok()));
    admitted
}

#[test]
fn a_proof_is_worth_nothing_on_another_connection() {
    let [client, server] = [identity(), identity()];
    let (theirs, ours) = channel(&client, &server);
    let request = proof(&theirs, &client, &server);
    assert!(verdict(&theirs, ours, &server, &request).is_ok_and(|peer| &*peer.name == NAME));
    let (theirs, ours) = channel(&client, &server);
    assert_eq!(verdict(&theirs, ours, &server, &request), Err(Verdict::WrongSiteKey));
}

#[test]
fn a_proof_that_somebody_between_the_ends_passes_on_is_worth_nothing() {
    let [client, between, server] = [identity(), identity(), identity()];
    let (with_client, _) = channel(&client, &between);
    // The client proves the key to whom it takes for the listener.
    let request = proof(&with_client, &client, &between);
    let (with_server, ours) = channel(&between, &server);
    assert_eq!(verdict(&with_server, ours, &server, &request), Err(Verdict::WrongSiteKey));
}

#[test]
fn messages_that_are_no_request_are_refused() {
    let [client, server] = [identity(), identity()];
    for request in [&b""[..], b"lobby", &[0; 32], &[0; 256], &[0xff; 40]] {
        let (theirs, ours) = channel(&client, &server);
        assert_eq!(verdict(&theirs, ours, &server, request), Err(Verdict::WrongSiteKey));
    }
}

#[test]
fn a_listener_without_the_site_key_is_not_believed() {
    let [client, server] = [identity(), identity()];
    let other_key: SiteKey = "6".repeat(64).parse().expect("64 digits");
    let (mut theirs, ours) = channel(&client, &server);
    let occasion =
        Occasion::new(&ours, client.fingerprint(), server.fingerprint(), NAME).expect("it is open");
    let of_another_key = other_key.prove(End::Server, &occasion);
    ours.send(&[&[Verdict::Welcome.octet()][..], &of_another_key].concat()).expect("there is room");
    let answer = request(&mut theirs, client.fingerprint(), &site_key(), NAME, long());
    assert!(matches!(answer, Err(Error::WrongSiteKey)), "{answer:?}");

    // Nor one that sends the client's own proof back.
    let (mut theirs, mut back) = channel(&client, &server);
    let echo = thread::spawn(move || {
        let request = back.receive(Duration::from_secs(60)).expect("it is open").expect("a request");
        back.send(&[&[Verdict::Welcome.octet()][..], &request[..PROOF]].concat()).expect("there is room");
        back
    });
    let answer = request(&mut theirs, client.fingerprint(), &site_key(), NAME, long());
    assert!(matches!(answer, Err(Error::WrongSiteKey)), "{answer:?}");
    drop(echo.join().expect("no panic"));
}

#[test]
fn after_too_many_wrong_proofs_there_is_a_pause() {
    let mut pace = Pace::new(2, Duration::from_secs(10));
    for wrong in [1, 2] {
        assert!(!pace.is_paused(Duration::from_secs(12)), "{wrong}");
        pace.note_wrong();
    }
    assert!(pace.is_paused(Duration::from_secs(21)));
    assert!(!pace.is_paused(Duration::from_secs(22)));
}

#[test]
fn nobody_is_enrolled_with_the_name_of_the_listener_once_its_own_key_is_pinned() {
    let [client, server] = [identity(), identity()];
    let (theirs, mut ours) = channel(&client, &server);
    theirs.send(&proof(&theirs, &client, &server)).expect("there is room");
    let peers = Peers::new(4);
    peers.pin(server.fingerprint(), NAME).expect("there is room");
    let admitted = admit(&mut ours, server.fingerprint(), &site_key(), &peers, false, long());
    assert_eq!(admitted, Err(Verdict::NotRecorded));
}
