//! Devices behind one address download over a hop, through an agent at its edge.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{Agent, Context, Outbox, Side, Verdict};
use lasthop_packet::{Instant, Packet, Probability, Rng, Seq};
use lasthop_schemes::{Role, Scheme, Seat};
use lasthop_tcp::{Config, Congestion, Connection};

const fn address(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(network, 0, 0, host))
}

const SERVER: IpAddr = address(192, 1);
const ROUTER: IpAddr = address(10, 2);
const START: Instant = Instant::from_secs(1);

/// Octets per second of the wired path and of the hop, 20 Mbit/s.
const WIRE: u64 = 125_000_000;
pub const HOP: u64 = 2_500_000;
const WIRE_DELAY: Duration = Duration::from_millis(15);
const HOP_DELAY: Duration = Duration::from_millis(3);
/// The loss rate of data over the hop; handshakes are not lost, since that would only show a
/// time-out.
const LOSS: f64 = 0.002;
/// The maximum delay of a link's queue; packets in excess are dropped.
const QUEUE: Duration = Duration::from_millis(100);

const fn at(millis: u64) -> Instant {
    START.after_nanos(millis * 1_000_000)
}

/// The path between the router and a device, and the device's behavior.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    None,
    /// Nothing reaches it and nothing arrives from it, between these times.
    Gone(u64, u64),
    /// Its application stops reading.
    ReadsNothing(u64),
    /// The loss rate of packets to it, in percent.
    Loses(u32),
    /// It is behind a link with this number of octets per second, and a queue of this maximum
    /// delay.
    Slow(u64, Duration),
}

/// A device, and its download connection.
pub struct Device {
    trouble: Trouble,
    opens: Instant,
    server: Connection,
    client: Connection,
    received: u64,
    wanted: u64,
    finished: Option<Instant>,
    /// The link between the router and the device, if it is modeled.
    own_link: Option<Channel>,
}

/// A link with a queue.
struct Channel {
    rate: u64,
    delay: Duration,
    longest_wait: Duration,
    free_at: Instant,
    queue: VecDeque<(Instant, Packet)>,
}

impl Channel {
    const fn new(rate: u64, delay: Duration) -> Self {
        Self { rate, delay, longest_wait: QUEUE, free_at: START, queue: VecDeque::new() }
    }

    fn push(&mut self, packet: Packet, now: Instant) {
        let free_at = self.free_at.max(now);
        if free_at.since(now) > self.longest_wait {
            return;
        }
        self.free_at = free_at.after_nanos(packet.len() as u64 * 1_000_000_000 / self.rate);
        self.queue.push_back((self.free_at + self.delay, packet));
    }

    fn next(&self) -> Option<Instant> {
        self.queue.front().map(|(at, _)| *at)
    }

    fn pop(&mut self, now: Instant) -> Option<Packet> {
        self.queue.front().filter(|(at, _)| *at <= now)?;
        self.queue.pop_front().map(|(_, packet)| packet)
    }
}

impl Device {
    pub fn new(number: u16, trouble: Trouble, opens: u64, wanted: u64) -> Self {
        let (server, client) = ((SERVER, 80), (ROUTER, 4000 + number));
        let mut sender = Connection::listen(Config::linux(), server, Seq(7));
        sender.write_stream(u32::from(number), 0, wanted);
        let mut receiver = Config::linux();
        if let Trouble::ReadsNothing(_) = trouble {
            // Soon full.
            receiver.window_max = None;
        }
        Self {
            trouble,
            opens: at(opens),
            server: sender,
            client: Connection::connect(receiver, client, server, Seq(9)),
            received: 0,
            wanted,
            finished: None,
            own_link: match trouble {
                Trouble::Slow(rate, longest_wait) => {
                    Some(Channel { longest_wait, ..Channel::new(rate, Duration::ZERO) })
                }
                _ => None,
            },
        }
    }

