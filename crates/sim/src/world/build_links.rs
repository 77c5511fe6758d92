//! Adding links: what a kind of link needs to begin.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_wifi::{ErrorModel, Position, PowerSaveConfig, StationConfig, StationId, Wlan, WlanConfig};

use super::World;
use crate::cells::{CellChannels, RadioUse};
use crate::channel::{Channel, ChannelConfig};
use crate::config::{Direction, RadioErrors, RadioLinkConfig, WiredConfig, WirelessConfig};
use crate::id::{At, LinkId, MediumId, NodeId, WlanId};
use crate::mobility::{Movement, Path, RandomWaypoint, Walker};
use crate::queue::{Managed, StationQueue};
use crate::schedule::Event;
use crate::technology::{Egress, LinkEnds};
use crate::wired::{ManagedPipe, Pipe};
use crate::wireless::Hop;

impl World {
    /// Joins two nodes by a wired link.
    pub fn add_wired_link(&mut self, first: NodeId, second: NodeId, config: &WiredConfig) -> LinkId {
        let link = self.network.add_link(&config.name, (first, second), WiredConfig::SENSES);
        let [first, second] = self.network.next_interfaces([first, second]);
        for (from, to, direction, name) in
            [(first, second, &config.forward, "forward"), (second, first, &config.backward, "backward")]
        {
            let rng = self.link_stream(config.seed, &format!("link {} loss {name}", config.name));
            let jitter = self.link_stream(config.seed, &format!("link {} jitter {name}", config.name));
            let queueing = self.link_stream(config.seed, &format!("link {} queue {name}", config.name));
            let egress = match Managed::new(&direction.queue, &direction.capacity, queueing) {
                None => {
                    let pipe = Pipe::new(link, to, direction, config.clock, [rng, jitter]);
                    Egress::Pipe(self.links.wired_mut().add(pipe))
                }
                Some(queue) => {
                    let (ends, streams) = (LinkEnds { link, from, to }, [rng, jitter]);
                    let pipe = ManagedPipe::new(ends, queue, direction, config.clock, streams);
                    Egress::ManagedPipe(self.links.managed_wired_mut().add(pipe))
                }
            };
            self.network.add_interface(from.0, link, egress);
            self.add_faults(to, direction, (config.seed, &config.name, name));
        }
        link
    }

    /// Adds a medium for wireless links to share.
    pub fn add_medium(&mut self) -> MediumId {
        self.links.wireless_mut().add_medium()
    }

    /// Joins two nodes by a wireless link.
    pub fn add_wireless_link(&mut self, first: NodeId, second: NodeId, config: &WirelessConfig) -> LinkId {
        let link = self.network.add_link(&config.name, (first, second), config.senses());
        let [first, second] = self.network.next_interfaces([first, second]);
        let channel = self.channel(&config.channel, config.seed, &config.name);
        let channel = self.links.wireless_mut().add_channel(link, channel);
        for (from, to, direction, name) in
            [(first, second, &config.forward, "forward"), (second, first, &config.backward, "backward")]
        {
            let medium = config.medium.unwrap_or_else(|| self.add_medium());
            let losses = self.link_stream(config.seed, &format!("link {} loss {name}", config.name));
            let jitter = self.link_stream(config.seed, &format!("link {} jitter {name}", config.name));
            let queueing = self.link_stream(config.seed, &format!("link {} queue {name}", config.name));
            let hop = self.links.wireless_mut().add_hop(Hop::new(
                LinkEnds { link, from, to },
                (medium, channel),
                direction,
                config.clock,
                config.link_layer,
                [losses, jitter, queueing],
            ));
            self.network.add_interface(from.0, link, Egress::Hop(hop));
            self.add_faults(to, direction, (config.seed, &config.name, name));
        }
        link
    }

    /// Adds an 802.11 cell. Its name is that of its streams of randomness.
    pub fn add_wlan(&mut self, name: &str, config: WlanConfig) -> WlanId {
        let seed = self.stream(&format!("wlan {name}")).next_u64();
        let channels = CellChannels::new(seed, config.errors.control);
        let wlan = Wlan::with_error_model(config, seed, channels);
        self.links.cells_mut().add(wlan, self.transit.telemetry().interests())
    }

    /// Gives a node a radio in a cell, before the cell's first frame. An access point is a station
    /// like any other here: what makes it one is that the links of the others lead to it.
    pub fn add_station(&mut self, wlan: WlanId, node: NodeId, config: &StationConfig) -> StationId {
        self.add_station_with(wlan, node, config, &StationQueue::Mac)
    }

    /// As [`Self::add_station`], for a station whose packets may wait above its MAC.
    pub fn add_station_with(
        &mut self,
        wlan: WlanId,
        node: NodeId,
        config: &StationConfig,
        queue: &StationQueue,
    ) -> StationId {
        let rng = self.stream(&format!("wlan {} queue of node {}", wlan.index(), node.index()));
        self.links.cells_mut().cell_mut(wlan).add_station(node, config, (queue, rng))
    }

    /// Gives a cell power save, after its last station and before its first frame: these stations are
    /// in power-save mode.
    pub fn save_power(
        &mut self,
        wlan: WlanId,
        access_point: StationId,
        stations: &[StationId],
        config: PowerSaveConfig,
    ) {
        let cell = self.links.cells_mut().cell_mut(wlan);
        cell.save_power(access_point, stations, config, &mut self.transit);
    }

    /// Joins two stations' nodes by a link over the air. In an infrastructure network there is one
    /// between the access point and each station, so that stations reach each other through it; in
    /// an ad hoc network one between each pair that may talk.
    pub fn add_radio_link(
        &mut self,
        name: &str,
        wlan: WlanId,
        first: StationId,
        second: StationId,
    ) -> LinkId {
        self.add_radio_link_with(&RadioLinkConfig::new(name), wlan, first, second)
    }

