//! The tables of sessions: for each session a line with the results between real hosts, and one
//! with the predictions.

use lasthop_lab::table::{self, Table};

use super::{Medians, SessionRow, StreamMedians};
use crate::commands::trial::doubts::Notes;
use crate::commands::trial::rows::number;

/// A column: its name, and the function for its text.
type Column<T> = (&'static str, fn(&T) -> String);

/// The tables of sessions, one for each kind.
pub(in crate::commands::trial) fn tables(rows: &[SessionRow], notes: &Notes) -> Vec<String> {
    let of_kind = |kind: &str| rows.iter().filter(|row| row.kind == kind).collect::<Vec<_>>();
    let dialogues =
        [("web", "pages", "mean page s"), ("mail", "mails", "mean mail s"), ("ftp", "files", "mean file s")];
    let dialogues =
        dialogues.into_iter().map(|(kind, many, one)| dialogues_of(&of_kind(kind), notes, many, one));
    let streams = [("voice", &VOICE[..]), ("video", &VIDEO[..])];
    let streams = streams.into_iter().map(|(kind, columns)| streams_of(&of_kind(kind), notes, columns));
    dialogues.chain(streams).flatten().collect()
}

const VOICE: [Column<StreamMedians>; 6] = [
    ("voice delay ms", |of| millis(of.delay_mean_s, 1)),
    ("delay variance ms²", |of| of.delay_variance_s2.map_or_else(|| "-".to_owned(), table::millis_squared)),
    ("jitter ms", |of| millis(of.jitter_s, 2)),
    ("lost %", |of| number(of.lost_percent, 2)),
    ("late %", |of| number(of.late_percent, 2)),
    ("MOS", |of| number(of.mos, 2)),
];

const VIDEO: [Column<StreamMedians>; 4] = [
    ("video delay ms", |of| millis(of.delay_mean_s, 1)),
    ("video p95 delay ms", |of| millis(of.delay_p95_s, 1)),
    ("jitter ms", |of| millis(of.jitter_s, 2)),
    ("video lost %", |of| number(of.lost_percent, 2)),
];

/// The table of pages, messages or files; `None` without rows.
fn dialogues_of(
    rows: &[&SessionRow],
    notes: &Notes,
    many: &'static str,
    one: &'static str,
) -> Option<String> {
    let columns: [Column<Medians>; 5] = [
        (many, |of| number(of.completed, 0)),
        (one, |of| number(of.time_mean_s, 3)),
        ("median s", |of| number(of.time_median_s, 3)),
        ("p95 s", |of| number(of.time_p95_s, 3)),
        ("retransmits", |of| number(of.retransmits, 0)),
    ];
    let lines = rows.iter().flat_map(|row| {
        row.sources(notes).map(|(source, of)| {
            let congestion = row.congestion.clone().unwrap_or_default();
            (*row, vec![congestion, row.scheme.clone(), source], columns.map(|(_, show)| show(of)).to_vec())
        })
    });
    table_of(&["TCP", "scheme", ""], &columns.map(|(name, _)| name), lines.collect())
}

/// The table of the directions of calls or videos; `None` without rows.
fn streams_of(rows: &[&SessionRow], notes: &Notes, columns: &[Column<StreamMedians>]) -> Option<String> {
    let mut lines = Vec::new();
    for row in rows {
        let of_all = [&row.real, &row.predicted].into_iter().flatten();
        for place in 0..of_all.map(|medians| medians.streams.len()).max().unwrap_or(0) {
            for (source, medians) in row.sources(notes) {
                let Some(of) = medians.streams.get(place) else { continue };
                let shown = columns.iter().map(|(_, show)| show(of)).collect();
                lines.push((*row, vec![of.from.clone(), row.scheme.clone(), source], shown));
            }
        }
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    table_of(&["from", "scheme", ""], &names, lines)
}

/// A table of these lines, each with its row, the cells that identify it, and the values. The flows
/// beside a session have a column if they differ.
fn table_of(
    what: &[&str],
    shown: &[&str],
    lines: Vec<(&SessionRow, Vec<String>, Vec<String>)>,
) -> Option<String> {
    let (first, ..) = lines.first()?;
    // Dialogues have a column for their congestion control.
    let controls_differ = what[0] != "TCP" && lines.iter().any(|(row, ..)| row.controls != first.controls);
    let says_beside = controls_differ || lines.iter().any(|(row, ..)| row.beside != first.beside);
    let beside = says_beside.then_some("beside");
    let header: Vec<&str> =
        ["session"].into_iter().chain(beside).chain(what.iter().chain(shown).copied()).collect();
    let mut table = Table::with_numbers(&header).with_labels(header.len() - shown.len());
    for (row, what, shown) in lines {
        let beside = says_beside.then(|| {
            let mut controls = row.controls.clone();
            controls.dedup();
            let controls =
                if controls_differ { format!(" ({})", controls.join(", ")) } else { String::new() };
            format!("{}{controls}", row.beside.join(", "))
        });
        table.add_row([row.session.clone()].into_iter().chain(beside).chain(what).chain(shown));
    }
    Some(table.to_string())
}

fn millis(seconds: Option<f64>, decimals: usize) -> String {
    number(seconds.map(|seconds| seconds * 1e3), decimals)
}

#[cfg(test)]
mod tests {
    use lasthop_scenario::session_figures::Transactions;
    use lasthop_trial::session::SessionFigures;

    use super::super::{Entry, rows};
    use super::*;

    fn pages(completed: u64, mean: Option<f64>) -> SessionFigures {
        let transactions = Transactions {
            completed,
            failed: 0,
            under_way: 0,
            time_mean_s: mean,
            time_median_s: mean,
            time_p95_s: mean,
            offered_bytes: 0,
            connections: 0,
            retransmits: 0,
        };
        SessionFigures {
            goodput_bps: 1.0,
            bytes: 0,
            transactions: Some(transactions),
            streams: Vec::new(),
            reports_sent: 0,
            reports_received: 0,
        }
    }

    #[test]
    fn a_session_has_a_line_for_what_ran_and_one_for_what_was_predicted() {
        let real = [pages(4, Some(0.5)), pages(6, Some(0.7)), pages(5, Some(0.9))];
        let predicted = [pages(7, Some(0.25)), pages(7, Some(0.25)), pages(0, None)];
        let (beside, congestion) = (["download".to_owned()], ["cubic".to_owned()]);
        let late = ["the emulator was late".to_owned()];
        let entries: Vec<Entry<'_>> = real
            .iter()
            .zip(&predicted)
            .map(|(real, predicted)| Entry {
                session: "browsing",
                kind: "web",
                congestion: Some("cubic"),
                scheme: "none",
                beside: &beside,
                controls: &congestion,
                real: Some(real),
                predicted: Some(predicted),
                seed: 7,
                kernel: None,
                because: if real.transactions.is_some_and(|of| of.completed == 6) { &late } else { &[] },
            })
            .collect();
        let rows = rows(&entries);
        assert_eq!((rows.len(), rows[0].runs, rows[0].doubtful), (1, 3, 1));
        let notes = Notes::from_rows(rows.iter().map(|row| (&row.doubts[..], row.runs)));
        let tables = tables(&rows, &notes);
        let lines: Vec<Vec<&str>> = tables[0]
            .lines()
            .map(|line| line.split_whitespace().filter(|cell| *cell != "│").collect())
            .collect();
        let has = |cells: &[&str]| lines.iter().any(|line| cells.iter().all(|cell| line.contains(cell)));
        assert!(tables.len() == 1 && has(&["browsing", "real", "!1", "5", "0.700"]), "{}", tables[0]);
        // One run has no page, so there is no median time over all runs.
        assert!(has(&["predicted", "7", "-"]) && !tables[0].contains("beside"), "{}", tables[0]);
    }

    #[test]
    fn runs_beside_another_congestion_control_are_another_row() {
        let (cubic, bbr) = (pages(1, Some(0.2)), pages(1, Some(0.02)));
        let (beside, controls) = (["download".to_owned()], [["cubic".to_owned()], ["bbr".to_owned()]]);
        let entries: Vec<Entry<'_>> = [&cubic, &bbr]
            .into_iter()
            .zip(&controls)
            .map(|(predicted, control)| Entry {
                session: "call",
                kind: "voice",
                congestion: None,
                scheme: "none",
                beside: &beside,
                controls: control,
                real: None,
                predicted: Some(predicted),
                seed: 1,
                kernel: None,
                because: &[],
            })
            .collect();
        assert_eq!(rows(&entries).iter().map(|row| row.runs).collect::<Vec<_>>(), [1, 1]);
    }
}
