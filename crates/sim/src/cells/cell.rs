//! A cell: frames go into its stations' queues; its outputs are packets that arrive, and fates of frames for
//! agents, routing and observers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_packet::{Instant, Rng};
use lasthop_wifi::{
    Channel as WifiChannel, Fate, FrameTimes, MacFrame, Output as WlanOutput, Position, PowerSaveConfig,
    RawFrame, Receiver, Scheduler, StationConfig, StationId, Wlan,
};

use super::channels::CellChannels;
use super::queues::Queues;
use super::station::{Arrival, Hands, Port, RadioUse};
use super::stations::Stations;
use crate::accounts::DropCause;
use crate::channel::{Channel, Flip};
use crate::config::RadioLinkConfig;
use crate::counters::Counters;
use crate::id::{NodeId, PortId, WlanId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::queue::StationQueue;
use crate::schedule::{Event, LazyTimer};
use crate::technology::{Addressee, Admission, FrameFate, Output, Sent, StationEvent};
use crate::transit::Transit;

/// Interests of observers who receive the fates of frames that arrive.
const OF_FATES: Interest = Interest::FATES.union(Interest::FRAMES);

/// A cell, and the nodes that its stations belong to.
pub(crate) struct Cell {
    id: WlanId,
    wlan: Wlan<CellChannels>,
    stations: Stations,
    /// Whether its stations aggregate, unless they save power.
    aggregates: bool,
    /// Whether an agent receives each transmission.
    has_attentive_agent: bool,
    timer: LazyTimer,
    queues: Queues,
    /// What still follows from the fate that it reported last.
    rest: Option<(Rest, SentFrame)>,
    /// Packets that have come through and have not reached their node, by the port of their receiver that
    /// leads back to their sender. Each link has one delay, so they stay in order.
    delayed: BTreeMap<PortId, VecDeque<PacketKey>>,
}

/// What follows from a frame's fate, step by step. Between two of these the world carries out what came of the
/// first.
#[derive(Clone, Copy)]
enum Rest {
    /// The frame was given up: its receiver may be out of reach.
    GivenUp,
    /// Its station is done with it.
    Ended,
    /// The next frame is at the head of the station's queue.
    Next,
    /// Frames to the same receiver could take another way.
    Broken,
}

/// A frame whose fate is reported.
#[derive(Clone, Copy)]
struct SentFrame {
    from: StationId,
    frame: MacFrame,
    fate: Fate,
    transmissions: u32,
    /// Nanoseconds for which its sender has transmitted for it.
    air_time: u64,
}

/// Its stations.
impl Cell {
    pub(super) fn new(
        id: WlanId,
        mut wlan: Wlan<CellChannels>,
        reports_fates: bool,
        interests: Interest,
    ) -> Self {
        wlan.report_attempts(interests.contains(Interest::FRAMES));
        wlan.report_fates(reports_fates || interests.intersects(OF_FATES));
        Self {
            id,
            aggregates: wlan.aggregates(),
            wlan,
            stations: Stations::default(),
            has_attentive_agent: false,
            timer: LazyTimer::default(),
            queues: Queues::default(),
            rest: None,
            delayed: BTreeMap::new(),
        }
    }

    /// `queue`, with randomness of its own: where the packets of the station wait.
    pub(crate) fn add_station(
        &mut self,
        node: NodeId,
        config: &StationConfig,
        queue: (&StationQueue, Rng),
    ) -> StationId {
        let config = self.queues.add(&self.wlan, config.clone(), queue);
        let hands = match config.scheduler {
            _ if self.wlan.aggregates() => Hands::ByPacket,
            Scheduler::PerReceiver => Hands::ByReceiver,
            Scheduler::Fifo | Scheduler::PerFlow => Hands::One,
        };
        let station = self.wlan.add_station(&config);
        if hands != Hands::One || self.queues.is_above(station) {
            self.report_fates();
        }
        self.stations.add(node, hands);
        station
    }

    pub(super) const fn stations(&self) -> &Stations {
        &self.stations
    }

    /// As [`Self::stations`].
    pub(super) const fn stations_mut(&mut self) -> &mut Stations {
        &mut self.stations
    }

    pub(crate) const fn wlan(&self) -> &Wlan<CellChannels> {
        &self.wlan
    }

    /// As [`Self::wlan`], for changes that are not events of the cell.
    pub(crate) const fn wlan_mut(&mut self) -> &mut Wlan<CellChannels> {
        &mut self.wlan
    }

    pub(crate) fn node(&self, station: StationId) -> NodeId {
        self.stations.node(station)
    }

    /// What agents at the ends of its links can see.
    pub(crate) const fn senses(&self) -> LinkSenses {
        RadioLinkConfig::senses(self.aggregates)
    }

    /// A station's use of the air so far.
    pub(crate) fn radio_use(&self, station: StationId, now: Instant) -> RadioUse {
        let awake = self.wlan.awake_time(station, now).map(Duration::from_nanos);
        RadioUse::new(self.wlan.used(station), self.wlan.air_time_to(station), awake)
    }

    /// Each station's use of the air so far.
    pub(crate) fn radio_uses(&self, now: Instant) -> Vec<RadioUse> {
        self.stations.all().map(|station| self.radio_use(station, now)).collect()
    }

    /// Gives the cell power save, after its last station.
    pub(crate) fn save_power(
        &mut self,
        access_point: StationId,
        stations: &[StationId],
        config: PowerSaveConfig,
        transit: &mut Transit,
    ) {
        self.wlan.save_power(access_point, stations, config);
        self.follow(transit);
    }

    pub(crate) fn move_stations(&mut self, positions: &[(StationId, Position)], transit: &mut Transit) {
        self.wlan.move_stations(transit.now(), positions);
        self.follow(transit);
    }

    pub(super) fn tune(&mut self, station: StationId, channel: Option<WifiChannel>, transit: &mut Transit) {
        self.wlan.tune(transit.now(), station, channel);
        self.follow(transit);
    }

    pub(super) fn send_raw(&mut self, from: StationId, frame: RawFrame, transit: &mut Transit) -> bool {
        let is_queued = self.wlan.enqueue_raw(transit.now(), from, frame);
        self.follow(transit);
        is_queued
    }

    /// A station exchanges data only with stations that it is associated with.
    pub(crate) fn needs_association(&mut self, station: StationId) {
        // Frames that a station takes back may have arrived.
        self.report_fates();
        self.stations.of_mut(station).needs_association();
    }

    /// A station is associated with another one from now on, or no longer.
    pub(crate) fn associate(&mut self, station: StationId, with: StationId, is_associated: bool) {
        self.stations.of_mut(station).associate(with, is_associated);
    }

    pub(super) const fn counters(&self) -> Counters {
        let counted = self.wlan.counters();
        Counters {
            events: 0,
            frames_sent: counted.attempts,
            frames_lost: counted.failures - counted.acks_lost,
            frames_given_up: counted.given_up,
            link_acks_lost: counted.acks_lost,
            duplicate_frames: counted.duplicates,
        }
    }
}

/// What it reports.
impl Cell {
    /// From now on all fates are reported: what a station's node knows of its frames is brought to the
    /// present, and kept there.
    pub(super) fn report_fates(&mut self) {
        if self.wlan.reports_fates() {
            return;
        }
        self.wlan.report_fates(true);
        for station in self.stations.all() {
            // Where there are several hands fates have been reported from the start.
            let hand = self.stations.of_mut(station).only_hand();
            let head = self.wlan.head(station).map(|head| PacketKey(head.key));
            hand.catch_up(self.wlan.used(station).frames, head);
            if self.wlan.head_has_arrived(station) {
                hand.has_arrived(Arrival::Moved);
            }
        }
    }

    /// An agent watches a port from now on, and needs these senses.
    pub(super) fn watch(&mut self, from: StationId, to: StationId, needs: LinkSenses) {
        self.stations.of_mut(from).watch(to);
        self.watch_station(from, needs);
    }

    /// As [`Self::watch`], of ports of a station that are added later.
    pub(crate) fn watch_station(&mut self, from: StationId, needs: LinkSenses) {
        self.report_fates();
        if needs.contains(LinkSenses::LINK_OPTIONS) {
            self.wlan.set_knows_options(from, true);
        }
        if needs.intersects(crate::config::OPTIONS) {
            self.wlan.report_transmissions(true);
        }
        if needs.contains(LinkSenses::ATTEMPTS) {
            self.has_attentive_agent = true;
            self.wlan.report_attempts(true);
        }
    }

    /// Observers have these interests from now on.
    pub(super) fn observe(&mut self, interests: Interest) {
        self.wlan.report_attempts(interests.contains(Interest::FRAMES) || self.has_attentive_agent);
        if interests.intersects(OF_FATES) {
            self.report_fates();
        }
    }

    /// Gives the link between two stations a channel.
    pub(crate) fn set_channel(&mut self, between: (StationId, StationId), channel: Channel) {
        if channel.is_forced() {
            // The last fate of a packet ends what is done to it.
            self.report_fates();
            if self.wlan.aggregates() {
                // Which packets go together has to be known before errors are drawn.
                self.wlan.expect_moves();
            }
        }
        self.wlan.error_model_mut().add_link(between, channel);
    }

    /// Brings its channels up to now.
    pub(super) fn catch_up_channels(&mut self, transit: &mut Transit) {
        self.wlan.error_model_mut().catch_up(transit.now());
        self.report_channels(transit);
    }

    /// Reports the changes of its channels since the last call.
    #[cold]
    fn report_channels(&mut self, transit: &mut Transit) {
        for ((one, other), Flip { at, good }) in self.wlan.error_model_mut().take_changes() {
            if let Some(port) = self.stations.port(one, other) {
                transit.emit(&TraceEvent::ChannelState { link: port.link, at, good });
            }
        }
    }
}

/// Its queues and events.
impl Cell {
    /// A packet goes into the queue of a station. `follows`: whether the cell's next event may have changed
    /// with that.
    pub(super) fn enqueue(
        &mut self,
        from: StationId,
        frame: MacFrame,
        follows: bool,
        transit: &mut Transit,
    ) -> Admission {
        let had_head = self.wlan.head(from).is_some();
        let admission = self.queues.enqueue(&mut self.wlan, (from, frame), transit);
        if let Admission::Dropped(_) = admission {
            return admission;
        }
        if follows {
            self.follow(transit);
        }
        if had_head || self.wlan.head(from) != Some(frame) {
            return admission;
        }
        self.stations.of_mut(from).hand_mut(frame).depart(PacketKey(frame.key));
        self.wlan.error_model_mut().packet_begins(from, frame, transit);
        Admission::Departs
    }

    pub(super) const fn queues(&self) -> &Queues {
        &self.queues
    }

    /// As [`Self::queues`].
    pub(super) const fn queues_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }

    /// Frames of a station for another one wait from now on, those in its queue among them; at most this many.
    pub(super) fn hold(&mut self, from: StationId, to: StationId, limit: usize, transit: &mut Transit) {
        self.queues.hold(&mut self.wlan, (from, to), limit, transit);
    }

    /// The packets in a station's queue wait until it is back on its channel, if they have to wait. The others are
    /// returned. The station is off the air.
    pub(crate) fn clear_queue(&mut self, station: StationId, transit: &mut Transit) -> Vec<PacketKey> {
        let mut gone = Vec::new();
        let flushed = self.queues.flush(&mut self.wlan, station, transit);
        for (frame, has_arrived) in flushed {
            self.wlan.error_model_mut().packet_ends(station, frame, transit.now());
            let key = PacketKey(frame.key);
            match self.stations.of_mut(station).withdraw(frame) {
                // It waits for others at its receiver.
                Arrival::NotYet if has_arrived => {}
                Arrival::NotYet if self.queues.return_frame(station, frame) => {}
                Arrival::NotYet => gone.push(key),
                Arrival::Copied => transit.packets_mut().remove(key),
                Arrival::Moved if self.pins() => transit.packets_mut().unpin(key),
                Arrival::Moved | Arrival::Held => {}
            }
        }
        gone
    }

    /// Frames wait no longer. Those for which the station's queue has no room are [displaced](Self::next_displaced).
    pub(super) fn release(&mut self, from: StationId, to: StationId, transit: &mut Transit) {
        for frame in self.queues.end_hold((from, to)) {
            if let Admission::Dropped(_) = self.enqueue(from, frame, true, transit) {
                self.queues.displace_held(frame);
            }
        }
    }

    /// Takes the frames of a station for another one out of its queue.
    pub(crate) fn withdraw(
        &mut self,
        from: StationId,
        to: StationId,
        transit: &mut Transit,
    ) -> Vec<MacFrame> {
        self.queues.withdraw(&mut self.wlan, (from, to), transit)
    }

    /// Packets and octets that wait in the queue of a station.
    pub(super) fn queue(&self, from: StationId) -> (usize, u64) {
        let (packets, octets) = self.queues.size(&self.wlan, from);
        let has_departed = |frame: &MacFrame| {
            let hand = self.stations.of(from).hand(*frame);
            !self.wlan.reports_fates() || hand.has_departed(PacketKey(frame.key))
        };
        match self.wlan.head(from).filter(|frame| !has_departed(frame)) {
            Some(next) => (packets + 1, octets + u64::from(next.octets)),
            None => (packets, octets),
        }
    }

    /// Its timer has fired. Whether it has had an event.
    pub(super) fn on_event(&mut self, transit: &mut Transit) -> bool {
        let is_due = self.timer.fired(transit.now());
        if is_due {
            self.go_on(transit);
        }
        is_due
    }

    /// All is carried out that came of its latest event. Mostly its next event is the next of all: if so, and if
    /// it may continue, it has that at once. Whether it has had it.
    #[inline]
    pub(super) fn goes_on(&mut self, may: bool, transit: &mut Transit) -> bool {
        let goes_on = may && self.wlan.next_event_at().is_some_and(|at| at < transit.horizon());
        if goes_on {
            self.timer.forestall();
            self.go_on(transit);
        } else {
            self.follow(transit);
        }
        goes_on
    }

    /// Does what is due, and what would be next of all events to come, until there is something to report.
    #[inline]
    fn go_on(&mut self, transit: &mut Transit) {
        let (last, later) = self.wlan.go_on(transit.now(), transit.horizon());
        transit.skip_to(last, later);
        if self.wlan.error_model().has_changes() {
            self.report_channels(transit);
        }
    }

    /// Follows the time of its next event.
    fn follow(&mut self, transit: &mut Transit) {
        transit.follow(&mut self.timer, self.wlan.next_event_at(), Event::Radio(self.id));
    }
}

