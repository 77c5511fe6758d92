//! Samples of the state of senders, real and simulated.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use lasthop_tcp::Connection;
use serde::{Deserialize, Serialize};

/// The slow start threshold in Linux before the first loss (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// The largest window that TCP can advertise (RFC 7323, section 2.3): a threshold that the simulator
/// never reaches.
const LARGEST_WINDOW: u32 = 1 << 30;

/// The state of a sender's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the flow's start.
    pub at: Duration,
    /// Congestion window in octets.
    pub cwnd: u64,
    /// Slow start threshold in octets; `None` until it is set.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Retransmission time-out.
    pub rto: Duration,
    /// Segments retransmitted so far.
    pub retransmits: u64,
}

impl Sample {
    /// A sample of a sender in the simulator.
    pub(super) fn from_connection(sender: &Connection, at: Duration) -> Self {
        let (flight, rtt) = (sender.flight(), sender.rtt());
        Self {
            at,
            cwnd: flight.cwnd.into(),
            ssthresh: (flight.ssthresh < LARGEST_WINDOW).then(|| flight.ssthresh.into()),
            srtt: rtt.srtt(),
            rto: rtt.rto(),
            retransmits: sender.stats().retransmits,
        }
    }

    /// A sample of a socket (`TCP_INFO`, whose windows count segments).
    pub(super) fn from_stream(stream: &TcpStream, at: Duration) -> io::Result<Self> {
        let info = tcp_info(stream)?;
        let octets = |segments: u32| u64::from(segments) * u64::from(info.tcpi_snd_mss);
        let micros = |time: u32| Duration::from_micros(time.into());
        Ok(Self {
            at,
            cwnd: octets(info.tcpi_snd_cwnd),
            ssthresh: (info.tcpi_snd_ssthresh < INFINITE_SSTHRESH).then(|| octets(info.tcpi_snd_ssthresh)),
            srtt: (info.tcpi_rtt > 0).then(|| micros(info.tcpi_rtt)),
            rto: micros(info.tcpi_rto),
            retransmits: info.tcpi_total_retrans.into(),
        })
    }
}

/// Segments that a socket's TCP retransmitted.
pub(super) fn retransmits(stream: &TcpStream) -> io::Result<u64> {
    Ok(tcp_info(stream)?.tcpi_total_retrans.into())
}

#[expect(unsafe_code, reason = "rustix has no TCP_INFO")]
fn tcp_info(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: `tcp_info` is plain integers, for which zeros are a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` octets to `info`, which has that size.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}
