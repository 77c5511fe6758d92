//! Propagation and capture.

use crate::file::named::Named;
use crate::file::quantity::{Decibels, Hertz, Metres, Text, Watts};
use crate::file::reader::Reader;
use lasthop_config::FileError;
use lasthop_wifi::{Capture, LogDistance, Propagation, TwoRayGround};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which stations hear each other.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PropagationTable {
    /// The propagation model.
    kind: PropagationKind,
    /// With "ranges": the distance up to which frames are decoded.
    reception: Option<Text<Metres>>,
    /// With "ranges": the distance up to which frames are sensed and disturb others; default the
    /// value of `reception`.
    carrier_sense: Option<Text<Metres>>,
    /// With "two-ray-ground" and "log-distance": transmit power; default "281.83815 mW", with "log-distance" "40 mW".
    transmit_power: Option<Text<Watts>>,
    /// With these: the power that a frame needs to be decoded; default 3.652e-10 W, which is about
    /// "-64.37 dBm": 250 m. With "log-distance" "-82 dBm".
    reception_threshold: Option<Text<Watts>>,
    /// With these: the power that a frame needs to be sensed; default 1.559e-11 W, which is about "-78.07 dBm":
    /// 550 m. With "log-distance" "-82 dBm".
    carrier_sense_threshold: Option<Text<Watts>>,
    /// With "log-distance": the loss at one metre, "0 dB" or more; default "46.6777 dB", that of free space at 5.15 GHz.
    reference_loss: Option<Text<Decibels>>,
    /// With "log-distance": the loss grows by 10 times this, in dB, with each factor of ten in distance; 1 to 10,
    /// default 3.
    exponent: Option<f64>,
    /// With "two-ray-ground", as for all keys below: gain of the antennas at both ends; default "0 dB".
    antenna_gain: Option<Text<Decibels>>,
    /// Height of both antennas above the ground, "1 cm" to "1 km"; default "1.5 m".
    antenna_height: Option<Text<Metres>>,
    /// Frequency; default "914 MHz".
    frequency: Option<Text<Hertz>>,
    /// Loss in the stations themselves, at least "0 dB"; default "0 dB".
    system_loss: Option<Text<Decibels>>,
}

/// A propagation model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PropagationKind {
    /// All stations hear each other.
    #[default]
    Everywhere,
    /// Two distances.
    Ranges,
    /// Friis at short distance, reflection from the ground at long distance; the defaults are those
    /// of ns-2.
    TwoRayGround,
    /// A loss in dB that grows with the logarithm of the distance; the defaults are those of ns-3 for OFDM at 5 GHz, and
    /// frames reach 51 m.
    LogDistance,
}

/// Whether a strong frame survives weak ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CaptureTable {
    /// By how much a frame must be stronger than all others together, above "0 dB"; default
    /// "10 dB".
    threshold: Option<Text<Decibels>>,
    /// Whether a receiver abandons a frame for a later one that is stronger by `threshold`; default
    /// false.
    #[serde(default)]
    later_frames: bool,
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &PropagationTable,
) -> Result<Propagation, FileError> {
    let fail = |key: &str, problem: &str| reader.fail(&["wlans", name, "propagation", key], problem);
    refuse_keys_without_effect(table, &fail)?;
    let watts = |value: Option<Text<Watts>>, default| value.map_or(default, |Text(Watts(it))| it);
    // A threshold for decoding alone is also one for sensing.
    let sensed = |default: f64| {
        let default = default.min(watts(table.reception_threshold, f64::INFINITY));
        watts(table.carrier_sense_threshold, default)
    };
    let check_thresholds = |decoded: f64, sensed: f64| {
        if sensed > decoded {
            let problem =
                "every frame that is decoded is also sensed; expected at most `reception-threshold`";
            return Err(fail("carrier-sense-threshold", problem));
        }
        Ok(())
    };
    match table.kind {
        PropagationKind::Everywhere => Ok(Propagation::Everywhere),
        PropagationKind::Ranges => {
            let Some(Text(Metres(reception))) = table.reception else {
                return Err(fail("reception", "missing; expected a range, such as reception = \"100 m\""));
            };
            if reception <= 0.0 {
                return Err(fail("reception", "expected a range above zero"));
            }
            let carrier_sense = table.carrier_sense.map_or(reception, |Text(Metres(range))| range);
            if carrier_sense < reception {
                return Err(fail(
                    "carrier-sense",
                    "every frame that is decoded is also sensed; expected at least `reception`",
                ));
            }
            Ok(Propagation::Ranges { reception, carrier_sense })
        }
        PropagationKind::TwoRayGround => {
            let default = TwoRayGround::WAVELAN;
            let factor =
                |value: Option<Text<Decibels>>, default| value.map_or(default, |Text(Decibels(it))| it);
            let model = TwoRayGround {
                transmit_power: watts(table.transmit_power, default.transmit_power),
                gain: factor(table.antenna_gain, default.gain),
                height: table.antenna_height.map_or(default.height, |Text(Metres(height))| height),
                frequency: table.frequency.map_or(default.frequency, |Text(Hertz(frequency))| frequency),
                system_loss: factor(table.system_loss, default.system_loss),
                reception_threshold: watts(table.reception_threshold, default.reception_threshold),
                carrier_sense_threshold: sensed(default.carrier_sense_threshold),
            };
            if !(0.01..=1000.0).contains(&model.height) {
                return Err(fail("antenna-height", "expected \"1 cm\" to \"1 km\""));
            }
            if model.system_loss < 1.0 {
                return Err(fail("system-loss", "expected \"0 dB\" or more"));
            }
            check_thresholds(model.reception_threshold, model.carrier_sense_threshold)?;
            Ok(Propagation::TwoRayGround(model))
        }
        PropagationKind::LogDistance => {
            let default = LogDistance::OFDM;
            let loss = table.reference_loss.map(|Text(Decibels(factor))| 10.0 * libm::log10(factor));
            let model = LogDistance {
                transmit_power: watts(table.transmit_power, default.transmit_power),
                reference_loss: loss.unwrap_or(default.reference_loss),
                exponent: table.exponent.unwrap_or(default.exponent),
                reception_threshold: watts(table.reception_threshold, default.reception_threshold),
                carrier_sense_threshold: sensed(default.carrier_sense_threshold),
            };
            if model.reference_loss < 0.0 {
                return Err(fail("reference-loss", "expected \"0 dB\" or more"));
            }
            if !(1.0..=10.0).contains(&model.exponent) {
                return Err(fail("exponent", "expected a number from 1 to 10"));
            }
            check_thresholds(model.reception_threshold, model.carrier_sense_threshold)?;
            Ok(Propagation::LogDistance(model))
        }
    }
}

