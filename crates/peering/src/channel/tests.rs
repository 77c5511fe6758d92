use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use rustls::ServerConnection;

use super::*;
use crate::identity::Identity;
use crate::tls;

/// What the server's end of a handshake takes at most, in octets of memory, and its result.
fn handshake(client: impl FnOnce(TcpStream) + Send) -> (u64, Result<(), Error>) {
    let server = Identity::ephemeral().expect("random numbers");
    let config = tls::server(&server, &["test/1"]).expect("a configuration");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    thread::scope(|scope| {
        scope.spawn(move || client(TcpStream::connect(address).expect("it listens")));
        let (stream, _) = listener.accept().expect("a connection");
        let mut result = Ok(());
        let taken = allocation_counter::measure(|| {
            let tls = ServerConnection::new(config).expect("a connection").into();
            result = Channel::open(stream, tls, &Settings::default(), long()).map(drop);
        });
        (taken.bytes_max, result)
    })
}

fn long() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

#[test]
fn a_handshake_takes_less_memory_than_documented() {
    let (octets, result) = handshake(|stream| {
        let client = Identity::ephemeral().expect("random numbers");
        let tls = tls::client(&client, None, "test/1").expect("a configuration");
        Channel::open(stream, tls, &Settings::default(), long()).expect("a handshake");
    });
    assert!(result.is_ok() && octets < HANDSHAKE_MEMORY, "{octets} octets: {result:?}");

    // The longest message that TLS admits before the keys are known, and more than that.
    for length in [0x00_ff_ff_u32, 0x01_00_00, 0xff_ff_ff] {
        let (octets, result) = handshake(|mut stream| {
            let mut message = vec![1];
            message.extend(&length.to_be_bytes()[1..]);
            message.resize(message.len() + 0xff_ff, 0);
            for fragment in message.chunks(1 << 14) {
                let record = [&[22, 3, 3][..], &(fragment.len() as u16).to_be_bytes(), fragment].concat();
                let _ = stream.write_all(&record);
            }
        });
        assert!(result.is_err() && octets < HANDSHAKE_MEMORY, "{length}: {octets} octets");
    }
}

/// [`Settings`] has the figure.
const HANDSHAKE_MEMORY: u64 = 128 << 10;
