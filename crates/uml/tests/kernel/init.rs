//! The first program of a guest: it is started by the kernel, with the files of this machine below it.

#![allow(clippy::print_stdout, reason = "the console is how it reports")]

use std::env;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread;

use lasthop_linux::clock::now;
use lasthop_linux::namespace::Namespace;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

/// Does what the kernel's command line says, and shuts the guest down.
pub fn run() -> ! {
    mount("proc", "/proc", "proc", MountFlags::empty(), None).expect("proc");
    match env::var("role").as_deref() {
        Ok("echo") => echo(),
        Ok("tcp") => tcp(),
        Ok("client") => client(),
        Ok("server") => server(),
        // Time stands still, and no other program of the guest ever runs.
        Ok("spin") => loop {
            std::hint::spin_loop();
        },
        role => panic!("no such role: {role:?}"),
    }
    reboot(RebootCommand::PowerOff).expect("root");
    unreachable!("it is off");
}

const HERE: &str = "10.0.0.1";
const THERE: &str = "10.0.0.2";

/// One device stays here, the other one is there.
fn hosts() -> (Namespace, Namespace) {
    let here = Namespace::current("here").expect("proc");
    let there = Namespace::new("there").expect("root");
    here.ip(&[
        &format!("link set eth1 netns {}", there.path()),
        &format!("address add {HERE}/24 dev eth0"),
        "link set eth0 up",
    ])
    .expect("a device");
    there.ip(&[&format!("address add {THERE}/24 dev eth1"), "link set eth1 up"]).expect("a device");
    (here, there)
}

fn echo() {
    let (_here, there) = hosts();
    let socket = there.enter(|| UdpSocket::bind((THERE, 7))).expect("a namespace").expect("a port");
    thread::spawn(move || answer(&socket));
    ask();
}

fn answer(socket: &UdpSocket) {
    let mut octets = [0; 2000];
    loop {
        let (length, from) = socket.recv_from(&mut octets).expect("a datagram");
        socket.send_to(&octets[..length], from).expect("a way");
    }
}

fn ask() {
    let socket = UdpSocket::bind((HERE, 0)).expect("a port");
    socket.connect((THERE, 7)).expect("a way");
    for number in 0..6_u8 {
        let start = now();
        socket.send(&[number; 100]).expect("a way");
        let mut octets = [0; 2000];
        assert_eq!(socket.recv(&mut octets).expect("an answer"), 100);
        let time = now().since(start).as_nanos();
        // Before the first one, the address of the other host is asked for.
        if number > 0 {
            println!("round trip {time}");
        }
    }
}

fn client() {
    let here = Namespace::current("here").expect("proc");
    here.ip(&[&format!("address add {HERE}/24 dev eth0"), "link set eth0 up"]).expect("a device");
    ask();
}

fn server() {
    let here = Namespace::current("here").expect("proc");
    here.ip(&[&format!("address add {THERE}/24 dev eth0"), "link set eth0 up"]).expect("a device");
    let socket = UdpSocket::bind((THERE, 7)).expect("a port");
    let mut octets = [0; 2000];
    for _ in 0..6 {
        let (length, from) = socket.recv_from(&mut octets).expect("a datagram");
        socket.send_to(&octets[..length], from).expect("a way");
    }
}

/// One TCP transfer, from here to there.
fn tcp() {
    let octets: usize = env::var("octets").map_or(2_000_000, |octets| octets.parse().expect("a number"));
    let (_here, there) = hosts();
    let listener = there.enter(|| TcpListener::bind((THERE, 9))).expect("a namespace").expect("a port");
    let (done, mut is_done) = UnixStream::pair().expect("sockets");
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = vec![0; 1 << 16];
        let mut received = 0;
        loop {
            match stream.read(&mut buffer).expect("data") {
                0 => break,
                length => received += length,
            }
        }
        drop(done);
        received
    });
    let start = now();
    let mut stream = TcpStream::connect((THERE, 9)).expect("a listener");
    let data = vec![7; 1 << 16];
    let mut left = octets;
    while left > 0 {
        left -= stream.write(&data[..left.min(data.len())]).expect("a connection");
    }
    drop(stream);
    is_done.read_to_end(&mut Vec::new()).expect("the end");
    println!("microseconds {}", now().since(start).as_micros());
    assert_eq!(receiver.join().expect("a receiver"), octets);
}
