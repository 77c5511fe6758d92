//! Both halves of AS-TCP with a hop between them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{
    Agent, Budget, Context, Counter, Fate, LinkEvent, Obligation, Outbox, Report, Scope, Side, Verdict,
};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags};

use super::super::{Settings, SplitAt};
use crate::edits::But as _;
use crate::scheme::{Placement as _, Role, Seat};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PHONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Initial numbers of the phone and of the server: data begins one after them.
const PHONE_ISS: u32 = 5000;
const SERVER_ISS: u32 = 1000;
/// The windows that the ends advertise.
pub const WINDOW: u16 = 60_000;
/// The connection from the core side of the split.
pub const KEY: FlowKey = FlowKey::tcp((SERVER, 80), (PHONE, 4000));

/// Both halves.
pub struct Bench {
    settings: Settings,
    host: Half,
    split: Half,
    /// Frames in the queue of the phone's MAC, and of the access point's.
    up: VecDeque<Packet>,
    down: VecDeque<Packet>,
    /// ACKs without data that have crossed the hop: the access point's, and the phone's.
    acks_crossed: [usize; 2],
    /// Packets delivered to the phone's TCP, and packets sent to the server.
    to_phone: Vec<Packet>,
    to_server: Vec<Packet>,
    pub reports: Vec<Report>,
    pub now: Instant,
    /// The memory budget of the split.
    pub budget: Budget,
    pub may_owe: bool,
    rng: Rng,
}

/// An agent, and its neighbor on the hop.
struct Half {
    agent: Box<dyn Agent>,
    neighbor: IpAddr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Host,
    Split,
}

impl Bench {
    /// A bench with new agents.
    pub fn new(settings: Settings) -> Self {
        let half = |role, neighbor| Half {
            agent: settings.agent(Seat { role, address: ACCESS_POINT }).expect("it has an agent there"),
            neighbor,
        };
        let at = if settings.split_at == SplitAt::Router { Role::Router } else { Role::Edge };
        Self {
            host: half(Role::MobileHost, ACCESS_POINT),
            split: half(at, PHONE),
            settings,
            up: VecDeque::new(),
            down: VecDeque::new(),
            acks_crossed: [0; 2],
            to_phone: Vec::new(),
            to_server: Vec::new(),
            reports: Vec::new(),
            now: Instant::from_secs(1),
            budget: Budget::default(),
            may_owe: true,
            rng: Rng::named(1, "as-tcp"),
        }
    }

    /// A bench with a split connection that the phone has opened.
    pub fn split(settings: Settings) -> Self {
        let mut bench = Self::new(settings);
        bench.open(|packet| packet);
        bench
    }

    /// The phone opens a connection; both SYNs are edited.
    pub fn open(&mut self, edit: impl Fn(Packet) -> Packet) {
        let is_syn = |tcp: &mut Tcp| tcp.options.maximum_segment_size = Some(1000);
        self.phone(&edit(phone(PHONE_ISS, 0, 0).but(|tcp| tcp.flags = TcpFlags::SYN).but(is_syn)));
        self.air();
        self.server(&edit(server(SERVER_ISS, 0, PHONE_ISS + 1).flags(TcpFlags::SYN).but(is_syn)));
        self.air();
        self.phone(&edit(phone(5001, 0, 1001)));
        self.air();
        self.forget();
    }

    /// The phone's TCP sends a packet.
    pub fn phone(&mut self, packet: &Packet) {
        self.pass(At::Host, packet.clone(), Side::Core);
    }

    /// The server sends a packet.
    pub fn server(&mut self, packet: &Packet) {
        self.pass(At::Split, packet.clone(), Side::Core);
    }

    fn pass(&mut self, at: At, mut packet: Packet, from: Side) {
        let verdict = self.call(at, |agent, cx| agent.on_packet(&mut packet, from, cx));
        if verdict == Verdict::Forward {
            self.leaves(at, from.opposite(), packet);
        }
    }

