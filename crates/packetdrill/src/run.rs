//! A run of a script on an endpoint, in simulated time.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use lasthop_packet::{Icmp, Instant, Ip, Packet, Payload, Tcp, Transport};
use lasthop_tcp::{Config, Connection, Handshake};

use crate::application::Application;
use crate::error::{Error, Place};
use crate::expression::Value;
use crate::host::Host;
use crate::numbers::{LOCAL, Numbers, PEERS, REMOTE};
use crate::script::{Action, Event, IcmpError, Script, Segment, When};
use crate::segment;
use crate::settings::{Open, Settings};
use crate::variables;

/// The maximum duration of a script.
const LONGEST: Duration = Duration::from_secs(10_000_000);

/// A run: an endpoint, its application, and the segments that it has sent.
pub struct Run {
    host: Host,
    /// The origin of relative times.
    base: Instant,
    /// The endpoint's timestamp clock minus the script's; known from the first timestamp.
    clock: Option<u32>,
    /// The script's values of the endpoint's timestamps, and the values sent, to translate echo
    /// replies.
    stamps: BTreeMap<u32, u32>,
    /// The variables that code has assigned.
    assigned: BTreeMap<String, Value>,
    /// The first segment of a handshake that is adopted, and whether the endpoint's side sent it.
    syn: Option<(bool, Tcp)>,
}

impl Run {
    /// Creates a run of a script, whose head configures the endpoint, before its first event.
    pub fn new(script: &Script, numbers: Numbers) -> Result<Self, Error> {
        Self::dressed(script, numbers, |connection| connection)
    }

    /// Like [`Self::new`], but with `dress` applied to the connection when it is created.
    pub fn dressed(
        script: &Script,
        numbers: Numbers,
        dress: impl Fn(Connection) -> Connection + 'static,
    ) -> Result<Self, Error> {
        let settings = Settings::from_script(script)?;
        let host = Host {
            application: Application::new(settings.open != Open::Calls),
            settings,
            numbers,
            connection: None,
            now: Instant::ZERO,
            sent: VecDeque::new(),
            dress: Box::new(dress),
        };
        let mut run = Self {
            host,
            base: Instant::ZERO,
            clock: None,
            stamps: BTreeMap::new(),
            assigned: BTreeMap::new(),
            syn: None,
        };
        if run.host.settings.open == Open::Established {
            let config = run.host.settings.config.clone();
            let peer = Config { window: run.host.settings.peer_window, ..config.clone() };
            run.host.begin(Connection::established(config, &peer, LOCAL, REMOTE, numbers.iss, numbers.irs));
        }
        Ok(run)
    }

    /// Calls `change` with the connection, and transmits the resulting segments at once. Has no
    /// effect before the connection exists.
    pub fn change(&mut self, change: impl FnOnce(&mut Connection, Instant)) {
        if let Some(connection) = &mut self.host.connection {
            change(connection, self.host.now);
            self.host.settle();
        }
    }

