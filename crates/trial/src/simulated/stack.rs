//! The programs of the kernel's Wi-Fi stack on the hosts: hostapd at access points, `wpa_supplicant` at stations. All
//! networks are open, without Wi-Fi multimedia (WMM), on channel 1; stations are awake, and send data at the rate of
//! their cell.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lasthop_linux::namespace::Namespace;
use lasthop_linux::tool;
use lasthop_scenario::{Scenario, WlanModel};
use lasthop_wifi::{Rate, Standard};

use crate::error::TrialError;
use crate::radios::Radio;
use crate::site::Site;

/// The programs, and their packages in Debian.
const PROGRAMS: [(&str, &str); 3] =
    [("hostapd", "hostapd"), ("wpa_supplicant", "wpasupplicant"), ("iw", "iw")];
/// The guest's scratch space.
const FOLDER: &str = "/run";
/// The channel of all cells, and its frequency in MHz.
const CHANNEL: (u8, u16) = (1, 2412);
/// How long an access point may take to start, or a station to associate.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Checks that the programs are on this machine.
pub(super) fn check() -> Result<(), TrialError> {
    match PROGRAMS.iter().find(|(program, _)| !tool::found(program).is_file()) {
        None => Ok(()),
        Some((program, package)) => Err(TrialError::Wifi(format!(
            "{program} is not on this machine (package {package}); expected it, or --wifi model"
        ))),
    }
}

/// Gives each host its radio. Radio N is `phyN`, and its device `wlanN`, in the namespace of the calling thread.
pub(super) fn adopt(site: &Site) -> Result<(), TrialError> {
    let here = Namespace::current("the guest").map_err(TrialError::Namespace)?;
    for (number, radio) in site.radios().all().iter().enumerate() {
        let host = site.host_of(*radio);
        iw(&here, &["phy", &format!("phy{number}"), "set", "netns", "name", &host.path()])?;
        let device = radio.device();
        // Without addrgenmode, the kernel would look for routers.
        host.ip(&[
            &format!("link set wlan{number} addrgenmode none"),
            &format!("link set wlan{number} name {device}"),
        ])?;
    }
    for adapter in site.adapters() {
        adapter.join(&site.hosts[adapter.radio.node])?;
    }
    Ok(())
}

/// Starts the access points, and associates the stations.
pub(super) fn associate(scenario: &Scenario, site: &Site) -> Result<(), TrialError> {
    let radios = site.radios().all();
    for radio in radios.iter().filter(|radio| radio.station == 0) {
        let configuration = hostapd_configuration(*radio, &scenario.wlans[radio.cell]);
        start(site, *radio, "hostapd", &configuration, "AP-ENABLED")?;
    }
    for radio in radios.iter().filter(|radio| radio.station > 0) {
        start(site, *radio, "wpa_supplicant", &supplicant_configuration(*radio), "CTRL-EVENT-CONNECTED")?;
    }
    for radio in radios {
        let (host, device) = (site.host_of(*radio), radio.device());
        let config = &scenario.wlans[radio.cell].config;
        iw(host, &["dev", &device, "set", "bitrates", "legacy-2.4", &mbits(config.phy.rate)])?;
        if radio.station > 0 {
            iw(host, &["dev", &device, "set", "power_save", "off"])?;
        }
    }
    Ok(())
}

fn network(radio: Radio) -> String {
    format!("lasthop-{}", radio.cell)
}

fn hostapd_configuration(radio: Radio, cell: &WlanModel) -> String {
    let phy = &cell.config.phy;
    let mode = if phy.standard == Standard::HrDsss { 'b' } else { 'g' };
    // The kernel takes no rate alone that is not basic. At which rate a station responds is a matter of the cell.
    let is_basic = |rate: &Rate| *rate == phy.rate || phy.basic_rates.contains(rate);
    let list = |rates: Vec<Rate>| {
        let mut hundreds: Vec<u64> = rates.into_iter().map(|rate| rate.kbps() / 100).collect();
        hundreds.sort_unstable();
        hundreds.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
    };
    let supported = list(phy.standard.rates().collect());
    let basic = list(phy.standard.rates().filter(is_basic).collect());
    format!(
        "interface={}\ndriver=nl80211\nssid={}\nhw_mode={mode}\nchannel={}\nbeacon_int=100\nsupported_rates={supported}\n\
         basic_rates={basic}\nwmm_enabled=0\n",
        radio.device(),
        network(radio),
        CHANNEL.0,
    )
}

