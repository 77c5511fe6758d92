//! Sessions in tables.

use super::cells::{count, millis_squared, number, or_dash, plus_minus, scaled};
use super::folded::Table;
use super::width::paragraph;
use crate::compare::ComparisonRow;
use crate::sessions::{DialogueEstimates, SessionEstimates, SessionSummary, StreamEstimates};
use crate::stats::Estimate;

/// A column of a comparison: its name, its cell of a row, and whether this cell is of interest.
type Column = (&'static str, fn(&ComparisonRow) -> String, fn(&ComparisonRow) -> bool);

/// Pages, messages and files: the number of complete ones, and their times.
const DIALOGUES: [Column; 10] = [
    ("web Mbit/s", |row| goodput(row, |all| all.web), |row| has(row, |all| all.web)),
    ("pages", |row| completed(row, |all| all.web), |row| has(row, |all| all.web)),
    ("mean page s", |row| time(row, |all| all.web?.time_mean_s), |row| has(row, |all| all.web)),
    ("median page s", |row| time(row, |all| all.web?.time_median_s), |row| has(row, |all| all.web)),
    ("p95 page s", |row| time(row, |all| all.web?.time_p95_s), |row| has(row, |all| all.web)),
    ("mails", |row| completed(row, |all| all.mail), |row| has(row, |all| all.mail)),
    ("mean mail s", |row| time(row, |all| all.mail?.time_mean_s), |row| has(row, |all| all.mail)),
    ("ftp Mbit/s", |row| goodput(row, |all| all.ftp), |row| has(row, |all| all.ftp)),
    ("files", |row| completed(row, |all| all.ftp), |row| has(row, |all| all.ftp)),
    ("mean file s", |row| time(row, |all| all.ftp?.time_mean_s), |row| has(row, |all| all.ftp)),
];

/// Calls and videos: delays, losses, and opinion scores.
const STREAMS: [Column; 9] = [
    ("voice delay ms", |row| voice(row, |all| millis(all.delay_mean_s?, 1)), has_voice),
    (
        "delay variance ms²",
        |row| voice(row, |all| Some(millis_squared(all.delay_variance_s2?.mean))),
        has_voice,
    ),
    ("jitter ms", |row| voice(row, |all| millis(all.jitter_s?, 2)), has_voice),
    ("voice lost %", |row| voice(row, |all| Some(plus_minus(&all.lost_percent?, 2))), has_voice),
    ("voice late %", |row| voice(row, |all| Some(plus_minus(&all.late_percent?, 2))), has_voice),
    ("MOS", |row| voice(row, |all| Some(plus_minus(&all.mos?, 2))), has_voice),
    (MOS_WORST, |row| voice(row, |all| Some(number(all.mos_worst?.mean, 2))), has_a_worse_mos),
    ("video lost %", |row| video(row, |all| Some(plus_minus(&all.lost_percent?, 2))), has_video),
    ("video p95 delay ms", |row| video(row, |all| millis(all.delay_p95_s?, 1)), has_video),
];

const MOS_WORST: &str = "MOS worst";

/// The tables of a comparison's sessions, without empty ones, and explanations of their columns.
pub(super) fn comparison_rows(rows: &[ComparisonRow]) -> impl Iterator<Item = String> {
    let tables = [&DIALOGUES[..], &STREAMS[..]].map(|columns| {
        let shown: Vec<&Column> = columns.iter().filter(|(_, _, matters)| rows.iter().any(matters)).collect();
        let header: Vec<&str> = ["scheme"].into_iter().chain(shown.iter().map(|(name, ..)| *name)).collect();
        let mut table = Table::with_numbers(&header);
        for row in rows {
            let cells = shown.iter().map(|(_, show, _)| show(row));
            table.add_row([row.scheme.clone()].into_iter().chain(cells));
        }
        (!shown.is_empty()).then(|| table.to_string())
    });
    tables.into_iter().flatten().chain(about_mos(rows))
}

/// The explanation of the columns with opinion scores.
fn about_mos(rows: &[ComparisonRow]) -> Option<String> {
    let worst = if rows.iter().any(has_a_worse_mos) {
        format!("; {MOS_WORST}: of the worst direction")
    } else {
        String::new()
    };
    let mos = "MOS: opinion score, 1 to 4.5 (ITU-T G.107), mean of both directions of all calls";
    rows.iter().any(has_voice).then(|| paragraph(&format!("{mos}{worst}")))
}

/// Whether the table shows a direction of a call as worse than the mean of all.
fn has_a_worse_mos(row: &ComparisonRow) -> bool {
    let voice = row.sessions.as_ref().and_then(|all| all.voice);
    voice
        .and_then(|all| all.mos.zip(all.mos_worst))
        .is_some_and(|(mos, worst)| mos.mean - worst.mean >= 0.005)
}

fn has<T>(row: &ComparisonRow, kind: fn(&SessionEstimates) -> Option<T>) -> bool {
    row.sessions.as_ref().and_then(kind).is_some()
}

fn has_voice(row: &ComparisonRow) -> bool {
    has(row, |all| all.voice)
}

fn has_video(row: &ComparisonRow) -> bool {
    has(row, |all| all.video)
}

type Kind = fn(&SessionEstimates) -> Option<DialogueEstimates>;

fn completed(row: &ComparisonRow, kind: Kind) -> String {
    or_dash(row.sessions.as_ref().and_then(kind).map(|all| count(&all.completed)))
}

fn goodput(row: &ComparisonRow, kind: Kind) -> String {
    let goodput = row.sessions.as_ref().and_then(kind).map(|all| scaled(all.goodput_bps, 1e-6));
    or_dash(goodput.map(|goodput| plus_minus(&goodput, 3)))
}

fn time(row: &ComparisonRow, of: fn(&SessionEstimates) -> Option<Estimate>) -> String {
    or_dash(row.sessions.as_ref().and_then(of).map(|time| plus_minus(&time, 3)))
}

fn voice(row: &ComparisonRow, show: fn(&StreamEstimates) -> Option<String>) -> String {
    or_dash(row.sessions.as_ref().and_then(|all| all.voice).as_ref().and_then(show))
}

fn video(row: &ComparisonRow, show: fn(&StreamEstimates) -> Option<String>) -> String {
    or_dash(row.sessions.as_ref().and_then(|all| all.video).as_ref().and_then(show))
}

#[expect(clippy::unnecessary_wraps, reason = "a column's cell may be empty")]
fn millis(seconds: Estimate, decimals: usize) -> Option<String> {
    Some(plus_minus(&scaled(seconds, 1e3), decimals))
}

/// The tables of a run's sessions: one of sessions with pages, messages or files, and one of the
/// directions of calls and videos.
pub(super) fn run_rows(sessions: &[SessionSummary]) -> impl Iterator<Item = String> {
    let dialogues = sessions.iter().any(|session| session.transactions.is_some());
    let streams = sessions.iter().any(|session| !session.streams.is_empty());
    let tables = [dialogues.then(|| self::dialogues(sessions)), streams.then(|| self::streams(sessions))];
    tables.into_iter().flatten()
}

fn dialogues(sessions: &[SessionSummary]) -> String {
    let mut table = Table::with_numbers(&[
        "session",
        "kind",
        "goodput Mbit/s",
        "complete",
        "failed",
        "mean s",
        "median s",
        "p95 s",
        "connections",
        "retransmits",
        "timeouts",
    ]);
    let seconds = |time: Option<f64>| or_dash(time.map(|time| number(time, 3)));
    for session in sessions {
        let Some(of) = session.transactions else { continue };
        let all = of.transactions;
        table.add_row([
            session.name.clone(),
            session.kind.clone(),
            number(session.goodput_bps / 1e6, 4),
            all.completed.to_string(),
            all.failed.to_string(),
            seconds(all.time_mean_s),
            seconds(all.time_median_s),
            seconds(all.time_p95_s),
            all.connections.to_string(),
            all.retransmits.to_string(),
            of.timeouts.to_string(),
        ]);
    }
    table.to_string()
}

fn streams(sessions: &[SessionSummary]) -> String {
    let mut table = Table::with_numbers(&[
        "stream",
        "from",
        "to",
        "sent",
        "lost %",
        "late %",
        "mean delay ms",
        "delay variance ms²",
        "p95 delay ms",
        "jitter ms",
        "MOS",
    ])
    .with_labels(3);
    let millis = |seconds: Option<f64>| or_dash(seconds.map(|seconds| number(seconds * 1e3, 2)));
    let percent = |percent: Option<f64>| or_dash(percent.map(|percent| number(percent, 2)));
    for (session, stream) in sessions.iter().flat_map(|one| one.streams.iter().map(move |of| (one, of))) {
        let packets = &stream.packets;
        table.add_row([
            session.name.clone(),
            stream.from.clone(),
            stream.to.clone(),
            packets.sent.to_string(),
            percent(packets.lost_percent),
            percent(packets.late_percent),
            millis(packets.delay_mean_s),
            or_dash(packets.delay_variance_s2.map(millis_squared)),
            millis(packets.delay_p95_s),
            millis(packets.jitter_s),
            or_dash(stream.mos.map(|mos| number(mos, 2))),
        ]);
    }
    table.to_string()
}
