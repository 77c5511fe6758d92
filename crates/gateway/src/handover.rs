//! Handover: the state that a gateway saves for its successor after a restart. It consists of the
//! connections with their agents' state, in a file next to the control socket.
//!
//! The kernel forwards all traffic during the restart, so the state is outdated by its duration.
//! Agents accept this: the effect is the same as if these packets had taken another route. A file
//! that is older than [`OLDEST`], or from before the last boot, is removed and not used; a file
//! larger than [`LARGEST`] is removed unread. A file that other users may have written is not read,
//! and stays. A checksum is verified before the state is decoded: a bit error in it could reach an
//! application.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use super::engine::SavedConnection;
use crate::io::Port;

/// The maximum age of state that is used.
const OLDEST: Duration = Duration::from_secs(30);

/// The maximum size of the file in octets: by default, all agents together use less memory.
const LARGEST: u64 = 256 << 20;

/// The first octets of the file; the number is the format version. They are followed by a CRC-32 of
/// the rest, in network order, and [`SavedState`].
const MAGIC: &[u8] = b"lasthop gateway state 4\n";

/// The content of the file after the checksum.
#[derive(Serialize, Deserialize)]
struct SavedState {
    /// The boot to which the time refers.
    boot: String,
    at: u64,
    /// The ports' names: connections refer to them by number.
    ports: Vec<String>,
    connections: Vec<SavedConnection>,
}

/// The path of the state file of a gateway with this control socket.
pub(super) fn file_of(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".state");
    name.into()
}

/// Saves connections for a successor. The file appears once it is complete, and only its owner can
/// read it.
pub(super) fn save(
    path: &Path,
    ports: &[Port],
    connections: Vec<SavedConnection>,
    now: Instant,
) -> io::Result<()> {
    let ports = ports.iter().map(|port| port.name.clone()).collect();
    let saved = SavedState { boot: boot_id()?, at: now.as_nanos(), ports, connections };
    let head = [MAGIC, &[0; 4]].concat();
    let mut octets = postcard::to_extend(&saved, head).map_err(io::Error::other)?;
    let (head, rest) = octets.split_at_mut(MAGIC.len() + 4);
    head[MAGIC.len()..].copy_from_slice(&crc32fast::hash(rest).to_be_bytes());
    if octets.len() as u64 > LARGEST {
        return Err(io::Error::other("the state file is too large"));
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    let written = file.write_all(&octets).and_then(|()| fs::rename(&part, path));
    written.inspect_err(|_| drop(fs::remove_file(&part)))
}

/// Loads the connections of a predecessor, and removes the file. Returns none if there is no file.
///
/// # Errors
/// The reason why the file cannot be used.
pub(super) fn load(path: &Path, ports: &[Port], now: Instant) -> io::Result<Vec<SavedConnection>> {
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    fs::remove_file(path)?;
    let unusable = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why.to_owned()));
    if file.metadata()?.len() > LARGEST {
        return unusable("the state file is too large");
    }
    let mut octets = Vec::new();
    (&mut file).take(LARGEST).read_to_end(&mut octets)?;
    let Some(octets) = octets.strip_prefix(MAGIC) else {
        return unusable("another version wrote the state file");
    };
    let damaged = "the state file is damaged";
    let Some((checksum, octets)) = octets.split_first_chunk() else { return unusable(damaged) };
    if crc32fast::hash(octets) != u32::from_be_bytes(*checksum) {
        return unusable("the state file is damaged: its checksum is wrong");
    }
    let Ok(saved) = postcard::from_bytes::<SavedState>(octets) else { return unusable(damaged) };
    let age = now.since(Instant::from_nanos(saved.at));
    if saved.boot != boot_id()? || age > OLDEST || now.as_nanos() < saved.at {
        return unusable("the state file is too old");
    }
    if !saved.ports.iter().eq(ports.iter().map(|port| &port.name)) {
        return unusable("the state file is for other ports");
    }
    Ok(saved.connections)
}

/// Opens a file, unless another user may have written it.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !is_ours || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "another user may have written the state file",
        ));
    }
    Ok(file)
}

