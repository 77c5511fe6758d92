//! The variables of code: fields of Linux's `tcp_info`, and the endpoint's own variables in octets
//! and microseconds.

use std::time::Duration;

use lasthop_tcp::State;

use crate::expression::Value;
use crate::host::Host;

/// The states, with their names and numbers in Linux.
const STATES: [(&str, i64, State); 11] = [
    ("TCP_ESTABLISHED", 1, State::Established),
    ("TCP_SYN_SENT", 2, State::SynSent),
    ("TCP_SYN_RECV", 3, State::SynReceived),
    ("TCP_FIN_WAIT1", 4, State::FinWait1),
    ("TCP_FIN_WAIT2", 5, State::FinWait2),
    ("TCP_TIME_WAIT", 6, State::TimeWait),
    ("TCP_CLOSE", 7, State::Closed),
    ("TCP_CLOSE_WAIT", 8, State::CloseWait),
    ("TCP_LAST_ACK", 9, State::LastAck),
    ("TCP_LISTEN", 10, State::Listen),
    ("TCP_CLOSING", 11, State::Closing),
];

/// The value of ssthresh, in octets, from which it counts as infinite (`TCP_INFINITE_SSTHRESH` in
/// Linux).
const INFINITE_SSTHRESH: u32 = 1 << 30;

/// The value of a variable; `None` if it is unknown.
pub fn value_of(name: &str, host: &Host) -> Option<Value> {
    if let Some((_, number, _)) = STATES.iter().find(|(state, ..)| *state == name) {
        return Some(Value::Integer(*number));
    }
    let connection = host.connection.as_ref()?;
    let (flight, stats, queue) = (connection.flight(), connection.stats(), connection.queue());
    let mss = flight.mss.max(1);
    let segments = |octets: u32| i64::from(octets.div_ceil(mss));
    let number = match name {
        "tcpi_state" => STATES.iter().find(|(.., state)| *state == connection.state())?.1,
        "tcpi_snd_cwnd" => i64::from(flight.cwnd / mss),
        "tcpi_snd_ssthresh" if flight.ssthresh >= INFINITE_SSTHRESH => i64::from(i32::MAX),
        "tcpi_snd_ssthresh" => i64::from(flight.ssthresh / mss),
        "tcpi_snd_mss" => i64::from(flight.mss),
        "tcpi_unacked" => segments(flight.max - flight.una),
        "tcpi_sacked" => segments(queue.sacked()),
        "tcpi_lost" => segments(queue.lost()),
        "tcpi_retrans" => segments(queue.again()),
        "tcpi_total_retrans" => stats.retransmits.cast_signed(),
        "tcpi_rto" => micros(connection.rtt().rto()),
        "tcpi_rtt" => connection.rtt().srtt().map_or(0, micros),
        "cwnd" => i64::from(flight.cwnd),
        "ssthresh" => i64::from(flight.ssthresh),
        "peer_window" => i64::from(flight.peer_window),
        "una" => i64::from(flight.una - host.numbers.iss),
        "nxt" => i64::from(flight.nxt - host.numbers.iss),
        "max" => i64::from(flight.max - host.numbers.iss),
        // The time until the next timer expires; -1 if none is running.
        "timer" => connection.deadline().map_or(-1, |next| micros(next.at.since(host.now))),
        "timer_for" => {
            return Some(Value::Text(connection.deadline().map_or("", |next| next.reason).to_owned()));
        }
        "received" => host.application.received().cast_signed(),
        "unacknowledged" => connection.unacknowledged().cast_signed(),
        "peer_has_closed" => i64::from(connection.peer_has_closed()),
        "timeouts" => stats.timeouts.cast_signed(),
        "timeouts_spared" => stats.timeouts_spared.cast_signed(),
        "fast_retransmits" => stats.fast_retransmits.cast_signed(),
        "duplicate_acks" => stats.duplicate_acks.cast_signed(),
        "congestion_echoes" => stats.congestion_echoes.cast_signed(),
        "icmp_accepted" => stats.icmp_accepted.cast_signed(),
        "tail_loss_probes" => stats.tail_loss_probes.cast_signed(),
        "undone" => stats.undone.cast_signed(),
        "sacked" => i64::from(queue.sacked()),
        "lost" => i64::from(queue.lost()),
        "again" => i64::from(queue.again()),
        "in_network" => i64::from(queue.in_network()),
        _ => return None,
    };
    Some(Value::Integer(number))
}

fn micros(duration: Duration) -> i64 {
    duration.as_micros() as i64
}