/// What comes of its latest event.
impl Cell {
    #[inline]
    pub(super) fn has_output(&self) -> bool {
        self.rest.is_some() || self.wlan.has_output() || self.queues.have_drops()
    }

    /// What comes of its latest event next.
    pub(super) fn next_output(&mut self, transit: &mut Transit) -> Option<Output> {
        loop {
            let output = if let Some((rest, sent)) = self.rest {
                self.follow_fate(rest, sent, transit)
            } else if self.queues.have_drops() {
                self.report_drop()
            } else if self.wlan.has_output() {
                self.pass_on(transit)
            } else {
                return None;
            };
            if output.is_some() {
                return output;
            }
        }
    }

    #[inline]
    fn pass_on(&mut self, transit: &mut Transit) -> Option<Output> {
        match self.wlan.poll()? {
            WlanOutput::Delivered { at, from, frame } => self.deliver((from, at), frame, transit),
            other => self.pass_on_other(other, transit),
        }
    }

    #[inline(never)]
    fn pass_on_other(&mut self, output: WlanOutput, transit: &mut Transit) -> Option<Output> {
        match output {
            WlanOutput::Delivered { at, from, frame } => self.deliver((from, at), frame, transit),
            WlanOutput::RawDelivered { at, from, key, rate, power } => {
                Some(Output::Station(self.id, StationEvent::Frame { at, from, key, rate, power }))
            }
            WlanOutput::RawFate { from, key, acknowledged, transmissions, air_time } => {
                let sent = Sent { acknowledged, transmissions, air_time };
                Some(Output::Station(self.id, StationEvent::Sent { from, key, sent }))
            }
            WlanOutput::Tuned { station, channel } => {
                Some(Output::Station(self.id, StationEvent::Tuned { station, channel }))
            }
            WlanOutput::Departs { from, frame } => self.depart(from, frame, transit),
            WlanOutput::TooOld { from, frame } => {
                self.queues.complete(&mut self.wlan, (from, frame), 0, transit);
                let at = self.stations.port_of(from, frame)?.at;
                Some(Output::TooOld { at, key: PacketKey(frame.key), cause: DropCause::PowerSave })
            }
            WlanOutput::Transmission { from, frame, has_options, times } => {
                let (at, key) = self.stations.recipient(from, frame)?;
                if !has_options && transit.packet(key).link_options().is_some() {
                    transit.packets_mut().edit(key, |packet| packet.set_link_options(None));
                }
                Some(Output::Transmission { at, key, times: agents_times(times) })
            }
            WlanOutput::Attempt { from, frame, began, transmission, lost, acknowledged } => {
                self.stations.trace_attempt((from, frame), transmission, (lost, acknowledged), transit);
                let (at, key) = self.stations.recipient(from, frame)?;
                Some(Output::Attempt { at, key, transmission, began, is_confirmed: acknowledged })
            }
            WlanOutput::Fate { from, frame, fate, arrived, transmissions, queueing, access, air_time } => {
                let sent = SentFrame { from, frame, fate, transmissions, air_time };
                let unnoted = if self.wlan.aggregates() { Arrival::Held } else { Arrival::Moved };
                let hand = self.stations.of_mut(from).hand_mut(frame);
                if arrived {
                    hand.has_arrived(unnoted);
                }
                match fate {
                    Fate::FirstTransmissionFailed => {}
                    Fate::GivenUp => self.rest = Some((Rest::GivenUp, sent)),
                    Fate::Delivered => {
                        if hand.arrival() == Arrival::Moved {
                            // What most frames come to, on a way of its own.
                            self.end(sent, transit);
                            return self.depart_next(from, transit);
                        }
                        self.rest = Some((Rest::Ended, sent));
                    }
                }
                let (at, key) = self.stations.recipient(from, frame)?;
                let link = self.stations.port_of(from, frame)?.link;
                let [queueing, access, air_time] = [queueing, access, air_time].map(Duration::from_nanos);
                let fate = agents_fate(fate);
                let fate = FrameFate { fate, transmissions, queueing, access: Some(access), air_time };
                Some(Output::Fate { at, link, key, fate })
            }
        }
    }

