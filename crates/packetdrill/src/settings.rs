//! The settings in the head of a script: options, and commands that change the machine's defaults.

mod endpoint;
mod sysctl;

pub use sysctl::congestion;

use std::time::Duration;

use lasthop_tcp::Config;

use crate::error::Error;
use crate::script::{Script, Setting};
use crate::settings::endpoint::{config, number};

/// How the script's connection is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Open {
    /// By system calls.
    #[default]
    Calls,
    /// Established at 0, on descriptor 3.
    Established,
    /// The endpoint replaces one end after a handshake, which is the script's first two segments
    /// (`Connection::adopt`), on descriptor 3.
    Adopt,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub config: Config,
    pub open: Open,
    /// The peer's window for [`Open::Established`].
    pub peer_window: u32,
    /// Whether the application reads all data as it arrives.
    pub reads_at_once: bool,
    /// The maximum deviation of a segment's time from the script's, in either direction.
    pub tolerance: Duration,
    /// Whether the values of timestamps are compared, not only their presence.
    pub compares_clock: bool,
    /// Whether segments are compared individually, not as the super-packets of segmentation
    /// offload.
    pub strict_segments: bool,
    /// `tcp_ecn` is 2: the endpoint uses ECN only if the peer requests it.
    pub ecn_if_offered: bool,
}

/// Options that configure packetdrill itself: its addresses, verbosity and remote machines. They do
/// not affect an endpoint in simulated time.
const IGNORED: [&str; 22] = [
    "bind_port",
    "code_command",
    "code_format",
    "code_sockopt",
    "connect_port",
    "dry_run",
    "gateway_ip",
    "init_scripts",
    "ip_version",
    "local_ip",
    "netmask_ip",
    "non_fatal",
    "remote_ip",
    "send_omit_free",
    "so_filename",
    "so_flags",
    "speed",
    "tolerance_percent",
    "verbose",
    "wire_client",
    "wire_server",
    "wire_server_ip",
];

impl Settings {
    pub fn from_script(script: &Script) -> Result<Self, Error> {
        let mut settings = Self {
            config: Config::linux(),
            open: Open::Calls,
            peer_window: 65_535,
            reads_at_once: false,
            // packetdrill's default.
            tolerance: Duration::from_millis(4),
            compares_clock: false,
            strict_segments: false,
            ecn_if_offered: false,
        };
        for option in &script.options {
            settings.set(option)?;
        }
        for (place, command) in &script.commands {
            settings.command(*place, command)?;
        }
        Ok(settings)
    }

    fn set(&mut self, Setting { place, name, value }: &Setting) -> Result<(), Error> {
        match name.as_str() {
            "config" => self.config = config(*place, value)?,
            "open" => {
                self.open = match value.as_str() {
                    "established" => Open::Established,
                    "adopt" => Open::Adopt,
                    _ => return Err(Error::expected(*place, "--open=established or --open=adopt")),
                }
            }
            "peer_window" => self.peer_window = number(*place, value)?,
            "reader" => {
                self.reads_at_once = match value.as_str() {
                    "prompt" => true,
                    "explicit" => false,
                    _ => return Err(Error::expected(*place, "--reader=prompt or --reader=explicit")),
                }
            }
            "tolerance_usecs" => {
                self.tolerance = Duration::from_micros(number(*place, value)?);
                self.compares_clock |= self.tolerance.is_zero();
            }
            "tcp_ts_tick_usecs" if value == "1000" => self.compares_clock = true,
            "strict_segments" => self.strict_segments = true,
            // 20 octets each for the IP and TCP headers.
            "mtu" => self.config.mss = number::<u32>(*place, value)?.clamp(41, 65_535) - 40,
            name if IGNORED.contains(&name) => {}
            _ => return Err(Error::not_understood(*place, format!("the option --{name}={value}"))),
        }
        Ok(())
    }
}
