//! A call, and whatever else comes as datagrams, through CICADA's agent.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Accounts, Agent, Budget, Context, Outbox, Side, Transfer, Verdict};
use lasthop_packet::rtp::{ReportBlock, Reports, Rtp, SenderInfo};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Transport, Udp};
use lasthop_schemes::cicada::{Cicada, Settings};

use crate::octets::Octets;

const SERVER: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5004);
const PHONE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 6000);

/// Packets after which the agent knows the clocks of both ends.
const LEARNED: u32 = 450;
const SPACING: Duration = Duration::from_millis(20);
/// Of payload in the packets that have any.
const LONGEST: usize = 64;

/// No datagrams and times make the agent panic, send, keep or alter anything. What is of no call
/// passes, and no call is silenced for longer than a sampling interval.
pub fn datagrams(data: &[u8]) {
    let mut octets = Octets(data);
    let flows = octets.pick(&[10_000, 1, 8]);
    let mut bench = Bench::new(flows);
    if octets.flag() {
        for _ in 0..LEARNED {
            bench.now += SPACING;
            bench.talks(Side::Core, Duration::ZERO);
            bench.talks(Side::Radio, Duration::ZERO);
        }
    }
    while !octets.is_empty() {
        bench.step(&mut octets);
    }
}

struct Bench {
    agent: Cicada,
    budget: Budget,
    now: Instant,
    rng: Rng,
    /// What the ends on the core side and the radio side say next.
    sources: [Rtp; 2],
    /// Since when every packet of an end has been given up.
    silent_since: [Option<Instant>; 2],
}

const fn index(side: Side) -> usize {
    match side {
        Side::Core => 0,
        Side::Radio => 1,
    }
}

impl Bench {
    fn new(flows: usize) -> Self {
        let source = |ssrc| Rtp { ssrc, sequence: 65_000, timestamp: u32::MAX - 9000, ..Rtp::default() };
        Self {
            agent: Cicada::new(&Settings::default()),
            budget: Budget { flows, ..Budget::default() },
            now: Instant::from_secs(1),
            rng: Rng::named(1, "datagrams"),
            sources: [source(1), source(2)],
            silent_since: [None; 2],
        }
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let from = octets.pick(&[Side::Core, Side::Radio]);
        match octets.octet() % 16 {
            0..=6 => {
                self.now += SPACING;
                self.talks(from, octets.time());
            }
            7 => {
                let header = &mut self.sources[index(from)];
                header.marker = octets.flag();
                header.sequence = header.sequence.wrapping_add(octets.short());
                header.timestamp = header.timestamp.wrapping_add(octets.long());
            }
            8 => self.reports(from, octets),
            9 | 10 => self.other(from, octets),
            11 => self.now += octets.time(),
            12 => self.agent_call(Agent::on_deadline),
            13 => {
                let key = FlowKey::udp(SERVER, PHONE);
                self.agent_call(|agent, cx| agent.release(key, cx));
            }
            _ => {
                let header =
                    Rtp { sequence: octets.short(), timestamp: octets.long(), ..self.sources[index(from)] };
                self.rtp(from, header);
            }
        }
    }

    /// The next packet of an end comes, this much later than it was sent.
    fn talks(&mut self, from: Side, late: Duration) {
        self.now += late;
        let header = self.sources[index(from)];
        self.rtp(from, header);
        let next = &mut self.sources[index(from)];
        next.sequence = next.sequence.wrapping_add(1);
        next.timestamp = next.timestamp.wrapping_add(160);
    }

    fn rtp(&mut self, from: Side, header: Rtp) {
        let verdict = self.datagram(from, 0, [&header.octets()[..], &[0; 20]].concat());
        let silent_since = &mut self.silent_since[index(from)];
        if verdict == Verdict::Forward {
            *silent_since = None;
            return;
        }
        let since = *silent_since.get_or_insert(self.now);
        assert!(self.now.since(since) < Settings::default().sampling_interval, "a call is silenced");
    }

    fn reports(&mut self, from: Side, octets: &mut Octets<'_>) {
        let middle = octets.octet();
        let sender =
            octets.flag().then(|| SenderInfo { ntp: u64::from(middle) << 16, ..SenderInfo::default() });
        let block = ReportBlock {
            last_report: u32::from(octets.octet()),
            since_last_report: octets.pick(&[0, 100, 65_536, u32::MAX]),
            ..ReportBlock::default()
        };
        let mut payload = Vec::new();
        Reports { ssrc: 1, sender, blocks: &[block], cname: b"" }.write(&mut payload);
        let cut = octets.below(256).min(payload.len());
        payload.truncate(if octets.flag() { cut } else { payload.len() });
        let beside = u16::from(octets.flag());
        assert_eq!(self.datagram(from, beside, payload), Verdict::Forward);
    }

    /// Anything; of no source of the call.
    fn other(&mut self, from: Side, octets: &mut Octets<'_>) {
        let beside = u16::from(octets.octet() & 3);
        let mut payload: Vec<u8> = (0..octets.below(LONGEST)).map(|_| octets.octet()).collect();
        if let Some(ssrc) = payload.get_mut(8) {
            *ssrc |= 1;
        }
        if let Some(first) = payload.first_mut().filter(|_| octets.flag()) {
            *first = *first & 0x3f | 0x80;
        }
        let verdict = self.datagram(from, beside, payload);
        // Of a source of its own, if there is a call beside it.
        assert!(verdict == Verdict::Forward || beside == 0, "{verdict:?}");
    }

    fn datagram(&mut self, from: Side, beside: u16, payload: Vec<u8>) -> Verdict {
        let (source, destination) = match from {
            Side::Core => (SERVER, PHONE),
            Side::Radio => (PHONE, SERVER),
        };
        let udp = Udp { source_port: source.1 + beside, destination_port: destination.1 + beside };
        let ip = Ip::new(source.0, destination.0);
        let mut packet = Packet::new(ip, Transport::Udp(udp), Payload::Bytes(Bytes::from(payload)));
        let before = packet.clone();
        let verdict = self.agent_call(|agent, cx| agent.on_packet(&mut packet, from, cx));
        assert_eq!(packet, before);
        match verdict {
            Verdict::Forward => {}
            Verdict::Drop(reason) => assert_eq!(reason.name, "dropped_late"),
            Verdict::Absorb => panic!("a datagram is kept"),
        }
        verdict
    }

    fn agent_call<R>(&mut self, f: impl FnOnce(&mut Cicada, &mut Context<'_>) -> R) -> R {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let result = f(&mut self.agent, &mut cx);
        assert!(outbox.packets.is_empty() && outbox.messages.is_empty());
        assert_eq!(self.agent.held(), 0);
        assert!(self.agent.octets() <= self.budget.octets_in_all, "{} octets", self.agent.octets());
        result
    }
}