    #[inline(never)]
    fn follow_fate(&mut self, rest: Rest, sent: SentFrame, transit: &mut Transit) -> Option<Output> {
        let (next, output) = match rest {
            Rest::GivenUp => (
                Some(Rest::Ended),
                self.stations.give_up((sent.from, sent.frame), sent.transmissions, transit),
            ),
            Rest::Ended => (Some(Rest::Next), self.end(sent, transit)),
            Rest::Next => {
                ((sent.fate == Fate::GivenUp).then_some(Rest::Broken), self.depart_next(sent.from, transit))
            }
            Rest::Broken => {
                let port = self.stations.port_of(sent.from, sent.frame);
                (None, port.map(|port| Output::LinkBroken { at: port.at }))
            }
        };
        self.rest = next.map(|rest| (rest, sent));
        output
    }

    #[inline]
    fn deliver(
        &mut self,
        (from, at): (StationId, StationId),
        frame: MacFrame,
        transit: &mut Transit,
    ) -> Option<Output> {
        let mut key = PacketKey(frame.key);
        let back = self.stations.port(at, from);
        if frame.to == Receiver::Broadcast {
            return Some(Output::Heard {
                node: self.stations.node(at),
                link: back.map(|back| back.link),
                key,
            });
        }
        let Port { id: back, link, at: receiver, is_watched: is_understood, delay } = *back?;
        if self.wlan.reports_fates() {
            key = self.note_arrival((from, at), frame, transit)?;
        }
        if !is_understood && self.wlan.reports_transmissions() {
            transit.packets_mut().edit(key, |packet| packet.set_link_options(None));
        }
        if !self.stations.of(at).takes_from(from) {
            return Some(Output::Station(self.id, StationEvent::NotAssociated { at, from, key }));
        }
        if !delay.is_zero() {
            self.delay(back, key);
            transit.schedule(transit.now() + delay, Event::RadioArrival(back));
            return None;
        }
        Some(Output::Arrived { at: receiver, link, key })
    }

