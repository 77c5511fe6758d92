//! Where the packets of a station wait, and which of them is sent next.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::queue::{AirtimeConfig, AirtimeLimits, DriverQueue, FqCoDelConfig, StationQueue};
use lasthop_sim::{Discipline, QueueConfig, QueueLimit, StationId};
use lasthop_wifi::{Format, Scheduler, Standard};
use schemars::JsonSchema;
use serde::Deserialize;

use super::scheduler::{LimitsName, SchedulerName, SchedulerTable};
use super::table::{StationTable, WlanTable};
use crate::file::link::queue::{self, Defaults, QueueTable};
use crate::file::named::NameOrTable;
use crate::file::quantity::{Text, Whole};
use crate::file::reader::Reader;
use crate::model::Waiting;

/// Keys of a cell's stations that differ in a row of the comparison.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct RowTable {
    /// As in the cell's table.
    queue: Option<NameOrTable<QueueTable>>,
    /// As in the cell's table.
    scheduler: Option<NameOrTable<SchedulerTable>>,
    /// As in the cell's table.
    driver_queue: Option<Text<DriverQueue>>,
}

/// Keys of one table that say where packets wait.
#[derive(Clone)]
struct Keys<'a> {
    place: Vec<&'a str>,
    queue: Option<&'a NameOrTable<QueueTable>>,
    scheduler: Option<&'a NameOrTable<SchedulerTable>>,
    driver_queue: Option<Text<DriverQueue>>,
}

impl<'a> Keys<'a> {
    /// Of a cell.
    fn of_cell(name: &'a str, table: &'a WlanTable) -> Self {
        let WlanTable { queue, scheduler, driver_queue, .. } = table;
        let place = vec!["wlans", name];
        Self { place, queue: queue.as_ref(), scheduler: scheduler.as_ref(), driver_queue: *driver_queue }
    }

    /// Of a cell, in the row with this index.
    fn of_row(index: &'a str, name: &'a str, table: &'a RowTable) -> Self {
        let RowTable { queue, scheduler, driver_queue } = table;
        let place = vec!["schemes", index, "wlans", name];
        Self { place, queue: queue.as_ref(), scheduler: scheduler.as_ref(), driver_queue: *driver_queue }
    }

    /// Of a station.
    fn of_station(name: &'a str, node: &'a str, table: &'a StationTable) -> Self {
        let StationTable { queue, scheduler, driver_queue, .. } = table;
        let place = vec!["wlans", name, "except", node];
        Self { place, queue: queue.as_ref(), scheduler: scheduler.as_ref(), driver_queue: *driver_queue }
    }

    /// Refuses a `driver-queue` that has no effect where packets wait so.
    fn refuse_driver_queue<'q>(
        &self,
        reader: &Reader<'_>,
        mut queues: impl Iterator<Item = &'q StationQueue>,
    ) -> Result<(), FileError> {
        if self.driver_queue.is_none() || queues.any(|queue| *queue != StationQueue::Mac) {
            return Ok(());
        }
        let problem = "has no effect without a discipline as `queue`, or `scheduler = \"airtime\"`";
        Err(reader.fail(&[&self.place[..], &["driver-queue"]].concat(), problem))
    }
}

/// Where the packets of each station wait, in the row with an index and a table of its own if that is given.
pub(in crate::file) fn of_cell(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    row: Option<(&str, &RowTable)>,
) -> Result<Vec<Waiting>, FileError> {
    let nodes: Vec<&String> = table.all_stations().collect();
    let of_cell = Keys::of_cell(name, table);
    let of_row = row.map(|(index, row)| Keys::of_row(index, name, row));
    let (standard, saves_power) = (table.standard.standard(), table.power_save.is_some());
    let mut all = Vec::new();
    for node in &nodes {
        let own = table.except.get(*node).map(|own| Keys::of_station(name, node, own));
        let tables: Vec<_> = [own, of_row.clone(), Some(of_cell.clone())].into_iter().flatten().collect();
        all.push(Site { reader, tables: &tables, standard, saves_power }.read()?);
    }
    if let Some(of_row) = &of_row {
        of_row.refuse_driver_queue(reader, all.iter().map(|waiting| &waiting.above))?;
    }
    let weight = |(at, node): (usize, &&String)| {
        let Whole(weight) = table.except.get(*node)?.airtime_weight?;
        Some((StationId::from_index(at), weight))
    };
    let weights: BTreeMap<StationId, u32> = nodes.iter().enumerate().filter_map(weight).collect();
    all.iter_mut().filter_map(Waiting::weights_mut).for_each(|its| *its = weights.clone());
    Ok(all)
}

