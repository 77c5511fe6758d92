//! Hosts on kernels of their own: several guests in one run. With one kernel at hand, a copy of it makes another guest.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{WIFI, goodput, kernel, name_in_reports, output, rows, try_scenario};

/// A copy of the kernel, in a folder that goes when this is dropped.
struct Copied {
    _folder: TempDir,
    path: String,
}

impl Copied {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("other").display().to_string();
        fs::copy(kernel(), &path).expect("a writable directory");
        Self { _folder: folder, path }
    }

    /// The setting that gives it to a node.
    fn for_node(&self, node: &str) -> String {
        format!("try.kernels.{node}={}", self.path)
    }

    /// What the results call a run in which a node has it.
    fn label(&self, node: &str) -> String {
        format!("{} ({node} {})", name_in_reports(&kernel()), self.path)
    }
}

const FLOWS: [&str; 5] = ["--congestion", "cubic", "--set", "try.duration=6 s", "--json"];

fn runs(scenario: &str, options: &[&str]) -> Vec<Value> {
    rows(&output(&mut try_scenario(scenario, &kernel(), options)))
}

pub(super) fn a_server_on_another_kernel_has_the_goodput_of_one_on_the_same() {
    let other = Copied::new();
    let server = other.for_node("server");
    let split = [&FLOWS[..], &["--set", &server]].concat();
    let (one, two) = (runs("try.toml", &FLOWS), runs("try.toml", &split));
    assert_eq!(two, runs("try.toml", &split), "a run repeats");
    assert_eq!(two.len(), 4, "two flows, with Snoop and without");
    for (one, two) in one.iter().zip(&two) {
        println!(
            "{} {}: {:.2} Mbit/s, on one kernel {:.2}",
            two["flow"],
            two["scheme"],
            goodput(two) / 1e6,
            goodput(one) / 1e6
        );
        assert_eq!((&two["intact"], &two["trusted"]), (&true.into(), &true.into()), "{two}");
        assert!((goodput(two) / goodput(one) - 1.0).abs() < 0.2, "{two}");
        assert_eq!(two["latency_median_ms"].is_null(), one["latency_median_ms"].is_null());
        assert_eq!(two["gateway"].is_null(), one["gateway"].is_null());
        assert_eq!(two["kernel"], other.label("server"));
    }
}

pub(super) fn a_file_arrives_whole_at_a_host_on_another_kernel_and_takes_as_long() {
    let other = Copied::new();
    let client = other.for_node("client");
    let sizes = ["--set", "flows.download.size=2 MB", "--set", "links.air.loss=0%", "--schemes", "none"];
    let later = ["--set", "flows.download.start=1 s", "--flows", "download"];
    let options = [&FLOWS[..], &sizes, &later].concat();
    let one = runs("try.toml", &options).remove(0);
    let two = runs("try.toml", &[&options[..], &["--set", &client]].concat()).remove(0);
    let seconds = |run: &Value| run["completion_s"].as_f64().expect("it completes");
    println!("{} s, on one kernel {} s", seconds(&two), seconds(&one));
    assert!((seconds(&two) - seconds(&one)).abs() < 0.002);
    assert_eq!((&two["octets"], &two["intact"]), (&2_000_000.into(), &true.into()));
}

pub(super) fn an_error_says_which_kernel_the_guest_has() {
    let other = Copied::new();
    let server = other.for_node("server");
    // The setting is wrong on all hosts: which guest says so first is not the matter.
    let wrong = ["--set", "try.sysctl={\"ipv4.tcp_no_such\"=\"1\"}", "--set", &server];
    let output = output(&mut try_scenario("try.toml", &kernel(), &[&FLOWS[..], &wrong].concat()));
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let kernel = kernel();
    let guests =
        [name_in_reports(&kernel), &other.path].map(|kernel| format!("the guest with kernel {kernel}: "));
    assert!(guests.iter().any(|guest| message.contains(guest)), "{message}");
    assert!(message.contains("tcp_no_such"), "{message}");
}

/// Every kernel numbers its radios from 0, and yet no two stations of the cell have the same address.
pub(super) fn stations_on_several_kernels_share_a_cell() {
    let other = Copied::new();
    let station = other.for_node("client");
    let options = [&WIFI[..], &["--flows", "download", "--json"]].concat();
    let one = runs("try-wifi.toml", &options).remove(0);
    let two = runs("try-wifi.toml", &[&options[..], &["--set", &station]].concat()).remove(0);
    println!("{:.2} Mbit/s, on one kernel {:.2}", goodput(&two) / 1e6, goodput(&one) / 1e6);
    assert!((goodput(&two) / goodput(&one) - 1.0).abs() < 0.05, "{two}");
    assert_eq!(two["intact"], true);
    let frames = |run: &Value, station: usize| run["stations"][station]["frames"].as_f64().expect("a count");
    for station in 0..2 {
        assert!((frames(&two, station) / frames(&one, station) - 1.0).abs() < 0.05, "{two}");
    }
}