    fn leaves(&mut self, at: At, to: Side, packet: Packet) {
        match (at, to) {
            (At::Host, Side::Core) => self.to_phone.push(packet),
            (At::Host, Side::Radio) => self.up.push_back(packet),
            (At::Split, Side::Core) => self.to_server.push(packet),
            (At::Split, Side::Radio) => self.down.push_back(packet),
        }
    }

    fn call<R>(&mut self, at: At, ask: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R) -> R {
        let mut outbox = Outbox::default();
        let half = if at == At::Host { &mut self.host } else { &mut self.split };
        let (budget, may_owe) = match at {
            At::Host => (Budget::default(), true),
            At::Split => (self.budget, self.may_owe),
        };
        let cx = Context::new(self.now, &mut self.rng, &mut outbox).within(budget);
        let mut cx = cx.with_neighbor(Some(half.neighbor)).with_obligations(may_owe);
        let result = ask(half.agent.as_mut(), &mut cx);
        self.reports.append(&mut outbox.reports);
        for (to, packet) in outbox.packets {
            self.leaves(at, to, packet);
        }
        result
    }

    /// Delivers all frames, those of the phone first, until there are none.
    pub fn air(&mut self) {
        while !self.up.is_empty() || !self.down.is_empty() {
            while self.deliver(At::Host) {}
            while self.deliver(At::Split) {}
        }
    }

    /// Delivers the phone's next frame.
    pub fn air_one(&mut self) {
        assert!(self.deliver(At::Host), "there is a frame");
    }

    /// Delivers the access point's next frame, if there is one.
    pub fn air_one_down(&mut self) {
        self.deliver(At::Split);
    }

    /// Delivers the next frame of one end, and reports this to the sender's MAC.
    fn deliver(&mut self, sender: At) -> bool {
        let queue = if sender == At::Host { &mut self.up } else { &mut self.down };
        let Some(packet) = queue.pop_front() else { return false };
        let receiver = if sender == At::Host { At::Split } else { At::Host };
        self.acks_crossed[usize::from(sender == At::Host)] += usize::from(packet.segment_len() == 0);
        self.pass(receiver, packet.clone(), Side::Radio);
        self.fate(sender, &packet, Fate::Delivered);
        true
    }

    /// The MAC gives up the phone's next frame.
    pub fn give_up(&mut self) {
        let packet = self.up.pop_front().expect("there is a frame");
        self.fate(At::Host, &packet, Fate::GivenUp);
    }

    /// The access point's queue has no room for its next frame: its MAC never sees it.
    pub fn overflow(&mut self) {
        self.down.pop_front().expect("there is a frame");
    }

    /// The access point's MAC acknowledges the phone's next frame, and its agent never sees it.
    pub fn swallow(&mut self) {
        let packet = self.up.pop_front().expect("there is a frame");
        self.fate(At::Host, &packet, Fate::Delivered);
    }

    /// The phone's MAC acknowledges the access point's next frame, and its agent never sees it.
    pub fn swallow_down(&mut self) {
        let packet = self.down.pop_front().expect("there is a frame");
        self.fate(At::Split, &packet, Fate::Delivered);
    }

    fn fate(&mut self, at: At, packet: &Packet, fate: Fate) {
        let event = LinkEvent::of_fate(packet, fate);
        self.call(at, |agent, cx| {
            if agent.needs().contains(event.sense()) {
                agent.on_link(&event, cx);
            }
        });
    }

    /// Time passes; frames are delivered at once.
    pub fn wait(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        let due = |agent: &dyn Agent| agent.deadline().map(|due| due.at);
        while let Some(at) =
            due(self.host.agent.as_ref()).into_iter().chain(due(self.split.agent.as_ref())).min()
            && at <= end
        {
            self.now = self.now.max(at);
            self.call(At::Host, |agent, cx| agent.on_deadline(cx));
            self.call(At::Split, |agent, cx| agent.on_deadline(cx));
            self.air();
        }
        self.now = end;
    }