    /// Runs the events of a script, after those of earlier calls.
    pub fn events(&mut self, script: &Script) -> Result<(), Error> {
        for event in &script.events {
            self.event(event)?;
        }
        let place = script.events.last().map(|event| event.place).unwrap_or_default();
        self.host.application.finish(place)?;
        self.nothing_more(place)
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        let base = self.base;
        let (earliest, latest) = match event.when {
            When::At(time) => (Instant::ZERO + time, Instant::ZERO + time),
            When::After(time) => (base + time, base + time),
            When::AtBetween(from, to) => (Instant::ZERO + from, Instant::ZERO + to),
            When::AfterBetween(from, to) => (base + from, base + to),
            When::AnyTime => (Instant::ZERO, Instant::ZERO + LONGEST),
        };
        let place = event.place;
        if latest > Instant::ZERO + LONGEST {
            return Err(Error::expected(place, "a time before 10,000,000 s"));
        }
        self.base = earliest;
        if let Action::Outbound(wanted) = &event.action {
            if self.host.settings.open == Open::Adopt && self.host.connection.is_none() {
                self.host.now = earliest;
                return self.adopt(place, wanted, true);
            }
            let is_single = matches!(event.when, When::At(_) | When::After(_));
            let at = self.expect(place, wanted, earliest, latest, is_single)?;
            if !is_single {
                self.base = at;
            }
            return Ok(());
        }
        // Only assertions are allowed while a sent segment has no line yet.
        let is_assertion = matches!(event.action, Action::Assert(_));
        if !is_assertion || earliest > self.host.now {
            self.nothing_more(place)?;
        }
        self.host.advance(earliest);
        if !is_assertion {
            self.nothing_more(place)?;
        }
        match &event.action {
            Action::Outbound(_) => {}
            Action::Inbound(segment) => {
                if self.host.settings.open == Open::Adopt && self.host.connection.is_none() {
                    return self.adopt(place, segment, false);
                }
                self.inject(segment);
            }
            Action::Icmp(error) => self.inject_icmp(*error),
            Action::Call(call) => {
                let end = match event.when {
                    When::At(_) => call.end.map(|end| Instant::ZERO + end),
                    _ => call.end.map(|end| base + end),
                };
                self.host.call(place, call, end)?;
            }
            Action::Command(command) if self.host.connection.is_none() => {
                self.host.settings.command(place, command)?;
            }
            Action::Command(command) => {
                return Err(Error::not_understood(place, format!("the command {command:?} at this point")));
            }
            Action::Assert(statements) => {
                for statement in statements {
                    let variable = |name: &str| {
                        self.assigned.get(name).cloned().or_else(|| variables::value_of(name, &self.host))
                    };
                    let value = statement.value(&variable)?;
                    if let Some(name) = &statement.assigned {
                        self.assigned.insert(name.clone(), value);
                    } else if !value.is_true() {
                        let values = statement.values(&variable);
                        return Err(Error::failed(
                            statement.place,
                            format!("expected {}\n  got {values}", statement.text),
                        ));
                    }
                }
                return Ok(());
            }
        }
        self.host.serve();
        self.host.settle();
        self.host.wake(place)
    }

