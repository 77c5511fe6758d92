//! The option `--config="rack tail_loss_probe initial_window=4"`: sets fields of the endpoint's
//! [`Config`] by their names.

use std::fmt::Debug;
use std::time::Duration;

use lasthop_packet::units;
use lasthop_tcp::{
    AckPolicy, Config, Congestion, GiveUp, PacingRule, RackConfig, Recovery, RtoConfig, RtoRule, SlowStart,
};

use crate::error::{Error, Place};

/// Parses the value of `--config`. The first word may select the defaults of all fields; it is
/// `reno` if omitted.
pub fn config(place: Place, text: &str) -> Result<Config, Error> {
    let mut words = text.split_whitespace().peekable();
    let mut config = match words.peek() {
        Some(&"linux") => Config::linux(),
        Some(&"rack") => rack(),
        _ => Config { mss: 1000, ..Config::default() },
    };
    if let Some(&("reno" | "rack" | "linux")) = words.peek() {
        words.next();
    }
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        set(&mut config, place, name, value)?;
    }
    Ok(config)
}

/// RACK without its optional parts, with Linux's Reno and an initial window of ten segments.
fn rack() -> Config {
    Config {
        mss: 1000,
        initial_window: 10,
        recovery: Recovery::Rack(RackConfig {
            tail_loss_probe: false,
            proportional_reduction: false,
            f_rto: false,
            undo: false,
        }),
        sack: true,
        congestion: Congestion::RenoAbc,
        slow_start_limit: Some(u32::MAX),
        rto: RtoConfig {
            initial: Duration::from_secs(1),
            minimum: Duration::from_secs(1),
            granularity: Duration::ZERO,
            ..RtoConfig::default()
        },
        ..Config::default()
    }
}

/// The lower limit of the initial and the minimum RTO: with a zero RTO the clock would not advance.
const LOWEST_RTO: Duration = Duration::from_millis(1);
/// The lower limit of the maximum RTO, so that the back-off limits the number of timeouts in a long
/// script.
const LOWEST_RTO_MAXIMUM: Duration = Duration::from_secs(1);

fn set(config: &mut Config, place: Place, name: &str, value: &str) -> Result<(), Error> {
    match name {
        "mss" => config.mss = in_range(place, value, 1, 65_495)?,
        "window" => config.window = in_range(place, value, 1, 1 << 30)?,
        "window_max" => config.window_max = Some(in_range(place, value, 1, 1 << 30)?),
        "send_window" => config.send_window = Some(in_range(place, value, 1, u32::MAX)?),
        "timestamps" => config.timestamps = truth(place, value)?,
        "sack" => config.sack = truth(place, value)?,
        "dsack" => config.dsack = truth(place, value)?,
        "ecn" => config.ecn = truth(place, value)?,
        "congestion" => {
            let known = Congestion::ALL.into_iter().chain([Congestion::External]);
            config.congestion = one_of(place, value, known)?;
        }
        "slow_start" => config.slow_start = one_of(place, value, SlowStart::ALL)?,
        "slow_start_limit" if value == "none" => config.slow_start_limit = None,
        "slow_start_limit" => config.slow_start_limit = Some(number(place, value)?),
        "pacing" => config.pacing = one_of(place, value, [PacingRule::Control, PacingRule::Fq])?,
        "segmentation_offload" => config.segmentation_offload = truth(place, value)?,
        "window_validation" => config.window_validation = truth(place, value)?,
        "recovery" => {
            let known = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack];
            config.recovery = one_of(place, value, known)?;
        }
        "limited_transmit" => config.limited_transmit = truth(place, value)?,
        "initial_window" => config.initial_window = number(place, value)?,
        "initial_ssthresh" => config.initial_ssthresh = number(place, value)?,
        "ack_policy" => config.ack_policy = ack_policy(place, value)?,
        "ack_compression" => config.ack_compression = truth(place, value)?,
        "rto_rule" => {
            config.rto.rule = one_of(place, value, [RtoRule::default(), RtoRule::Linux])?;
        }
        "rto_initial" => config.rto.initial = duration(place, value)?.max(LOWEST_RTO),
        "rto_minimum" => config.rto.minimum = duration(place, value)?.max(LOWEST_RTO),
        "rto_maximum" => config.rto.maximum = duration(place, value)?.max(LOWEST_RTO_MAXIMUM),
        "rto_granularity" => config.rto.granularity = duration(place, value)?,
        "max_timeouts" => config.max_timeouts = number(place, value)?,
        "give_up" => config.give_up = one_of(place, value, [GiveUp::Count, GiveUp::Time])?,
        "mtu_probing" => config.mtu_probing = truth(place, value)?,
        "time_wait" => config.time_wait = duration(place, value)?,
        "tail_loss_probe" => rack_of(config, place)?.tail_loss_probe = truth(place, value)?,
        "proportional_reduction" => rack_of(config, place)?.proportional_reduction = truth(place, value)?,
        "f_rto" => rack_of(config, place)?.f_rto = truth(place, value)?,
        "undo" => rack_of(config, place)?.undo = truth(place, value)?,
        _ => return Err(Error::not_understood(place, format!("{name:?} in --config"))),
    }
    Ok(())
}

fn rack_of(config: &mut Config, place: Place) -> Result<&mut RackConfig, Error> {
    match &mut config.recovery {
        Recovery::Rack(parts) => Ok(parts),
        _ => Err(Error::expected(place, "rack or linux as the first word")),
    }
}

/// Parses `EverySegment`, `Linux`, or a rule with a maximum delay, such as `Delayed:200ms`.
fn ack_policy(place: Place, value: &str) -> Result<AckPolicy, Error> {
    let (rule, delay) = value.split_once(':').unwrap_or((value, "0s"));
    let delay = duration(place, delay)?;
    match rule {
        "EverySegment" => Ok(AckPolicy::EverySegment),
        "Linux" => Ok(AckPolicy::Linux),
        "Delayed" => Ok(AckPolicy::Delayed(delay)),
        "EverySegmentAfterLoss" => Ok(AckPolicy::EverySegmentAfterLoss(delay)),
        "DynDelAck" => Ok(AckPolicy::DynDelAck(delay)),
        _ => Err(Error::expected(place, &format!("a rule for ACKs, not {value:?}"))),
    }
}

/// The known value whose `Debug` form is `value`.
fn one_of<T: Debug>(place: Place, value: &str, known: impl IntoIterator<Item = T>) -> Result<T, Error> {
    known
        .into_iter()
        .find(|known| format!("{known:?}") == value)
        .ok_or_else(|| Error::expected(place, &format!("a value of --config, not {value:?}")))
}

fn truth(place: Place, value: &str) -> Result<bool, Error> {
    value.parse().map_err(|_| Error::expected(place, &format!("true or false, not {value:?}")))
}

fn in_range(place: Place, value: &str, min: u32, max: u32) -> Result<u32, Error> {
    let number = number(place, value)?;
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(Error::expected(place, &format!("{min} to {max}, not {value}")))
    }
}

fn duration(place: Place, value: &str) -> Result<Duration, Error> {
    units::parse_duration(value).map_err(|error| Error::expected(place, &error.to_string()))
}

/// Parses a number in a setting.
pub fn number<T: std::str::FromStr>(place: Place, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::expected(place, &format!("a number for {text:?}")))
}
