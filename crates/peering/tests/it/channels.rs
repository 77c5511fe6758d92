//! Between peers that know each other.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use lasthop_peering::{Error, FramingError, Settings};
use portable_atomic::AtomicU64;

use super::site::{LONG, SERVICE, Site, next, settings};

#[test]
fn messages_arrive_whole_and_in_order_in_both_directions() {
    let site = Site::new(settings());
    let (mut ours, mut theirs) = site.channel();
    for length in [0, 1, (16 << 10) - 5, 16 << 10, 100_000, 1 << 20, 3] {
        let message: Vec<u8> = (0..length).map(|octet| octet as u8).collect();
        let sender = ours.sender();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(&message).expect("it is read"));
            assert!(next(&mut theirs) == message, "{length} octets");
        });
    }
    theirs.send(b"answer").expect("there is room");
    assert_eq!(next(&mut ours), b"answer");
    assert_eq!(ours.receive(Duration::from_millis(1)).expect("the channel works"), None);
}

#[test]
fn both_ends_know_who_the_other_is() {
    let site = Site::new(settings());
    let (ours, theirs) = site.channel();
    assert_eq!((ours.peer(), ours.peer_name()), (site.server.fingerprint(), None));
    assert_eq!(theirs.peer(), site.client.fingerprint());
    assert_eq!(theirs.peer_name().map(|name| &**name), Some("lobby"));
    assert_eq!((ours.service(), theirs.service()), (SERVICE, SERVICE));
}

#[test]
fn several_threads_send_at_both_ends_while_others_receive() {
    let site = Site::new(settings());
    let (ours, theirs) = site.channel();
    let receive = |mut receiver: lasthop_peering::Receiver| {
        let mut seen = [0_u32; 2];
        for _ in 0..64 {
            let message = receiver.receive(LONG).expect("the channel works").expect("it was sent");
            assert_eq!(message.len(), 200_000);
            assert!(message.iter().all(|octet| *octet == message[0]), "from one sender");
            seen[usize::from(message[0])] += 1;
        }
        assert_eq!(seen, [32, 32]);
    };
    thread::scope(|scope| {
        for channel in [ours, theirs] {
            let (sender, receiver) = channel.split();
            for number in [0, 1] {
                let sender = sender.clone();
                scope.spawn(move || {
                    for _ in 0..32 {
                        sender.send(&vec![number; 200_000]).expect("it is read");
                    }
                });
            }
            // Dropped in this thread once all is received.
            scope.spawn(move || {
                receive(receiver);
                sender
            });
        }
    });
}

#[test]
fn the_octets_of_a_message_are_counted_as_they_arrive() {
    let site = Site::new(settings());
    let (ours, theirs) = site.channel();
    let (_sender, mut receiver) = theirs.split();
    let arrived = Arc::new(AtomicU64::new(0));
    receiver.count_into(Arc::clone(&arrived));
    ours.send(&vec![0; 20_000]).expect("it is read");
    receiver.receive(LONG).expect("the channel works").expect("it was sent");
    assert!((20_000..21_000).contains(&arrived.load(Relaxed)), "{arrived:?}");
}

#[test]
fn a_message_that_is_too_long_is_not_sent_and_the_channel_goes_on() {
    let site = Site::new(Settings { message_octets: 100, ..settings() });
    let (ours, mut theirs) = site.channel();
    let too_long = ours.send(&[0; 101]);
    assert!(matches!(too_long, Err(Error::Message(FramingError::TooLong { length: 101, limit: 100 }))));
    ours.send(&[0; 100]).expect("there is room");
    assert_eq!(next(&mut theirs), [0; 100]);
}

#[test]
fn a_message_longer_than_the_receiver_admits_is_refused() {
    let mut site = Site::new(Settings { message_octets: 100, ..settings() });
    site.settings.message_octets = 1000;
    let (ours, mut theirs) = site.channel();
    ours.send(&[0; 1000]).expect("there is room");
    let refused = theirs.receive(LONG);
    assert!(matches!(refused, Err(Error::Message(FramingError::TooLong { length: 1000, limit: 100 }))));
}

#[test]
fn the_end_of_a_channel_is_reported_at_the_other() {
    let site = Site::new(settings());
    let (ours, mut theirs) = site.channel();
    ours.send(b"last").expect("there is room");
    ours.close();
    assert_eq!(next(&mut theirs), b"last");
    assert!(matches!(theirs.receive(LONG), Err(Error::Closed)));
    assert!(matches!(ours.send(b"more"), Err(Error::Closed)));

    let (ours, mut theirs) = site.channel();
    drop(ours);
    assert!(matches!(theirs.receive(LONG), Err(Error::Closed)));
}

#[test]
fn a_peer_that_reads_nothing_does_not_keep_a_sender_for_ever() {
    let site = Site::new(Settings { message_time: Duration::from_millis(200), ..settings() });
    let (ours, _theirs) = site.channel();
    let message = vec![0; 1 << 20];
    let failed = (0..1000).find_map(|_| ours.send(&message).err());
    assert!(matches!(failed, Some(Error::TimedOut)), "{failed:?}");
    assert!(matches!(ours.send(b"more"), Err(Error::Closed)));
}

#[test]
fn a_peer_has_at_most_as_many_channels_as_the_limit_says() {
    let site = Site::new(Settings { channels_of_a_peer: 2, ..settings() });
    let channels = [site.channel(), site.channel()];
    assert!(matches!(site.connect(), Err(Error::TooManyChannels)));
    assert_eq!(site.listener.counts().too_many, 1);
    drop(channels);
    site.channel();
    assert_eq!(site.listener.counts().channels, 3);
}

#[test]
fn a_listener_that_ends_closes_its_channels() {
    let site = Site::new(settings());
    let (mut ours, mut theirs) = site.channel();
    let address = site.address();
    let Site { listener, .. } = site;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| theirs.receive(LONG));
        drop(listener);
        assert!(matches!(waiting.join().expect("no panic"), Err(Error::Closed)));
    });
    assert!(matches!(ours.receive(LONG), Err(Error::Closed)));
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens");
}