    /// Fails if a segment was sent for which the script has had no line, with a tolerance of zero.
    /// Otherwise, as in packetdrill, a segment only has to match the next outbound line.
    fn nothing_more(&self, place: Place) -> Result<(), Error> {
        match self.host.sent.front() {
            Some((at, packet)) if self.host.settings.tolerance.is_zero() => {
                let shown = segment::show(packet, self.host.numbers, self.clock);
                Err(Error::failed(
                    place,
                    format!("expected nothing to be sent before this\n  got at {at}: {shown}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Compares the next sent segment with an outbound line. Returns the time at which it was sent.
    fn expect(
        &mut self,
        place: Place,
        wanted: &Segment,
        earliest: Instant,
        latest: Instant,
        is_single: bool,
    ) -> Result<Instant, Error> {
        let tolerance = self.host.settings.tolerance;
        let until = latest + tolerance;
        while self.host.sent.is_empty() && self.host.next_deadline().is_some_and(|at| at <= until) {
            self.host.expire();
        }
        let Some((at, packet)) = self.host.sent.pop_front() else {
            let next = self.host.connection.as_ref().and_then(Connection::deadline);
            let next = next.map_or("none".into(), |next| format!("{} at {}", next.reason, next.at));
            return Err(Error::failed(
                place,
                format!("expected a segment\n  got none; the next deadline: {next}"),
            ));
        };
        // The clock advances to the line's time, but at most to the segment's plus the tolerance.
        if is_single {
            self.host.now = self.host.now.max(earliest.min(at + tolerance));
        }
        let is_in_time = at + tolerance >= earliest && at <= until;
        let mut is_wanted = is_in_time && self.is_start_of(&packet, wanted);
        let mut rest = wanted.len.checked_sub(packet.payload().len() as u32);
        let mut from = wanted.from;
        let mut previous = packet.clone();
        // The remaining segments of a super-packet.
        while is_wanted && rest.is_some_and(|rest| rest > 0) {
            let mss = self.host.connection.as_ref().map_or(0, |connection| connection.flight().mss);
            is_wanted = previous.payload().len() as u32 == mss && !self.host.settings.strict_segments;
            from = from.wrapping_add(previous.payload().len() as u32);
            let Some((next_at, next)) = self.host.sent.pop_front().filter(|_| is_wanted) else {
                is_wanted = false;
                break;
            };
            let len = rest.unwrap_or_default().min(next.payload().len() as u32);
            let mut part = Segment { from, len, ..wanted.clone() };
            part.flags.retain(|flag| flag != 'W');
            is_wanted = next_at + tolerance >= at && self.is_start_of(&next, &part);
            rest = rest.and_then(|rest| rest.checked_sub(next.payload().len() as u32));
            previous = next;
        }
        if is_wanted && rest == Some(0) && segment::has_fin(&previous) == wanted.flags.contains('F') {
            return Ok(at);
        }
        let shown = segment::show(&previous, self.host.numbers, self.clock);
        let wanted = segment::describe(wanted);
        Err(Error::failed(place, format!("expected at {earliest}: {wanted}\n  got at {at}:      {shown}")))
    }

    /// Whether a packet matches a line, or the start of its super-packet.
    fn is_start_of(&mut self, packet: &Packet, wanted: &Segment) -> bool {
        if let (Some(tcp), Some((value, _))) =
            (packet.tcp(), wanted.options.as_ref().and_then(|options| options.timestamps))
            && let Some(sent) = tcp.options.timestamps
        {
            self.clock.get_or_insert(sent.value.wrapping_sub(value));
            self.stamps.insert(value, sent.value);
        }
        let settings = &self.host.settings;
        let tolerance = settings.compares_clock.then_some(settings.tolerance);
        segment::is_start_of(packet, wanted, self.host.numbers, self.clock, tolerance)
    }

    fn inject(&mut self, what: &Segment) {
        let tcp = segment::header(what, self.host.numbers.irs, self.host.numbers.iss, |echo| {
            let sent = self.stamps.get(&echo).copied();
            sent.unwrap_or(echo.wrapping_add(self.clock.unwrap_or(0)))
        });
        let tcp = Tcp { source_port: REMOTE.1, destination_port: LOCAL.1, ..tcp };
        let payload =
            Payload::Stream { stream: PEERS, offset: u64::from(what.from.wrapping_sub(1)), len: what.len };
        let mut ip = Ip::new(REMOTE.0, LOCAL.0);
        ip.set_ecn(what.ecn.unwrap_or_default());
        let mut packet = Packet::tcp_segment(ip, tcp, payload);
        packet.set_tcp_reserved_bits(what.bits.unwrap_or_default());
        if let Some(connection) = &mut self.host.connection {
            connection.on_segment(&packet, self.host.now);
        }
    }

    fn inject_icmp(&mut self, error: IcmpError) {
        let [a, b] = ((error.len + 40).min(65_535) as u16).to_be_bytes();
        let mut octets = vec![0x45, 0, a, b, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        octets.extend(LOCAL.1.to_be_bytes());
        octets.extend(REMOTE.1.to_be_bytes());
        octets.extend((self.host.numbers.iss + error.from).0.to_be_bytes());
        let rest_of_header = error.mtu.map_or([0; 4], u32::to_be_bytes);
        let icmp = Icmp { kind: 3, code: error.code, rest_of_header };
        let ip = Ip::new(IpAddr::from([10, 0, 0, 9]), LOCAL.0);
        let packet = Packet::new(ip, Transport::Icmp(icmp), Payload::Bytes(Bytes::from(octets)));
        if let Some(connection) = &mut self.host.connection {
            connection.on_icmp(&packet, self.host.now);
        }
    }

    /// Records one of the two segments of a handshake, and adopts the connection after the second.
    fn adopt(&mut self, place: Place, what: &Segment, is_ours: bool) -> Result<(), Error> {
        let Numbers { iss, irs } = self.host.numbers;
        let (seq, ack) = if is_ours { (iss, irs) } else { (irs, iss) };
        let header = segment::header(what, seq, ack, |echo| echo);
        let Some((first_is_ours, first)) = self.syn.take() else {
            self.syn = Some((is_ours, header));
            return Ok(());
        };
        if first_is_ours == is_ours {
            return Err(Error::expected(place, "a segment in the other direction"));
        }
        let (ours, peers) = if is_ours { (&header, &first) } else { (&first, &header) };
        let handshake = Handshake { ours, sent: Some(Instant::ZERO), peers };
        let connection =
            Connection::adopt(self.host.settings.config.clone(), LOCAL, REMOTE, handshake, self.host.now)
                .map_err(|_| Error::expected(place, "a SYN and its SYN-ACK"))?;
        self.host.begin(connection);
        Ok(())
    }
}
