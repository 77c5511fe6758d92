//! Both halves of AS-TCP: a phone with one of them, a hop whose MAC delivers and gives up, an access
//! point with the other one, and a wire to a server.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{Agent, Budget, Context, Fate, LinkEvent, Outbox, Owed, Report, Scope, Side, Verdict};
use lasthop_config::preset::Presets as _;
use lasthop_packet::{Instant, Packet, Rng, Seq, TcpFlags};
use lasthop_schemes::as_tcp::{Settings, SplitAt};
use lasthop_schemes::{Placement as _, Role, Seat};

use crate::ends::{End, ends, is_closed, is_opening};
use crate::octets::Octets;

const SERVER: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);
const PHONE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 50_000);
const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Frames of a MAC's queue, and packets on a wire; what comes beyond is lost, as in any queue.
const MAX_UNDER_WAY: usize = 64;
/// What passes in all before everything is good: no end, leg or half has given up by then.
const LONGEST: Duration = Duration::from_secs(60);
/// Steps after which everything has arrived.
const ENOUGH: u32 = 200_000;

/// Whatever the MAC delivers, gives up and loses behind its ACK, whatever the wire does, and whichever
/// half's state moves: no FIN is acknowledged before all data has arrived, no window is told that was
/// not allowed, and in the end both streams are whole.
///
/// As published nothing is kept of what the MAC has acknowledged, and the window in an ACK that is made is
/// the one that was told last: what then does not come to the other half's TCP stays lost. Where that has
/// happened, the streams need not be whole, but what is missing of them is counted. All else holds, and so
/// does that where it has not happened.
pub fn as_tcp(data: &[u8]) {
    let mut octets = Octets(data);
    let mut bench = Bench::new(&mut octets);
    while !octets.is_empty() && bench.now < Instant::from_secs(1) + LONGEST {
        bench.step(&mut octets);
    }
    bench.finish();
}

/// Where an agent sits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Phone,
    Split,
}

struct Bench {
    settings: Settings,
    agents: [Box<dyn Agent>; 2],
    /// The server and the phone.
    ends: [End; 2],
    /// Frames that the phone's MAC has, and the access point's.
    hop: [VecDeque<Packet>; 2],
    /// On the wire to the server, and from it.
    wire: [VecDeque<Packet>; 2],
    /// The split's process is away, and everything goes past it.
    is_away: bool,
    /// The highest number that the phone may send up to, by what has crossed the hop to it.
    allowed: Option<Seq>,
    /// How the windows that the phone hears are scaled: what each SYN said.
    scales: [Option<u8>; 2],
    /// Data was acknowledged on the MAC's word alone that nobody keeps and the other half has not got.
    may_be_lost: bool,
    /// Octets that the agents have counted as acknowledged and lost.
    lost: u64,
    budget: Budget,
    now: Instant,
    rng: Rng,
}

const UP: usize = 0;
const DOWN: usize = 1;

