//! The programs of the kernel's Wi-Fi stack on the hosts: hostapd at access points, `wpa_supplicant` at stations. They are
//! without Wi-Fi multimedia (WMM), and send data at the rate of their cell, unless the kernel chooses rates. Without
//! roaming, networks are open, on channel 1.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lasthop_config::words::counted;
use lasthop_gateway::frame::MacAddress;
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::tool;
use lasthop_scenario::model::{RateControl, Roaming};
use lasthop_scenario::{Scenario, WlanModel};
use lasthop_sim::ess::Security;
use lasthop_uml::hwsim::device_address;
use lasthop_wifi::{Rate, Standard};

use super::journeys::Journeys;
use crate::bridged::{BRIDGE, Lan};
use crate::error::TrialError;
use crate::radios::bss::{beacon_interval, channel_of, mhz_of, time_units};
use crate::radios::{GUEST_FOLDER, Radio};
use crate::site::Site;
use crate::wait;

/// The programs, and their packages in Debian.
const PROGRAMS: [(&str, &str); 3] =
    [("hostapd", "hostapd"), ("wpa_supplicant", "wpasupplicant"), ("iw", "iw")];
/// The time between two looks for simulated stations.
const BEACONS: Duration = Duration::from_millis(100);
/// The key of protected networks.
const KEY: &str = "6c617374686f702d6c617374686f702d6c617374686f702d6c617374686f7021";
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

