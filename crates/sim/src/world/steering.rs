//! Controllers that steer clients between the access points of a service set.

use std::time::Duration;

use lasthop_ess::SteeringCounters;

use super::World;
use crate::id::ServiceSetId;
use crate::schedule::Event;
use crate::service_sets::SteeringConfig;

impl World {
    /// Gives a service set a controller, which looks at its access points each interval from now on. Their reports to it and
    /// its orders take no time.
    ///
    /// # Panics
    ///
    /// Unless the interval and the difference in load are above zero.
    pub fn control(&mut self, set: ServiceSetId, config: SteeringConfig) {
        let interval = config.controller.interval;
        assert!(interval > Duration::ZERO, "expected an interval above zero");
        self.service_sets.control(set, config);
        self.transit.schedule(self.transit.now() + interval, Event::SteeringDue(set));
    }

    /// What became of the requests of a service set's controller; `None` if it has none.
    pub fn steering_counters(&self, set: ServiceSetId) -> Option<SteeringCounters> {
        self.service_sets.steering_counters(set)
    }

    /// A controller looks at its access points.
    #[inline(never)]
    pub(super) fn on_steering_due(&mut self, set: ServiceSetId) {
        let cell = self.links.cells().cell(self.service_sets.cell(set));
        let now = self.transit.now();
        let used = cell.radio_uses(now).into_iter().map(|used| used.air_time).collect();
        let Some(interval) = self.service_sets.look_at_loads(set, used, &mut self.transit) else { return };
        self.transit.schedule(now + interval, Event::SteeringDue(set));
        self.carry_out_actions();
    }
}
