//! The TCP settings of a flow or session, which override those of all.

mod table;

use std::time::Duration;

use super::quantity::{Octets, ReceiveWindow, Text, Whole, Window};
use super::reader::{Key, Reader};
use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_tcp::{AckPolicy, Congestion, LINUX_WINDOW_MAX, RackConfig, Recovery, RtoConfig, SlowStart};
use table::{Acks, CongestionName, PacingName, PresetName, RecoveryName, RtoRuleName, SlowStartName};

pub(super) use table::TcpTable;

/// The largest window that TCP can advertise (RFC 7323, section 2.3).
const LARGEST_WINDOW: u64 = 1 << 30;

/// The configuration of both ends of a connection. `of` is the path of the flow or session, such as
/// `["flows", "download"]`.
pub(super) fn read(
    reader: &Reader<'_>,
    of: [&str; 2],
    own: &TcpTable,
    all: &TcpTable,
) -> Result<lasthop_tcp::Config, FileError> {
    Layers { reader, of, own, all }.config()
}

/// The settings of a flow or session, and those of all, which they override.
struct Layers<'a> {
    reader: &'a Reader<'a>,
    of: [&'a str; 2],
    own: &'a TcpTable,
    all: &'a TcpTable,
}

impl Layers<'_> {
    fn config(&self) -> Result<lasthop_tcp::Config, FileError> {
        let default = self.default();
        let mss = self.get(|tcp| tcp.segment).map_or(u64::from(default.mss), |Text(Octets(segment))| segment);
        if !(1..=65_495).contains(&mss) {
            return Err(self.fail("segment", "expected \"1 B\" to \"65495 B\""));
        }
        let (window, window_max) = self.receive_window(mss)?;
        let send_window = self.send_window(mss)?;
        let initial_ssthresh = match self.get(|tcp| tcp.initial_ssthresh) {
            None => default.initial_ssthresh,
            Some(Text(window)) => self.octets("initial-ssthresh", mss, window)?,
        };
        let initial_window =
            self.get(|tcp| tcp.initial_window).map_or(default.initial_window, |Whole(segments)| segments);
        let max_timeouts =
            self.get(|tcp| tcp.max_timeouts).map_or(default.max_timeouts, |Whole(timeouts)| timeouts);
        let congestion = self.congestion(default.congestion);
        let slow_start = self.slow_start(congestion);
        let recovery = self.recovery(default.recovery)?;
        if congestion.goes_by_model() && !matches!(recovery, Recovery::Rack(_)) {
            let key = if self.get(|tcp| tcp.recovery).is_some() { "recovery" } else { "congestion" };
            return Err(self.fail(key, "expected recovery = \"rack\" with \"bbr\" or \"bbr3\""));
        }
        let goes_by_reports = recovery.goes_by_reports();
        let sack = self.get(|tcp| tcp.sack).unwrap_or(default.sack || goes_by_reports);
        if goes_by_reports && !sack {
            return Err(self.fail("sack", "expected true, or no value, with recovery = \"sack\" or \"rack\""));
        }
        let dsack = self.with_sack("dsack", sack, |tcp| tcp.dsack, default.dsack)?;
        let ack_compression =
            self.with_sack("ack-compression", sack, |tcp| tcp.ack_compression, default.ack_compression)?;
        Ok(lasthop_tcp::Config {
            mss: mss as u32,
            window,
            window_max,
            send_window,
            timestamps: self.get(|tcp| tcp.timestamps).unwrap_or(default.timestamps),
            sack,
            dsack,
            ecn: self.get(|tcp| tcp.ecn).unwrap_or(default.ecn),
            congestion,
            slow_start,
            slow_start_limit: self.slow_start_limit(congestion, default.slow_start_limit)?,
            pacing: self.get(|tcp| tcp.pacing).map_or(default.pacing, PacingName::rule),
            segmentation_offload: self.segmentation_offload(recovery, default.segmentation_offload)?,
            window_validation: self.get(|tcp| tcp.window_validation).unwrap_or(default.window_validation),
            recovery,
            limited_transmit: self.get(|tcp| tcp.limited_transmit).unwrap_or(default.limited_transmit),
            initial_window,
            initial_ssthresh,
            ack_policy: self.ack_policy()?,
            ack_compression,
            rto: self.rto()?,
            max_timeouts,
            give_up: default.give_up,
            mtu_probing: default.mtu_probing,
            time_wait: default.time_wait,
        })
    }

    fn default(&self) -> lasthop_tcp::Config {
        match self.get(|tcp| tcp.preset) {
            None => lasthop_tcp::Config::default(),
            Some(PresetName::Linux) => lasthop_tcp::Config::linux(),
        }
    }

    /// Requires RACK: classic recoveries do not know when the oldest segment was sent.
    fn segmentation_offload(&self, recovery: Recovery, default: bool) -> Result<bool, FileError> {
        let is_rack = matches!(recovery, Recovery::Rack(_));
        match self.get(|tcp| tcp.segmentation_offload) {
            Some(true) if !is_rack => {
                Err(self
                    .fail("segmentation-offload", "expected false, or no value, without recovery = \"rack\""))
            }
            given => Ok(given.unwrap_or(default && is_rack)),
        }
    }

    fn congestion(&self, default: Congestion) -> Congestion {
        let congestion = self.get(|tcp| tcp.congestion).map_or(default, CongestionName::congestion);
        match (self.get(|tcp| tcp.preset), congestion) {
            (None, _) => congestion,
            (Some(PresetName::Linux), congestion) => congestion.as_in_linux(),
        }
    }

    fn slow_start(&self, congestion: Congestion) -> SlowStart {
        let default = match self.get(|tcp| tcp.preset) {
            None => SlowStart::Standard,
            Some(PresetName::Linux) => congestion.slow_start_in_linux(),
        };
        self.get(|tcp| tcp.slow_start).map_or(default, SlowStartName::slow_start)
    }

    /// Loss recovery with its switches.
    fn recovery(&self, default: Recovery) -> Result<Recovery, FileError> {
        let recovery = self.get(|tcp| tcp.recovery).map_or(default, RecoveryName::recovery);
        let part = |key, field: fn(&TcpTable) -> Option<bool>, is_there: bool| {
            let value = self.get(field);
            if value.is_some() && !matches!(recovery, Recovery::Rack(_)) {
                return Err(self.fail(key, "allowed only with recovery = \"rack\""));
            }
            Ok(value.unwrap_or(is_there))
        };
        let all = match recovery {
            Recovery::Rack(config) => config,
            _ => RackConfig::ALL,
        };
        let config = RackConfig {
            tail_loss_probe: part("tail-loss-probe", |tcp| tcp.tail_loss_probe, all.tail_loss_probe)?,
            proportional_reduction: part(
                "proportional-reduction",
                |tcp| tcp.proportional_reduction,
                all.proportional_reduction,
            )?,
            f_rto: part("f-rto", |tcp| tcp.f_rto, all.f_rto)?,
            undo: part("undo", |tcp| tcp.undo, all.undo)?,
        };
        Ok(if matches!(recovery, Recovery::Rack(_)) { Recovery::Rack(config) } else { recovery })
    }

    fn slow_start_limit(
        &self,
        congestion: Congestion,
        default: Option<u32>,
    ) -> Result<Option<u32>, FileError> {
        let key = "slow-start-limit";
        let Some(Text(limit)) = self.get(|tcp| tcp.slow_start_limit) else { return Ok(default) };
        if !congestion.counts_octets() {
            return Err(self.fail(
                key,
                "allowed only with a congestion control that counts octets: \"reno-abc\", or \"cubic\" without \
                 preset = \"linux\"",
            ));
        }
        match limit {
            Window::Unlimited => Ok(Some(u32::MAX)),
            Window::Segments(segments @ 1..=1000) => Ok(Some(segments as u32)),
            _ => Err(self.fail(key, "expected \"1 segment\" to \"1000 segments\", or \"unlimited\"")),
        }
    }

    fn ack_policy(&self) -> Result<AckPolicy, FileError> {
        let delay = |default| {
            let (least, most) = (Duration::from_millis(1), Duration::from_secs(10));
            self.duration("ack-delay", |tcp| tcp.ack_delay, Duration::from_millis(default), least, most)
        };
        match self.get(|tcp| tcp.acks) {
            Some(Acks::Delayed) => delay(200).map(AckPolicy::Delayed),
            Some(Acks::DynDelAck) => delay(100).map(AckPolicy::DynDelAck),
            _ if self.own.ack_delay.is_some() || self.all.ack_delay.is_some() => {
                Err(self.fail("ack-delay", "allowed only with acks = \"delayed\" or \"dyndelack\""))
            }
            Some(Acks::Linux) => Ok(AckPolicy::Linux),
            Some(Acks::EverySegment) => Ok(AckPolicy::EverySegment),
            None => Ok(self.default().ack_policy),
        }
    }

    fn rto(&self) -> Result<RtoConfig, FileError> {
        let default = self.default().rto;
        let rule = self.get(|tcp| tcp.rto_rule).map_or(default.rule, RtoRuleName::rule);
        let (shortest, longest) = (Duration::from_millis(1), Duration::from_secs(3600));
        let minimum = self.duration("rto-min", |tcp| tcp.rto_min, default.minimum, shortest, longest)?;
        let maximum = default.maximum.max(minimum);
        let maximum = self.duration("rto-max", |tcp| tcp.rto_max, maximum, minimum, longest)?;
        let initial = default.initial.clamp(minimum, maximum);
        let initial = self.duration("rto-initial", |tcp| tcp.rto_initial, initial, minimum, maximum)?;
        let coarsest = Duration::from_secs(10);
        let granularity = self.duration(
            "clock-granularity",
            |tcp| tcp.clock_granularity,
            default.granularity,
            Duration::ZERO,
            coarsest,
        )?;
        Ok(RtoConfig { rule, initial, minimum, maximum, granularity, ..RtoConfig::default() })
    }

    fn get<T>(&self, field: impl Fn(&TcpTable) -> Option<T>) -> Option<T> {
        field(self.own).or_else(|| field(self.all))
    }

    fn duration(
        &self,
        key: &str,
        field: impl Fn(&TcpTable) -> Option<Text<Duration>>,
        default: Duration,
        least: Duration,
        most: Duration,
    ) -> Result<Duration, FileError> {
        let value = self.get(field);
        self.at(key, |path| self.reader.duration_in(path, value, default, least, most))
    }

    /// The initial window, and the maximum to which it may grow.
    fn receive_window(&self, mss: u64) -> Result<(u32, Option<u32>), FileError> {
        let default = self.default();
        let least = lasthop_tcp::Config::default().window;
        let (window, most) = (self.get(|tcp| tcp.window), self.own.window_max_over(self.all));
        match (window, most) {
            (Some(Text(ReceiveWindow::Auto)), None) => Ok((least, Some(LINUX_WINDOW_MAX))),
            (Some(Text(ReceiveWindow::Auto)), Some(Text(most))) => {
                Ok((least, Some(self.octets_from(least, "window-max", mss, most)?)))
            }
            (None, Some(Text(most))) if default.window_max.is_some() => {
                Ok((least, Some(self.octets_from(least, "window-max", mss, most)?)))
            }
            (_, Some(_)) => Err(self.fail("window-max", "allowed only with window = \"auto\"")),
            (None, None) => Ok((default.window, default.window_max)),
            (Some(Text(ReceiveWindow::Fixed(window))), None) => {
                Ok((self.octets("window", mss, window)?, None))
            }
        }
    }

    fn send_window(&self, mss: u64) -> Result<Option<u32>, FileError> {
        match self.get(|tcp| tcp.send_window) {
            None | Some(Text(Window::Unlimited)) => Ok(None),
            Some(Text(window)) => self.octets("send-window", mss, window).map(Some),
        }
    }

    /// A switch that needs `sack`.
    fn with_sack(
        &self,
        key: &str,
        sack: bool,
        field: impl Fn(&TcpTable) -> Option<bool>,
        default: bool,
    ) -> Result<bool, FileError> {
        match self.get(field) {
            None => Ok(default && sack),
            Some(true) if !sack => Err(self.fail(key, "requires sack = true")),
            Some(is_on) => Ok(is_on),
        }
    }

    fn octets(&self, key: &str, mss: u64, window: Window) -> Result<u32, FileError> {
        self.octets_from(1, key, mss, window)
    }

    /// A window of at least `least` octets.
    fn octets_from(&self, least: u32, key: &str, mss: u64, window: Window) -> Result<u32, FileError> {
        let octets = match window {
            Window::Octets(octets) => octets,
            Window::Segments(segments) => segments.saturating_mul(mss),
            Window::Unlimited => LARGEST_WINDOW,
        };
        if (u64::from(least)..=LARGEST_WINDOW).contains(&octets) {
            return Ok(octets as u32);
        }
        let octets = counted(octets, "octet");
        Err(self.fail(key, format!("{octets}; expected a window of \"{least} B\" to \"1 GiB\"")))
    }

    fn fail(&self, key: &str, problem: impl Into<String>) -> FileError {
        self.at(key, |path| self.reader.fail(path, problem))
    }

    /// Calls `there` with the path of a setting: in the flow's own table if it is there, or else in
    /// the table of all flows.
    fn at<T>(&self, key: &str, there: impl FnOnce(&Key<'_>) -> T) -> T {
        let own = [self.of[0], self.of[1], "tcp", key];
        if self.reader.document.get(&own).is_some() { there(&own) } else { there(&["tcp", key]) }
    }
}