impl Bench {
    fn new(octets: &mut Octets<'_>) -> Self {
        let preset = if octets.flag() { Settings::published() } else { Settings::default() };
        let settings = Settings {
            split_at: octets.pick(&[SplitAt::AccessPoint, SplitAt::AccessPoint, SplitAt::Router]),
            buffer: octets.pick(&[preset.buffer, 65_536]),
            refuse_above: octets.pick(&[preset.refuse_above, 3000]),
            acks_on_air: octets.below(4) == 0,
            ..preset
        };
        let budget = Budget {
            flows: 4,
            octets_per_flow: octets.pick(&[4 << 20, 200_000]),
            octets_in_all: octets.pick(&[64 << 20, 100_000]),
        };
        let ends = ends(octets, SERVER, PHONE);
        let mut bench = Self {
            agents: [At::Phone, At::Split].map(|at| agent(&settings, at)),
            settings,
            ends,
            hop: Default::default(),
            wire: Default::default(),
            is_away: false,
            allowed: None,
            scales: [None; 2],
            may_be_lost: false,
            lost: 0,
            budget,
            now: Instant::from_secs(1),
            rng: Rng::named(1, "as-tcp"),
        };
        bench.transmit();
        if octets.below(4) > 0 {
            bench.go_on_until(|end| !is_opening(end));
        }
        bench
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let choice = octets.octet();
        let way = usize::from(choice >> 7);
        match choice & 31 {
            0..=3 => self.ends[way].write(u64::from(octets.octet()) * octets.pick(&[1, 100, 1000])),
            // Segments of an octet.
            4 => {
                for _ in 0..octets.below(32) {
                    self.ends[way].write(1);
                    self.transmit();
                }
            }
            5..=12 => {
                for _ in 0..=octets.below(16) {
                    self.frame(way, Mac::Delivers);
                }
            }
            13..=15 => {
                let mac = octets.pick(&[Mac::GivesUp, Mac::HearsNoAck, Mac::AcknowledgesInVain]);
                for _ in 0..=octets.below(4) {
                    self.frame(way, mac);
                }
            }
            16..=19 => {
                for _ in 0..=octets.below(16) {
                    self.carry(way);
                }
            }
            20 => drop(self.wire[way].pop_front()),
            21 => {
                // Early, and once more in its turn.
                if let Some(packet) = self.wire[way].get(octets.below(16)).cloned() {
                    self.arrive(way, packet);
                }
            }
            22 => self.wait(octets.time().min(Duration::from_secs(5))),
            23..=24 => self.wait_for_a_timer(),
            25 => self.hand_over([At::Phone, At::Split][way]),
            26 => self.set_away(octets.flag()),
            27 => self.ends[way].close(),
            _ => {
                for _ in 0..8 {
                    self.everything_arrives();
                }
            }
        }
        self.transmit();
    }

    /// The next frame of one end of the hop, and what its MAC makes of it.
    fn frame(&mut self, way: usize, mac: Mac) {
        let Some(packet) = self.hop[way].pop_front() else { return };
        let (sender, receiver) = if way == UP { (At::Phone, At::Split) } else { (At::Split, At::Phone) };
        let is_refused = way == UP && !self.is_away && self.agents[At::Split as usize].refuses_frames();
        let mac = if is_refused { Mac::GivesUp } else { mac };
        if matches!(mac, Mac::Delivers | Mac::HearsNoAck) {
            self.note_what_it_allows(way, &packet);
            self.show(receiver, packet.clone(), Side::Radio);
        }
        let is_acknowledged = matches!(mac, Mac::Delivers | Mac::AcknowledgesInVain);
        if mac == Mac::AcknowledgesInVain {
            self.note_loss(&packet);
        }
        let event = LinkEvent::Frame {
            packet: &packet,
            fate: if is_acknowledged { Fate::Delivered } else { Fate::GivenUp },
            transmissions: 1,
            queueing: Duration::ZERO,
            access: None,
            air_time: Duration::from_millis(1),
        };
        let is_told = sender == At::Phone || !self.is_away;
        if is_told && self.agents[sender as usize].needs().contains(event.sense()) {
            self.call(sender, |agent, cx| agent.on_link(&event, cx));
        }
        self.transmit();
    }

    /// A packet that the split, or the server, has sent comes to the phone's half.
    fn note_what_it_allows(&mut self, way: usize, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        let is_syn = tcp.flags.has(TcpFlags::SYN);
        if is_syn {
            self.scales[way] = tcp.options.window_scale;
        }
        let is_scaled = !is_syn && self.scales.iter().all(Option::is_some);
        let shift = if is_scaled { self.scales[DOWN].unwrap_or(0).min(14) } else { 0 };
        if way == DOWN && tcp.flags.has(TcpFlags::ACK) {
            let edge = tcp.ack + (u32::from(tcp.window) << shift);
            self.allowed = Some(self.allowed.map_or(edge, |known| known.later(edge)));
        }
    }

    /// Shows an agent a packet; nothing sees it where the split is away.
    fn show(&mut self, at: At, mut packet: Packet, from: Side) {
        if at == At::Split && self.is_away {
            self.note_loss_past_split(&packet, from);
            self.leaves(at, packet, from.opposite());
            return;
        }
        let verdict = self.call(at, |agent, cx| agent.on_packet(&mut packet, from, cx));
        // It has no room, or has been away and no longer knows the connection.
        if at == At::Split && verdict != Verdict::Absorb {
            self.note_loss_past_split(&packet, from);
        }
        if verdict == Verdict::Forward {
            self.leaves(at, packet, from.opposite());
        }
    }

