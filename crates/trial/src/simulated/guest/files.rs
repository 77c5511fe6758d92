//! The files that programs see: those of this machine, which are read-only, but for directories in which they may write and
//! a few that a guest has of its own.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount, mount_bind};

/// Where what is written below /tmp is kept, in the guest's memory.
const SCRATCH: &str = "/run/lasthop/tmp";
/// Where the files are that replace others.
const OWN: &str = "/run/lasthop";

/// Mounts the directories in which programs may write: these, and /tmp, where this machine's files are, too. What is
/// written there is gone with the guest.
pub(super) fn make_writable(directories: &[PathBuf]) -> io::Result<()> {
    let [above, work] = ["above", "work"].map(|name| format!("{SCRATCH}/{name}"));
    for folder in [&above, &work] {
        fs::create_dir_all(folder)?;
    }
    fs::set_permissions(&above, Permissions::from_mode(0o1777))?;
    let options = format!("lowerdir=/tmp,upperdir={above},workdir={work}");
    attach("overlay", Path::new("/tmp"), options.as_bytes())?;
    for directory in directories {
        attach("hostfs", directory, directory.as_os_str().as_bytes())?;
    }
    Ok(())
}

fn attach(kind: &str, place: &Path, options: &[u8]) -> io::Result<()> {
    let options = CString::new(options)?;
    mount(kind, place, kind, MountFlags::empty(), Some(options.as_c_str()))
        .map_err(|error| io::Error::other(format!("cannot mount {kind} at {}: {error}", place.display())))
}

/// Makes what programs expect in /dev and the kernel leaves to others. What cannot be made is missing, as in a container.
pub(super) fn complete_devices() {
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        let _ = symlink(target, format!("/dev/{name}"));
    }
    for (kind, place) in [("tmpfs", "/dev/shm"), ("devpts", "/dev/pts")] {
        let _ = fs::create_dir_all(place);
        let _ = mount(kind, place, kind, MountFlags::empty(), None);
    }
    let _ = fs::set_permissions("/dev/shm", Permissions::from_mode(0o1777));
}

/// Replaces a file by these octets, if this machine has it.
pub(super) fn replace(path: &str, octets: &[u8]) -> io::Result<()> {
    if !Path::new(path).exists() {
        return Ok(());
    }
    let own = format!("{OWN}/{}", path.replace('/', "-"));
    fs::create_dir_all(OWN)?;
    fs::write(&own, octets)?;
    mount_bind(&own, path).map_err(|error| io::Error::other(format!("{path}: {error}")))
}
