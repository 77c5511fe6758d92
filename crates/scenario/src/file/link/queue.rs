//! The queue of a link: its limit and its discipline.

use std::time::Duration;

use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::{DATA, Octets, PACKETS, Text, Whole, Written, not};
use crate::file::reader::{Key, Reader};
use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_packet::units::format_octets;
use lasthop_sim::queue::{CoDelConfig, FqCoDelConfig, RedConfig, Thresholds};
use lasthop_sim::{Discipline, QueueConfig, QueueLimit};
use schemars::JsonSchema;
use serde::Deserialize;

/// Within an order of magnitude of the default in Linux.
const PLAIN: QueueLimit = QueueLimit::Packets(100);
/// The defaults of `codel` and `fq_codel` in Linux, which the queues should not reach.
const CODEL: QueueLimit = QueueLimit::Packets(1000);
const FQ_CODEL: QueueLimit = QueueLimit::Packets(10_240);

/// A queue with a queueing discipline.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct QueueTable {
    /// The discipline that manages the queue.
    discipline: DisciplineName,
    /// The most packets or data that may wait for transmission; default "100 packets", at a station of an 802.11 cell as
    /// without a table; with "codel" "1000 packets", with "fq-codel" "10240 packets".
    limit: Option<Text<QueueLimit>>,
    /// Whether ECN-capable packets are marked in cases in which others are dropped (RFC 3168); with
    /// "red" only below `max`. Default false; with "fq-codel" true.
    ecn: Option<bool>,
    /// With "codel" and "fq-codel": the delay that a standing queue may cause, "1 us" to "10 s";
    /// default "5 ms".
    target: Option<Text<Duration>>,
    /// With "codel" and "fq-codel": how long the delay must stay above `target`, on the order of
    /// the longest round-trip time, `target` to "100 s"; default "100 ms".
    interval: Option<Text<Duration>>,
    /// With "fq-codel": the number of flow queues, 1 to 65,536; default 1,024.
    flows: Option<Whole<1, 65_536>>,
    /// With "fq-codel": how much a flow may send per round, "256 B" to "1 MiB"; default "1514 B".
    quantum: Option<Text<Octets>>,
    /// With "fq-codel": the most memory that waiting packets may use, "4 KiB" or more; default
    /// "32 MiB". A packet counts as the buffer that it takes in a gateway.
    memory_limit: Option<Text<Octets>>,
    /// With "red": the average queue from which packets are dropped at random, in packets or in
    /// octets; default "5 packets".
    min: Option<Text<QueueLimit>>,
    /// With "red": the average queue at which `max-probability` of the packets are dropped, in the
    /// unit of `min`; default "15 packets".
    max: Option<Text<QueueLimit>>,
    /// With "red": the share of packets that is dropped at `max`, above "0%"; default "10%".
    max_probability: Option<Text<Probability>>,
    /// With "red": the weight of the current queue in its moving average, above 0 and at most 1;
    /// default 0.002.
    weight: Option<f64>,
    /// With "red": whether the share of dropped packets continues to grow from `max` and reaches
    /// all packets at twice `max`, rather than at once; default true.
    gentle: Option<bool>,
    /// With "red": the size of a typical packet, "1 B" to "64 KiB"; default "500 B". The average
    /// decreases by it while the link is idle. If `min` and `max` are in octets, `max-probability`
    /// applies to a packet of this size.
    mean_packet: Option<Text<Octets>>,
}

/// The discipline that manages a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum DisciplineName {
    /// First in, first out. A packet that finds no room is dropped.
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red,
    /// Controlled delay (RFC 8289).
    Codel,
    /// Flow queues with controlled delay (RFC 8290).
    FqCodel,
}

impl Named for QueueTable {
    type Name = Text<LimitOrDiscipline>;
    const SCHEMA: &'static str = "Queue";
    const EXPECTED: &'static str = LimitOrDiscipline::EXPECTED;

    fn named(Text(name): Self::Name) -> Self {
        let (discipline, limit) = match name {
            LimitOrDiscipline::Limit(limit) => (DisciplineName::DropTail, Some(Text(limit))),
            LimitOrDiscipline::Discipline(discipline) => (discipline, None),
        };
        Self {
            discipline,
            limit,
            ecn: None,
            target: None,
            interval: None,
            flows: None,
            quantum: None,
            memory_limit: None,
            min: None,
            max: None,
            max_probability: None,
            weight: None,
            gentle: None,
            mean_packet: None,
        }
    }
}

