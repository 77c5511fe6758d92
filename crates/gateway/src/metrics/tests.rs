//! Tests that the page is valid, and that each of its families is documented.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use lasthop_agent::counter::REPORTS;

use super::*;
use crate::clients::Carried;
use crate::hop_rtt::HopRtts;
use crate::packet_loop::ThreadReport;
use lasthop_linux::processor::KeptWaiting;

/// A page as a scraper reads it.
#[derive(Debug, Default)]
pub struct Exposition {
    /// The type of each family.
    pub families: BTreeMap<String, String>,
    /// The value of each sample, by name and labels as they are written.
    pub samples: BTreeMap<String, f64>,
}

/// Parses a page of the text format (version 0.0.4); panics if it is invalid.
pub fn read(page: &str) -> Exposition {
    assert!(page.ends_with('\n'), "the last line ends");
    let mut read = Exposition::default();
    let (mut helped, mut family) = (String::new(), String::new());
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a name and a text");
            assert!(!read.families.contains_key(name) && text.ends_with('.'), "{line}");
            name.clone_into(&mut helped);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a type");
            assert_eq!(name, helped, "each family has its help before its type, once");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(
                name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_'),
                "{line}"
            );
            assert!(read.families.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            name.clone_into(&mut family);
        } else {
            let (sample, value) = line.rsplit_once(' ').expect("a sample and its value");
            let name = sample.split('{').next().expect("a name");
            let suffix =
                name.strip_prefix(&*family).unwrap_or_else(|| panic!("{line} is not with its family"));
            let suffixes: &[&str] =
                if read.families[&family] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&suffix), "{line}");
            assert_labels(sample.strip_prefix(name).unwrap_or_default());
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line} has no number"));
            assert!(read.samples.insert(sample.to_owned(), value).is_none(), "{line} is there twice");
        }
    }
    for (family, _) in read.families.iter().filter(|(_, kind)| *kind == "histogram") {
        assert_histogram(&read, page, family);
    }
    read
}

/// Labels are `{name="text",...}`; in a text, quotes, backslashes and line ends are escaped.
fn assert_labels(labels: &str) {
    if labels.is_empty() {
        return;
    }
    let mut rest = labels.strip_prefix('{').expect("labels begin");
    loop {
        let (name, text) = rest.split_once("=\"").unwrap_or_else(|| panic!("{labels}"));
        assert!(!name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'), "{labels}");
        let mut characters = text.char_indices();
        let end = loop {
            match characters.next().unwrap_or_else(|| panic!("{labels} does not end")) {
                (at, '"') => break at,
                (_, '\\') => {
                    let escaped = characters.next().map(|(_, c)| c);
                    assert!(escaped.is_some_and(|c| ['"', '\\', 'n'].contains(&c)), "{labels}");
                }
                (_, c) => assert_ne!(c, '\n'),
            }
        };
        rest = &text[end + 1..];
        match rest {
            "}" => return,
            _ => rest = rest.strip_prefix(',').unwrap_or_else(|| panic!("{labels}")),
        }
    }
}

/// Asserts that the counts of buckets grow with their bounds, and that the last bucket has all
/// samples.
fn assert_histogram(read: &Exposition, page: &str, family: &str) {
    let prefix = format!("{family}_bucket{{le=\"");
    let buckets: Vec<(f64, f64)> = page
        .lines()
        .filter_map(|line| line.strip_prefix(&*prefix)?.split_once("\"} "))
        .map(|(end, count)| (end.parse().expect("an end"), count.parse().expect("a count")))
        .collect();
    assert!(buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{buckets:?}");
    let all = read.samples[&format!("{family}_count")];
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, all)));
    assert!(read.samples.contains_key(&format!("{family}_sum")));
}

/// A report that results in all families.
pub(super) fn report_of_everything() -> LoopReport {
    let mut hop_rtts = HopRtts::default();
    for micros in [800, 30_000, 30_000, 9_000_000] {
        hop_rtts.count(std::time::Duration::from_micros(micros));
    }
    let mut clients = ClientsReport::default();
    let carried = Carried { octets_down: 5, ..Carried::default() };
    clients.by_address.insert(
        [10, 0, 0, 7].into(),
        ClientCounters {
            carried,
            rtt_hop_s: Some(0.02),
            rtt_min_hop_s: Some(0.01),
            ..ClientCounters::default()
        },
    );
    let named = |name: &str| RuleReport { name: name.to_owned(), ..RuleReport::default() };
    let engine = EngineReport {
        hop_rtts,
        clients: Some(clients),
        rules: vec![named("a \"quoted\\ rule\""), named("snoop")],
        ..EngineReport::default()
    };
    let waited = KeptWaiting { total_s: 0.5, times: 2 };
    LoopReport {
        engine,
        threads: vec![ThreadReport::default(); 2],
        punctuality: PunctualityReport { kept_waiting: Some(waited), ..PunctualityReport::default() },
        ..LoopReport::default()
    }
}

