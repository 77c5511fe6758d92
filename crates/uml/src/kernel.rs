//! What a guest is made of.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::vhost::DeviceType;

/// A kernel that was built for user mode, and what it is started with.
#[derive(Debug)]
pub struct Kernel {
    /// The program. Relative paths start in the directory of this process.
    pub program: PathBuf,
    /// The guest's first program. Relative paths start in the directory of this process.
    pub init: PathBuf,
    /// Octets of the guest's memory; rounded up to a multiple of 4 KiB.
    pub memory: u64,
    /// Parameters of the kernel, after those that are made here. They are mixed into the guest's random pool: what
    /// should not change a run does not belong here.
    pub parameters: Vec<String>,
    /// The environment of the kernel's process; the guest's programs do not see it.
    pub environment: Vec<(OsString, OsString)>,
    /// The devices, in the order in which the guest finds them. At most [`MAX_DEVICES`].
    pub devices: Vec<Box<dyn DeviceType>>,
}

/// Devices of a guest.
pub const MAX_DEVICES: usize = 16;

/// The guest's page size.
const PAGE: u64 = 4096;

impl Kernel {
    /// A kernel with this first program, this machine's files, read-only, and 128 MiB of memory.
    pub fn new(program: impl Into<PathBuf>, init: impl Into<PathBuf>) -> Self {
        let parameters = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", INIT];
        Self {
            program: program.into(),
            init: init.into(),
            memory: 128 << 20,
            parameters: parameters.map(str::to_owned).into(),
            environment: Vec::new(),
            devices: Vec::new(),
        }
    }

    /// Octets of the guest's memory.
    pub const fn octets(&self) -> u64 {
        self.memory.next_multiple_of(PAGE)
    }

    /// The kernel's command line. Sockets have relative names, because the line is the same in each run.
    pub fn command_line(&self) -> Vec<String> {
        let mut line = vec![
            format!("mem={}K", self.octets() >> 10),
            format!("time-travel=ext:{TIME_SOCKET}"),
            "con=null".to_owned(),
            "con0=fd:0,fd:1".to_owned(),
        ];
        for (number, device) in self.devices.iter().enumerate() {
            line.push(format!("virtio_uml.device={}:{}", device_socket(number), device.id()));
        }
        line.extend(self.parameters.iter().cloned());
        line
    }
}

/// The first program, as the guest finds it: the link to it is in the directory of the kernel's process, which is "self"
/// in the host's /proc. So the line does not depend on where it is.
const INIT: &str = "init=/proc/self/cwd/init";

/// The name of the link to the first program, in the kernel's directory.
pub const INIT_LINK: &str = "init";

/// The name of the time socket.
pub const TIME_SOCKET: &str = "time";

/// The name of a device's socket.
pub fn device_socket(number: usize) -> String {
    format!("device{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Net;

    #[test]
    fn a_command_line_has_nothing_that_differs_between_runs() {
        let mut kernel = Kernel::new("linux", "/sbin/init");
        kernel.memory = 64 << 20;
        kernel.devices.push(Box::new(Net::new([2, 0, 0, 0, 0, 1])));
        let line = "mem=65536K time-travel=ext:time con=null con0=fd:0,fd:1 virtio_uml.device=device0:1 \
                    root=/dev/root rootfstype=hostfs rootflags=/ ro quiet init=/proc/self/cwd/init";
        assert_eq!(kernel.command_line().join(" "), line);
        assert_eq!(INIT.rsplit('/').next(), Some(INIT_LINK));
    }
}
