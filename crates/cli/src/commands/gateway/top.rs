//! `lasthop gateway top`.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use lasthop_gateway::clients::{Carried, ClientReport, Lost};
use lasthop_gateway::control::{Command, Status};
use lasthop_gateway::engine::FlowReport;
use lasthop_gateway::listing::{Query, Selection};
use lasthop_lab::table::{Table, number};

use super::lines::line;
use super::listing::rows;
use super::lists::{millis, percent};
use super::report::mode;
use super::screen::{End, Screen};
use super::socket::Socket;
use crate::failure::Failure;
use crate::output;
use crate::signals::end_by;

/// The arguments of `gateway top`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// What a row is [default: clients if the gateway counts them, otherwise connections]
    #[arg(long)]
    by: Option<By>,
    /// Sort by this, the largest first
    #[arg(long, value_name = "COLUMN", default_value = "rate")]
    sort: Sort,
    /// Show only rows that pass all of these filters, as `flows` and `clients` have them
    #[arg(long, value_name = "FILTER", num_args = 1..)]
    filter: Vec<String>,
    /// Show at most this many rows [default: as many as fit, 20 where standard output is no terminal]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = rows())]
    limit: Option<usize>,
    /// Print one table, of one second, and end
    #[arg(long)]
    once: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// A client
    Client,
    /// A connection
    Connection,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Octets per second in both directions
    Rate,
    /// Octets per second to the client
    Down,
    /// Octets per second from the client
    Up,
    /// Share of the segments to the client that were lost
    Loss,
    /// Share of the segments from the client that were lost on the hop
    LossUp,
    /// Segments per second that agents sent again
    Repairs,
    /// The hop's round-trip time
    Rtt,
}

/// The interval between snapshots, unless they take long.
const INTERVAL: Duration = Duration::from_secs(1);
/// The minimum ratio of the interval to the time that the previous snapshot took: it limits the
/// load on a gateway with very many connections.
const MIN_RATIO: u32 = 20;
/// The maximum number of connections in a snapshot: the most recently used ones. More would not fit
/// on any screen.
const MAX_CONNECTIONS: usize = 1000;
/// The explanation is omitted if fewer rows than this would fit with it.
const MIN_ROWS: usize = 3;
/// The number of rows if standard output is not a terminal.
const DEFAULT_ROWS: usize = 20;

/// The state of a gateway at a time.
struct Snapshot {
    status: Status,
    /// The rows by their keys, which start with the client.
    rows: BTreeMap<String, Entry>,
    took: Duration,
}

/// The state of a client or a connection at a time.
#[derive(Clone, Debug, Default)]
struct Entry {
    /// The cells that describe it, without the first.
    about: Vec<String>,
    carried: Carried,
    rtt_hop_s: Option<f64>,
    /// Its age, if known.
    age_s: Option<f64>,
}

/// A row of the table, with the rates since the previous snapshot, if known.
struct Row<'l> {
    label: &'l str,
    entry: &'l Entry,
    rates: Option<Rates>,
}

/// The rates between two snapshots, per second.
struct Rates {
    down_octets: f64,
    up_octets: f64,
    segments: f64,
    repairs: f64,
    lost: Lost,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let at = &arguments.socket;
    let view = View::new(arguments, at)?;
    let first = view.snapshot(at)?;
    let screen = if arguments.once { None } else { Screen::open()? };
    let Some(screen) = screen else { return view.follow(first, at, arguments.once) };
    let end = view.redraw(first, at, &screen);
    // The terminal is restored before the command ends, also after an error.
    drop(screen);
    if let End::Signal(signal) = end? {
        end_by(signal);
    }
    Ok(())
}

/// The rows to query, and how to show them.
struct View {
    by: By,
    query: Query,
    sort: Sort,
    limit: Option<usize>,
}

impl View {
    fn new(arguments: &Arguments, at: &Socket) -> Result<Self, Failure> {
        let filter = arguments.filter.clone();
        // Errors of the filters are reported even without a gateway.
        let check = |by: By| {
            let query = by.query(filter.clone());
            let checked = match by {
                By::Client => Selection::<ClientReport>::from_query(&query).map(drop),
                By::Connection => Selection::<FlowReport>::from_query(&query).map(drop),
            };
            checked.map(|()| query).map_err(|why| Failure::usage(anyhow!(why)))
        };
        let (by, query) = if let Some(by) = arguments.by {
            (by, check(by)?)
        } else {
            let of_connections = check(By::Connection);
            let status: Status = at.ask(&Command::Status)?;
            match (status.report.engine.clients.is_some(), check(By::Client)) {
                (true, Ok(query)) => (By::Client, query),
                _ => (By::Connection, of_connections?),
            }
        };
        Ok(Self { by, query, sort: arguments.sort, limit: arguments.limit })
    }

