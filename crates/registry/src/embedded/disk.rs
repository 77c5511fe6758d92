//! What the log needs of a disk.

use std::io;

/// The file of a registry, and its successor while it is rewritten.
///
/// Nothing is durable before it is synchronized: after a loss of power, a file may have any part of
/// what was appended since then, and the folder either file under the name. Each method returns
/// once the system has the change, so that the end of the process alone loses nothing.
pub trait Disk: Send {
    /// The content of the file; none if there is no file. It is not changed any more: it has a
    /// successor before anything is appended.
    ///
    /// # Errors
    /// Also if it has more than `limit` octets ([`io::ErrorKind::FileTooLarge`]).
    fn load(&mut self, limit: u64) -> io::Result<Option<Vec<u8>>>;

    /// Appends to the file.
    fn append(&mut self, octets: &[u8]) -> io::Result<()>;

    /// Makes the content of the file durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Creates the successor with a content; it replaces an earlier one.
    fn create_successor(&mut self, octets: &[u8]) -> io::Result<()>;

    /// Makes the content of the successor durable.
    fn sync_successor(&mut self) -> io::Result<()>;

    /// Gives the file's name to the successor, which is the file from now on.
    fn rename_successor(&mut self) -> io::Result<()>;

    /// Makes the names in the folder durable.
    fn sync_folder(&mut self) -> io::Result<()>;
}