/// A queue limit or a discipline, which may be given instead of a table.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) enum LimitOrDiscipline {
    Limit(QueueLimit),
    Discipline(DisciplineName),
}

impl Written for LimitOrDiscipline {
    const NAME: &'static str = "QueueLimitOrDiscipline";
    const EXPECTED: &'static str = "a queue limit, such as \"50 packets\", \"64 KiB\" or \"unlimited\", a discipline \
                                    (\"drop-tail\", \"red\", \"codel\", \"fq-codel\"), or a table with one as `discipline`";
    const FORMS: &'static [&'static str] =
        &[PACKETS, DATA, "unlimited", "drop-tail", "red", "codel", "fq-codel"];

    fn read(text: &str) -> Result<Self, String> {
        let discipline = match text.trim() {
            "drop-tail" => DisciplineName::DropTail,
            "red" => DisciplineName::Red,
            "codel" => DisciplineName::Codel,
            "fq-codel" => DisciplineName::FqCodel,
            _ => {
                return QueueLimit::read(text).map(Self::Limit).map_err(|_| not::<Self>(text));
            }
        };
        Ok(Self::Discipline(discipline))
    }

    /// Recognizes the names of `tc`.
    fn meant(text: &str) -> Option<String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "pfifo" | "bfifo" | "fifo" | "pfifo_fast" => Some("\"drop-tail\"".to_owned()),
            _ => QueueLimit::meant(text),
        }
    }
}

/// What holds where a queue's table does not say otherwise.
#[derive(Clone, Copy)]
pub(in crate::file) struct Defaults {
    /// The limit of a queue without a discipline.
    pub(in crate::file) plain: QueueLimit,
    /// The flow queues of "fq-codel", and their limit.
    pub(in crate::file) fq_codel: (FqCoDelConfig, QueueLimit),
}

impl Default for Defaults {
    /// Those of a wired link.
    fn default() -> Self {
        Self { plain: PLAIN, fq_codel: (FqCoDelConfig::default(), FQ_CODEL) }
    }
}

/// The queue whose key is `key`.
pub(in crate::file) fn read(
    reader: &Reader<'_>,
    key: &Key<'_>,
    entry: Option<&NameOrTable<QueueTable>>,
    defaults: Defaults,
) -> Result<QueueConfig, FileError> {
    let Some(NameOrTable(table)) = entry else { return Ok(defaults.plain.into()) };
    let place = Place { reader, key };
    place.refuse_keys_without_effect(table)?;
    let (discipline, limit) = match table.discipline {
        DisciplineName::DropTail => (Discipline::DropTail, defaults.plain),
        DisciplineName::Red => (Discipline::Red(place.red(table)?), PLAIN),
        DisciplineName::Codel => (Discipline::CoDel(place.codel(table, CoDelConfig::default())?), CODEL),
        DisciplineName::FqCodel => {
            let (config, limit) = defaults.fq_codel;
            (Discipline::FqCoDel(place.fq_codel(table, config)?), limit)
        }
    };
    let limit = table.limit.map_or(limit, |Text(limit)| limit);
    Ok(QueueConfig { limit, discipline })
}

/// The position of a queue's table.
#[derive(Clone, Copy)]
struct Place<'a> {
    reader: &'a Reader<'a>,
    key: &'a Key<'a>,
}