    /// With this congestion control of the server, and these settings of the device.
    pub fn with(mut self, congestion: Congestion, receiver: Config) -> Self {
        let (server, client) = (self.server.local(), self.client.local());
        self.server = Connection::listen(Config { congestion, ..Config::linux() }, server, Seq(7));
        self.server.write_stream(0, 0, self.wanted);
        self.client = Connection::connect(receiver, client, server, Seq(9));
        self
    }

    fn is_gone(&self, now: Instant) -> bool {
        matches!(self.trouble, Trouble::Gone(from, until) if now >= at(from) && now < at(until))
    }

    fn reads(&self, now: Instant) -> bool {
        !matches!(self.trouble, Trouble::ReadsNothing(from) if now >= at(from))
    }
}

pub struct World {
    devices: Vec<Device>,
    agent: Option<Box<dyn Agent>>,
    /// Links to the gateway from the server and from the router; to the server and to the router.
    channels: [Channel; 4],
    outbox: Outbox,
    rng: Rng,
    now: Instant,
    is_signed: bool,
    /// The loss rate of data over the hop.
    loss: f64,
}

impl World {
    pub fn new(scheme: Option<&Scheme>, devices: Vec<Device>) -> Self {
        let agent = scheme.and_then(|scheme| {
            let placement = scheme.configure(toml::Table::new()).expect("defaults");
            placement.agent(Seat { role: Role::Edge, address: address(10, 1) })
        });
        let (wire, hop) = (|| Channel::new(WIRE, WIRE_DELAY), || Channel::new(HOP, HOP_DELAY));
        Self {
            devices,
            agent,
            channels: [wire(), hop(), wire(), hop()],
            outbox: Outbox::default(),
            rng: Rng::named(1, "one address"),
            now: START,
            is_signed: false,
            loss: LOSS,
        }
    }