    /// What has crossed the hop does not come to the split's TCP: it has further to go than the hop.
    fn note_loss_past_split(&mut self, packet: &Packet, from: Side) {
        if from == Side::Radio {
            self.note_loss(packet);
        }
    }

    /// What the MAC acknowledges does not come to the other half's TCP.
    fn note_loss(&mut self, packet: &Packet) {
        self.may_be_lost |= !self.settings.evidence && !packet.payload().is_empty();
    }

    fn call<R>(&mut self, at: At, f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R) -> R {
        let (budget, neighbor) = match at {
            At::Phone => (Budget::default(), ACCESS_POINT),
            At::Split => (self.budget, PHONE.0),
        };
        let mut outbox = Outbox::default();
        let cx = Context::new(self.now, &mut self.rng, &mut outbox).within(budget);
        let result = f(self.agents[at as usize].as_mut(), &mut cx.with_neighbor(Some(neighbor)));
        assert!(outbox.packets.len() <= 1000, "{} packets at once", outbox.packets.len());
        let octets = self.agents[at as usize].octets();
        assert!(octets <= budget.octets_in_all + budget.octets_per_flow, "{octets} octets are held");
        let is_lost = |report: &&Report| *report.counter == ACKNOWLEDGED_AND_LOST;
        self.lost += outbox.reports.iter().filter(is_lost).map(|report| report.amount).sum::<u64>();
        for (to, packet) in outbox.packets {
            self.leaves(at, packet, to);
        }
        result
    }

    fn leaves(&mut self, at: At, packet: Packet, to: Side) {
        match (at, to) {
            (At::Phone, Side::Core) => self.hear(&packet),
            (At::Phone, Side::Radio) => queue(&mut self.hop[UP], packet),
            (At::Split, Side::Core) => queue(&mut self.wire[UP], packet),
            (At::Split, Side::Radio) => queue(&mut self.hop[DOWN], packet),
        }
    }

    /// The phone's TCP hears a packet.
    fn hear(&mut self, packet: &Packet) {
        let [server, phone] = &mut self.ends;
        phone.connection.on_segment(packet, self.now);
        assert_closes_last(phone, server);
        if let Some(allowed) = self.allowed.filter(|_| !is_opening(phone)) {
            let sent = phone.connection.flight().max;
            // A probe is an octet beyond it.
            let is_allowed = !sent.after(allowed + 1);
            assert!(is_allowed || !self.settings.evidence, "it has sent {sent}, and was allowed {allowed}");
            self.may_be_lost |= !is_allowed;
        }
    }

    /// The next packet on the wire comes to its end.
    fn carry(&mut self, way: usize) {
        if let Some(packet) = self.wire[way].pop_front() {
            self.arrive(way, packet);
        }
    }

    fn arrive(&mut self, way: usize, packet: Packet) {
        if way == UP {
            let [server, phone] = &mut self.ends;
            server.connection.on_segment(&packet, self.now);
            assert_closes_last(server, phone);
        } else {
            self.show(At::Split, packet, Side::Core);
        }
        self.transmit();
    }

    /// Takes what the ends send, and reads what has come.
    fn transmit(&mut self) {
        self.ends.iter_mut().for_each(End::read);
        while let Some(packet) = self.ends[0].connection.poll_transmit(self.now) {
            queue(&mut self.wire[DOWN], packet);
        }
        while let Some(packet) = self.ends[1].connection.poll_transmit(self.now) {
            self.show(At::Phone, packet, Side::Core);
        }
        self.ends.iter_mut().for_each(End::read);
    }

    /// Another agent goes on with all that one knows.
    fn hand_over(&mut self, at: At) {
        if at == At::Split && self.is_away {
            return;
        }
        let states = self.call(at, |agent, cx| agent.export(Scope::All, cx));
        let left = &self.agents[at as usize];
        assert_eq!((left.held(), left.octets(), left.owed()), (0, 0, Owed::default()), "it was exported");
        self.agents[at as usize] = agent(&self.settings, at);
        // What has no room is lost, and known to be: a budget that is as large as can be.
        let budget = std::mem::replace(&mut self.budget, Budget { flows: 4, ..Budget::default() });
        for state in &states {
            let imported = self.call(at, |agent, cx| agent.import(state, cx));
            assert!(imported.is_ok(), "{imported:?}");
        }
        self.budget = budget;
    }