    /// A frame arrives whose fate is to be reported to its sender. Returns the packet that goes on.
    #[inline(never)]
    fn note_arrival(
        &mut self,
        (from, at): (StationId, StationId),
        frame: MacFrame,
        transit: &mut Transit,
    ) -> Option<PacketKey> {
        let key = PacketKey(frame.key);
        let is_wanted = self.stations.port(from, at)?.is_watched || transit.is_interested(OF_FATES);
        let sender = self.stations.of_mut(from);
        // A frame that has waited for others may be done with at its sender.
        if !sender.has_in_hand(frame) {
            return Some(key);
        }
        sender.hand_mut(frame).set_arrival(if is_wanted { Arrival::Copied } else { Arrival::Moved });
        if is_wanted && let Some(copy) = transit.packets_mut().copy(key) {
            return Some(copy);
        }
        if self.pins() {
            transit.packets_mut().pin(key);
        }
        Some(key)
    }

    /// Whether no other packet may take the place of one before its sender has learned that it has arrived.
    fn pins(&self) -> bool {
        self.queues.are_any_above() || self.wlan.aggregates()
    }

    #[cold]
    fn delay(&mut self, back: PortId, key: PacketKey) {
        self.delayed.entry(back).or_default().push_back(key);
    }

    /// The first packet that is delayed on its way to `at` reaches its node.
    #[cold]
    pub(super) fn arrive(&mut self, at: StationId, from: StationId) -> Option<Output> {
        let Port { id, at, link, .. } = *self.stations.port(at, from)?;
        let key = self.delayed.get_mut(&id)?.pop_front()?;
        Some(Output::Arrived { at, link, key })
    }