    #[expect(clippy::disallowed_methods, reason = "how long it takes is how long others wait")]
    fn snapshot(&self, at: &Socket) -> Result<Snapshot, Failure> {
        let began = Instant::now();
        let command = self.by.command(self.query.clone());
        let rows = match self.by {
            By::Client => {
                let clients: Vec<ClientReport> = at.ask(&command)?;
                clients
                    .into_iter()
                    .map(|client| (client.client.clone(), Entry::from_client(&client)))
                    .collect()
            }
            By::Connection => {
                let flows: Vec<FlowReport> = at.ask(&command)?;
                let key = |flow: &FlowReport| format!("{} {} {}", flow.radio, flow.core, flow.protocol);
                flows.into_iter().map(|flow| (key(&flow), Entry::from_flow(&flow))).collect()
            }
        };
        let status = at.ask(&Command::Status)?;
        Ok(Snapshot { status, rows, took: began.elapsed() })
    }

    /// Prints a table for each snapshot, or only one.
    #[expect(clippy::disallowed_methods, reason = "people look at it in real time")]
    fn follow(&self, mut last: Snapshot, at: &Socket, once: bool) -> Result<(), Failure> {
        loop {
            sleep(last.pause());
            let next = self.snapshot(at)?;
            output::print(&self.text(Some(&last), &next, None))?;
            if once {
                return Ok(());
            }
            last = next;
        }
    }

    /// Redraws a screen until a key or a signal ends it.
    fn redraw(&self, mut last: Snapshot, at: &Socket, screen: &Screen) -> Result<End, Failure> {
        screen.draw(&self.text(None, &last, Some(Screen::height())))?;
        loop {
            if let Some(end) = screen.wait(last.pause())? {
                return Ok(end);
            }
            match self.snapshot(at) {
                Ok(next) => {
                    screen.draw(&self.text(Some(&last), &next, Some(Screen::height())))?;
                    last = next;
                }
                // The gateway may be restarting.
                Err(failure) => screen.draw(&failure.message().unwrap_or_default())?,
            }
        }
    }

    /// The text of a snapshot, with the rates since the previous one, in at most `height` lines. If
    /// there is little room, the explanation is omitted in favor of rows.
    fn text(&self, before: Option<&Snapshot>, now: &Snapshot, height: Option<usize>) -> String {
        let head = now.head(before);
        let rows = self.rows(before, now);
        let limit = self.limit.unwrap_or(height.unwrap_or(DEFAULT_ROWS)).min(rows.len());
        let fitting = |foot: &str| {
            let mut shown = limit;
            loop {
                let text = format!("{head}\n{}{foot}", self.table(&rows[..shown]));
                let excess = height.map_or(0, |height| (text.lines().count() + 1).saturating_sub(height));
                if excess == 0 || shown == 0 {
                    return (shown, text);
                }
                // In a folded table, a row takes a line in each part.
                shown = shown.saturating_sub((excess / 3).max(1));
            }
        };
        let (shown, text) = fitting(&format!("\n{}", line("", LEGEND)));
        if shown < limit.min(MIN_ROWS) { fitting("").1 } else { text }
    }

    /// The rows in order.
    fn rows<'l>(&self, before: Option<&Snapshot>, now: &'l Snapshot) -> Vec<Row<'l>> {
        let row = |(key, entry): (&'l String, &'l Entry)| {
            let rates =
                before.and_then(|before| Rates::since(before.rows.get(key), entry, now.since(before)?));
            let label = key.split(' ').next().unwrap_or(key);
            Row { label, entry, rates }
        };
        let mut rows: Vec<Row<'_>> = now.rows.iter().map(row).collect();
        // Unknown values come last.
        let first = |row: &Row<'_>| self.sort.of(row).unwrap_or(-1.0);
        rows.sort_by(|one, other| first(other).total_cmp(&first(one)));
        rows
    }

    fn table(&self, rows: &[Row<'_>]) -> Table {
        let about: &[&str] = match self.by {
            By::Client => &["client", "connections"],
            By::Connection => &["client", "server", "rule"],
        };
        let rates = ["down Mbit/s", "up Mbit/s", "loss %", "loss up %", "repairs/s", "hop RTT ms"];
        let mut table = Table::with_numbers(&[about, &rates].concat());
        for Row { label, entry, rates } in rows {
            let rate = |of: fn(&Rates) -> f64, decimals| {
                rates.as_ref().map_or_else(|| "-".to_owned(), |rates| number(of(rates), decimals))
            };
            let lost =
                |of: fn(&Lost) -> Option<f64>| percent(rates.as_ref().and_then(|rates| of(&rates.lost)));
            let rates = [
                rate(|rates| rates.down_octets * 8e-6, 3),
                rate(|rates| rates.up_octets * 8e-6, 3),
                lost(|lost| lost.down),
                lost(|lost| lost.up),
                rate(|rates| rates.repairs, 1),
                millis(entry.rtt_hop_s),
            ];
            table.add_row([(*label).to_owned()].into_iter().chain(entry.about.iter().cloned()).chain(rates));
        }
        table
    }
}

