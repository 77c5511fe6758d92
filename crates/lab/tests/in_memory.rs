//! Files in memory are as good as files on the disk: the same results, the same errors.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lasthop_config::{Disk, Files, InMemory};
use lasthop_lab::progress::Silent;
use lasthop_lab::run::{RunError, run_observed};
use lasthop_lab::{RunSummary, compare};
use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, Scenario, Sweep, file};
use lasthop_sim::observe::TraceHash;
use lasthop_sim::{Interest, Observer, TraceEvent};

/// A scenario that names three files, one of them in another directory.
const SCENARIO: &str = r#"
    duration = "20 s"
    seeds = 2
    schemes = ["none", "snoop"]
    nodes = { server = { kind = "host" }, edge = { kind = "router" }, phone = { kind = "host" } }
    flows.download = { from = "server", to = "phone", size = "300 kB" }
    [links.wire]
    between = ["server", "edge"]
    rate = "10 Mbit/s"
    delay = { table = "delays.csv" }
    [links.air]
    kind = "wireless"
    between = ["edge", "phone"]
    rate = "2 Mbit/s"
    delay = "5 ms"
    forward = { trace = "../traces/down" }
    channel = { states = "../traces/states" }
"#;

const SWEEP: &str = "scenario = 'a/scenario.toml'\nvary.tcp.window = ['8 KiB', '16 KiB']\n";

fn files() -> Vec<(&'static str, String)> {
    let ticks: Vec<String> = (1..=50).map(|tick| format!("{}", tick * 5)).collect();
    let states: Vec<String> = (1..=9).map(|at| format!("{} {}", at * 300, at % 2)).collect();
    vec![
        ("a/scenario.toml", SCENARIO.to_owned()),
        ("a/delays.csv", "share_percent,delay_ms_low,delay_ms_high\n70,10,20\n30,20,60\n".to_owned()),
        ("traces/down", ticks.join("\n")),
        ("traces/states", states.join("\n")),
        ("sweep.toml", SWEEP.to_owned()),
    ]
}

/// The same files in a directory of the disk and in one of memory.
fn both(directory: &Path, files: &[(&str, String)]) -> [Arc<dyn Files>; 2] {
    let at = |name: &str| directory.join(name);
    for (name, text) in files {
        fs::create_dir_all(at(name).parent().expect("a directory")).expect("writable");
        fs::write(at(name), text).expect("writable");
    }
    let memory = files.iter().map(|(name, text)| (at(name), text.as_str()));
    [Arc::new(Disk), Arc::new(memory.collect::<InMemory>())]
}

struct Hash(Arc<Mutex<TraceHash>>);

impl Observer for Hash {
    fn interest(&self) -> Interest {
        self.0.lock().expect("no panic").interest()
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        self.0.lock().expect("no panic").on_event(now, event);
    }
}

/// A run, and the hash of its trace.
fn run(scenario: &Scenario) -> (RunSummary, u64) {
    let hash = Arc::new(Mutex::new(TraceHash::new()));
    let observer = Hash(Arc::clone(&hash));
    let observers = |_: &_| Ok::<_, RunError>(vec![Box::new(observer) as _]);
    let (summary, _) = run_observed(scenario, &scenario.schemes[1], 1, observers, &Silent).expect("it runs");
    let hash = hash.lock().expect("no panic").value();
    (summary, hash)
}

#[test]
fn a_scenario_and_a_sweep_from_memory_are_those_from_the_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let [disk, memory] = both(directory.path(), &files());
    let none = Overrides::default();

    let scenario = directory.path().join("a/scenario.toml");
    let read = |files: &Arc<dyn Files>| file::read_from(Arc::clone(files), &scenario, &none).expect("good");
    let [on_disk, in_memory] = [read(&disk), read(&memory)];
    assert_eq!(on_disk.files.len(), 4);
    assert_eq!(on_disk.files, in_memory.files);
    assert_eq!(run(&on_disk), run(&in_memory));
    let compared = |scenario| compare(scenario, &Silent).expect("it runs");
    assert_eq!(compared(&on_disk), compared(&in_memory));

    let sweep = directory.path().join("sweep.toml");
    let read = |files: &Arc<dyn Files>| Sweep::read_from(Arc::clone(files), &sweep, &none).expect("good");
    let [on_disk, in_memory] = [read(&disk), read(&memory)];
    assert_eq!(on_disk.inputs(), in_memory.inputs());
    let point = |sweep: &Sweep| run(&sweep.point(1).expect("a point").expect("good"));
    assert_eq!(point(&on_disk), point(&in_memory));
}

#[test]
fn errors_about_files_in_memory_name_the_same_places() {
    let directory = tempfile::tempdir().expect("a directory");
    let spoil = |spoiled: &'static str, text: Option<&str>| {
        let directory =
            directory.path().join(spoiled.replace('/', "-")).join(text.unwrap_or("missing").trim());
        let files = files().into_iter().filter_map(|(name, good)| {
            if name == spoiled { text.map(|text| (name, text.to_owned())) } else { Some((name, good)) }
        });
        let errors = both(&directory, &files.collect::<Vec<_>>()).map(|files| {
            let sweep = Sweep::read_from(files, &directory.join("sweep.toml"), &Overrides::default());
            sweep.err().expect("not good").to_string().replace(" (os error 2)", "")
        });
        assert_eq!(errors[0], errors[1]);
        errors[0].replace(&directory.display().to_string(), "")
    };
    let missing = spoil("traces/down", None);
    assert!(
        missing.contains("links.air.forward.trace") && missing.contains("/a/../traces/down"),
        "{missing}"
    );
    let line = spoil("traces/states", Some("1 2 3\n"));
    assert!(line.contains("/a/../traces/states:1: "), "{line}");
    let line = spoil("a/delays.csv", Some("share_percent\n"));
    assert!(line.contains("/a/delays.csv:1: "), "{line}");
    let key = spoil("a/scenario.toml", Some("nods = 1\n"));
    assert!(key.contains("/a/scenario.toml:1: nods"), "{key}");
    assert!(spoil("sweep.toml", None).contains("/sweep.toml: cannot read the file: No such file"));
}
