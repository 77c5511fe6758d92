//! Extended service sets: access points of one network, and clients that roam between them (IEEE 802.11-2020, 4.3.5).
//!
//! The management entities are those of `lasthop_ess`. This part gives them the frames that a cell delivers and the
//! time, and returns what they ask for as [`Action`]s, which the world carries out.
//!
//! | module | what is in it |
//! |---|---|
//! | `config` | how a service set is configured |
//! | `client`, `access_point` | a member: its entity, its radio, what is due |
//! | `member` | which members there are, and where |
//! | `frames` | management frames on the air |
//! | `distribution` | the distribution system: which nodes learn where clients are |
//! | `steering` | the controller, and loads of access points |

mod access_point;
mod client;
mod config;
mod distribution;
mod frames;
mod member;
mod steering;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use lasthop_ess::access_point::Output as EntityOutput;
use lasthop_ess::controller::Order;
use lasthop_ess::{AccessPointId, ClientId, Dbm, Frame, FrameSizes, SteeringCounters};
use lasthop_packet::{Instant, Rng};
use lasthop_wifi::{Channel, Rates, RawFrame, Receiver, StationId};

use crate::id::{LinkId, MemberId, NodeId, ServiceSetId, WlanId};
use crate::schedule::Event;
use crate::transit::Transit;

use access_point::AccessPoint;
use client::Client;
pub use config::{AccessPointMember, ClientMember, ServiceSetConfig};
pub(crate) use distribution::DistributionSystem;
use frames::Frames;
use member::Member;
pub(crate) use member::{Association, Place};
use steering::Steering;
pub use steering::{Load, SteeringConfig};

/// All extended service sets.
#[derive(Default)]
pub(crate) struct ServiceSets {
    all: Vec<ServiceSet>,
    /// By member of any service set.
    members: Vec<(ServiceSetId, Member)>,
    actions: VecDeque<Action>,
}

struct ServiceSet {
    cell: WlanId,
    sizes: FrameSizes,
    access_points: Vec<AccessPoint>,
    clients: Vec<Client>,
    /// By station of the cell.
    stations: Vec<Option<Member>>,
    frames: Frames,
    distribution: DistributionSystem,
    /// Its controller, if it has one.
    steering: Option<Steering>,
    /// The number of associations so far.
    associations: u64,
}

/// Something that the world is to do.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A station sends a management frame.
    Send { cell: WlanId, from: StationId, frame: RawFrame },
    /// A station changes its channel.
    Tune { cell: WlanId, station: StationId, channel: Option<Channel> },
    /// What waits in the queue of a station that is off the air waits elsewhere, or is lost.
    Clear { cell: WlanId, station: StationId },
    /// Data frames from one station to another wait, at most this many, or no longer with `None`.
    Hold { cell: WlanId, from: StationId, to: StationId, limit: Option<usize> },
    /// A client has become associated with an access point.
    Joined(Association),
    /// A client is no longer associated with an access point.
    Left(Association),
    /// An access point has associated a client, which says that it comes from `previous`; of all associations this is
    /// the one with this number.
    Accepted { association: Association, previous: Option<AccessPointId>, number: u64 },
    /// An access point no longer serves a client.
    Removed(Association),
}

/// The signal of all frames where the propagation has no powers.
const EQUAL_SIGNAL: Dbm = Dbm(-50);

/// An access point, its channel and its node.
pub(crate) type PlacedAccessPoint = (AccessPointMember, Channel, NodeId);