impl Place<'_> {
    fn fail(self, key: &str, problem: impl Into<String>) -> FileError {
        self.reader.fail(&[self.key, &[key]].concat(), problem)
    }

    fn refuse_keys_without_effect(self, table: &QueueTable) -> Result<(), FileError> {
        use DisciplineName::{Codel, FqCodel, Red};
        let keys: [(&str, bool, &[DisciplineName]); 12] = [
            ("ecn", table.ecn.is_some(), &[Red, Codel, FqCodel]),
            ("target", table.target.is_some(), &[Codel, FqCodel]),
            ("interval", table.interval.is_some(), &[Codel, FqCodel]),
            ("flows", table.flows.is_some(), &[FqCodel]),
            ("quantum", table.quantum.is_some(), &[FqCodel]),
            ("memory-limit", table.memory_limit.is_some(), &[FqCodel]),
            ("min", table.min.is_some(), &[Red]),
            ("max", table.max.is_some(), &[Red]),
            ("max-probability", table.max_probability.is_some(), &[Red]),
            ("weight", table.weight.is_some(), &[Red]),
            ("gentle", table.gentle.is_some(), &[Red]),
            ("mean-packet", table.mean_packet.is_some(), &[Red]),
        ];
        match keys.into_iter().find(|(_, given, of)| *given && !of.contains(&table.discipline)) {
            Some((key, ..)) => Err(self.fail(key, "has no effect with this discipline; leave it out")),
            None => Ok(()),
        }
    }

    fn codel(self, table: &QueueTable, default: CoDelConfig) -> Result<CoDelConfig, FileError> {
        let key = |key| [self.key, &[key]].concat();
        let (least, most) = (Duration::from_micros(1), Duration::from_secs(10));
        let target = self.reader.duration_in(&key("target"), table.target, default.target, least, most)?;
        let longest = Duration::from_secs(100);
        let standard = default.interval.max(target);
        let interval =
            self.reader.duration_in(&key("interval"), table.interval, standard, target, longest)?;
        Ok(CoDelConfig { target, interval, ecn: table.ecn.unwrap_or(default.ecn) })
    }

    fn fq_codel(self, table: &QueueTable, default: FqCoDelConfig) -> Result<FqCoDelConfig, FileError> {
        Ok(FqCoDelConfig {
            codel: self.codel(table, default.codel)?,
            flows: table.flows.map_or(default.flows, |Whole(flows)| flows),
            quantum: self.octets("quantum", table.quantum, u64::from(default.quantum), (256, 1 << 20))?
                as u32,
            memory_limit: self.octets(
                "memory-limit",
                table.memory_limit,
                default.memory_limit,
                (4096, 1 << 40),
            )?,
        })
    }

    fn red(self, table: &QueueTable) -> Result<RedConfig, FileError> {
        let default = RedConfig::default();
        let max_probability = table.max_probability.map_or(default.max_probability, |Text(part)| part);
        if max_probability.is_zero() {
            return Err(self.fail("max-probability", "nothing would be dropped; expected more than \"0%\""));
        }
        let weight = table.weight.unwrap_or(default.weight);
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(self.fail("weight", format!("{weight} is out of range; expected above 0, at most 1")));
        }
        let mean_packet = u64::from(default.mean_packet);
        Ok(RedConfig {
            thresholds: self.thresholds(table)?,
            max_probability,
            weight,
            gentle: table.gentle.unwrap_or(default.gentle),
            mean_packet: self.octets("mean-packet", table.mean_packet, mean_packet, (1, 1 << 16))? as u32,
            ecn: table.ecn.unwrap_or(default.ecn),
        })
    }

    fn thresholds(self, table: &QueueTable) -> Result<Thresholds, FileError> {
        let given = |limit: Option<Text<QueueLimit>>, default| {
            limit.map_or(QueueLimit::Packets(default), |Text(limit)| limit)
        };
        let (thresholds, min, max) = match (given(table.min, 5), given(table.max, 15)) {
            (QueueLimit::Packets(min), QueueLimit::Packets(max)) => (Thresholds::Packets(min, max), min, max),
            (QueueLimit::Octets(min), QueueLimit::Octets(max)) => (Thresholds::Octets(min, max), min, max),
            _ => {
                let problem =
                    "expected `min` and `max` both in packets or both in octets, such as \"20 packets\"";
                return Err(self.fail(if table.max.is_some() { "max" } else { "min" }, problem));
            }
        };
        if min >= max {
            let key = if table.max.is_some() { "max" } else { "min" };
            return Err(self.fail(key, "expected `max` above `min`"));
        }
        Ok(thresholds)
    }

    fn octets(
        self,
        key: &str,
        value: Option<Text<Octets>>,
        default: u64,
        (least, most): (u64, u64),
    ) -> Result<u64, FileError> {
        let octets = value.map_or(default, |Text(Octets(octets))| octets);
        if (least..=most).contains(&octets) {
            return Ok(octets);
        }
        let shown = format_octets;
        let problem =
            format!("{} is out of range; expected {} to {}", shown(octets), shown(least), shown(most));
        Err(self.fail(key, problem))
    }
}