fn supplicant_configuration(radio: Radio) -> String {
    let (ssid, (_, mhz)) = (network(radio), CHANNEL);
    format!("network={{\nssid=\"{ssid}\"\nkey_mgmt=NONE\nscan_freq={mhz}\nfreq_list={mhz}\n}}\n")
}

/// A rate in Mbit/s, as iw(8) reads it.
fn mbits(rate: Rate) -> String {
    (rate.kbps() as f64 / 1000.0).to_string()
}

/// Starts a program on a radio, and waits for a line that has `ready`. It runs as long as the guest.
fn start(
    site: &Site,
    radio: Radio,
    program: &str,
    configuration: &str,
    ready: &str,
) -> Result<(), TrialError> {
    let device = radio.device();
    let file = format!("{FOLDER}/{program}-{}-{}.conf", radio.cell, radio.station);
    let host = site.host_of(radio);
    let failed = |problem: String| TrialError::Wifi(format!("{program} on {}: {problem}", host.name()));
    fs::write(&file, configuration).map_err(|error| failed(format!("{file}: {error}")))?;
    let of_device = ["-D", "nl80211", "-i", &device, "-c"];
    let options = if program == "hostapd" { &[][..] } else { &of_device[..] };
    let spawned = host.enter(|| {
        Command::new(tool::found(program))
            .args(options)
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
    });
    let mut child = spawned.and_then(|child| child).map_err(|error| failed(error.to_string()))?;
    let Some(output) = child.stdout.take() else { return Err(failed("it has no output".to_owned())) };
    let lines = lines(output);
    let mut said = String::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains(ready) => return Ok(()),
            Ok(line) => said = line,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(failed(format!(
                    "it is not ready after {} s of simulated time; its last line: {said}",
                    PATIENCE.as_secs()
                )));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(failed(format!("it has ended; its last line: {said}")));
            }
        }
    }
}

/// The lines that a program prints. They are read to its end, whether or not they are received, so that it never waits
/// for a reader.
fn lines(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(io::Result::ok) {
            // The receiver has what it waited for.
            let _ = sender.send(line);
        }
    });
    receiver
}

fn iw(host: &Namespace, words: &[&str]) -> Result<(), TrialError> {
    tool::run(host, &[&["iw"], words].concat(), "").map(drop).map_err(TrialError::Wifi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_wifi::WlanConfig;

    #[test]
    fn an_access_point_has_the_rates_of_its_standard_and_that_of_data_is_basic() {
        let cell = |standard, rate| {
            let mut config = WlanConfig::new(standard);
            config.phy.rate = rate;
            config
        };
        let of = |config: WlanConfig| {
            let scenario = include_str!("../../../../scenarios/try-wifi.toml");
            let mut scenario = lasthop_scenario::file::parse(
                scenario,
                "try-wifi.toml",
                std::path::Path::new(""),
                &lasthop_scenario::Overrides::default(),
            )
            .expect("it is right");
            scenario.wlans[0].config = config;
            hostapd_configuration(
                Radio { cell: 0, station: 0, node: 1, on_adapter: false },
                &scenario.wlans[0],
            )
        };
        let b = of(cell(Standard::HrDsss, Rate::CCK_11));
        assert!(
            b.contains("hw_mode=b\n") && b.contains("supported_rates=10 20 55 110\nbasic_rates=10 20 110\n")
        );
        let g = of(cell(Standard::Erp, Rate::OFDM_54));
        assert!(g.contains("hw_mode=g\n") && g.contains("basic_rates=10 20 60 120 240 540\n"), "{g}");
    }

    #[test]
    fn rates_are_written_as_iw_reads_them() {
        assert_eq!([Rate::CCK_5_5, Rate::OFDM_54].map(mbits), ["5.5", "54"]);
    }
}
