//! The air between the radios of the guests' kernels and the cells of the model. The kernel's MAC chooses a frame's rates and
//! sequence number; that of the cell contends for the medium, retransmits, and says what became of the frame. Messages for a
//! radio's driver go out with the number of the radio.

mod dozing;
mod frame;
mod rates;
#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{RadioEvent, Sent, StationId, WlanId, World};
use lasthop_uml::hwsim::{self, FromRadios, ReceivedFrame, SentFrame, Stage, TxStatus};
use lasthop_wifi::{Channel, Rates, RawFrame, Receiver, Standard, StationConfig};

use crate::radios::bss::channel_at;
use crate::stations::StationUse;
use dozing::Dozing;
use frame::Frame;

/// The power of frames where the propagation has none, in dBm.
const EQUAL_POWER: i32 = -50;
/// Frames that wait at a radio. The driver forgets the oldest of 200 whose status it does not know; these are fewer.
const MAX_WAITING: usize = 190;
/// Addresses that a radio answers. It has one for each of its devices, and a scan adds its own a second time.
const MAX_ADDRESSES: usize = 64;

/// The radios of a run, each at a station of a cell.
pub(super) struct Air {
    radios: Vec<Radio>,
    /// A station of each cell that is off the air: the receiver of frames that no radio answers.
    absent: BTreeMap<WlanId, StationId>,
    /// By radio and address, how often the radio was told to answer the address.
    addresses: BTreeMap<(usize, [u8; 6]), u32>,
    /// The frames that radios transmit or that wait there, by their keys.
    frames: BTreeMap<u32, Pending>,
    /// Memory of frames that are done with, for others.
    spare: Vec<Vec<u8>>,
    next_key: u32,
    /// A message for the driver; its memory is kept.
    message: Vec<u8>,
}

/// Where a radio is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) cell: WlanId,
    pub(super) station: StationId,
    /// That of the cell.
    pub(super) standard: Standard,
    /// Whether it changes between channels.
    pub(super) is_tuned: bool,
    /// Whether it saves power.
    pub(super) dozes: bool,
}

struct Radio {
    place: Place,
    /// The keys of frames that wait.
    waiting: VecDeque<u32>,
    /// That of the frame in the model.
    current: Option<u32>,
    /// The channel to which it was tuned last, if it is tuned.
    channel: Option<Channel>,
    /// Whether it is not there yet.
    is_tuning: bool,
    dozing: Option<Dozing>,
    used: Used,
}

/// What the data frames of a radio have taken of the air.
#[derive(Clone, Copy)]
struct Used {
    frames: u64,
    transmissions: u64,
    given_up: u64,
    air_time: u64,
}

impl Used {
    const NOTHING: Self = Self { frames: 0, transmissions: 0, given_up: 0, air_time: 0 };
}

/// A frame whose fate the driver does not know yet.
struct Pending {
    radio: usize,
    /// Whether it has arrived.
    has_arrived: bool,
    octets: Vec<u8>,
    sent: Header,
}

/// What came with a frame from the driver.
#[derive(Clone, Copy)]
struct Header {
    wants_status: bool,
    no_ack: bool,
    mhz: u32,
    stages: [Option<Stage>; 4],
    cookie: u64,
}

impl Air {
    /// Radios at these stations, by their numbers in the guests.
    pub(super) fn new(world: &mut World, places: &[Place]) -> Self {
        let mut air = Self {
            radios: Vec::new(),
            absent: BTreeMap::new(),
            addresses: BTreeMap::new(),
            frames: BTreeMap::new(),
            spare: Vec::new(),
            next_key: 0,
            message: Vec::new(),
        };
        air.radios = places.iter().map(|place| Radio::at(*place)).collect();
        air.open(world);
        air
    }

    /// The same radios in another world, whose time begins: what they were transmitting, they transmit again, unless it
    /// has arrived.
    pub(super) fn move_to(&mut self, world: &mut World, mut send: impl FnMut(usize, &[u8])) {
        self.open(world);
        for number in 0..self.radios.len() {
            let interrupted = self.radios[number].current.take();
            match interrupted.and_then(|key| Some((key, self.frames.get(&key)?.has_arrived))) {
                // Its ACK was on the air.
                Some((key, true)) => {
                    let sent = Sent { acknowledged: true, transmissions: 1, air_time: 0 };
                    self.report(key, sent, world.now(), &mut send);
                }
                Some((key, false)) => self.radios[number].waiting.push_front(key),
                None => {}
            }
            let radio = &mut self.radios[number];
            radio.used = Used::NOTHING;
            if let Some(channel) = radio.channel {
                radio.is_tuning = true;
                world.tune_radio(radio.place.cell, radio.place.station, channel);
            }
            if let Some(dozing) = &mut radio.dozing {
                dozing.restart();
            }
        }
        for radio in 0..self.radios.len() {
            self.transmit_next(radio, world);
        }
    }