    /// Reports a packet that was dropped from the queues above a MAC.
    #[cold]
    fn report_drop(&mut self) -> Option<Output> {
        let (from, to, key, cause) = self.queues.next_drop()?;
        let radio = self.stations.of(from);
        let port = match to {
            Receiver::Station(to) => radio.port(to)?,
            Receiver::Broadcast => radio.first_port()?,
        };
        Some(Output::TooOld { at: port.at, key, cause })
    }

    fn end(&mut self, sent: SentFrame, transit: &mut Transit) -> Option<Output> {
        let SentFrame { from, frame, air_time, .. } = sent;
        self.queues.complete(&mut self.wlan, (from, frame), air_time, transit);
        if self.wlan.error_model_mut().packet_ends(from, frame, transit.now()) {
            self.report_channels(transit);
        }
        let link = self.stations.port_of(from, frame).map(|port| port.link);
        let pins = self.pins();
        let radio = self.stations.of_mut(from);
        let key = PacketKey(frame.key);
        match radio.is_through_with(frame) {
            Arrival::Moved if pins => transit.packets_mut().unpin(key),
            Arrival::Moved | Arrival::Held => {}
            Arrival::Copied => transit.packets_mut().remove(key),
            Arrival::NotYet if frame.to == Receiver::Broadcast => {
                transit.accounts_mut().broadcast += 1;
                transit.packets_mut().remove(key);
            }
            Arrival::NotYet if self.queues.return_frame(from, frame) => {}
            Arrival::NotYet => {
                return Some(Output::Lost { node: radio.node(), link, key, cause: DropCause::WirelessLoss });
            }
        }
        None
    }

