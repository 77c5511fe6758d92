//! The application of a flow: the data to send, and its times.

use std::time::Duration;

use super::named::{NameOrTable, Named};
use super::quantity::{Octets, Text};
use super::reader::Reader;
use super::transport::TransportName;
use lasthop_apps::traffic::{Beat, Bulk, Constant, OnOff, Shape, Span};
use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_packet::Bitrate;
use lasthop_sim::Application;
use schemars::JsonSchema;
use serde::Deserialize;

/// The largest payload of a UDP datagram over IPv4 (RFC 768, RFC 791): 65,535 octets less the
/// headers.
const LARGEST_MESSAGE: u64 = 65_507;

/// The data that a flow sends, and when.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ApplicationTable {
    /// The kind of application.
    kind: ApplicationKind,
    /// Amount of data per write, or the payload of a datagram over UDP, "1 B" to "65507 B". Default
    /// "1472 B", which with the headers of UDP and IP fills an Ethernet frame. "bulk" uses it over
    /// UDP only.
    message: Option<Text<Octets>>,
    /// With "cbr" and "on-off": data per second while on, without headers. Give either this or
    /// `interval`.
    rate: Option<Text<Bitrate>>,
    /// With "cbr" and "on-off": time from one message to the next, "1 us" to "1 h". Give either
    /// this or `rate`.
    interval: Option<Text<Duration>>,
    /// With "cbr" and "on-off": by how much each interval may be longer or shorter, uniformly
    /// distributed; at most the interval. Default "0 s".
    jitter: Option<Text<Duration>>,
    /// With "on-off": the length of an on period. The flow starts with one.
    on: Option<SpanTable>,
    /// With "on-off": the length of an off period.
    off: Option<SpanTable>,
}

/// The kind of application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ApplicationKind {
    /// All data at once: a transfer of `size`, or without end. Over UDP it sends as fast as the
    /// sender's first queue accepts datagrams: one datagram of the flow always waits there, too few to fill frames that
    /// aggregate packets.
    #[default]
    Bulk,
    /// Constant bit rate: a message at regular intervals, the first at the start.
    Cbr,
    /// As "cbr" in on periods, and nothing in off periods. The clock of the intervals stops during
    /// off periods.
    OnOff,
}

/// The length of on or off periods.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SpanTable {
    /// The mean, "1 ms" to "24 h"; for off periods from "0 s".
    mean: Text<Duration>,
    /// How the lengths are distributed; default "exponential".
    #[serde(default)]
    distribution: Distribution,
    /// With "pareto": the shape, above 1 and at most 100; default 1.5.
    shape: Option<f64>,
}

/// How the lengths of on or off periods are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    #[default]
    Exponential,
    Pareto,
    /// All periods have the same length.
    Fixed,
}

impl Named for ApplicationTable {
    type Name = ApplicationKind;
    const SCHEMA: &'static str = "Application";
    const EXPECTED: &'static str = "\"bulk\", or a table with \"bulk\", \"cbr\" or \"on-off\" as \"kind\"";

    fn named(kind: ApplicationKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

/// Reads a flow's application, with the size from the flow's table.
pub(super) fn read(
    reader: &Reader<'_>,
    flow: &str,
    written: Option<&NameOrTable<ApplicationTable>>,
    size: Option<Text<Octets>>,
    transport: TransportName,
) -> Result<Application, FileError> {
    let none = ApplicationTable::default();
    let table = written.map_or(&none, |NameOrTable(table)| table);
    Reading { reader, flow, table }.application(size, transport)
}

struct Reading<'a> {
    reader: &'a Reader<'a>,
    flow: &'a str,
    table: &'a ApplicationTable,
}

impl Reading<'_> {
    fn application(
        &self,
        size: Option<Text<Octets>>,
        transport: TransportName,
    ) -> Result<Application, FileError> {
        let table = self.table;
        let is_bulk = table.kind == ApplicationKind::Bulk;
        if size.is_some() && !is_bulk {
            let problem = "allowed only with application = \"bulk\"; other applications end at `stop`";
            return Err(self.reader.fail(&["flows", self.flow, "size"], problem));
        }
        self.refuse_unless(
            !is_bulk || transport == TransportName::Udp,
            "transport = \"udp\"",
            &[("message", table.message.is_some())],
        )?;
        self.refuse_unless(
            !is_bulk,
            "kind = \"cbr\" or \"on-off\"",
            &[
                ("rate", table.rate.is_some()),
                ("interval", table.interval.is_some()),
                ("jitter", table.jitter.is_some()),
            ],
        )?;
        self.refuse_unless(
            table.kind == ApplicationKind::OnOff,
            "kind = \"on-off\"",
            &[("on", table.on.is_some()), ("off", table.off.is_some())],
        )?;
        let message = self.message()?;
        match table.kind {
            ApplicationKind::Bulk => {
                Ok(Application::Bulk(Bulk { size: size.map(|Text(Octets(size))| size), message }))
            }
            ApplicationKind::Cbr => self.constant(message).map(Application::Constant),
            ApplicationKind::OnOff => {
                let constant = self.constant(message)?;
                let on = self.span("on", table.on, Duration::from_millis(1))?;
                let off = self.span("off", table.off, Duration::ZERO)?;
                Ok(Application::OnOff(OnOff { constant, on, off }))
            }
        }
    }