    /// As [`Self::add_radio_link`], for a link with properties of its own.
    pub fn add_radio_link_with(
        &mut self,
        config: &RadioLinkConfig,
        wlan: WlanId,
        first: StationId,
        second: StationId,
    ) -> LinkId {
        let RadioLinkConfig { name, channel, delay, seed } = config;
        let cell = self.links.cells().cell(wlan);
        let ends = (cell.node(first), cell.node(second));
        let link = self.network.add_link(name, ends, cell.senses());
        let interfaces = self.network.next_interfaces([ends.0, ends.1]);
        for ((node, interface), stations) in interfaces.into_iter().zip([(first, second), (second, first)]) {
            let port = self.links.cells_mut().add_port((link, *delay), wlan, stations, interface);
            self.network.add_interface(node, link, Egress::Radio(port));
        }
        if let Some(channel) = channel {
            let channel = self.channel(channel, *seed, name);
            self.links.cells_mut().cell_mut(wlan).set_channel((first, second), channel);
        }
        link
    }

    /// The channel of a link of this name.
    fn channel(&self, config: &ChannelConfig, seed: Option<u64>, link: &str) -> Channel {
        let sojourns = self.link_stream(seed, &format!("link {link} stays"));
        let losses = self.link_stream(seed, &format!("link {link} losses"));
        Channel::new(config.clone(), Instant::ZERO, sojourns, losses)
    }

    /// Gives each direction between two stations of a cell a channel of its own, besides the errors of
    /// the cell, before the cell's first frame; where [`Self::set_radio_errors`] says otherwise, that
    /// applies.
    pub fn set_radio_channels(&mut self, wlan: WlanId, channel: ChannelConfig) {
        self.links.cells_mut().cell_mut(wlan).wlan_mut().error_model_mut().set_default(channel);
    }

    /// Sets the errors of one direction between two stations of a cell, instead of the cell's.
    pub fn set_radio_errors(
        &mut self,
        wlan: WlanId,
        from: StationId,
        to: StationId,
        errors: impl Into<RadioErrors>,
    ) {
        let RadioErrors { frames, channel } = errors.into();
        let wlan = self.links.cells_mut().cell_mut(wlan).wlan_mut();
        wlan.error_model_mut().configure((from, to), channel, frames.control);
        wlan.set_errors(from, to, frames);
    }

    /// Stations of a cell are at other places from now on.
    pub fn move_stations(&mut self, wlan: WlanId, positions: &[(StationId, Position)]) {
        self.links.cells_mut().cell_mut(wlan).move_stations(positions, &mut self.transit);
    }

    /// A cell as it stands.
    pub fn wlan(&self, wlan: WlanId) -> &Wlan<impl ErrorModel> {
        self.links.cells().cell(wlan).wlan()
    }

    /// A station's use of the air so far, or since [`World::start_measuring`].
    pub fn radio_use(&self, wlan: WlanId, station: StationId) -> RadioUse {
        let used = self.links.cells().cell(wlan).radio_use(station, self.now());
        self.warm_up.radio(wlan, station).map_or(used, |earlier| used.since(earlier))
    }

    /// Adds the faults of packets that arrive here, by a link of this seed and name, in the direction of this
    /// name.
    fn add_faults(&mut self, to: At, direction: &Direction, (seed, link, name): (Option<u64>, &str, &str)) {
        let rng = self.link_stream(seed, &format!("link {link} faults {name}"));
        self.faults.add(to, direction.faults, rng);
    }

    /// A stream of a link that may have a seed of its own.
    fn link_stream(&self, own_seed: Option<u64>, name: &str) -> Rng {
        Rng::named(own_seed.unwrap_or(self.seed), name)
    }
}

/// Stations that walk.
impl World {
    /// Makes stations of a cell walk from where they stand, from now on. Each has a stream of
    /// randomness of its own, by its cell's and its node's name, so that it walks the same way
    /// whatever else happens.
    pub fn walk(&mut self, wlan: WlanId, name: &str, model: RandomWaypoint, stations: &[StationId]) {
        let now = self.transit.now();
        let walker = |&station: &StationId| {
            let node = self.links.cells().cell(wlan).node(station);
            let rng = self.stream(&format!("wlan {name} walk {}", self.node_name(node)));
            let at = self.wlan(wlan).position(station);
            (station, at, Walker::new(&model, at, now, rng))
        };
        let movement = Movement::random(model, stations.iter().map(walker).collect());
        self.set_movement(wlan, movement);
    }

    /// Makes stations of a cell follow paths, from now on. Their positions are updated each `interval`, while they
    /// move.
    pub fn follow_paths(&mut self, wlan: WlanId, interval: Duration, paths: Vec<(StationId, Path)>) {
        let from = |(station, path)| (station, self.wlan(wlan).position(station), path);
        let movement = Movement::along(interval, paths.into_iter().map(from).collect());
        self.set_movement(wlan, movement);
    }

    fn set_movement(&mut self, wlan: WlanId, movement: Movement) {
        let Some(first) = movement.next_step(self.transit.now()) else { return };
        self.links.cells_mut().cell_mut(wlan).wlan_mut().expect_moves();
        self.movements.set(wlan, movement);
        self.transit.schedule(first, Event::Movement(wlan));
    }

    pub(super) fn on_movement(&mut self, wlan: WlanId) {
        let now = self.transit.now();
        let Some(movement) = self.movements.of(wlan) else { return };
        let cell = self.links.cells_mut().cell_mut(wlan);
        cell.move_stations(movement.positions(now), &mut self.transit);
        if let Some(next) = movement.next_step(now) {
            self.transit.schedule(next, Event::Movement(wlan));
        }
    }
}