/// Packets that an access point keeps for a client that is on another channel (`STA_MAX_TX_BUFFER` of Linux's mac80211).
const MAX_BUFFERED: usize = 64;
impl ServiceSets {
    /// Adds a service set, whose members begin at once; clients with their nodes and links.
    pub(crate) fn add(
        &mut self,
        (cell, config): (WlanId, ServiceSetConfig),
        (access_points, distribution): (Vec<PlacedAccessPoint>, DistributionSystem),
        clients: Vec<(ClientMember, NodeId, LinkId)>,
        rng: &mut Rng,
        transit: &mut Transit,
    ) -> ServiceSetId {
        let id = ServiceSetId::from_index(self.all.len());
        let mut set = ServiceSet {
            cell,
            sizes: config.sizes,
            access_points: Vec::new(),
            clients: Vec::new(),
            stations: Vec::new(),
            frames: Frames::default(),
            distribution,
            steering: None,
            associations: 0,
        };
        let first_member = self.members.len();
        for (index, (member, channel, node)) in access_points.into_iter().enumerate() {
            let ap = AccessPointId(index as u32);
            set.seat(member.station, Member::AccessPoint(ap));
            self.members.push((id, Member::AccessPoint(ap)));
            let channel = lasthop_ess::Channel(channel.0);
            set.access_points.push(AccessPoint::new((member, channel), node, &config, rng));
        }
        for (index, (member, node, link)) in clients.into_iter().enumerate() {
            let client = ClientId(index as u32);
            set.seat(member.station, Member::Client(client));
            self.members.push((id, Member::Client(client)));
            let start = member.start + config.first_scan.mul_f64(rng.uniform());
            let member = ClientMember { start, ..member };
            set.clients.push(Client::new(member, node, link, config.switch_time));
        }
        self.all.push(set);
        for member in first_member..self.members.len() {
            self.follow(MemberId::from_index(member), transit);
        }
        id
    }

    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// The place of an access point.
    pub(crate) fn access_point(&self, set: ServiceSetId, access_point: AccessPointId) -> Place {
        self.all[set.index()].access_points[access_point.0 as usize].place()
    }

    /// The place of a client, and its link.
    pub(crate) fn client(&self, set: ServiceSetId, client: ClientId) -> (Place, LinkId) {
        let client = &self.all[set.index()].clients[client.0 as usize];
        (client.place(), client.link())
    }

    /// Whether there are such a client and such an access point.
    pub(crate) fn has(&self, Association { set, client, access_point }: Association) -> bool {
        self.all.get(set.index()).is_some_and(|set| {
            (client.0 as usize) < set.clients.len() && (access_point.0 as usize) < set.access_points.len()
        })
    }

    /// The cell of a service set.
    pub(crate) fn cell(&self, set: ServiceSetId) -> WlanId {
        self.all[set.index()].cell
    }

    /// The access point that a client is associated with, as it knows.
    pub(crate) fn association(&self, set: ServiceSetId, client: ClientId) -> Option<AccessPointId> {
        self.all.get(set.index())?.clients.get(client.0 as usize)?.entity().access_point()
    }

    /// The service set's distribution system.
    pub(crate) fn distribution(&self, set: ServiceSetId) -> &DistributionSystem {
        &self.all[set.index()].distribution
    }

    /// The next thing to do.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn member_id(&self, set: ServiceSetId, member: Member) -> MemberId {
        let first = self.members.partition_point(|(of, _)| *of < set);
        let index = match member {
            Member::AccessPoint(ap) => ap.0 as usize,
            Member::Client(client) => self.all[set.index()].access_points.len() + client.0 as usize,
        };
        MemberId::from_index(first + index)
    }

    fn set_of_cell(&self, cell: WlanId) -> Option<ServiceSetId> {
        let index = self.all.iter().position(|set| set.cell == cell)?;
        Some(ServiceSetId::from_index(index))
    }
}

/// What happens.
impl ServiceSets {
    /// Something is due at a member.
    pub(crate) fn on_due(&mut self, id: MemberId, transit: &mut Transit) {
        let (set, member) = self.members[id.index()];
        let now = transit.now();
        match member {
            Member::AccessPoint(ap) => {
                let access_point = self.all[set.index()].access_point_mut(ap);
                if !access_point.timer_mut().fired(now) {
                    return;
                }
                access_point.entity_mut().on_timeout(now);
                if access_point.is_beacon_due(now) {
                    self.send(set, member, None, Frame::Beacon);
                }
            }
            Member::Client(id) => {
                let client = self.all[set.index()].client_mut(id);
                if !client.timer_mut().fired(now) {
                    return;
                }
                client.entity_mut().on_timeout(now);
                if let Some(channel) = client.on_switched(now) {
                    self.tune(set, id, Some(Channel(channel.0)));
                }
            }
        }
        self.carry_on(set, member, transit);
    }