    /// The next frame leaves the queue, unless it did on its arrival there: a packet that an agent
    /// sent on receiving the last one's fate.
    #[inline]
    fn depart_next(&mut self, from: StationId, transit: &mut Transit) -> Option<Output> {
        self.depart(from, self.wlan.head(from)?, transit)
    }

    /// A frame leaves the queue.
    #[inline]
    fn depart(&mut self, from: StationId, frame: MacFrame, transit: &mut Transit) -> Option<Output> {
        let radio = self.stations.of_mut(from);
        let key = PacketKey(frame.key);
        if !radio.hand_mut(frame).depart(key) {
            return None;
        }
        let (port, to) = match frame.to {
            Receiver::Station(to) => (radio.port(to)?, Addressee::Peer),
            Receiver::Broadcast => (radio.first_port()?, Addressee::Everyone),
        };
        let at = port.at;
        self.wlan.error_model_mut().packet_begins(from, frame, transit);
        Some(Output::Departs { at, to, key, time: Duration::ZERO })
    }
}

/// A frame's fate as agents receive it.
const fn agents_fate(fate: Fate) -> lasthop_agent::Fate {
    match fate {
        Fate::Delivered => lasthop_agent::Fate::Delivered,
        Fate::FirstTransmissionFailed => lasthop_agent::Fate::FirstTransmissionFailed,
        Fate::GivenUp => lasthop_agent::Fate::GivenUp,
    }
}

/// A data frame's times as agents receive them.
const fn agents_times(FrameTimes { queued, departed, began, over }: FrameTimes) -> lasthop_agent::FrameTimes {
    lasthop_agent::FrameTimes { queued, departed, began, over }
}
