//! The disk of a real registry: a file in a folder that no other process uses.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::disk::Disk;

/// A file in a folder, which stays locked until this is dropped. The folder is locked rather than
/// the file, because a file that is rewritten is another one.
pub struct FileSystem {
    folder: File,
    path: PathBuf,
    successor_path: PathBuf,
    /// What was a successor.
    file: Option<File>,
    successor: Option<File>,
}

impl FileSystem {
    /// Locks the folder of a file, which need not exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process has the lock.
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let folder = File::open(folder)?;
        flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        let mut successor_path = path.as_os_str().to_owned();
        successor_path.push(".new");
        let (path, successor_path) = (path.to_owned(), successor_path.into());
        Ok(Self { folder, path, successor_path, file: None, successor: None })
    }
}

impl Disk for FileSystem {
    fn load(&mut self, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&self.path);
        let Some(file) = absent(opened)? else { return Ok(None) };
        let metadata = file.metadata()?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !is_ours || metadata.mode() & 0o022 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "another user may have written the registry's file",
            ));
        }
        let mut octets = Vec::new();
        if metadata.len() <= limit {
            octets.reserve_exact(metadata.len() as usize);
            file.take(limit + 1).read_to_end(&mut octets)?;
        }
        if metadata.len().max(octets.len() as u64) > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Some(octets))
    }

    fn append(&mut self, octets: &[u8]) -> io::Result<()> {
        existing(self.file.as_mut())?.write_all(octets)
    }

    fn sync(&mut self) -> io::Result<()> {
        existing(self.file.as_mut())?.sync_data()
    }

    fn create_successor(&mut self, octets: &[u8]) -> io::Result<()> {
        absent(fs::remove_file(&self.successor_path))?;
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create_new(true).mode(0o600).open(&self.successor_path)?;
        file.write_all(octets)?;
        self.successor = Some(file);
        Ok(())
    }

    fn sync_successor(&mut self) -> io::Result<()> {
        existing(self.successor.as_mut())?.sync_all()
    }

    fn rename_successor(&mut self) -> io::Result<()> {
        fs::rename(&self.successor_path, &self.path)?;
        self.file = self.successor.take();
        Ok(())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        self.folder.sync_all()
    }
}

/// None if there is no such file.
fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn existing(file: Option<&mut File>) -> io::Result<&mut File> {
    file.ok_or_else(|| io::ErrorKind::NotFound.into())
}
