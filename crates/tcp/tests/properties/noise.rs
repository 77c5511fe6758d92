//! Random segments to a connection in any state.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{
    Instant, Ip, Packet, Payload, Rng, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps,
};
use lasthop_tcp::{AckPolicy, Config, Congestion, Connection, PacingRule, Recovery, State};
use proptest::prelude::*;

const LOCAL: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 1);
const REMOTE: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 2);
const STREAM: u32 = 9;

/// A peer that sends random segments with sequence numbers near the valid ones.
struct Noise {
    rng: Rng,
    iss: Seq,
    irs: Seq,
}

impl Noise {
    fn near(&mut self, base: Seq, spread: u64) -> Seq {
        match self.rng.below(8) {
            0 => Seq(self.rng.next_u64() as u32),
            1..=3 => base,
            4 => base + 1,
            5 => base + u32::MAX,
            _ => base + self.rng.below(2 * spread) as u32 + (spread as u32).wrapping_neg(),
        }
    }

    fn segment(&mut self, connection: &Connection, expected: Seq, now: Instant) -> Packet {
        let flags = match self.rng.below(10) {
            0 => self.rng.next_u64() as u8,
            1 => TcpFlags::SYN.0,
            2 => TcpFlags::SYN.with(TcpFlags::ACK).0,
            3 => TcpFlags::FIN.with(TcpFlags::ACK).0,
            4 if self.rng.below(4) == 0 => TcpFlags::RST.0,
            _ => TcpFlags::ACK.0,
        };
        let flight = connection.flight();
        let ack = if self.rng.below(2) == 0 { flight.max } else { flight.una };
        let seq = self.near(expected, 3000);
        let mut options = TcpOptions::default();
        if self.rng.below(2) == 0 {
            let value = (now.as_millis() as u32).wrapping_add(self.rng.below(5) as u32);
            options.timestamps = Some(Timestamps { value, echo_reply: self.rng.below(4000) as u32 });
        }
        options.window_scale = (self.rng.below(2) == 0).then(|| self.rng.below(256) as u8);
        options.maximum_segment_size = (self.rng.below(2) == 0).then(|| self.rng.below(2000) as u16);
        options.sack_permitted = self.rng.below(2) == 0;
        if self.rng.below(4) == 0 {
            let mut sack = SackBlocks::NONE;
            sack.push(self.near(flight.una, 5000), self.near(flight.max, 5000));
            options.sack = sack;
        }
        let tcp = Tcp {
            source_port: REMOTE.1,
            destination_port: LOCAL.1,
            seq,
            ack: self.near(ack, 3000),
            flags: TcpFlags(flags),
            window: [0, 1, 1000, 65_535][self.rng.below(4) as usize],
            urgent_pointer: 0,
            options,
        };
        let len = [0, 0, 1, 500, 1460, 65_000][self.rng.below(6) as usize];
        let payload =
            Payload::Stream { stream: STREAM, offset: u64::from((seq - self.irs).wrapping_sub(1)), len };
        Packet::tcp_segment(Ip::new(REMOTE.0, LOCAL.0), tcp, payload)
    }
}

fn play(config: &Config, open: u8, seed: u64, near_wrap: bool) -> Result<(), TestCaseError> {
    let mut rng = Rng::named(seed, "application");
    let base = if near_wrap { u32::MAX - 3000 } else { 7_000_000 };
    let mut noise = Noise { rng: Rng::named(seed, "noise"), iss: Seq(base), irs: Seq(base) + 1000 };
    let (iss, irs) = (noise.iss, noise.irs);
    let mut connection = match open {
        0 => Connection::connect(config.clone(), LOCAL, REMOTE, iss),
        1 => Connection::listen(config.clone(), LOCAL, iss),
        _ => Connection::established(config.clone(), config, LOCAL, REMOTE, iss, irs),
    };
    let (mut now, mut expected, mut received) = (Instant::ZERO, irs, 0u64);
    for _ in 0..150 {
        match rng.below(12) {
            0 => connection.write_stream(1, 0, rng.below(20_000)),
            1 if rng.below(4) == 0 => connection.close(),
            2 if rng.below(40) == 0 => connection.abort(),
            3 => now += Duration::from_millis(rng.below(700)),
            4 => {
                now = connection.deadline().map_or(now, |deadline| now.max(deadline.at));
                connection.on_deadline(now);
            }
            5 => {
                let mut unread = 0;
                while let Some(payload) = connection.read() {
                    unread += payload.len();
                    received += payload.len() as u64;
                }
                prop_assert!(unread <= config.largest_window() as usize + (1 << 14), "{unread} octets held");
            }
            _ => {
                let segment = noise.segment(&connection, expected, now);
                connection.on_segment(&segment, now);
            }
        }
        let mut count = 0;
        while let Some(packet) = connection.poll_transmit(now) {
            count += 1;
            prop_assert!(count < 50_000, "it does not stop sending");
            if let Some(tcp) = packet.tcp()
                && tcp.flags.has(TcpFlags::ACK)
                && !tcp.flags.has(TcpFlags::RST)
            {
                // A SYN may have set another initial number than the one that was meant.
                expected = tcp.ack;
            }
        }
        let flight = connection.flight();
        prop_assert!(flight.cwnd >= flight.mss, "{flight:?}");
        prop_assert!(!flight.nxt.before(flight.una) && !flight.max.before(flight.nxt), "{flight:?}");
        prop_assert!(received <= connection.stats().octets_received);
        prop_assert!(connection.state() != State::Closed || connection.deadline().is_none());
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::settings(3000))]

    #[test]
    fn no_segment_breaks_a_connection_in_any_state(
        open in 0u8..3,
        seed in any::<u64>(),
        near_wrap in any::<bool>(),
        (mss, window, delay) in (0u32..3000, 0u32..200_000, 0u32..4),
        (window_max, send_window) in any::<(Option<u32>, Option<u32>)>(),
        (dsack, ack_compression) in any::<(bool, bool)>(),
        (timestamps, sack) in any::<(bool, bool)>(),
        congestion in prop::sample::select(&Congestion::ALL[..]),
        recovery in prop::sample::select(&Recovery::ALL[..]),
        (limited_transmit, window_validation, ecn, is_paced) in any::<(bool, bool, bool, bool)>(),
    ) {
        let ack_policy = match delay {
            0 => AckPolicy::EverySegment,
            1 => AckPolicy::Delayed(Duration::from_millis(100)),
            2 => AckPolicy::DynDelAck(Duration::from_millis(100)),
            _ => AckPolicy::Linux,
        };
        let config = Config {
            mss,
            window,
            window_max: window_max.map(|octets| octets % 2_000_000),
            send_window,
            dsack,
            ack_compression,
            timestamps,
            sack,
            congestion,
            recovery,
            limited_transmit,
            window_validation,
            ecn,
            pacing: if is_paced { PacingRule::Fq } else { PacingRule::Control },
            ack_policy,
            max_timeouts: 4,
            ..Config::default()
        };
        play(&config, open, seed, near_wrap)?;
    }
}