#[test]
fn the_page_is_valid_for_any_names_of_rules() {
    let read = read(&page(Backend::TcBpf, Backend::Auto, &report_of_everything(), None));
    let sample = |name: &str| read.samples.get(name).copied();
    assert_eq!(
        sample("lasthop_rule_held_packets{rule=\"a \\\"quoted\\\\ rule\\\"\",index=\"0\"}"),
        Some(0.0)
    );
    let build = concat!("lasthop_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\",backend=\"tc-bpf\"}");
    assert_eq!(sample(build), Some(1.0));
    assert_eq!(sample("lasthop_hop_rtt_seconds_bucket{le=\"0.05\"}"), Some(3.0));
    assert_eq!(sample("lasthop_hop_rtt_seconds_count"), Some(4.0));
    let of_client = |client: &str| {
        sample(&format!("lasthop_client_octets_total{{client=\"{client}\",direction=\"down\"}}"))
    };
    assert_eq!(["10.0.0.7", "other", "10.0.0.8"].map(of_client), [Some(5.0), Some(0.0), None]);
}

#[test]
fn clients_may_have_pseudonyms() {
    let names = Pseudonyms::default();
    let page = page(Backend::TcBpf, Backend::Auto, &report_of_everything(), Some(&names));
    let client = IpAddr::from(Ipv4Addr::new(10, 0, 0, 7));
    let name = names.of(&client).to_string();
    assert!(page.contains(&format!("client=\"{name}\"")) && !page.contains("10.0.0.7"), "{page}");
}

#[test]
fn a_gateway_that_counts_no_clients_exports_none() {
    let read = read(&page(Backend::Tun, Backend::Tun, &LoopReport::default(), None));
    assert!(!read.families.keys().any(|family| family.contains("client")), "{:?}", read.families);
}

/// The families in the tables of the document, with their types: `NAME` stands for any counter of an
/// agent's packets or reports.
fn documented() -> BTreeMap<String, String> {
    const DOCUMENT: &str = include_str!("../../../../docs/src/gateway.md");
    let section = DOCUMENT.split("## Prometheus metrics").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("a section");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, _unit, _meaning] = cells[..] else { panic!("four columns: {row}") };
        let name = name.trim_matches('`').split('{').next().expect("a name");
        (format!("lasthop_{name}"), kind.to_owned())
    })
    .collect()
}

#[test]
fn the_documented_families_and_types_are_those_of_the_page() {
    let read = read(&page(Backend::TcBpf, Backend::Auto, &report_of_everything(), None));
    let of_agents: BTreeSet<&str> =
        PacketCounters::COUNTERS.iter().chain(REPORTS).map(|counter| counter.name).collect();
    let of_clients: BTreeSet<String> = HopCounters::COUNTERS
        .iter()
        .map(|counter| format!("lasthop_client_{}_total", counter.name))
        .collect();
    let as_documented = |family: &String| {
        if of_clients.contains(family) {
            return "lasthop_client_hop_NAME_total".to_owned();
        }
        for prefix in ["lasthop_agent_", "lasthop_rule_"] {
            let name = family.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("_total"));
            if name.is_some_and(|name| of_agents.contains(name)) {
                return format!("{prefix}NAME_total");
            }
        }
        family.clone()
    };
    let exported: BTreeMap<String, String> =
        read.families.iter().map(|(family, kind)| (as_documented(family), kind.clone())).collect();
    assert_eq!(documented(), exported);
}

#[cfg(feature = "roaming")]
#[test]
fn the_families_of_roaming_are_those_of_their_document() {
    const DOCUMENT: &str = include_str!("../../../../docs/src/many-gateways.md");
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `roaming_"));
    let documented: BTreeSet<String> =
        rows.filter_map(|row| Some(format!("lasthop_roaming_{}", row.split_once('`')?.0))).collect();
    let page = of_roaming(&RoamingReport::default());
    assert_eq!(documented, read(&page).families.into_keys().collect());
}