    /// The state of all connections moves to new agents, at both ends of the hop.
    pub fn move_on(&mut self) {
        for at in [At::Host, At::Split] {
            let states = self.call(at, |agent, cx| agent.export(Scope::All, cx));
            self.restart(at);
            for state in &states {
                let imported = self.call(at, |agent, cx| agent.import(state, cx));
                assert_eq!(imported, Ok(()));
            }
        }
    }

    /// The host's agent is replaced by a new one.
    pub fn restart_host(&mut self) {
        self.restart(At::Host);
    }

    fn restart(&mut self, at: At) {
        let fresh = Self::new(self.settings.clone());
        match at {
            At::Host => self.host = fresh.host,
            At::Split => self.split = fresh.split,
        }
    }

    /// The split's process was absent for a while.
    pub fn return_to_split(&mut self) {
        self.call(At::Split, |agent, cx| agent.on_return(cx));
    }

    /// Whether the access point refuses frames.
    pub fn refuses(&self) -> bool {
        self.split.agent.refuses_frames()
    }

    pub fn obligation(&self) -> Obligation {
        self.split.agent.obligation(KEY)
    }

    pub fn owed_by_host(&self) -> Obligation {
        self.host.agent.obligation(KEY.reversed())
    }

    /// Lines of the packets delivered to the phone's TCP since the last call.
    pub fn delivered(&mut self) -> Vec<String> {
        self.heard_packets().iter().map(line).collect()
    }

    /// The packets delivered to the phone's TCP since the last call.
    pub fn heard_packets(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.to_phone)
    }

    /// Lines of the packets sent to the server since the last call.
    pub fn sent_on(&mut self) -> Vec<String> {
        self.sent_on_packets().iter().map(line).collect()
    }

    /// The packets sent to the server since the last call.
    pub fn sent_on_packets(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.to_server)
    }

    /// Lines of the frames that the access point has for the phone.
    pub fn frames_down(&self) -> Vec<String> {
        self.down.iter().map(line).collect()
    }

    /// The number of ACKs without data that have crossed the hop: the access point's, and the
    /// phone's.
    pub const fn acks_crossed(&self) -> [usize; 2] {
        self.acks_crossed
    }

    /// Forgets all packets so far.
    pub fn forget(&mut self) {
        self.to_phone.clear();
        self.to_server.clear();
        self.reports.clear();
        self.acks_crossed = [0; 2];
    }

    pub fn count(&self, counter: &'static Counter) -> u64 {
        self.reports.iter().filter(|report| report.counter == counter).map(|report| report.amount).sum()
    }
}

/// "FA 1001+500 ack 5001": flags, number and length, acknowledgment number.
pub fn line(packet: &Packet) -> String {
    let Some(tcp) = packet.tcp() else { return String::new() };
    let flags = [(TcpFlags::FIN, 'F'), (TcpFlags::SYN, 'S'), (TcpFlags::RST, 'R'), (TcpFlags::ACK, 'A')];
    let flags: String =
        flags.iter().filter(|(flag, _)| tcp.flags.has(*flag)).map(|(_, letter)| *letter).collect();
    format!("{flags} {}+{} ack {}", tcp.seq, packet.payload().len(), tcp.ack)
}

fn segment(key: FlowKey, (stream, iss): (u32, u32), seq: u32, len: u32, ack: u32) -> Packet {
    let tcp = Tcp {
        source_port: key.source.1,
        destination_port: key.destination.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    let payload = Payload::Stream { stream, offset: u64::from(seq.wrapping_sub(iss + 1)), len };
    Packet::tcp_segment(Ip::new(key.source.0, key.destination.0), tcp, payload)
}

/// A segment of the phone.
pub fn phone(seq: u32, len: u32, ack: u32) -> Packet {
    segment(KEY.reversed(), (1, PHONE_ISS), seq, len, ack)
}

/// A segment of the server.
pub fn server(seq: u32, len: u32, ack: u32) -> Packet {
    segment(KEY, (2, SERVER_ISS), seq, len, ack)
}
