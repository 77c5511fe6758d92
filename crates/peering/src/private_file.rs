//! Files that only their owner may read or change: keys, and the list of known peers.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The content of a file; none if there is no file. It has at most `limit` octets, which is checked before
/// memory is taken.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if the file belongs to another user, or if others may read or change
/// it; [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // A named pipe would let this wait for a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !is_ours || metadata.mode() & 0o077 != 0 {
        let why =
            format!("{}: others than its owner may read or change it; expected mode 0600", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut octets = Vec::new();
    file.take(limit + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(octets))
}

/// Writes a new file.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is one.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(path, content)?;
    // Unlike a rename, a link never replaces a file: of two that start at once, one fails.
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    linked?;
    sync_folder(path)
}

/// Replaces a file, or creates it. After a loss of power, it has either the old content or the new one.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::rename(write_temporary(path, content)?, path)?;
    sync_folder(path)
}

fn write_temporary(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    Ok(temporary)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_that_others_may_read_or_change_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        create(&path, b"secret").expect("it is new");
        assert_eq!(read(&path, 6).expect("it is ours").as_deref(), Some(&b"secret"[..]));
        for mode in [0o604, 0o602, 0o640, 0o620, 0o601] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
            let refused = read(&path, 6).expect_err("others may");
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{mode:o}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_or_no_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        assert!(read(&path, 6).expect("it is absent").is_none());
        create(&path, b"secrets").expect("it is new");
        assert_eq!(read(&path, 6).expect_err("7 octets").kind(), io::ErrorKind::FileTooLarge);
        assert!(read(folder.path(), 6).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(read(&link, 7).is_err());
    }

    #[test]
    fn a_file_is_created_once_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        create(&path, b"first").expect("it is new");
        assert_eq!(create(&path, b"other").expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("it is there"), b"first");
        replace(&path, b"second").expect("it is ours");
        assert_eq!(fs::read(&path).expect("it is there"), b"second");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
    }
}