    /// A station has received a management frame.
    pub(crate) fn on_frame(
        &mut self,
        cell: WlanId,
        (at, from): (StationId, StationId),
        (key, power): (u32, Option<f64>),
        transit: &mut Transit,
    ) {
        let Some(id) = self.set_of_cell(cell) else { return };
        let set = &mut self.all[id.index()];
        let (Some(at), Some(from)) = (set.member(at), set.member(from)) else { return };
        let now = transit.now();
        let Some(frame) = set.frames.get(key) else { return };
        match (at, from) {
            (Member::Client(client), Member::AccessPoint(ap)) => {
                let channel = set.access_points[ap.0 as usize].channel();
                let client = set.clients[client.0 as usize].entity_mut();
                if matches!(frame, Frame::Beacon | Frame::ProbeResponse) {
                    client.on_beacon(ap, channel, power.map_or(EQUAL_SIGNAL, Dbm::from_watts), now);
                } else {
                    client.on_frame(ap, frame, now);
                }
            }
            (Member::AccessPoint(ap), Member::Client(client)) => {
                let is_associated = set.access_points[ap.0 as usize].entity().is_associated(client);
                if let Frame::Null { power_save } = frame
                    && is_associated
                {
                    let limit = power_save.then_some(MAX_BUFFERED);
                    let from = set.access_points[ap.0 as usize].place().station;
                    let to = set.clients[client.0 as usize].place().station;
                    self.actions.push_back(Action::Hold { cell, from, to, limit });
                }
                set.access_points[ap.0 as usize].entity_mut().on_frame(client, frame, now);
            }
            _ => return,
        }
        self.carry_on(id, at, transit);
    }

    /// A management frame was sent, or given up.
    pub(crate) fn on_sent(&mut self, cell: WlanId, from: StationId, key: u32, transit: &mut Transit) {
        let Some(id) = self.set_of_cell(cell) else { return };
        let set = &mut self.all[id.index()];
        set.frames.remove(key);
        let Some(member) = set.member(from) else { return };
        match member {
            Member::AccessPoint(ap) => {
                if key == Frames::BEACON {
                    set.access_point_mut(ap).beacon_was_sent();
                }
            }
            Member::Client(client) => {
                set.client_mut(client).frame_was_sent();
                self.carry_on(id, member, transit);
            }
        }
    }

    /// A station's radio has changed its channel.
    pub(crate) fn on_tuned(
        &mut self,
        cell: WlanId,
        station: StationId,
        channel: Option<Channel>,
        transit: &mut Transit,
    ) {
        let Some(id) = self.set_of_cell(cell) else { return };
        let set = &mut self.all[id.index()];
        let Some(member @ Member::Client(client)) = set.member(station) else { return };
        if channel.is_none() {
            self.actions.push_back(Action::Clear { cell, station });
        }
        let channel = channel.map(|channel| lasthop_ess::Channel(channel.0));
        set.client_mut(client).on_tuned(channel, transit.now());
        self.carry_on(id, member, transit);
    }

    /// An access point has received data from a station that is not associated with it.
    pub(crate) fn on_data_without_association(
        &mut self,
        cell: WlanId,
        (at, from): (StationId, StationId),
        transit: &mut Transit,
    ) {
        let Some(id) = self.set_of_cell(cell) else { return };
        let set = &mut self.all[id.index()];
        if let (Some(member @ Member::AccessPoint(ap)), Some(Member::Client(client))) =
            (set.member(at), set.member(from))
        {
            set.access_point_mut(ap).entity_mut().on_data(client);
            self.carry_on(id, member, transit);
        }
    }

    /// An access point learns from the distribution system that a client has associated with another one.
    pub(crate) fn remove(&mut self, association: Association, transit: &mut Transit) {
        let Association { set, client, access_point } = association;
        self.all[set.index()].access_point_mut(access_point).entity_mut().remove(client);
        self.carry_on(set, Member::AccessPoint(access_point), transit);
    }

    /// The access point that a client is associated with asks it to go to another one.
    pub(crate) fn steer(
        &mut self,
        set: ServiceSetId,
        client: ClientId,
        candidates: &[AccessPointId],
        transit: &mut Transit,
    ) {
        let Some(access_point) = self.association(set, client) else { return };
        let entity = self.all[set.index()].access_point_mut(access_point).entity_mut();
        entity.steer(client, candidates);
        self.carry_on(set, Member::AccessPoint(access_point), transit);
    }
}

