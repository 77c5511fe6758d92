//! `lasthop reproduce`.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
#[cfg(feature = "thesis")]
use lasthop_lab::goel;
use lasthop_lab::reproduce::{ExplainedRow, Explanations, Row, Tally};
use lasthop_lab::run::RunError;
use lasthop_lab::{as_tcp, bianchi, cicada, kliazovich, packet_control, relatives, table, wifi};
use serde_json::Value;

use crate::failure::Failure;
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::progress::Bar;
use crate::rectangle;

/// The arguments of `reproduce`.
#[derive(Args)]
#[command(
    after_help = "A row agrees if the measured mean lies within its tolerance. If the tolerance is \"above\" a number (at_least_percent in JSON), the whole confidence interval must lie above that number. With few seeds, the interval may be too wide for that. \"published\" is the number in the paper; it is empty for a claim without a number, whose tolerance is lasthop's own. For bianchi and wifi it is what the refined model or the closed form gives, as lasthop computes it, or what ns-3's tests accept. \"no effect\" is what the row would have without an agent, or with an effect of 0%; where it would agree then, too, the verdict is \"yes*\", and the last line counts these rows apart. Rows that repeat an experiment with another choice of what the paper leaves open are counted apart, too (\"alternative\" in JSON). The reason for an explained disagreement is below its table, and in JSON in \"explained\"; docs/src/validation.md has the details. packet-control makes 20 runs per seed."
)]
pub struct Arguments {
    /// The paper
    paper: Paper,
    /// Run with this many seeds per number, at least 2
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = whole(2..=10_000))]
    seeds: u64,
    /// Print only the rows that disagree
    #[arg(long)]
    disagreements: bool,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Exit with 1 if a row disagrees without an explanation, or agrees although its disagreement is
    /// explained. The explanations are for the default number of seeds
    #[arg(long, conflicts_with = "seeds")]
    check: bool,
    /// Print a JSON array of rows instead of the table
    #[arg(long)]
    json: bool,
    /// Print one CSV table instead: a row for each row of the tables. "unit" is the unit of the numbers;
    /// a range has two columns (_from, _to); an empty field is a missing value
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Paper {
    /// Goel, "Improving the Performance of TCP over Wireless Links", thesis, IIT Kanpur 1997
    #[cfg(feature = "thesis")]
    Goel,
    /// Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", JSAC
    /// 2000, with frozen back-off
    Bianchi,
    /// 802.11n, ac and ax: closed forms for one sender, what ns-3's tests accept, and Bianchi's model with
    /// A-MPDUs
    Wifi,
    /// Kliazovich, dissertation, University of Trento 2006: LLE-TCP, figures 3.7 to 3.17
    LleTcp,
    /// The same dissertation: C3TCP, figures 4.11 to 4.21
    C3tcp,
    /// TCP packet control, as surveyed by Sonia and Malhotra, IJCSIT Research 2014: its three
    /// scenarios
    PacketControl,
    /// Snoop's relatives: the claims for EBSN (1997), WTCP (1998), DDA (1999), ELN (1998), and Snoop's
    /// own uplink half
    Relatives,
    /// Ghaboosi and Khalaj, PIMRC 2005: CICADA compared with I-TCP, tables 1 to 3
    Cicada,
    /// Jung et al., "Augmented Split-TCP over Wireless LANs": AS-TCP, figures 3 to 6
    AsTcp,
    /// All papers
    All,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let bar = Bar::new();
    let rows = rows(arguments.paper, arguments.seeds, &bar);
    bar.finish();
    let explanations = Explanations::ours();
    let mut rows = explanations.explain(rows.map_err(|error| Failure::Run(error.into()))?);
    let verdict = if arguments.check { check(&explanations, &rows) } else { Ok(()) };
    let tally = Tally::from_rows(rows.iter().map(|row| &row.row));
    if arguments.disagreements {
        rows.retain(|row| !row.row.agrees);
    }
    if arguments.json {
        output::print_json(&rows)?;
    } else if arguments.csv {
        let lines: Result<Vec<Value>, _> = rows.iter().map(serde_json::to_value).collect();
        let lines = lines.map_err(|error| Failure::Run(error.into()))?;
        rectangle::print(&["paper", "item", "scheme", "metric", "unit"], &lines)?;
    } else {
        output::print(&format!(
            "{}\n\n{}",
            table::reproduction(&rows),
            table::paragraph(&tally.to_string())
        ))?;
    }
    verdict
}

/// Fails unless the rows that disagree are exactly those with an explanation.
fn check(explanations: &Explanations, rows: &[ExplainedRow]) -> Result<(), Failure> {
    let unexplained = rows.iter().filter(|row| !row.row.agrees && row.explained.is_none());
    let unexplained = unexplained.map(|row| format!("disagrees and is not explained: {}", named(&row.row)));
    let outdated = explanations.outdated(rows).into_iter();
    let outdated = outdated.map(|row| format!("agrees, but is on the list of disagreements: {}", named(row)));
    let failures: Vec<String> = unexplained.chain(outdated).collect();
    match failures.len() {
        0 => Ok(()),
        1 => Err(Failure::Run(anyhow!("--check: {}", failures[0]))),
        many => Err(Failure::Run(anyhow!("--check: {many} rows:\n{}", failures.join("\n")))),
    }
}

/// The text that identifies a row.
fn named(row: &Row) -> String {
    let parameters = Value::Object(row.parameters.clone());
    format!("{}, {}, {}, {}, {parameters}", row.paper, row.item, row.scheme, row.metric)
}

fn rows(paper: Paper, seeds: u64, bar: &Bar) -> Result<Vec<Row>, RunError> {
    match paper {
        #[cfg(feature = "thesis")]
        Paper::Goel => goel::reproduce(seeds, bar),
        Paper::Bianchi => bianchi::reproduction::reproduce(seeds, bar),
        Paper::Wifi => wifi::reproduce(seeds, bar),
        Paper::LleTcp => kliazovich::reproduce(seeds, bar),
        Paper::C3tcp => kliazovich::c3tcp::reproduce(seeds, bar),
        Paper::PacketControl => packet_control::reproduce(seeds, bar),
        Paper::Relatives => relatives::reproduce(seeds, bar),
        Paper::Cicada => cicada::reproduce(seeds, bar),
        Paper::AsTcp => as_tcp::reproduce(seeds, bar),
        Paper::All => {
            #[cfg(feature = "thesis")]
            let mut rows = goel::reproduce(seeds, bar)?;
            #[cfg(not(feature = "thesis"))]
            let mut rows = Vec::new();
            rows.extend(bianchi::reproduction::reproduce(seeds, bar)?);
            rows.extend(wifi::reproduce(seeds, bar)?);
            rows.extend(kliazovich::reproduce(seeds, bar)?);
            rows.extend(kliazovich::c3tcp::reproduce(seeds, bar)?);
            rows.extend(packet_control::reproduce(seeds, bar)?);
            rows.extend(relatives::reproduce(seeds, bar)?);
            rows.extend(cicada::reproduce(seeds, bar)?);
            rows.extend(as_tcp::reproduce(seeds, bar)?);
            Ok(rows)
        }
    }
}
