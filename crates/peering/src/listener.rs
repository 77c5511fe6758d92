//! The end of channels that waits for peers.
//!
//! A connection is nothing before its handshake: until then it costs a thread, less than 128 KiB, and at most
//! [`Settings::handshake_time`]. There are so many at a time as [`Settings::half_open`] says, whatever strangers do. They
//! can keep others waiting, as long as they connect faster than handshakes fail; they cannot take more memory.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::Shutdown;
use rustls::{ServerConfig, ServerConnection};

use super::channel::{Channel, Shared};
use super::counters::{Counters, Counts};
use super::enrolment::{self, Pace};
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::gate::{Gate, Permit};
use super::identity::Identity;
use super::peers::Peers;
use super::settings::Settings;
use super::site_key::SiteKey;
use super::tls;
use super::transport::{Clock, Deadline};
use super::verdict::Verdict;

/// Opens the channels of peers that connect. When this is dropped, it stops, and its channels are closed.
#[derive(Debug)]
pub struct Listener {
    socket: Arc<TcpListener>,
    door: Arc<Door>,
    accepting: Option<JoinHandle<()>>,
}

/// What all connections share.
#[derive(Debug)]
struct Door {
    tls: Arc<ServerConfig>,
    fingerprint: Fingerprint,
    peers: Arc<Peers>,
    site_key: Option<SiteKey>,
    pace: Mutex<(Pace, Clock)>,
    settings: Settings,
    half_open: Arc<Gate<IpAddr>>,
    channels: Arc<Gate<Fingerprint>>,
    /// Those that are open.
    open: Mutex<Open>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Open {
    channels: Vec<Weak<Shared>>,
    /// None is opened any more.
    is_over: bool,
}

impl Listener {
    /// Listens at an address, and calls `serve` with the channel of each peer that is known and asks for one of the
    /// services, each in a thread of its own. With a site key, unknown peers that have it are enrolled.
    pub fn open(
        address: SocketAddr,
        identity: &Identity,
        peers: Arc<Peers>,
        site_key: Option<SiteKey>,
        services: &[&str],
        settings: Settings,
        serve: impl Fn(Channel) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let enrolment = site_key.as_ref().map(|_| enrolment::SERVICE);
        let services: Vec<&str> = services.iter().copied().chain(enrolment).collect();
        let door = Arc::new(Door {
            tls: tls::server(identity, &services).map_err(Error::Tls)?,
            fingerprint: identity.fingerprint(),
            peers,
            site_key,
            pace: Mutex::new((Pace::new(settings.wrong_proofs, settings.wrong_proofs_time), Clock::start())),
            settings,
            half_open: Arc::new(Gate::new(settings.half_open, settings.half_open_of_an_address)),
            channels: Arc::new(Gate::new(settings.channels, settings.channels_of_a_peer)),
            open: Mutex::default(),
            counters: Counters::default(),
        });
        let socket = Arc::new(TcpListener::bind(address)?);
        let (theirs, their_door, serve) = (Arc::clone(&socket), Arc::clone(&door), Arc::new(serve));
        let accepting = thread::Builder::new()
            .name("peers".to_owned())
            .spawn(move || accept(&theirs, &their_door, &serve))?;
        Ok(Self { socket, door, accepting: Some(accepting) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Closes the channels of a peer, as of one whose key was removed.
    pub fn disconnect(&self, peer: &Fingerprint) {
        for channel in self.door.open_channels().iter().filter(|channel| channel.is_of(peer)) {
            channel.close();
        }
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.door.counters.counts()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // On Linux, this wakes the thread that accepts.
        let _ = rustix::net::shutdown(&*self.socket, Shutdown::Both);
        self.door.end();
        for channel in self.door.open_channels() {
            channel.close();
        }
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(socket: &TcpListener, door: &Arc<Door>, serve: &Arc<impl Fn(Channel) + Send + Sync + 'static>) {
    loop {
        let accepted = socket.accept();
        if door.is_over() {
            return;
        }
        match accepted {
            Ok((stream, address)) => {
                let Some(permit) = door.half_open.admit(address.ip()) else {
                    door.counters.too_many.add();
                    continue;
                };
                let (door, serve) = (Arc::clone(door), Arc::clone(serve));
                let handshake = move || {
                    if let Some(channel) = door.handshake(stream, permit) {
                        serve(channel);
                    }
                };
                if thread::Builder::new().name("peer".to_owned()).spawn(handshake).is_err() {
                    take_a_breath();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => take_a_breath(),
        }
    }
}

/// Where the system has no more file descriptors or threads.
#[expect(clippy::disallowed_methods, reason = "trying again at once would take a processor")]
fn take_a_breath() {
    thread::sleep(Duration::from_millis(100));
}

impl Door {
    /// The channel of a peer that is known, and asks for a service.
    fn handshake(&self, stream: TcpStream, permit: Permit<IpAddr>) -> Option<Channel> {
        let deadline = Deadline::after(self.settings.handshake_time);
        let tls = ServerConnection::new(Arc::clone(&self.tls)).ok()?;
        // Nobody is known yet, and nobody has anything to say but for an enrolment.
        let settings = Settings {
            message_octets: enrolment::LONGEST_MESSAGE,
            message_time: self.settings.handshake_time,
            ..self.settings
        };
        let Ok(channel) = Channel::open(stream, tls.into(), &settings, deadline) else {
            self.counters.failed.add();
            return None;
        };
        if channel.service() == enrolment::SERVICE {
            self.enrol(channel, deadline);
            return None;
        }
        drop(permit);
        self.welcome(channel)
    }

    fn welcome(&self, channel: Channel) -> Option<Channel> {
        let Some(peer) = self.peers.get(&channel.peer()) else {
            self.counters.unknown_keys.add();
            refuse(&channel, Verdict::UnknownKey);
            return None;
        };
        let Some(permit) = self.channels.admit(peer.fingerprint) else {
            self.counters.too_many.add();
            refuse(&channel, Verdict::TooManyChannels);
            return None;
        };
        let channel = channel.of(peer.name, permit, &self.settings)?;
        self.note(&channel)?;
        channel.send(&[Verdict::Welcome.octet()]).ok()?;
        self.counters.channels.add();
        Some(channel)
    }

    fn enrol(&self, mut channel: Channel, deadline: Deadline) {
        let Some(site_key) = &self.site_key else { return };
        let is_paused = |(pace, clock): &mut (Pace, Clock)| pace.is_paused(clock.now());
        let paused = is_paused(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner));
        let admitted =
            enrolment::admit(&mut channel, self.fingerprint, site_key, &self.peers, paused, deadline);
        match admitted {
            Ok(_) => self.counters.enrolled.add(),
            Err(verdict) => {
                match verdict {
                    Verdict::Paused => self.counters.paused.add(),
                    Verdict::NotRecorded => self.counters.refused.add(),
                    _ => {
                        self.pace.lock().unwrap_or_else(PoisonError::into_inner).0.note_wrong();
                        self.counters.wrong_proofs.add();
                    }
                }
                refuse(&channel, verdict);
            }
        }
        channel.close();
    }

    /// Lets a channel be closed at the end; none if that has come.
    fn note(&self, channel: &Channel) -> Option<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.channels.retain(|channel| channel.strong_count() > 0);
        open.channels.push(Arc::downgrade(channel.shared()));
        (!open.is_over).then_some(())
    }

    fn is_over(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    fn end(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
    }

    fn open_channels(&self) -> Vec<Arc<Shared>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.channels.iter().filter_map(Weak::upgrade).collect()
    }
}

fn refuse(channel: &Channel, verdict: Verdict) {
    let _ = channel.send(&[verdict.octet()]);
    channel.close();
}