/// Its controller.
impl ServiceSets {
    pub(crate) fn control(&mut self, set: ServiceSetId, config: SteeringConfig) {
        let set = &mut self.all[set.index()];
        set.steering = Some(Steering::new(config, set.access_points.len()));
    }

    pub(crate) fn steering_counters(&self, set: ServiceSetId) -> Option<SteeringCounters> {
        Some(self.all.get(set.index())?.steering.as_ref()?.controller().counters())
    }

    /// The controller looks at the loads of access points, given the time that each station of the cell has transmitted.
    /// Returns the time until it looks again; `None` without a controller.
    pub(crate) fn look_at_loads(
        &mut self,
        id: ServiceSetId,
        used: Vec<Duration>,
        transit: &mut Transit,
    ) -> Option<Duration> {
        let set = self.all.get_mut(id.index())?;
        let clients = |ap: &AccessPoint| -> Vec<usize> {
            let clients = ap.entity().clients().map(|client| set.clients[client.0 as usize].place());
            clients.chain([ap.place()]).map(|place| place.station.index()).collect()
        };
        let stations: Vec<Vec<usize>> = set.access_points.iter().map(clients).collect();
        let steering = set.steering.as_mut()?;
        let loads = steering.loads(&stations, used);
        let interval = steering.controller().interval();
        for order in steering.controller_mut().on_loads(&loads, transit.now()) {
            let ap = self.all[id.index()].carry_out(order);
            self.carry_on(id, Member::AccessPoint(ap), transit);
        }
        Some(interval)
    }
}

/// What a member asks for.
impl ServiceSets {
    /// Carries out what a member asks for as far as this part can, and follows what is due there next.
    fn carry_on(&mut self, id: ServiceSetId, member: Member, transit: &mut Transit) {
        match member {
            Member::AccessPoint(ap) => self.carry_on_access_point(id, ap, transit.now()),
            Member::Client(client) => self.carry_on_client(id, client, transit.now()),
        }
        self.follow(self.member_id(id, member), transit);
    }

    fn carry_on_access_point(&mut self, id: ServiceSetId, ap: AccessPointId, now: Instant) {
        use lasthop_ess::access_point::Output;
        while let Some(output) = self.all[id.index()].access_point_mut(ap).entity_mut().poll() {
            self.all[id.index()].tell_controller(ap, &output, now);
            let with = |client| Association { set: id, client, access_point: ap };
            match output {
                Output::Send { to, frame } => {
                    self.send(id, Member::AccessPoint(ap), Some(Member::Client(to)), frame);
                }
                Output::Associated { client, previous } => {
                    let set = &mut self.all[id.index()];
                    set.associations += 1;
                    let (association, number) = (with(client), set.associations);
                    self.actions.push_back(Action::Accepted { association, previous, number });
                }
                Output::Disassociated { client } => self.actions.push_back(Action::Removed(with(client))),
                Output::Reported { .. } | Output::Answered { .. } => {}
            }
        }
    }

    fn carry_on_client(&mut self, id: ServiceSetId, client: ClientId, now: Instant) {
        use lasthop_ess::client::Output;
        let (mut left, mut joined) = (None, None);
        while let Some(output) = self.all[id.index()].client_mut(client).entity_mut().poll() {
            match output {
                Output::Tune(channel) => self.all[id.index()].client_mut(client).tune(channel, now),
                Output::Send { to, frame } => {
                    self.send(id, Member::Client(client), to.map(Member::AccessPoint), frame);
                }
                Output::Left { access_point, reason: _ } => left = Some(access_point),
                Output::Joined { access_point, previous: _ } => joined = Some(access_point),
            }
        }
        let set = &mut self.all[id.index()];
        if let Some(access_point) = left {
            self.actions.push_back(Action::Left(Association { set: id, client, access_point }));
            set.client_mut(client).drop_held();
        }
        if let Some(access_point) = joined {
            self.actions.push_back(Action::Joined(Association { set: id, client, access_point }));
        }
        if let Some((access_point, limit)) = set.client_mut(client).changes_hold() {
            let [from, to] = [Member::Client(client), Member::AccessPoint(access_point)]
                .map(|member| set.place(member).station);
            self.actions.push_back(Action::Hold { cell: set.cell, from, to, limit });
        }
        if set.client_mut(client).leaves_channel() {
            self.tune(id, client, None);
        }
    }