/// Refuses keys that the kind of propagation does not have.
fn refuse_keys_without_effect(
    table: &PropagationTable,
    fail: &impl Fn(&str, &str) -> FileError,
) -> Result<(), FileError> {
    let of_ranges =
        [("reception", table.reception.is_some()), ("carrier-sense", table.carrier_sense.is_some())];
    let of_powers = [
        ("transmit-power", table.transmit_power.is_some()),
        ("reception-threshold", table.reception_threshold.is_some()),
        ("carrier-sense-threshold", table.carrier_sense_threshold.is_some()),
    ];
    let of_two_rays = [
        ("antenna-gain", table.antenna_gain.is_some()),
        ("antenna-height", table.antenna_height.is_some()),
        ("frequency", table.frequency.is_some()),
        ("system-loss", table.system_loss.is_some()),
    ];
    let of_log_distance =
        [("reference-loss", table.reference_loss.is_some()), ("exponent", table.exponent.is_some())];
    let (ranges, two_rays, log_distance) =
        (PropagationKind::Ranges, PropagationKind::TwoRayGround, PropagationKind::LogDistance);
    for (kinds, keys) in [
        (&[ranges][..], &of_ranges[..]),
        (&[two_rays, log_distance], &of_powers),
        (&[two_rays], &of_two_rays),
        (&[log_distance], &of_log_distance),
    ] {
        if let Some((key, _)) = keys.iter().find(|(_, given)| *given && !kinds.contains(&table.kind)) {
            return Err(fail(key, "has no effect with this kind of propagation; leave it out"));
        }
    }
    Ok(())
}

pub(super) fn capture(
    reader: &Reader<'_>,
    name: &str,
    table: &CaptureTable,
    propagation: &Propagation,
) -> Result<Capture, FileError> {
    if *propagation == Propagation::Everywhere {
        let problem =
            "all signals are equally strong; expected a kind of propagation that depends on distance";
        return Err(reader.fail(&["wlans", name, "capture"], problem));
    }
    let threshold = table.threshold.map_or(10.0, |Text(Decibels(threshold))| threshold);
    if threshold <= 1.0 {
        return Err(reader.fail(&["wlans", name, "capture", "threshold"], "expected more than \"0 dB\""));
    }
    Ok(Capture { threshold, later_frames: table.later_frames })
}

impl Named for PropagationTable {
    type Name = PropagationKind;
    const SCHEMA: &'static str = "Propagation";
    const EXPECTED: &'static str = "\"everywhere\", \"two-ray-ground\", \"log-distance\", or a table with \"ranges\" or one of them as \"kind\"";

    fn named(kind: PropagationKind) -> Self {
        Self { kind, ..Self::default() }
    }
}