fn boot_id() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lasthop_agent::Side;

    use super::*;

    fn ports() -> Vec<Port> {
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
        vec![port("eth0", Side::Core), port("wlan0", Side::Radio)]
    }

    fn soon(now: Instant) -> Instant {
        now + Duration::from_secs(1)
    }

    #[test]
    fn the_state_file_survives_a_restart_by_the_service_manager() {
        let unit = include_str!("../../../packaging/lasthop-gateway.service");
        assert!(unit.contains("RuntimeDirectoryPreserve=restart\n"));
    }

    #[test]
    fn saved_state_is_loaded_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = file_of(&directory.path().join("gateway.sock"));
        assert_eq!(path.file_name().and_then(|name| name.to_str()), Some("gateway.sock.state"));
        let now = Instant::from_secs(1000);
        assert_eq!(load(&path, &ports(), now).expect("there is none"), Vec::new());
        save(&path, &ports(), Vec::new(), now).expect("there is room");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        assert_eq!(load(&path, &ports(), soon(now)).expect("it is right"), Vec::new());
        assert!(!path.exists());
    }

    #[test]
    fn an_unusable_file_is_removed_with_an_error_that_names_the_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.state");
        let now = Instant::from_secs(1000);
        let mut others = ports();
        others.pop();
        let late = now + OLDEST + Duration::from_secs(1);
        let cases: [(&[Port], Instant, &str); 3] = [
            (&ports(), late, "too old"),
            (&ports(), Instant::ZERO, "too old"),
            (&others, now, "other ports"),
        ];
        for (ports_now, at, why) in cases {
            save(&path, &ports(), Vec::new(), now).expect("there is room");
            let error = load(&path, ports_now, at).expect_err("it is of no use");
            assert!(error.to_string().contains(why), "{error}");
            assert!(!path.exists());
        }
        for (octets, why) in [(&b"something else"[..], "version"), (MAGIC, "damaged")] {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .expect("there is room");
            file.write_all(octets).expect("there is room");
            let error = load(&path, &ports(), now).expect_err("it is of no use");
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn a_file_with_a_wrong_bit_or_without_its_end_is_not_used() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.state");
        let now = Instant::from_secs(1000);
        save(&path, &ports(), Vec::new(), now).expect("there is room");
        let whole = fs::read(&path).expect("it is there");
        let assert_refused = |octets: &[u8]| {
            // Writing to an existing file keeps its owner and mode.
            save(&path, &ports(), Vec::new(), now).expect("there is room");
            fs::write(&path, octets).expect("it is ours");
            let error = load(&path, &ports(), soon(now)).expect_err("it is of no use");
            assert!(error.to_string().contains("state file"), "{error}");
            assert!(!path.exists());
        };
        for bit in 0..whole.len() * 8 {
            let mut octets = whole.clone();
            octets[bit / 8] ^= 1 << (bit % 8);
            assert_refused(&octets);
        }
        for len in 0..whole.len() {
            assert_refused(&whole[..len]);
        }
        assert_refused(&[&whole[..], b"more"].concat());
    }

    #[test]
    fn gateways_with_different_control_sockets_have_different_state_files() {
        let sockets = ["gateway", "gateway.sock", "gateway.socket", "gateway.sock.1", "other/gateway.sock"];
        let files: BTreeSet<PathBuf> = sockets.iter().map(|socket| file_of(Path::new(socket))).collect();
        assert_eq!(files.len(), sockets.len(), "{files:?}");
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_unread() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.state");
        let now = Instant::from_secs(1000);
        save(&path, &ports(), Vec::new(), now).expect("there is room");
        // A hole takes no space on the disk, but would in memory.
        let file = OpenOptions::new().write(true).open(&path).expect("it is ours");
        file.set_len(LARGEST + 1).expect("there is room");
        let error = load(&path, &ports(), now).expect_err("it is of no use");
        assert!(error.to_string().contains("too large"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_other_users_may_have_written_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gateway.state");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path).expect("room");
        file.write_all(MAGIC).expect("there is room");
        assert!(load(&path, &ports(), Instant::ZERO).is_err());
        std::os::unix::fs::symlink(&path, directory.path().join("link.state")).expect("a link");
        assert!(load(&directory.path().join("link.state"), &ports(), Instant::ZERO).is_err());
    }
}