/// Refuses keys that have no effect. `variants`: where the packets of the station with an index wait, in the cell and in the
/// rows of the comparison that override that.
pub(in crate::file) fn refuse_without_effect<'a, V: Iterator<Item = &'a StationQueue>>(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    variants: impl Fn(usize) -> V,
) -> Result<(), FileError> {
    let nodes: Vec<&String> = table.all_stations().collect();
    let all = || (0..nodes.len()).flat_map(&variants);
    Keys::of_cell(name, table).refuse_driver_queue(reader, all())?;
    let is_by_airtime = all().any(|queue| matches!(queue, StationQueue::Airtime(_)));
    for (index, node) in nodes.iter().enumerate() {
        let Some(own) = table.except.get(*node) else { continue };
        Keys::of_station(name, node, own).refuse_driver_queue(reader, variants(index))?;
        if own.airtime_weight.is_some() && !is_by_airtime {
            let problem = "has no effect unless a station has `scheduler = \"airtime\"`";
            return Err(reader.fail(&["wlans", name, "except", node, "airtime-weight"], problem));
        }
    }
    Ok(())
}

/// The place of a station's keys.
struct Site<'a> {
    reader: &'a Reader<'a>,
    tables: &'a [Keys<'a>],
    standard: Standard,
    saves_power: bool,
}

