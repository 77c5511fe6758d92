//! The two options of frames, each with a version.

use lasthop_agent::{Counter, PathCapacity};
use lasthop_packet::LinkOptions;

/// An option that is malformed, or of another version.
pub static MALFORMED_OPTIONS: Counter = Counter::new(
    "malformed_link_options",
    "Options in frames that were ignored because they were malformed or of another version.",
);

/// The type of [`Forward`], one of the free ones.
const FORWARD: u8 = 1;
/// The type of [`Backward`].
const BACKWARD: u8 = 2;
/// The version of both options' data.
const VERSION: u8 = 1;

/// The values of a packet's path so far.
pub type Forward = PathCapacity;

/// The values of an acknowledgment for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backward {
    /// The values of the acknowledged data.
    pub echo: Forward,
    /// The sum of the hops' backward delays so far, in microseconds.
    pub delay: u32,
}

/// An option with another version, or another length than that of its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A value in an option of a frame.
pub trait Carried: Sized {
    /// The value in the options of a frame; `None` if it is absent.
    fn from_options(options: &LinkOptions) -> Result<Option<Self>, Malformed>;

    /// The options with this one added; `None` if there is no room.
    fn add_to(self, options: LinkOptions) -> Option<LinkOptions>;
}

impl Carried for Forward {
    fn from_options(options: &LinkOptions) -> Result<Option<Self>, Malformed> {
        let Some(data) = options.find(FORWARD) else { return Ok(None) };
        let [bandwidth, delay] = words(data)?;
        if bandwidth == 0 { Err(Malformed) } else { Ok(Some(Self { bandwidth, delay })) }
    }

    fn add_to(self, options: LinkOptions) -> Option<LinkOptions> {
        add(options, FORWARD, [self.bandwidth, self.delay])
    }
}

impl Carried for Backward {
    fn from_options(options: &LinkOptions) -> Result<Option<Self>, Malformed> {
        let Some(data) = options.find(BACKWARD) else { return Ok(None) };
        let [bandwidth, there, delay] = words(data)?;
        let echo = Forward { bandwidth, delay: there };
        if bandwidth == 0 { Err(Malformed) } else { Ok(Some(Self { echo, delay })) }
    }

    fn add_to(self, options: LinkOptions) -> Option<LinkOptions> {
        add(options, BACKWARD, [self.echo.bandwidth, self.echo.delay, self.delay])
    }
}

impl Backward {
    /// The values after another hop.
    #[must_use]
    pub fn over(self, delay: u32) -> Self {
        Self { delay: self.delay.saturating_add(delay), ..self }
    }
}

/// The words after the version, if the version and their number are right.
fn words<const N: usize>(data: &[u8]) -> Result<[u32; N], Malformed> {
    let (&version, rest) = data.split_first().ok_or(Malformed)?;
    let (found, over) = rest.as_chunks::<4>();
    let found: [[u8; 4]; N] = found.try_into().map_err(|_| Malformed)?;
    if version != VERSION || !over.is_empty() {
        return Err(Malformed);
    }
    Ok(found.map(u32::from_be_bytes))
}

/// The options with another one; `None` if there is no room.
fn add<const N: usize>(options: LinkOptions, kind: u8, words: [u32; N]) -> Option<LinkOptions> {
    let mut data = [0; 13];
    data[0] = VERSION;
    for (place, word) in data[1..].as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *place = word.to_be_bytes();
    }
    options.with(kind, &data[..=4 * N]).ok()
}

/// The options with the values of another hop added.
pub fn after_hop(options: &LinkOptions, forward: Forward, backward: u32) -> Result<LinkOptions, Malformed> {
    let (there, back) = (Forward::from_options(options)?, Backward::from_options(options)?);
    let mut updated = LinkOptions::NONE;
    for option in options.iter() {
        let with = match (option.kind, there, back) {
            (FORWARD, Some(there), _) => there.over(forward).add_to(updated),
            (BACKWARD, _, Some(back)) => back.over(backward).add_to(updated),
            _ => updated.with(option.kind, option.data).ok(),
        };
        updated = with.ok_or(Malformed)?;
    }
    Ok(updated)
}
