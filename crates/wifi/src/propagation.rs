//! Propagation: which stations decode and sense each other's frames, and at which power.

/// The speed of light, in meters per second.
const LIGHT: f64 = 299_792_458.0;

/// A position in a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Meters to the east.
    pub x: f64,
    /// Meters to the north.
    pub y: f64,
}

impl Position {
    /// A position from its coordinates, in meters.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The distance to another position, in meters.
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// How signals fade with distance. All stations transmit at the same power, so that decoding and
/// sensing are mutual. Signals arrive without delay: 300 m are 1 us, a twentieth of a slot of
/// 802.11b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// All stations decode each other's frames at any distance.
    Everywhere,
    /// Two ranges. For capture, power falls with the fourth power of the distance.
    Ranges {
        /// Frames can be decoded up to this distance, in meters; at least 0.
        reception: f64,
        /// Frames are sensed, and interfere with others, up to this distance, in meters; at least
        /// `reception`.
        carrier_sense: f64,
    },
    /// Two-ray ground reflection: see [`TwoRayGround`].
    TwoRayGround(TwoRayGround),
    /// Log-distance path loss: see [`LogDistance`].
    LogDistance(LogDistance),
}

/// Two-ray ground reflection: power falls with the square of the distance up to the crossover
/// distance (Friis), and with its fourth power beyond it (Rappaport, "Wireless Communications",
/// sections 3.2 and 3.6). All values are above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRayGround {
    /// Transmit power, in watts.
    pub transmit_power: f64,
    /// Gain of each antenna, as a factor.
    pub gain: f64,
    /// Height of each antenna above the ground, in meters.
    pub height: f64,
    /// Carrier frequency, in hertz.
    pub frequency: f64,
    /// System loss, as a factor; 1 without loss.
    pub system_loss: f64,
    /// The least power at which a receiver decodes a frame, in watts.
    pub reception_threshold: f64,
    /// The least power at which a station senses a frame, in watts; at most `reception_threshold`.
    pub carrier_sense_threshold: f64,
}

impl TwoRayGround {
    /// ns-2's `WaveLAN` radio: frames are decoded up to 250 m and sensed up to 550 m, at 914 MHz.
    pub const WAVELAN: Self = Self {
        transmit_power: 0.281_838_15,
        gain: 1.0,
        height: 1.5,
        frequency: 914e6,
        system_loss: 1.0,
        reception_threshold: 3.652e-10,
        carrier_sense_threshold: 1.559e-11,
    };

    /// The power at a receiver at this distance in meters, in watts.
    pub fn received_power(&self, distance: f64) -> f64 {
        let lambda = LIGHT / self.frequency;
        let crossover = 4.0 * std::f64::consts::PI * self.height * self.height / lambda;
        if distance <= 0.0 {
            return self.transmit_power;
        }
        let gains = self.transmit_power * self.gain * self.gain / self.system_loss;
        if distance < crossover {
            let spread = lambda / (4.0 * std::f64::consts::PI * distance);
            gains * spread * spread
        } else {
            let heights = self.height * self.height / (distance * distance);
            gains * heights * heights
        }
    }
}

/// Log-distance path loss: each factor of ten in distance costs `10 x exponent` dB (Rappaport, "Wireless
/// Communications", section 3.9.1). It is the usual model inside buildings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogDistance {
    /// Transmit power with the gains of both antennas, in watts; above zero.
    pub transmit_power: f64,
    /// Path loss at one meter, in dB; at least 0. [`Self::free_space_loss`] computes it from a frequency.
    pub reference_loss: f64,
    /// Path loss exponent, above zero: 2 in free space, 1.6 to 1.8 inside a building with line of sight,
    /// 4 to 6 there with obstructions (Rappaport, table 3.2).
    pub exponent: f64,
    /// The least power at which a receiver decodes a frame, in watts; above zero.
    pub reception_threshold: f64,
    /// The least power at which a station senses a frame, in watts; above zero and at most
    /// `reception_threshold`.
    pub carrier_sense_threshold: f64,
}

impl LogDistance {
    /// OFDM at 5 GHz. Transmit power (16.0206 dBm), loss and exponent are the defaults of ns-3
    /// (`WifiPhy` and `LogDistancePropagationLossModel`), the loss that of free space at 5.15 GHz. Both
    /// thresholds are -82 dBm, the sensitivity at 6 Mbit/s and the power at which OFDM frames have to be
    /// sensed (IEEE 802.11-2020, 17.3.10.2 and 17.3.10.6). Frames reach 51 m.
    pub const OFDM: Self = Self {
        transmit_power: 0.04,
        reference_loss: 46.6777,
        exponent: 3.0,
        reception_threshold: 6.309_573_444_801_93e-12,
        carrier_sense_threshold: 6.309_573_444_801_93e-12,
    };

    /// The path loss at one meter in free space at this frequency in hertz, in dB (Friis).
    pub fn free_space_loss(frequency: f64) -> f64 {
        let lambda = LIGHT / frequency;
        20.0 * libm::log10(4.0 * std::f64::consts::PI / lambda)
    }

