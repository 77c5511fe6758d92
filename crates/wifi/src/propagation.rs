//! Propagation: which stations decode and sense each other's frames, and at which power.

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
        let lambda = 299_792_458.0 / self.frequency;
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

/// How well one station hears another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hearing {
    Nothing,
    /// Strong enough to be sensed, too weak to be decoded.
    Senses,
    Decodes,
}

impl Propagation {
    pub(crate) fn hearing(&self, from: Position, to: Position) -> Hearing {
        let distance = from.distance(to);
        let (decodes, senses) = match self {
            Self::Everywhere => (true, true),
            Self::Ranges { reception, carrier_sense } => (distance <= *reception, distance <= *carrier_sense),
            Self::TwoRayGround(model) => {
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

    /// Whether a station at one of these positions decodes frames from the other.
    pub fn reaches(&self, from: Position, to: Position) -> bool {
        self.hearing(from, to) == Hearing::Decodes
    }

    /// The power at a receiver, in a unit of the model; only ratios have a meaning.
    pub(crate) fn power(&self, from: Position, to: Position) -> f64 {
        let distance = from.distance(to).max(1.0);
        match self {
            Self::Everywhere => 1.0,
            Self::Ranges { .. } => 1.0 / (distance * distance * distance * distance),
            Self::TwoRayGround(model) => model.received_power(distance),
        }
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