/// The explanation of the columns.
const LEGEND: &str = "since the last look, loss %: of the segments to the radio side, those that were lost: \
    sent again, and not needless; loss up %: of the segments from it, those that were lost on the hop; -: of no segments; repairs: \
    segments that an agent sent again";

impl By {
    fn query(self, filter: Vec<String>) -> Query {
        match self {
            Self::Client => Query { filter, ..Query::default() },
            Self::Connection => {
                let sort = Some("idle_s".to_owned());
                Query { filter, sort, reverse: true, limit: Some(MAX_CONNECTIONS) }
            }
        }
    }

    const fn command(self, query: Query) -> Command {
        match self {
            Self::Client => Command::Clients(query),
            Self::Connection => Command::Flows(query),
        }
    }
}

impl Snapshot {
    /// The pause before the next snapshot.
    fn pause(&self) -> Duration {
        INTERVAL.max(self.took * MIN_RATIO)
    }

    /// The time since an earlier snapshot, in seconds; `None` if the gateway was restarted.
    fn since(&self, before: &Self) -> Option<f64> {
        let since = self.status.report.uptime_s - before.status.report.uptime_s;
        (since > 0.0).then_some(since)
    }

    /// The state of the gateway, and the rates of all connections since the previous snapshot.
    fn head(&self, before: Option<&Self>) -> String {
        let Status { version, report, .. } = &self.status;
        let engine = &report.engine;
        let mebibytes = |octets: usize| octets as f64 / f64::from(1 << 20);
        let state = format!(
            "lasthop gateway {version}, {}; up {:.0} s; {} of at most {} connections; {:.1} of at most {:.1} MiB for packets",
            mode(report),
            report.uptime_s,
            engine.connections,
            engine.most_connections,
            mebibytes(engine.agent_octets),
            mebibytes(engine.most_agent_octets)
        );
        let all = |snapshot: &Self| Entry {
            carried: Carried { hop: snapshot.status.report.engine.hop, ..Carried::default() },
            ..Entry::default()
        };
        let hop = before.and_then(|before| {
            let since = self.since(before)?;
            let Rates { segments, repairs, lost, .. } = Rates::since(Some(&all(before)), &all(self), since)?;
            Some(format!(
                "the hop: {segments:.0} segments/s, loss {} % down and {} % up, {repairs:.1} repairs/s",
                percent(lost.down),
                percent(lost.up)
            ))
        });
        [Some(line("", &state)), hop.map(|hop| line("", &hop))]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Entry {
    fn from_client(client: &ClientReport) -> Self {
        let counters = &client.counters;
        Self {
            about: vec![counters.connections_now.to_string()],
            carried: counters.carried,
            rtt_hop_s: counters.rtt_hop_s,
            age_s: None,
        }
    }

    fn from_flow(flow: &FlowReport) -> Self {
        let rule = if flow.aside.is_empty() { flow.rule.clone() } else { format!("aside: {}", flow.aside) };
        Self {
            about: vec![flow.core.to_string(), rule],
            carried: flow.carried(),
            rtt_hop_s: flow.rtt_hop_s,
            age_s: Some(flow.age_s),
        }
    }
}

impl Rates {
    /// The rates since the previous snapshot, `since_s` seconds ago. `None` if they are not known,
    /// because that snapshot did not include the connection.
    fn since(before: Option<&Entry>, now: &Entry, since_s: f64) -> Option<Self> {
        // A younger connection between the same ports is another one.
        let before =
            before.filter(|before| before.age_s.is_none_or(|age| now.age_s.is_some_and(|now| now >= age)));
        let since_s = match (before, now.age_s) {
            // The rows and the status of a snapshot have slightly different times.
            (None, Some(age)) if age > since_s + 1.0 => return None,
            (None, Some(age)) => since_s.min(age).max(1e-3),
            _ => since_s,
        };
        let carried = now.carried.since(before.map(|before| before.carried).unwrap_or_default());
        let per_second = |count: u64| count as f64 / since_s;
        Some(Self {
            down_octets: per_second(carried.octets_down),
            up_octets: per_second(carried.octets_up),
            segments: per_second(carried.hop.segments_down + carried.hop.segments_up),
            repairs: per_second(carried.hop.repairs),
            lost: Lost::from_counters(&carried.hop),
        })
    }
}

impl Sort {
    fn of(self, row: &Row<'_>) -> Option<f64> {
        let rates = row.rates.as_ref();
        match self {
            Self::Rate => rates.map(|rates| rates.down_octets + rates.up_octets),
            Self::Down => rates.map(|rates| rates.down_octets),
            Self::Up => rates.map(|rates| rates.up_octets),
            Self::Loss => rates.and_then(|rates| rates.lost.down),
            Self::LossUp => rates.and_then(|rates| rates.lost.up),
            Self::Repairs => rates.map(|rates| rates.repairs),
            Self::Rtt => row.entry.rtt_hop_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_gateway::hop_watch::HopCounters;

    use super::*;

    fn entry(octets_down: u64, hop: HopCounters, age_s: Option<f64>) -> Entry {
        let about = vec!["192.0.2.1:443".to_owned(), "snoop".to_owned()];
        Entry { about, carried: Carried { octets_down, hop, ..Carried::default() }, rtt_hop_s: None, age_s }
    }

    fn snapshot<'k>(uptime_s: f64, rows: impl IntoIterator<Item = (&'k str, Entry)>) -> Snapshot {
        let mut status: Status = serde_json::from_value(serde_json::json!({
            "version": "1", "file": null, "backend": "tun", "ports": [], "report": {}
        }))
        .expect("an older gateway tells no more");
        status.report.uptime_s = uptime_s;
        let rows = rows.into_iter().map(|(key, entry)| (key.to_owned(), entry)).collect();
        Snapshot { status, rows, took: Duration::ZERO }
    }

    fn view(sort: Sort) -> View {
        View { by: By::Connection, query: Query::default(), sort, limit: None }
    }

    #[test]
    fn rates_are_those_between_two_snapshots() {
        let hop = HopCounters { segments_down: 100, lost_down: 10, repairs: 8, ..HopCounters::default() };
        let later = HopCounters { segments_down: 300, lost_down: 60, repairs: 12, ..HopCounters::default() };
        let (before, now) = (entry(1000, hop, Some(5.0)), entry(5000, later, Some(7.0)));
        let rates = Rates::since(Some(&before), &now, 2.0).expect("both were seen");
        assert_eq!(
            (number(rates.down_octets, 1), number(rates.repairs, 1)),
            ("2000.0".to_owned(), "2.0".to_owned())
        );
        assert_eq!(rates.lost, Lost { down: Some(25.0), up: None });
        let again = entry(100, HopCounters::default(), Some(0.5));
        let rates = Rates::since(Some(&before), &again, 2.0).expect("it is new");
        assert_eq!(number(rates.down_octets, 1), "200.0", "another connection between the same ports");
        assert!(
            Rates::since(None, &now, 2.0).is_none(),
            "not looked at before: what it did then is not known"
        );
    }

    #[test]
    fn rows_are_sorted_by_rate_with_unknown_rates_last() {
        let entry = |octets| entry(octets, HopCounters::default(), Some(10.0));
        let before = snapshot(10.0, [("a s", entry(0)), ("b s", entry(900)), ("c s", entry(500))]);
        let now = snapshot(
            11.0,
            [("a s", entry(10)), ("b s", entry(1000)), ("c s", entry(500)), ("d s", entry(9000))],
        );
        let labels =
            |before| view(Sort::Rate).rows(before, &now).iter().map(|row| row.label).collect::<String>();
        assert_eq!(labels(Some(&before)), "bacd");
        let restarted = snapshot(100.0, [("a s", entry(0))]);
        assert!(view(Sort::Rate).rows(Some(&restarted), &now).iter().all(|row| row.rates.is_none()));
    }

    #[test]
    fn a_table_has_as_many_rows_as_fit() {
        let row = |number: u16| (number.to_string(), entry(1, HopCounters::default(), Some(1.0)));
        let rows: Vec<(String, Entry)> = (0..100).map(row).collect();
        let now = snapshot(1.0, rows.iter().map(|(key, entry)| (&**key, entry.clone())));
        for height in [5, 10, 24, 60] {
            let text = view(Sort::Rate).text(None, &now, Some(height));
            let lines = text.lines().count();
            assert!(lines < height.max(7), "{lines} lines of {height}");
            assert!(height < 10 || text.contains("192.0.2.1:443"), "{text}");
        }
        let few = View { limit: Some(3), ..view(Sort::Rate) };
        assert_eq!(few.table(&few.rows(None, &now)[..3]).within(None).lines().count(), 7);
        assert_eq!(few.text(None, &now, None).lines().count(), 1 + 7 + 1);
    }
}