    /// The power at a receiver at this distance in meters, in watts. Distances under a meter count as a
    /// meter.
    pub fn received_power(&self, distance: f64) -> f64 {
        let loss = self.reference_loss + 10.0 * self.exponent * libm::log10(distance.max(1.0));
        self.transmit_power * libm::pow(10.0, -loss / 10.0)
    }
}

/// How well one station hears another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hearing {
    Nothing,
    /// Strong enough to be sensed, too weak to be decoded.
    Senses,
    Decodes,
}

impl Propagation {
    /// Whether its parameters are in their ranges, and carrier sense reaches as far as reception.
    pub(crate) fn is_valid(&self) -> bool {
        let is_range = |value: f64| value.is_finite() && value >= 0.0;
        let all_positive = |all: &[f64]| all.iter().all(|value| value.is_finite() && *value > 0.0);
        match self {
            Self::Everywhere => true,
            Self::Ranges { reception, carrier_sense } => {
                is_range(*reception) && is_range(*carrier_sense) && reception <= carrier_sense
            }
            Self::TwoRayGround(model) => {
                let radio =
                    [model.transmit_power, model.gain, model.height, model.frequency, model.system_loss];
                let thresholds = [model.reception_threshold, model.carrier_sense_threshold];
                all_positive(&radio) && all_positive(&thresholds) && thresholds[0] >= thresholds[1]
            }
            Self::LogDistance(model) => {
                let radio = [model.transmit_power, model.exponent];
                let thresholds = [model.reception_threshold, model.carrier_sense_threshold];
                all_positive(&radio)
                    && is_range(model.reference_loss)
                    && all_positive(&thresholds)
                    && thresholds[0] >= thresholds[1]
            }
        }
    }

    pub(crate) fn hearing(&self, from: Position, to: Position) -> Hearing {
        let distance = from.distance(to);
        let (decodes, senses) = match self {
            Self::Everywhere => (true, true),
            Self::Ranges { reception, carrier_sense } => (distance <= *reception, distance <= *carrier_sense),
            Self::TwoRayGround(model) => {
                let power = model.received_power(distance);
                (power >= model.reception_threshold, power >= model.carrier_sense_threshold)
            }
            Self::LogDistance(model) => {
                let power = model.received_power(distance);
                (power >= model.reception_threshold, power >= model.carrier_sense_threshold)
            }
        };
        match (decodes, senses) {
            (true, _) => Hearing::Decodes,
            (false, true) => Hearing::Senses,
            (false, false) => Hearing::Nothing,
        }
    }

    /// Whether a station at one of these positions senses frames from the other.
    pub(crate) fn senses(&self, from: Position, to: Position) -> bool {
        self.hearing(from, to) != Hearing::Nothing
    }

    /// The distance in meters beyond which no station senses another, rounded up; `None` if there is none.
    pub(crate) fn carrier_sense_range(&self) -> Option<f64> {
        let is_sensed = |meters: f64| self.senses(Position::default(), Position::new(meters, 0.0));
        // Signals fade with distance, so a binary search finds where they are lost.
        let (mut near, mut far) = (0.0, 1.0);
        while is_sensed(far) {
            (near, far) = (far, 2.0 * far);
            if far > 1e12 {
                return None;
            }
        }
        // As many halvings as a number has digits.
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = near.midpoint(far);
            *(if is_sensed(middle) { &mut near } else { &mut far }) = middle;
        }
        Some(far)
    }

    /// Whether a station at one of these positions decodes frames from the other.
    pub fn reaches(&self, from: Position, to: Position) -> bool {
        self.hearing(from, to) == Hearing::Decodes
    }

    /// The power at a receiver, in watts; distances under a meter count as a meter. `None` for
    /// [`Self::Everywhere`] and [`Self::Ranges`], which have no powers.
    pub fn received_power(&self, from: Position, to: Position) -> Option<f64> {
        let distance = from.distance(to).max(1.0);
        match self {
            Self::Everywhere | Self::Ranges { .. } => None,
            Self::TwoRayGround(model) => Some(model.received_power(distance)),
            Self::LogDistance(model) => Some(model.received_power(distance)),
        }
    }

    /// The power at a receiver for capture, in a unit of the model; only ratios have a meaning.
    pub(crate) fn power(&self, from: Position, to: Position) -> f64 {
        self.received_power(from, to).unwrap_or_else(|| {
            let distance = from.distance(to).max(1.0);
            match self {
                Self::Ranges { .. } => 1.0 / (distance * distance * distance * distance),
                _ => 1.0,
            }
        })
    }
}

/// Capture: a receiver decodes a frame in spite of others that overlap it if the frame is strong
/// enough. Without capture, every overlap destroys all frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capture {
    /// The least ratio of a frame's power to the sum of all others' powers; above 1. ns-2's
    /// `CPThresh_` is 10.
    pub threshold: f64,
    /// Whether a receiver abandons a frame that it is decoding for a later one that exceeds the
    /// threshold ("message in message").
    pub later_frames: bool,
}