    /// A client's radio changes its channel.
    fn tune(&mut self, id: ServiceSetId, client: ClientId, channel: Option<Channel>) {
        let set = &self.all[id.index()];
        let station = set.place(Member::Client(client)).station;
        self.actions.push_back(Action::Tune { cell: set.cell, station, channel });
    }

    /// A member sends a frame to another one, or to all.
    fn send(&mut self, id: ServiceSetId, from: Member, to: Option<Member>, frame: Frame) {
        let set = &mut self.all[id.index()];
        let octets = set.sizes.octets(&frame);
        let key = set.frames.insert(frame);
        if let Member::Client(client) = from {
            set.client_mut(client).sends_frame();
        }
        let to = to.map_or(Receiver::Broadcast, |to| Receiver::Station(set.place(to).station));
        let frame = RawFrame { to, key, octets, rates: Rates::LowestBasic };
        let from = set.place(from).station;
        self.actions.push_back(Action::Send { cell: set.cell, from, frame });
    }

    fn follow(&mut self, id: MemberId, transit: &mut Transit) {
        let (set, member) = self.members[id.index()];
        let set = &mut self.all[set.index()];
        let (timer, due) = match member {
            Member::AccessPoint(ap) => set.access_points[ap.0 as usize].timer_and_due(),
            Member::Client(client) => set.clients[client.0 as usize].timer_and_due(),
        };
        let due = due.map(|due| due.max(transit.now()));
        transit.follow(timer, due, Event::ManagementDue(id));
    }
}

impl ServiceSet {
    fn seat(&mut self, station: StationId, member: Member) {
        if self.stations.len() <= station.index() {
            self.stations.resize(station.index() + 1, None);
        }
        self.stations[station.index()] = Some(member);
    }

    fn member(&self, station: StationId) -> Option<Member> {
        self.stations.get(station.index()).copied().flatten()
    }

    fn place(&self, member: Member) -> Place {
        match member {
            Member::AccessPoint(ap) => self.access_points[ap.0 as usize].place(),
            Member::Client(client) => self.clients[client.0 as usize].place(),
        }
    }

    /// An access point tells the controller what has happened to its clients.
    fn tell_controller(&mut self, ap: AccessPointId, output: &EntityOutput, now: Instant) {
        let Some(controller) = self.steering.as_mut().map(Steering::controller_mut) else { return };
        let order = match output {
            EntityOutput::Send { .. } => None,
            EntityOutput::Associated { client, .. } => {
                controller.on_associated(*client, ap, now);
                None
            }
            EntityOutput::Disassociated { client } => {
                controller.on_disassociated(*client, ap);
                None
            }
            EntityOutput::Reported { client, heard } => controller.on_report(*client, heard),
            EntityOutput::Answered { client, target } => {
                controller.on_response(*client, *target, now);
                None
            }
        };
        if let Some(order) = order {
            self.carry_out(order);
        }
    }

    /// Carries out what the controller orders. Returns the access point that has something to do.
    fn carry_out(&mut self, order: Order) -> AccessPointId {
        match order {
            Order::Measure { access_point, client, others } => {
                let channels = others.iter().map(|other| self.access_points[other.0 as usize].channel());
                let channels: BTreeSet<_> = channels.collect();
                let entity = self.access_point_mut(access_point).entity_mut();
                entity.measure(client, channels.into_iter().collect());
                access_point
            }
            Order::Steer { access_point, client, candidates } => {
                self.access_point_mut(access_point).entity_mut().steer(client, &candidates);
                access_point
            }
        }
    }

    fn access_point_mut(&mut self, id: AccessPointId) -> &mut AccessPoint {
        &mut self.access_points[id.0 as usize]
    }

    fn client_mut(&mut self, id: ClientId) -> &mut Client {
        &mut self.clients[id.0 as usize]
    }
}
