//! Who hears whom.

/// A position in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl Position {
    /// At these coordinates, in metres.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// Metres to another one.
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// How signals fade. Every station transmits with the same power, so whoever hears is heard.
/// Signals take no time to arrive: 300 m are 1 us, a twentieth of a slot of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// Everybody receives everybody, wherever they are.
    Everywhere,
    /// Two ranges, in metres. For capture, power falls with the fourth power of the distance.
    Ranges {
        /// Up to this distance frames can be decoded.
        reception: f64,
        /// Up to this distance, at least that of reception, frames are sensed, and disturb others.
        carrier_sense: f64,
    },
    /// Ground reflection: see [`TwoRayGround`].
    TwoRayGround(TwoRayGround),
}

/// Power falls with the square of the distance (Friis) up to the crossover distance, with its
/// fourth power beyond it (Rappaport, "Wireless Communications", sections 3.2 and 3.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRayGround {
    /// Watts.
    pub transmit_power: f64,
    /// Antenna gain at both ends, as a factor.
    pub gain: f64,
    /// Height of both antennas above the ground, in metres.
    pub height: f64,
    /// Hertz.
    pub frequency: f64,
    /// System loss, as a factor of 1 or more.
    pub system_loss: f64,
    /// Watts that a frame needs at a receiver to be decoded.
    pub reception_threshold: f64,
    /// Watts that a frame needs to be sensed.
    pub carrier_sense_threshold: f64,
}

impl TwoRayGround {
    /// The radio that ns-2 calls `WaveLAN`: 250 m of reception and 550 m of carrier sense, at 914
    /// MHz.
    pub const WAVELAN: Self = Self {
        transmit_power: 0.281_838_15,
        gain: 1.0,
        height: 1.5,
        frequency: 914e6,
        system_loss: 1.0,
        reception_threshold: 3.652e-10,
        carrier_sense_threshold: 1.559e-11,
    };

    /// Watts at a distance in metres.
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

/// How one station hears another.
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

    /// Whether a station at one of two places decodes one at the other.
    pub fn reaches(&self, from: Position, to: Position) -> bool {
        self.hearing(from, to) == Hearing::Decodes
    }

    /// Power at the receiver, in a unit of the model's own: only ratios count.
    pub(crate) fn power(&self, from: Position, to: Position) -> f64 {
        let distance = from.distance(to).max(1.0);
        match self {
            Self::Everywhere => 1.0,
            Self::Ranges { .. } => 1.0 / (distance * distance * distance * distance),
            Self::TwoRayGround(model) => model.received_power(distance),
        }
    }
}

/// A receiver decodes a frame in spite of others that overlap it if it is strong enough. Without it
/// every overlap destroys all frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capture {
    /// The power of a frame over that of all others together, as a factor above 1; ns-2's
    /// `CPThresh_` is 10.
    pub threshold: f64,
    /// Whether a receiver leaves a frame that it is decoding for a later one that is so much
    /// stronger ("message in message").
    pub later_frames: bool,
}
