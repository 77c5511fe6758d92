//! Shell commands that change settings of the endpoint. They are interpreted, not executed.

use lasthop_tcp::{Congestion, PacingRule, RackConfig, Recovery};

use super::Settings;
use super::endpoint::number;
use crate::error::{Error, Place};

/// Settings that do not affect the endpoint, or that have an effect only with another option, which
/// is not supported.
const WITHOUT_EFFECT: [&str; 17] = [
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_fack",
    "tcp_wmem",
    "tcp_slow_start_after_idle",
    "tcp_tso_win_divisor",
    "tcp_min_tso_segs",
    "tcp_ecn_option",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_no_metrics_save",
    "tcp_sack_delay",
    "tcp_reordering",
];

impl Settings {
    /// Interprets a command in the head of a script, or in its body before the connection exists.
    pub fn command(&mut self, place: Place, command: &str) -> Result<(), Error> {
        let command = command.replace("\\\n", " ");
        for line in command.lines() {
            let line = line.split('#').next().unwrap_or_default();
            for part in line.split("&&").flat_map(|part| part.split(';')) {
                self.simple_command(place, part.trim())?;
            }
        }
        Ok(())
    }

    fn simple_command(&mut self, place: Place, command: &str) -> Result<(), Error> {
        let words = words(command);
        let Some(program) = words.first() else { return Ok(()) };
        let program = program.rsplit('/').next().unwrap_or_default();
        let arguments = words[1..].iter().map(String::as_str);
        match program {
            // The settings of `Config::linux`, with this receive buffer.
            "defaults.sh" => self.config.window_max = Some(15 << 20),
            "sysctl" | "set_sysctls.py" => {
                let redirections = [">", ">/dev/null", "2>&1", "/dev/null"];
                let settings =
                    arguments.filter(|word| !redirections.contains(word) && !word.starts_with('-'));
                for setting in settings {
                    let Some((name, value)) = setting.split_once('=') else {
                        return Err(Error::not_understood(place, format!("the command {command:?}")));
                    };
                    let name = name.rsplit(['/', '.']).next().unwrap_or_default();
                    self.sysctl(place, name, value)?;
                }
            }
            "tc" if command.contains("fq") && !command.contains("pfifo") => {
                self.config.pacing = PacingRule::Fq;
            }
            "tc" if command.contains("pfifo") => {}
            "ethtool" if command.contains("off") => self.strict_segments = true,
            _ if program.starts_with("sysctl_restore") || command.starts_with("ip tcp_metrics") => {}
            _ => return Err(Error::not_understood(place, format!("the command {command:?}"))),
        }
        Ok(())
    }

    fn sysctl(&mut self, place: Place, name: &str, value: &str) -> Result<(), Error> {
        let config = &mut self.config;
        let is_on = value != "0";
        match name {
            "tcp_sack" => config.sack = is_on,
            "tcp_dsack" => config.dsack = is_on,
            "tcp_timestamps" => config.timestamps = is_on,
            "tcp_ecn" => {
                config.ecn = matches!(value, "1" | "2");
                self.ecn_if_offered = value == "2";
                if !matches!(value, "0" | "1" | "2") {
                    return Err(Error::not_understood(place, format!("tcp_ecn={value}")));
                }
            }
            "tcp_congestion_control" => config.congestion = congestion(place, value)?,
            "tcp_early_retrans" => self.rack(|parts| parts.tail_loss_probe = is_on),
            "tcp_frto" => self.rack(|parts| parts.f_rto = is_on),
            "tcp_recovery" if !is_on => config.recovery = Recovery::Sack,
            "tcp_recovery" => {}
            "tcp_mtu_probing" if value == "0" || value == "1" => config.mtu_probing = is_on,
            "tcp_comp_sack_nr" => config.ack_compression = is_on,
            "tcp_rmem" => {
                let largest = value.split_whitespace().last().unwrap_or_default();
                config.window_max = Some(number::<u32>(place, largest)?.min(1 << 30));
            }
            "tcp_window_scaling" if is_on => {}
            name if WITHOUT_EFFECT.contains(&name) => {}
            _ => return Err(Error::not_understood(place, format!("the sysctl {name}={value}"))),
        }
        Ok(())
    }

    fn rack(&mut self, change: impl Fn(&mut RackConfig)) {
        if let Recovery::Rack(parts) = &mut self.config.recovery {
            change(parts);
        }
    }
}

/// The congestion control with this name in Linux.
pub fn congestion(place: Place, name: &str) -> Result<Congestion, Error> {
    match name {
        "reno" => Ok(Congestion::RenoAbc),
        "cubic" => Ok(Congestion::CubicLinux),
        "vegas" => Ok(Congestion::Vegas),
        "westwood" => Ok(Congestion::Westwood),
        "bbr" => Ok(Congestion::Bbr),
        _ => Err(Error::not_understood(place, format!("the congestion control {name}"))),
    }
}

/// The words of a command. White space in double quotes does not separate words.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one from the beginning").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
