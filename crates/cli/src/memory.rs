//! The memory limit of commands that simulate.

use clap::Args;
use lasthop_linux::memory::set_limit;
use lasthop_packet::units::parse_octets;

/// How much memory simulations may take.
#[derive(Args)]
pub struct MemoryLimit {
    /// End with an error if the process takes more memory than this, such as "500 MB" or "4GiB"
    /// [default: half the machine's memory]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = octets)]
    memory_limit: Option<u64>,
}

impl MemoryLimit {
    /// Sets the limit of this process. Must be called before the first run.
    pub fn apply(&self) {
        if let Some(octets) = self.memory_limit {
            set_limit(octets);
        }
    }
}

fn octets(text: &str) -> Result<u64, String> {
    parse_octets(text).map_err(|error| error.to_string())
}
