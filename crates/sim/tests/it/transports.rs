//! A transport other than TCP behind a flow: stop-and-wait over UDP, one message at a time.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};
use lasthop_sim::flow::TransportOutcome;
use lasthop_sim::observe::LossCause;
use lasthop_sim::{
    Application, Endpoint, FlowConfig, FlowOutcome, Interest, NodeKind, Observer, TraceEvent,
    TransportConfig, World,
};

use crate::support::{direction, node, percent, udp_flow, wired};

const MESSAGE: u32 = 1000;
const SIZE: u64 = 200_500;
const TIMEOUT: Duration = Duration::from_millis(100);

/// Either end. Data is a piece of the stream; an acknowledgment has in its eight octets what is expected next.
struct StopAndWait {
    local: SocketAddr,
    remote: SocketAddr,
    stream: u32,
    written: u64,
    /// What the other end has acknowledged, and what was sent so far.
    acknowledged: u64,
    sent: u64,
    /// When the message under way is taken for lost.
    expires: Option<Instant>,
    is_closing: bool,
    timeouts: u64,
    received: u64,
    unread: VecDeque<Payload>,
    owes_ack: bool,
}

impl StopAndWait {
    fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let (unread, owes_ack, is_closing, expires) = (VecDeque::new(), false, false, None);
        let (stream, written, acknowledged, sent, timeouts, received) = (0, 0, 0, 0, 0, 0);
        Self {
            local,
            remote,
            stream,
            written,
            acknowledged,
            sent,
            expires,
            is_closing,
            timeouts,
            received,
            unread,
            owes_ack,
        }
    }

    fn packet(&self, payload: Payload) -> Packet {
        let udp = Udp { source_port: self.local.port(), destination_port: self.remote.port() };
        Packet::new(Ip::new(self.local.ip(), self.remote.ip()), Transport::Udp(udp), payload)
    }
}

impl Endpoint for StopAndWait {
    fn on_packet(&mut self, packet: &Packet, _now: Instant) {
        match packet.payload() {
            Payload::Bytes(octets) => {
                let ack = octets.as_ref().try_into().map(u64::from_be_bytes).expect("ours have eight octets");
                if ack > self.acknowledged {
                    (self.acknowledged, self.expires) = (ack, None);
                }
            }
            data @ Payload::Stream { offset, .. } => {
                self.owes_ack = true;
                if *offset == self.received {
                    self.received += data.len() as u64;
                    self.unread.push_back(data.clone());
                }
            }
        }
    }

    fn transmit(&mut self, place: &mut Option<Packet>, now: Instant) -> bool {
        let payload = if std::mem::take(&mut self.owes_ack) {
            Payload::Bytes(Bytes::copy_from_slice(&self.received.to_be_bytes()))
        } else if self.expires.is_none() && self.acknowledged < self.written {
            let len = u64::from(MESSAGE).min(self.written - self.acknowledged);
            self.expires = Some(now + TIMEOUT);
            self.sent = self.acknowledged + len;
            Payload::Stream { stream: self.stream, offset: self.acknowledged, len: len as u32 }
        } else {
            return false;
        };
        *place = Some(self.packet(payload));
        true
    }

    fn deadline(&self) -> Option<Deadline> {
        self.expires.map(|at| Deadline { at, reason: "acknowledgment" })
    }

    fn on_deadline(&mut self, _now: Instant) {
        self.expires = None;
        self.timeouts += 1;
    }

    fn write_stream(&mut self, stream: u32, offset: u64, octets: u64) {
        (self.stream, self.written) = (stream, offset + octets);
    }

    fn discard(&mut self) -> u64 {
        self.written = self.sent;
        self.written
    }

    fn close(&mut self) {
        self.is_closing = true;
    }

    fn abort(&mut self) {
        (self.written, self.expires, self.is_closing) = (self.acknowledged, None, true);
    }

    fn read(&mut self) -> Option<Payload> {
        self.unread.pop_front()
    }

    fn awaits_call(&self) -> bool {
        false
    }

    fn peer_has_closed(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        self.is_closing && self.acknowledged == self.written
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn was_reset(&self) -> bool {
        false
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn repeats(&self, packet: &Packet, sent: u64) -> bool {
        matches!(packet.payload(), Payload::Stream { offset, .. } if *offset < sent)
    }

    fn timeouts(&self) -> u64 {
        self.timeouts
    }
}

/// What an observer has seen: time-outs, and messages that were sent again.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<(u64, u64)>>);

impl Observer for Seen {
    fn interest(&self) -> Interest {
        Interest::SEGMENTS | Interest::LOSSES
    }

    fn on_event(&mut self, _now: Instant, event: &TraceEvent<'_>) {
        let mut seen = self.0.lock().expect("no panic while it was locked");
        match event {
            TraceEvent::Loss { cause: LossCause::Timeout, .. } => seen.0 += 1,
            TraceEvent::SegmentSent { again: true, .. } => seen.1 += 1,
            _ => {}
        }
    }
}

/// A flow over a wire of 8 Mbit/s and 10 ms that loses this share in both directions; with what was seen.
fn run(loss: f64) -> (FlowOutcome, (u64, u64)) {
    let mut world = World::new(1);
    let [from, to] = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    let mut link = wired("wire", &direction(8000), 10);
    (link.forward.loss, link.backward.loss) = (percent(loss).into(), percent(loss).into());
    world.add_wired_link(from, to, &link);
    let transport = TransportConfig::Other(Box::new(|[one, other], _| {
        [Box::new(StopAndWait::new(one, other)), Box::new(StopAndWait::new(other, one))]
    }));
    let application = Application::transfer(Some(SIZE));
    let id = world.add_flow(FlowConfig { transport, ..udp_flow(&world, (from, to), application) });
    let seen = Seen::default();
    world.observe(Box::new(seen.clone()));
    world.run(Instant::from_secs(1000), true);
    assert!(world.accounts().balance(), "{:?}", world.accounts());
    assert!(world.sender(id).is_none(), "it is not TCP's");
    let outcome = world.outcome(id);
    assert!(outcome.intact && outcome.octets == SIZE, "{outcome:?}");
    assert_eq!(outcome.transport, TransportOutcome::Other);
    let seen = *seen.0.lock().expect("no panic while it was locked");
    (outcome, seen)
}

#[test]
fn another_transport_carries_a_flow_in_the_time_that_its_rules_take() {
    let (outcome, seen) = run(0.0);
    // 200 messages of 1,028 octets, each acknowledged by 36, and one of 528 octets.
    let round = Duration::from_micros(10_000 + 1_028 + 10_000 + 36);
    assert_eq!(outcome.completion, Some(200 * round + Duration::from_micros(10_000 + 528)));
    assert_eq!(seen, (0, 0));
}

#[test]
fn what_a_link_loses_of_another_transport_is_sent_again() {
    let (outcome, (timeouts, again)) = run(10.0);
    assert_eq!(timeouts, again);
    // Of the exchanges, 19% fail.
    assert!((30..70).contains(&timeouts), "{timeouts}");
    let (clean, _) = run(0.0);
    // An exchange that fails takes the time-out, and then begins again.
    assert_eq!(outcome.completion, clean.completion.map(|clean| clean + TIMEOUT * timeouts as u32));
}