impl<'a> Site<'a> {
    /// The value of a key in the first table that has it, and the place of that.
    fn value<T>(&self, key: &'a str, of: impl Fn(&Keys<'a>) -> Option<T>) -> (Vec<&'a str>, Option<T>) {
        let found = self.tables.iter().find_map(|keys| Some((&keys.place, of(keys)?)));
        let place = found.as_ref().into_iter().flat_map(|(place, _)| place.iter().copied());
        (place.chain([key]).collect(), found.map(|(_, value)| value))
    }

    fn read(&self) -> Result<Waiting, FileError> {
        let scheduler = self.value("scheduler", |keys| keys.scheduler);
        let kind = scheduler.1.map_or(SchedulerName::Fifo, |NameOrTable(table)| table.kind);
        let is_by_airtime = kind == SchedulerName::Airtime;
        let (key, entry) = self.value("queue", |keys| keys.queue);
        let written = queue::read(self.reader, &key, entry, defaults(self.standard, is_by_airtime))?;
        if !matches!(
            written.limit,
            QueueLimit::Packets(1..) | QueueLimit::Unlimited | QueueLimit::Octets(1..)
        ) {
            return Err(self.reader.fail(&key, "expected room for a packet or more"));
        }
        let limits = self.limits(&scheduler)?;
        let limit = written.limit;
        let (order, above) = match (kind, written.discipline) {
            (SchedulerName::Fifo, Discipline::DropTail) => (Scheduler::Fifo, StationQueue::Mac),
            (SchedulerName::PerFlow, Discipline::DropTail) => (Scheduler::PerFlow, StationQueue::Mac),
            (SchedulerName::PerReceiver, Discipline::DropTail) => (Scheduler::PerReceiver, StationQueue::Mac),
            (SchedulerName::Airtime, Discipline::DropTail) => {
                let (flows, _) = defaults(self.standard, true).fq_codel;
                (Scheduler::Fifo, self.airtime(limit, flows, limits)?)
            }
            (SchedulerName::Airtime, Discipline::FqCoDel(flows)) => {
                (Scheduler::Fifo, self.airtime(limit, flows, limits)?)
            }
            (SchedulerName::Airtime, _) => {
                let problem = "has flow queues of its own with `scheduler = \"airtime\"`; expected a limit, or \"fq-codel\"";
                return Err(self.reader.fail(&key, problem));
            }
            (SchedulerName::Fifo, _) => (Scheduler::Fifo, self.discipline(written)?),
            (SchedulerName::PerFlow | SchedulerName::PerReceiver, _) => {
                let problem = "a queue with a discipline has an order of its own; leave `scheduler` out, or the discipline";
                return Err(self.reader.fail(&key, problem));
            }
        };
        if self.saves_power && above != StationQueue::Mac {
            let key = if is_by_airtime { scheduler.0 } else { key };
            let problem = "requires a cell without `power-save`; leave one of the two out";
            return Err(self.reader.fail(&key, problem));
        }
        Ok(Waiting { limit, order, above })
    }

    fn discipline(&self, queue: QueueConfig) -> Result<StationQueue, FileError> {
        let driver = self.driver(DriverQueue::OF_DISCIPLINE)?;
        if matches!(driver, DriverQueue::Aggregates(_)) {
            let problem =
                "requires `scheduler = \"airtime\"`; expected a number of packets, or \"unlimited\"";
            return Err(self.reader.fail(&self.driver_queue().0, problem));
        }
        Ok(StationQueue::Discipline { queue, driver })
    }

    fn airtime(
        &self,
        limit: QueueLimit,
        flows: FqCoDelConfig,
        limits: Option<AirtimeLimits>,
    ) -> Result<StationQueue, FileError> {
        let driver = self.driver(DriverQueue::BY_AIRTIME)?;
        Ok(StationQueue::Airtime(AirtimeConfig { limit, flows, limits, driver, ..AirtimeConfig::default() }))
    }

    /// The most that the driver has.
    fn driver(&self, default: DriverQueue) -> Result<DriverQueue, FileError> {
        match self.driver_queue() {
            (_, None) => Ok(default),
            (key, Some(Text(DriverQueue::Packets(0) | DriverQueue::Aggregates(0)))) => {
                Err(self.reader.fail(&key, "expected one or more"))
            }
            (_, Some(Text(driver))) => Ok(driver),
        }
    }

    fn driver_queue(&self) -> (Vec<&'a str>, Option<Text<DriverQueue>>) {
        self.value("driver-queue", |keys| keys.driver_queue)
    }

    /// The airtime queue limits; `None` without.
    fn limits(
        &self,
        scheduler: &(Vec<&'a str>, Option<&NameOrTable<SchedulerTable>>),
    ) -> Result<Option<AirtimeLimits>, FileError> {
        let default = AirtimeLimits::default();
        let (key, Some(NameOrTable(SchedulerTable { kind, limits: Some(NameOrTable(table)) }))) = scheduler
        else {
            return Ok(Some(default));
        };
        let key = |last: &'a str| key.iter().copied().chain(["limits", last]).collect::<Vec<_>>();
        if *kind != SchedulerName::Airtime {
            let problem = "has no effect with this order; leave it out, or use `kind = \"airtime\"`";
            return Err(self.reader.fail(&[&scheduler.0[..], &["limits"]].concat(), problem));
        }
        if table.kind == LimitsName::None {
            let given = [("low", table.low), ("high", table.high), ("threshold", table.threshold)];
            return match given.into_iter().find(|(_, value)| value.is_some()) {
                None => Ok(None),
                Some((last, _)) => {
                    let problem = "nothing is limited with `kind = \"none\"`; leave one of the two out";
                    Err(self.reader.fail(&key(last), problem))
                }
            };
        }
        let within = |last, value, default: Duration, least| {
            self.reader.duration_in(&key(last), value, default, least, Duration::from_secs(10))
        };
        let low = within("low", table.low, default.low, Duration::from_micros(100))?;
        let high = within("high", table.high, default.high.max(low), low)?;
        let threshold = within("threshold", table.threshold, default.threshold, Duration::ZERO)?;
        Ok(Some(AirtimeLimits { low, high, threshold }))
    }
}

/// What holds where the queue of a station does not say otherwise.
fn defaults(standard: Standard, is_by_airtime: bool) -> Defaults {
    if !is_by_airtime {
        let plain = match standard.format() {
            None => QueueLimit::Packets(50),
            // `txqueuelen` of a network interface in Linux.
            Some(_) => QueueLimit::Packets(1_000),
        };
        return Defaults { plain, ..Defaults::default() };
    }
    let AirtimeConfig { limit, flows, .. } = AirtimeConfig::default();
    let memory_limit = match standard.format() {
        Some(Format::Vht | Format::He) => flows.memory_limit,
        Some(Format::Ht) | None => 4 << 20,
    };
    Defaults { plain: limit, fq_codel: (FqCoDelConfig { memory_limit, ..flows }, limit) }
}