    fn message(&self) -> Result<u32, FileError> {
        match self.table.message {
            None => Ok(Bulk::ENDLESS.message),
            Some(Text(Octets(message @ 1..=LARGEST_MESSAGE))) => Ok(message as u32),
            Some(_) => Err(self.fail(&["message"], format!("expected \"1 B\" to \"{LARGEST_MESSAGE} B\""))),
        }
    }

    fn constant(&self, message: u32) -> Result<Constant, FileError> {
        let (hour, microsecond) = (Duration::from_secs(3600), Duration::from_micros(1));
        let (beat, interval) = match (self.table.rate, self.table.interval) {
            (Some(Text(rate)), None) => (Beat::Rate(rate), rate.transmission_time(u64::from(message))),
            (None, Some(interval)) => {
                let at = self.key(&["interval"]);
                let interval =
                    self.reader.duration_in(&at, Some(interval), Duration::ZERO, microsecond, hour)?;
                (Beat::Interval(interval), interval)
            }
            (Some(_), Some(_)) => {
                return Err(self.fail(&["interval"], "expected `rate` or `interval`, not both"));
            }
            (None, None) => return Err(self.fail(&[], "expected a `rate` or an `interval`")),
        };
        if interval < microsecond || interval > hour {
            let problem = format!(
                "messages of {} would be {} apart; expected a rate that spaces them 1 us to 1 h apart",
                counted(message.into(), "octet"),
                lasthop_packet::units::format_duration(interval)
            );
            return Err(self.fail(&["rate"], problem));
        }
        let at = self.key(&["jitter"]);
        let jitter =
            self.reader.duration_in(&at, self.table.jitter, Duration::ZERO, Duration::ZERO, interval)?;
        Ok(Constant { message, beat, jitter })
    }

    fn span(&self, key: &str, table: Option<SpanTable>, least: Duration) -> Result<Span, FileError> {
        let Some(SpanTable { mean, distribution, shape }) = table else {
            return Err(
                self.fail(&[], format!("\"on-off\" requires `{key}`, such as {key} = {{ mean = \"1 s\" }}"))
            );
        };
        let day = Duration::from_secs(24 * 3600);
        let at = self.key(&[key, "mean"]);
        let mean = self.reader.duration_in(&at, Some(mean), Duration::ZERO, least, day)?;
        if shape.is_some() && distribution != Distribution::Pareto {
            return Err(self.fail(&[key, "shape"], "allowed only with distribution = \"pareto\""));
        }
        Ok(match distribution {
            Distribution::Exponential => Span::Exponential(mean),
            Distribution::Fixed => Span::Fixed(mean),
            Distribution::Pareto => {
                let shape =
                    Shape::new(shape.unwrap_or(1.5)).filter(|_| shape.is_none_or(|shape| shape <= 100.0));
                let problem = "expected a number above 1 (below that there is no mean) and at most 100";
                Span::Pareto(mean, shape.ok_or_else(|| self.fail(&[key, "shape"], problem))?)
            }
        })
    }

    /// Refuses keys that have no effect here.
    fn refuse_unless(
        &self,
        means_something: bool,
        expected: &str,
        keys: &[(&str, bool)],
    ) -> Result<(), FileError> {
        match keys.iter().find(|(_, is_given)| *is_given && !means_something) {
            Some((key, _)) => Err(self.fail(&[key], format!("allowed only with {expected}; leave it out"))),
            None => Ok(()),
        }
    }

    fn key<'b>(&'b self, rest: &[&'b str]) -> Vec<&'b str> {
        ["flows", self.flow, "application"].iter().chain(rest).copied().collect()
    }

    fn fail(&self, rest: &[&str], problem: impl Into<String>) -> FileError {
        self.reader.fail(&self.key(rest), problem)
    }
}