    /// Passes a packet to the agent, or runs its deadline, and sends its output.
    fn ask(&mut self, packet: Option<(Packet, Side)>) {
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.outbox);
        let forwarded = match (packet, &mut self.agent) {
            (Some((mut packet, from)), Some(agent)) => {
                let verdict = agent.on_packet(&mut packet, from, &mut cx);
                (verdict == Verdict::Forward).then_some((from.opposite(), packet))
            }
            (Some((packet, from)), None) => Some((from.opposite(), packet)),
            (None, Some(agent)) => {
                agent.on_deadline(&mut cx);
                None
            }
            (None, None) => None,
        };
        self.outbox.reports.clear();
        for (to, packet) in self.outbox.packets.drain(..).chain(forwarded) {
            self.channels[if to == Side::Core { 2 } else { 3 }].push(packet, self.now);
        }
    }

    /// Passes a packet at the router to the device with its port.
    fn translate(&mut self, packet: &Packet) {
        let now = self.now;
        let port = packet.tcp().map_or(0, |tcp| tcp.destination_port);
        let device = &mut self.devices[usize::from(port - 4000)];
        let loses =
            if let Trouble::Loses(percent) = device.trouble { f64::from(percent) / 100.0 } else { 0.0 };
        let is_lost = !packet.payload().is_empty()
            && self.rng.happens(Probability::new(loses + self.loss).expect("percent"));
        if !device.is_gone(now) && !is_lost && (!self.is_signed || is_signed(packet)) {
            match &mut device.own_link {
                Some(link) => link.push(packet.clone(), now),
                None => device.client.on_segment(packet, now),
            }
        }
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(packet) = self.channels[2].pop(now) {
            let port = packet.tcp().map_or(0, |tcp| tcp.source_port);
            if !self.is_signed || is_signed(&packet) {
                self.devices[usize::from(port - 4000)].server.on_segment(&packet, now);
            }
        }
        while let Some(packet) = self.channels[3].pop(now) {
            self.translate(&packet);
        }
        for device in self.devices.iter_mut().filter(|device| device.opens <= now) {
            while let Some(packet) = device.own_link.as_mut().and_then(|link| link.pop(now)) {
                device.client.on_segment(&packet, now);
            }
            let (is_gone, reads) = (device.is_gone(now), device.reads(now));
            while reads && let Some(payload) = device.client.read() {
                device.received += payload.len() as u64;
            }
            if device.received >= device.wanted {
                device.finished.get_or_insert(now);
            }
            for (index, end) in [&mut device.server, &mut device.client].into_iter().enumerate() {
                if end.deadline().is_some_and(|due| due.at <= now) {
                    end.on_deadline(now);
                }
                while let Some(mut packet) = end.poll_transmit(now) {
                    if self.is_signed {
                        sign(&mut packet);
                    }
                    if index == 0 || !is_gone {
                        self.channels[index].push(packet, now);
                    }
                }
            }
        }
        for (index, side) in [(0, Side::Core), (1, Side::Radio)] {
            while let Some(packet) = self.channels[index].pop(now) {
                self.ask(Some((packet, side)));
            }
        }
        if self.agent.as_ref().and_then(|agent| agent.deadline()).is_some_and(|due| due.at <= now) {
            self.ask(None);
        }
    }

    fn next(&self) -> Option<Instant> {
        let of_device = |device: &Device| {
            let deadline = |end: &Connection| end.deadline().map(|due| due.at);
            let opens = (device.opens > self.now).then_some(device.opens);
            let ends =
                (device.opens <= self.now).then(|| [deadline(&device.server), deadline(&device.client)]);
            let link = device.own_link.as_ref().and_then(Channel::next);
            ends.into_iter().flatten().flatten().chain(opens).chain(link).min()
        };
        let channels = self.channels.iter().filter_map(Channel::next);
        let agent = self.agent.as_ref().and_then(|agent| agent.deadline()).map(|due| due.at);
        self.devices.iter().filter_map(of_device).chain(channels).chain(agent).min()
    }

    /// With this rate in octets per second over the hop from the devices, a queue of this maximum
    /// delay, and this loss rate of the data.
    pub fn with_way_back(mut self, rate: u64, longest_wait: Duration, loss: f64) -> Self {
        self.channels[1] = Channel { longest_wait, ..Channel::new(rate, HOP_DELAY) };
        self.loss = loss;
        self
    }

    /// With hosts that sign all segments, and reject those that are unsigned or were edited, as
    /// with the option of RFC 5925. The devices upload, too.
    pub fn signed(mut self) -> Self {
        self.is_signed = true;
        self.uploading()
    }

    /// With devices that also upload, all the time.
    pub fn uploading(mut self) -> Self {
        for device in &mut self.devices {
            device.client.write_stream(9, 0, 1 << 40);
        }
        self
    }

    /// Runs until the last device has all its data. Returns its time.
    pub fn last_download(mut self) -> Option<Duration> {
        self.step();
        while let Some(next) = self.next().filter(|next| *next < at(120_000)) {
            self.now = self.now.max(next);
            self.step();
            if let Some(finished) = self.devices.last().and_then(|last| last.finished) {
                return self.devices.last().map(|last| finished.since(last.opens));
            }
        }
        None
    }
}

/// The option's kind and length (RFC 4727).
const SIGNATURE: [u8; 2] = [253, 10];

fn sign(packet: &mut Packet) {
    let signature = [&SIGNATURE[..], &digest(packet)].concat();
    packet.tcp_mut().expect("it is TCP").options.unknown = Some(signature.into());
}

fn is_signed(packet: &Packet) -> bool {
    let signature = packet.tcp().and_then(|tcp| tcp.options.unknown.as_deref());
    signature.is_some_and(|signature| signature[..2] == SIGNATURE && signature[2..] == digest(packet))
}

/// A digest of all that a signature covers: the header without its option, and the data.
fn digest(packet: &Packet) -> [u8; 8] {
    let mut tcp = packet.tcp().expect("it is TCP").clone();
    tcp.options.unknown = None;
    let mut hasher = DefaultHasher::new();
    format!("{tcp:?} {:?}", packet.payload()).hash(&mut hasher);
    hasher.finish().to_be_bytes()
}