    fn open(&mut self, world: &mut World) {
        self.absent.clear();
        for Place { cell, station, .. } in self.radios.iter().map(|radio| &radio.place) {
            world.open_radio(*cell, *station);
            self.absent.entry(*cell).or_insert_with(|| {
                let node = world.station_node(*cell, *station);
                world.add_station(*cell, node, &StationConfig { channel: None, ..StationConfig::default() })
            });
        }
    }

    /// Takes a message of the driver. An error is what no cell can carry.
    pub(super) fn take(
        &mut self,
        message: &[u8],
        world: &mut World,
        send: impl FnMut(usize, &[u8]),
    ) -> Result<(), String> {
        match hwsim::parse(message).map_err(|error| error.to_string())? {
            FromRadios::AddAddress { radio, address } => self.answer(radio, address)?,
            FromRadios::RemoveAddress { radio, address } => self.answer_less(radio, address),
            FromRadios::Frame(sent) => self.add(&sent, world, send)?,
            FromRadios::Other(_) => {}
        }
        Ok(())
    }

    /// Hands out what the radios have learned, and has them transmit what they have.
    pub(super) fn hand_out(&mut self, world: &mut World, mut send: impl FnMut(usize, &[u8])) {
        while let Some((cell, event)) = world.next_radio_event() {
            match event {
                RadioEvent::Received { at, key, rate, power } => {
                    let (Some(radio), Some(pending)) = (self.at(cell, at), self.frames.get_mut(&key)) else {
                        continue;
                    };
                    pending.has_arrived = true;
                    let received = ReceivedFrame {
                        radio: hwsim::radio_address(radio as u16),
                        octets: &pending.octets,
                        rate: rates::position(rate, pending.sent.mhz),
                        dbm: power.map_or(EQUAL_POWER, dbm),
                        mhz: pending.sent.mhz,
                    };
                    received.write(&mut self.message);
                    send(radio, &self.message);
                }
                RadioEvent::Sent { from, key, sent } => {
                    let Some(radio) = self.at(cell, from) else { continue };
                    self.report(key, sent, world.now(), &mut send);
                    self.radios[radio].current = None;
                    self.transmit_next(radio, world);
                }
                RadioEvent::Tuned { at } => {
                    let Some(radio) = self.at(cell, at) else { continue };
                    self.radios[radio].is_tuning = false;
                    self.transmit_next(radio, world);
                }
            }
        }
    }

    /// Adds what the data frames of a radio have taken of the air until now, and for how long it was awake.
    pub(super) fn report_use(&self, radio: usize, now: Instant, of: &mut StationUse) {
        let Some(Radio { used, dozing, .. }) = self.radios.get(radio) else { return };
        if let Some(dozing) = dozing {
            of.set_awake(dozing.awake(now), now);
        }
        of.frames += used.frames;
        of.transmissions += used.transmissions;
        of.given_up += used.given_up;
        of.air_time_s += Duration::from_nanos(used.air_time).as_secs_f64();
    }

    /// A radio answers an address, once more.
    fn answer(&mut self, radio: [u8; 6], address: [u8; 6]) -> Result<(), String> {
        let Some(radio) = self.number(radio) else { return Ok(()) };
        *self.addresses.entry((radio, address)).or_default() += 1;
        let known = self.addresses.range((radio, [0; 6])..=(radio, [u8::MAX; 6])).count();
        if known > MAX_ADDRESSES {
            return Err(format!("more than {MAX_ADDRESSES} addresses of one radio"));
        }
        Ok(())
    }

