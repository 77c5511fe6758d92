//! The air between the radios of the guests' kernels and the cells of the model. The kernel's MAC chooses a frame's rates and
//! sequence number; that of the cell contends for the medium, retransmits, and says what became of the frame. Messages for a
//! radio's driver go out with the number of the radio. Simulated stations beside them have the MAC of [`station`].

mod dozing;
mod frame;
mod rates;
mod station;
#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{QueueLimit, RadioEvent, Sent, StationId, WlanId, World};
use lasthop_uml::hwsim::{self, FromRadios, ReceivedFrame, SentFrame, Stage, TxStatus};
use lasthop_wifi::{Channel, Rate, Rates, RawFrame, Receiver, Standard, StationConfig};

use crate::radios::bss::channel_at;
use crate::stations::StationUse;
use dozing::Dozing;
use frame::Frame;
use station::{Heard, Station};

/// The power of frames where the propagation has none, in dBm.
const EQUAL_POWER: i32 = -50;
/// Frames that wait at a radio. The driver forgets the oldest of 200 whose status it does not know; these are fewer.
const MAX_WAITING: usize = 190;
/// Addresses that a radio answers. It has one for each of its devices, and a scan adds its own a second time.
const MAX_ADDRESSES: usize = 64;

/// The radios of a run, each at a station of a cell.
pub(super) struct Air {
    /// Those of kernels, by their numbers in the guests, then those of simulated stations.
    radios: Vec<Radio>,
    of_kernels: usize,
    /// What simulated stations have received for their hosts.
    for_hosts: Vec<(usize, Vec<u8>)>,
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
    /// The guest that has it; 0 for a simulated station.
    pub(super) guest: usize,
    /// Whether it changes between channels.
    pub(super) is_tuned: bool,
    /// Whether it saves power.
    pub(super) dozes: bool,
}

/// A simulated station.
pub(super) struct Simulated {
    pub(super) place: Place,
    /// Its MAC address.
    pub(super) address: [u8; 6],
    /// The name of its network.
    pub(super) network: String,
    /// That of its data frames.
    pub(super) rate: Rate,
    /// What may wait.
    pub(super) queue: QueueLimit,
}

/// The MAC of a simulated station.
struct Mac {
    station: Station,
    rate: Rate,
    queue: QueueLimit,
    /// The frequency at which it last heard something.
    mhz: u32,
}

struct Radio {
    place: Place,
    /// Its MAC, if that is not a kernel's.
    mac: Option<Mac>,
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
    rates: Rates,
    mhz: u32,
    /// `None` for a frame of a simulated station.
    of_driver: Option<Header>,
}

/// What came with a frame from the driver.
#[derive(Clone, Copy)]
struct Header {
    wants_status: bool,
    no_ack: bool,
    stages: [Option<Stage>; 4],
    cookie: u64,
}