    fn set_away(&mut self, is_away: bool) {
        if self.is_away && !is_away {
            self.is_away = false;
            self.call(At::Split, |agent, cx| agent.on_return(cx));
        }
        self.is_away = is_away;
    }

    fn deadline(&self, at: At) -> Option<Instant> {
        let is_there = at == At::Phone || !self.is_away;
        self.agents[at as usize].deadline().filter(|_| is_there).map(|due| due.at)
    }

    fn next_timer(&self) -> Option<Instant> {
        let of_ends = self.ends.iter().filter_map(|end| end.connection.deadline()).map(|due| due.at);
        of_ends.chain(self.deadline(At::Phone)).chain(self.deadline(At::Split)).min()
    }

    fn wait_for_a_timer(&mut self) {
        let Some(next) = self.next_timer() else { return };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            if end.connection.deadline().is_some_and(|due| due.at <= self.now) {
                end.connection.on_deadline(self.now);
            }
        }
        for at in [At::Phone, At::Split] {
            if self.deadline(at).is_some_and(|due| due <= self.now) {
                self.call(at, |agent, cx| agent.on_deadline(cx));
            }
        }
        self.transmit();
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..ENOUGH {
            if self.next_timer().is_none_or(|next| next > until) {
                self.now = self.now.max(until);
                return;
            }
            self.wait_for_a_timer();
        }
        panic!("timers without end");
    }

    /// What is under way arrives, in a millisecond.
    fn everything_arrives(&mut self) {
        self.now += Duration::from_millis(1);
        for way in [UP, DOWN] {
            for _ in 0..self.hop[way].len() {
                self.frame(way, Mac::Delivers);
            }
            for _ in 0..self.wire[way].len() {
                self.carry(way);
            }
        }
    }

    /// Once everything is good it all arrives, and both ends close.
    fn finish(&mut self) {
        self.set_away(false);
        self.budget = Budget { flows: 4, ..Budget::default() };
        self.go_on_until(|end| !is_opening(end));
        self.ends.iter_mut().for_each(End::close);
        self.transmit();
        self.go_on_until(is_closed);
        let [server, phone] = &self.ends;
        for (from, to) in [(server, phone), (phone, server)] {
            if self.may_be_lost {
                assert!(to.read <= from.written, "more has come than was written");
                let missing = from.acknowledged().saturating_sub(to.read);
                assert!(missing == 0 || self.lost > 0, "{missing} octets are missing, and none is counted");
                continue;
            }
            assert!(is_closed(from), "it does not end: {:?}", from.connection.state());
            from.assert_arrived_at(to);
        }
    }

    fn go_on_until(&mut self, is_reached: fn(&End) -> bool) {
        for _ in 0..ENOUGH {
            if self.ends.iter().all(is_reached) {
                return;
            }
            if self.hop.iter().chain(&self.wire).all(VecDeque::is_empty) {
                self.wait_for_a_timer();
            }
            self.everything_arrives();
        }
    }
}

/// What a MAC makes of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mac {
    Delivers,
    GivesUp,
    /// It arrives, and every MAC ACK is lost.
    HearsNoAck,
    /// It is acknowledged, and lost before any agent sees it.
    AcknowledgesInVain,
}

fn agent(settings: &Settings, at: At) -> Box<dyn Agent> {
    let role = match (at, settings.split_at) {
        (At::Phone, _) => Role::MobileHost,
        (At::Split, SplitAt::AccessPoint) => Role::Edge,
        (At::Split, SplitAt::Router) => Role::Router,
    };
    settings.agent(Seat { role, address: ACCESS_POINT }).expect("it has an agent there")
}

/// An end whose FIN is acknowledged has delivered everything.
fn assert_closes_last(from: &End, to: &mut End) {
    if from.connection.is_fin_acknowledged() {
        to.read();
        from.assert_arrived_at(to);
    }
}

fn queue(under_way: &mut VecDeque<Packet>, packet: Packet) {
    if under_way.len() < MAX_UNDER_WAY {
        under_way.push_back(packet);
    }
}