    /// A radio answers an address, once less.
    fn answer_less(&mut self, radio: [u8; 6], address: [u8; 6]) {
        let Some(radio) = self.number(radio) else { return };
        if let Entry::Occupied(mut times) = self.addresses.entry((radio, address)) {
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
            }
        }
    }

    fn add(
        &mut self,
        sent: &SentFrame<'_>,
        world: &mut World,
        send: impl FnMut(usize, &[u8]),
    ) -> Result<(), String> {
        let Some(radio) = self.number(sent.radio) else {
            return Err(format!("a frame of a radio that it does not have: {:02x?}", sent.radio));
        };
        rates::of(&sent.stages, sent.mhz, self.radios[radio].place.standard)?;
        let SentFrame { octets, wants_status, no_ack, mhz, stages, cookie, .. } = *sent;
        let header = Header { wants_status, no_ack, mhz, stages, cookie };
        let (key, is_beacon) = (self.next_key, Frame(octets).is_beacon());
        self.next_key = self.next_key.wrapping_add(1);
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(octets);
        self.frames.insert(key, Pending { radio, has_arrived: false, octets: kept, sent: header });
        let waiting = &mut self.radios[radio].waiting;
        if waiting.len() >= MAX_WAITING {
            let sent = Sent { acknowledged: false, transmissions: 0, air_time: 0 };
            self.report(key, sent, world.now(), send);
        } else if is_beacon {
            // Its time is due: it does not wait behind data.
            waiting.push_front(key);
        } else {
            waiting.push_back(key);
        }
        self.transmit_next(radio, world);
        Ok(())
    }

    /// The radio transmits its next frame, if it has nothing in the model.
    fn transmit_next(&mut self, number: usize, world: &mut World) {
        let radio = &mut self.radios[number];
        if radio.current.is_some() || radio.is_tuning {
            return;
        }
        let Some(&key) = radio.waiting.front() else { return };
        let Some(Pending { octets, sent, .. }) = self.frames.get(&key) else { return };
        // The driver does not say to which channel a radio changes: the first frame there does.
        let Place { cell, station, is_tuned, .. } = radio.place;
        let channel = channel_at(sent.mhz);
        if is_tuned && radio.channel != Some(channel) {
            (radio.channel, radio.is_tuning) = (Some(channel), true);
            world.tune_radio(cell, station, channel);
            return;
        }
        radio.waiting.pop_front();
        let frame = Frame(octets);
        let to = match frame.receiver() {
            Some(address) if !sent.no_ack => {
                let cell = self.radios[number].place.cell;
                let answers = |(other, radio): &(usize, &Radio)| {
                    *other != number
                        && radio.place.cell == cell
                        && self.addresses.contains_key(&(*other, address))
                };
                let other = self.radios.iter().enumerate().find(answers);
                Receiver::Station(other.map_or(self.absent[&cell], |(_, other)| other.place.station))
            }
            _ => Receiver::Broadcast,
        };
        let Radio { place: Place { cell, station, standard, .. }, current, .. } = &mut self.radios[number];
        let rates = rates::of(&sent.stages, sent.mhz, *standard).unwrap_or(Rates::LowestBasic);
        *current = Some(key);
        let is_taken =
            world.transmit(*cell, *station, RawFrame { to, key, octets: frame.octets_with_fcs(), rates });
        debug_assert!(is_taken, "a radio has one frame in the model");
    }

    /// The driver learns what became of a frame.
    fn report(&mut self, key: u32, sent: Sent, now: Instant, mut send: impl FnMut(usize, &[u8])) {
        let Some(Pending { radio, octets, sent: header, .. }) = self.frames.remove(&key) else { return };
        Self::follow_power(&mut self.radios, radio, Frame(&octets), sent, now);
        // A frame without a transmission was dropped for lack of room.
        if Frame(&octets).is_data() && sent.transmissions > 0 {
            let used = &mut self.radios[radio].used;
            used.frames += 1;
            used.transmissions += u64::from(sent.transmissions);
            used.given_up += u64::from(!sent.acknowledged);
            used.air_time += sent.air_time;
        }
        let status = TxStatus {
            radio: hwsim::radio_address(radio as u16),
            cookie: header.cookie,
            wants_status: header.wants_status,
            no_ack: header.no_ack,
            acknowledged: sent.acknowledged && !header.no_ack && Frame(&octets).receiver().is_some(),
            dbm: EQUAL_POWER,
            stages: rates::tried(&header.stages, sent.transmissions),
            air_time: u32::try_from(sent.air_time / 1000).unwrap_or(u32::MAX),
        };
        status.write(&mut self.message);
        send(radio, &self.message);
        self.spare.push(octets);
    }

    /// What a frame says of stations that save power.
    fn follow_power(radios: &mut [Radio], radio: usize, frame: Frame<'_>, sent: Sent, now: Instant) {
        if let (Some(dozing), Some(dozes), true) =
            (&mut radios[radio].dozing, frame.power_management(), sent.acknowledged)
        {
            dozing.set(dozes, now);
        }
        if frame.is_beacon() {
            let cell = radios[radio].place.cell;
            let of_cell = radios.iter_mut().filter(|other| other.place.cell == cell);
            for dozing in of_cell.filter_map(|radio| radio.dozing.as_mut()) {
                dozing.wake_for(Duration::from_nanos(sent.air_time));
            }
        }
    }

    /// The number of the radio with this address of the driver's.
    fn number(&self, address: [u8; 6]) -> Option<usize> {
        (0..self.radios.len()).find(|number| hwsim::radio_address(*number as u16) == address)
    }

    fn at(&self, cell: WlanId, station: StationId) -> Option<usize> {
        self.radios.iter().position(|radio| (radio.place.cell, radio.place.station) == (cell, station))
    }
}

impl Radio {
    fn at(place: Place) -> Self {
        let dozing = place.dozes.then(Dozing::default);
        Self {
            place,
            waiting: VecDeque::new(),
            current: None,
            channel: None,
            is_tuning: false,
            dozing,
            used: Used::NOTHING,
        }
    }
}

fn dbm(watts: f64) -> i32 {
    (10.0 * (watts * 1000.0).log10()).round() as i32
}