impl Air {
    /// Radios of kernels at these places, by their numbers in the guests, and simulated stations.
    pub(super) fn new(world: &mut World, places: &[Place], simulated: Vec<Simulated>) -> Self {
        let mut air = Self {
            radios: places.iter().map(|place| Radio::at(*place)).collect(),
            of_kernels: places.len(),
            for_hosts: Vec::new(),
            absent: BTreeMap::new(),
            addresses: BTreeMap::new(),
            frames: BTreeMap::new(),
            spare: Vec::new(),
            next_key: 0,
            message: Vec::new(),
        };
        for station in simulated {
            air.addresses.insert((air.radios.len(), station.address), 1);
            air.radios.push(station.into());
        }
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

    /// Takes a message of the driver in a guest. An error is what no cell can carry. What it says of other guests' radios,
    /// which are idle there, has no meaning.
    pub(super) fn take(
        &mut self,
        guest: usize,
        message: &[u8],
        world: &mut World,
        send: impl FnMut(usize, &[u8]),
    ) -> Result<(), String> {
        match hwsim::parse(message).map_err(|error| error.to_string())? {
            FromRadios::AddAddress { radio, address } => self.answer(self.number(guest, radio), address)?,
            FromRadios::RemoveAddress { radio, address } => {
                self.answer_less(self.number(guest, radio), address);
            }
            FromRadios::Frame(sent) => self.add(guest, &sent, world, send)?,
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
                    if let Some(mac) = &mut self.radios[radio].mac {
                        mac.mhz = pending.mhz;
                        match mac.station.hear(&pending.octets) {
                            Heard::Nothing => {}
                            Heard::Answer(frame) => self.send_of(radio, frame, Rates::LowestBasic, world),
                            Heard::Packet(packet) => {
                                self.for_hosts.push((radio - self.of_kernels, packet.to_vec()));
                            }
                        }
                        continue;
                    }
                    let received = ReceivedFrame {
                        radio: hwsim::radio_address(radio as u16),
                        octets: &pending.octets,
                        rate: rates::position(rate, pending.mhz),
                        dbm: power.map_or(EQUAL_POWER, dbm),
                        mhz: pending.mhz,
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

    /// The host of the simulated station with this number sends a packet. It is dropped if too many wait, or as long as the
    /// station is not associated.
    pub(super) fn send_packet(&mut self, number: usize, packet: &[u8], world: &mut World) {
        let number = self.of_kernels + number;
        let Some(Radio { mac: Some(mac), waiting, .. }) = self.radios.get_mut(number) else { return };
        let octets_of = |key| self.frames.get(key).map_or(0, |frame| frame.octets.len() as u64);
        let octets = match mac.queue {
            QueueLimit::Octets(_) => waiting.iter().map(octets_of).sum(),
            QueueLimit::Packets(_) | QueueLimit::Unlimited => 0,
        };
        if mac.queue.has_room(waiting.len(), octets, packet.len())
            && let Some(frame) = mac.station.send(packet)
        {
            let rates = Rates::Fixed(mac.rate);
            self.send_of(number, frame, rates, world);
        }
    }

    /// The packets that simulated stations have received for their hosts, each with the number of its station.
    pub(super) fn take_received(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.for_hosts)
    }

    /// A simulated station sends a frame.
    fn send_of(&mut self, radio: usize, octets: Vec<u8>, rates: Rates, world: &mut World) {
        let Some(mac) = &self.radios[radio].mac else { return };
        let pending = Pending { radio, has_arrived: false, octets, rates, mhz: mac.mhz, of_driver: None };
        let key = self.keep(pending);
        self.radios[radio].waiting.push_back(key);
        self.transmit_next(radio, world);
    }

    /// Keeps a frame until it is done with. Returns its key.
    fn keep(&mut self, pending: Pending) -> u32 {
        let key = self.next_key;
        self.next_key = self.next_key.wrapping_add(1);
        self.frames.insert(key, pending);
        key
    }

    /// A radio answers an address, once more.
    fn answer(&mut self, radio: Option<usize>, address: [u8; 6]) -> Result<(), String> {
        let Some(radio) = radio else { return Ok(()) };
        *self.addresses.entry((radio, address)).or_default() += 1;
        let known = self.addresses.range((radio, [0; 6])..=(radio, [u8::MAX; 6])).count();
        if known > MAX_ADDRESSES {
            return Err(format!("more than {MAX_ADDRESSES} addresses of one radio"));
        }
        Ok(())
    }

    /// A radio answers an address, once less.
    fn answer_less(&mut self, radio: Option<usize>, address: [u8; 6]) {
        let Some(radio) = radio else { return };
        if let Entry::Occupied(mut times) = self.addresses.entry((radio, address)) {
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
            }
        }
    }

    fn add(
        &mut self,
        guest: usize,
        sent: &SentFrame<'_>,
        world: &mut World,
        send: impl FnMut(usize, &[u8]),
    ) -> Result<(), String> {
        let Some(radio) = self.number(guest, sent.radio) else {
            return Err(format!("a frame of a radio that it does not have: {:02x?}", sent.radio));
        };
        let rates = rates::of(&sent.stages, sent.mhz, self.radios[radio].place.standard)?;
        let SentFrame { octets, wants_status, no_ack, mhz, stages, cookie, .. } = *sent;
        let of_driver = Some(Header { wants_status, no_ack, stages, cookie });
        let is_beacon = Frame(octets).is_beacon();
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(octets);
        let key = self.keep(Pending { radio, has_arrived: false, octets: kept, rates, mhz, of_driver });
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
        let Some(Pending { octets, rates, mhz, of_driver, .. }) = self.frames.get(&key) else { return };
        // The driver does not say to which channel a radio changes: the first frame there does.
        let Place { cell, station, is_tuned, .. } = radio.place;
        let channel = channel_at(*mhz);
        if is_tuned && radio.channel != Some(channel) {
            (radio.channel, radio.is_tuning) = (Some(channel), true);
            world.tune_radio(cell, station, channel);
            return;
        }
        radio.waiting.pop_front();
        let frame = Frame(octets);
        let to = match frame.receiver() {
            Some(address) if !of_driver.is_some_and(|header| header.no_ack) => {
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
        self.radios[number].current = Some(key);
        let frame = RawFrame { to, key, octets: frame.octets_with_fcs(), rates: *rates };
        let is_taken = world.transmit(cell, station, frame);
        debug_assert!(is_taken, "a radio has one frame in the model");
    }

    /// The driver learns what became of a frame.
    fn report(&mut self, key: u32, sent: Sent, now: Instant, mut send: impl FnMut(usize, &[u8])) {
        let Some(Pending { radio, octets, of_driver, .. }) = self.frames.remove(&key) else { return };
        Self::follow_power(&mut self.radios, radio, Frame(&octets), sent, now);
        // A frame without a transmission was dropped for lack of room.
        if Frame(&octets).is_data() && sent.transmissions > 0 {
            let used = &mut self.radios[radio].used;
            used.frames += 1;
            used.transmissions += u64::from(sent.transmissions);
            used.given_up += u64::from(!sent.acknowledged);
            used.air_time += sent.air_time;
        }
        // The memory of frames of simulated stations is not needed again: they bring their own.
        let Some(header) = of_driver else { return };
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

    /// The number of the radio that a guest's driver knows by this address, if the guest has it.
    fn number(&self, guest: usize, address: [u8; 6]) -> Option<usize> {
        let number = (0..self.of_kernels).find(|number| hwsim::radio_address(*number as u16) == address)?;
        (self.radios[number].place.guest == guest).then_some(number)
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
            mac: None,
            waiting: VecDeque::new(),
            current: None,
            channel: None,
            is_tuning: false,
            dozing,
            used: Used::NOTHING,
        }
    }
}

impl From<Simulated> for Radio {
    fn from(Simulated { place, address, network, rate, queue }: Simulated) -> Self {
        let station = Station::new(
            address,
            network,
            place.standard.non_ht_rates(place.standard.usual_band()).map(Rate::kbps),
        );
        let mac = Mac { station, rate, queue, mhz: 0 };
        Self { mac: Some(mac), ..Self::at(place) }
    }
}

fn dbm(watts: f64) -> i32 {
    (10.0 * (watts * 1000.0).log10()).round() as i32
}