/// Gives each host here its radio. Radio N is `phyN`, and its device `wlanN`, in the namespace of the calling thread.
/// Each kernel has the radios of all hosts, so that no two addresses are the same; those of other hosts stay idle.
pub(super) fn adopt(site: &Site) -> Result<(), TrialError> {
    let here = Namespace::current("the guest").map_err(TrialError::Namespace)?;
    for (number, radio) in site.radios_here() {
        let host = site.host_of(radio);
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

/// Starts the access points, and associates the stations. Returns the ways of clients that roam.
pub(super) fn associate(scenario: &Scenario, site: &Site) -> Result<Option<Journeys>, TrialError> {
    let radios: Vec<_> = site.radios_here().map(|(_, radio)| radio).collect();
    let journeys = Lan::of(scenario).map(|lan| {
        let numbers = site.radios_here();
        let of_access_points = numbers.filter(|(_, radio)| radio.cell == lan.cell() && radio.is_access_point);
        let addresses = of_access_points.map(|(number, _)| MacAddress(device_address(number as u16)));
        Journeys::new(lan.clients().count(), addresses)
    });
    for radio in radios.iter().filter(|radio| radio.is_access_point) {
        let configuration = hostapd_configuration(*radio, &scenario.wlans[radio.cell]);
        start(site, *radio, ("hostapd", "AP-ENABLED"), &configuration, |_| {})?;
    }
    for radio in radios.iter().filter(|radio| !radio.is_access_point) {
        let cell = &scenario.wlans[radio.cell];
        let configuration = supplicant_configuration(*radio, cell);
        let client = radio.station - cell.access_point_count();
        let journeys = journeys.clone().filter(|_| cell.roaming.is_some());
        let follow = move |line: &str| {
            if let Some(journeys) = &journeys {
                journeys.add(client, line, clock::now());
            }
        };
        start(site, *radio, ("wpa_supplicant", "CTRL-EVENT-CONNECTED"), &configuration, follow)?;
    }
    for radio in &radios {
        let (host, device) = (site.host_of(*radio), radio.device());
        let cell = &scenario.wlans[radio.cell];
        if scenario.trial.rate_control == RateControl::Fixed {
            iw(host, &["dev", &device, "set", "bitrates", "legacy-2.4", &mbits(cell.config.phy.rate)])?;
        }
        if !radio.is_access_point {
            let saves =
                cell.power_save.as_ref().is_some_and(|saving| saving.stations.contains(&radio.station));
            iw(host, &["dev", &device, "set", "power_save", if saves { "on" } else { "off" }])?;
        }
    }
    for radio in radios.iter().filter(|radio| radio.is_access_point) {
        wait_for_simulated(site, *radio)?;
    }
    Ok(journeys)
}

/// Waits until all simulated stations of its cell are associated with an access point.
fn wait_for_simulated(site: &Site, access_point: Radio) -> Result<(), TrialError> {
    let of_cell = site.radios().simulated().iter().filter(|radio| radio.cell == access_point.cell);
    let mut missing: Vec<String> =
        of_cell.map(|radio| MacAddress(radio.simulated_address()).to_string()).collect();
    let (host, device) = (site.host_of(access_point), access_point.device());
    let latest = clock::now() + PATIENCE;
    while !missing.is_empty() {
        if clock::now() > latest {
            let stations = counted(missing.len() as u64, "simulated station");
            let problem =
                format!("{stations} did not associate with {}: {}", host.name(), missing.join(", "));
            return Err(TrialError::Wifi(problem));
        }
        wait::pause(BEACONS);
        let known = tool::run(host, &["iw", "dev", &device, "station", "dump"], "");
        let known = known.map_err(TrialError::Wifi)?;
        missing.retain(|station| !is_associated(&known, station));
    }
    Ok(())
}

/// Whether a station is associated according to `iw station dump`, which also lists those that are only authenticated.
fn is_associated(dump: &str, station: &str) -> bool {
    let of_station = dump.split("Station ").find(|part| part.starts_with(station));
    let mut lines = of_station.into_iter().flat_map(str::lines).map(str::trim);
    lines.any(|line| line.strip_prefix("associated:").is_some_and(|is| is.trim() == "yes"))
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
    let supported = list(phy.non_ht_rates().collect());
    let basic = list(phy.non_ht_rates().filter(is_basic).collect());
    let dtim_period = cell.power_save.as_ref().map_or(1, |saving| saving.config.dtim_period);
    let of_roaming = cell.roaming.as_ref().map_or_else(String::new, |roaming| {
        let folder = radio.hostapd_folder();
        let security = match roaming.config.sizes.security {
            Security::Open => String::new(),
            Security::FourWayHandshake => protected("WPA-PSK"),
            Security::FastTransition => {
                let holder = format!("nas_identifier=ap-{}\n", radio.station);
                protected("FT-PSK")
                    + "mobility_domain=6c68\nft_psk_generate_local=1\nft_over_ds=0\n"
                    + &holder
            }
        };
        format!("bridge={BRIDGE}\nctrl_interface={}\n{security}", folder.display())
    });
    format!(
        "interface={}\ndriver=nl80211\nssid={}\nhw_mode={mode}\nchannel={}\nbeacon_int={}\ndtim_period={}\n\
         supported_rates={supported}\nbasic_rates={basic}\nwmm_enabled=0\n{of_roaming}",
        radio.device(),
        radio.network(),
        channel_of(cell, radio.station),
        time_units(beacon_interval(cell)),
        dtim_period,
    )
}

/// What hostapd needs for a network with a key.
fn protected(management: &str) -> String {
    format!("wpa=2\nwpa_key_mgmt={management}\nrsn_pairwise=CCMP\nwpa_psk={KEY}\n")
}

fn supplicant_configuration(radio: Radio, cell: &WlanModel) -> String {
    let access_points = 0..cell.access_point_count();
    let mut frequencies: Vec<u16> = access_points.map(|station| mhz_of(channel_of(cell, station))).collect();
    frequencies.sort_unstable();
    frequencies.dedup();
    let frequencies = frequencies.iter().map(u16::to_string).collect::<Vec<_>>().join(" ");
    let of_roaming = cell.roaming.as_ref().map_or_else(|| "key_mgmt=NONE\n".to_owned(), of_client);
    format!(
        "network={{\nssid=\"{}\"\nscan_freq={frequencies}\nfreq_list={frequencies}\n{of_roaming}}}\n",
        radio.network()
    )
}

/// What `wpa_supplicant` needs to roam.
fn of_client(roaming: &Roaming) -> String {
    let management = match roaming.config.sizes.security {
        Security::Open => "key_mgmt=NONE\n".to_owned(),
        Security::FourWayHandshake => format!("key_mgmt=WPA-PSK\npsk={KEY}\n"),
        Security::FastTransition => format!("key_mgmt=FT-PSK\npsk={KEY}\n"),
    };
    let client = &roaming.client;
    format!(
        "{management}bgscan=\"simple:{}:{}:{}\"\n",
        client.short_interval.as_secs().max(1),
        client.scan_threshold.0,
        client.long_interval.as_secs().max(1)
    )
}

/// A rate in Mbit/s, as iw(8) reads it.
fn mbits(rate: Rate) -> String {
    (rate.kbps() as f64 / 1000.0).to_string()
}

/// Starts a program on a radio, and waits for a line that has `ready`. It runs as long as the guest, and `follow` gets all
/// its lines.
fn start(
    site: &Site,
    radio: Radio,
    (program, ready): (&str, &str),
    configuration: &str,
    follow: impl Fn(&str) + Send + 'static,
) -> Result<(), TrialError> {
    let device = radio.device();
    let file = format!("{GUEST_FOLDER}/{program}-{}-{}.conf", radio.cell, radio.station);
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
    let lines = lines(output, follow);
    let mut said = String::new();
    // For all lines together: a station that is refused again and again prints each time.
    let latest = clock::now() + PATIENCE;
    loop {
        match lines.recv_timeout(latest.since(clock::now())) {
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
fn lines(output: ChildStdout, follow: impl Fn(&str) + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(io::Result::ok) {
            follow(&line);
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
                Radio { cell: 0, station: 0, node: 1, is_access_point: true, on_adapter: false },
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
    fn a_station_that_is_only_authenticated_is_not_associated() {
        let of = |station: &str, is: &str| format!("Station {station} (on wlan.0)\n\tassociated:\t{is}\n");
        let dump = of("02:00:00:00:00:01", "no") + &of("02:00:00:00:00:02", "yes");
        let is = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"];
        assert_eq!(is.map(|station| is_associated(&dump, station)), [false, true, false]);
    }

    #[test]
    fn rates_are_written_as_iw_reads_them() {
        assert_eq!([Rate::CCK_5_5, Rate::OFDM_54].map(mbits), ["5.5", "54"]);
    }
}
