//! Files of results. One appears under its name only when it is whole, never in the place of a file that
//! the run was made from, and in the place of an earlier one only if that is asked for.

mod part;

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use part::{Use, directory_of};
use tempfile::TempPath;

/// What becomes of a file of earlier results that has the name of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// It stays, and the new one is refused. An empty file has no results.
    Stays,
    /// The new one takes its place.
    Goes,
}

/// Where a file of results is to be. Until it is whole it stands beside that, under a hidden name
/// of its own.
#[derive(Debug)]
pub struct ResultPath {
    /// As the user wrote it.
    name: PathBuf,
    /// Where it is to be; `None` for a pipe, a terminal, a device, or what our own output goes to:
    /// written to as it is.
    target: Option<PathBuf>,
    part: Option<TempPath>,
}

/// What this process is writing: where it is to be, and the part once there is one.
static UNDER_WAY: Mutex<BTreeMap<PathBuf, Option<PathBuf>>> = Mutex::new(BTreeMap::new());

/// The directories that this process has made, each after the one that it is in.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a directory for results, and those that it is in, where they are missing.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        directory.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    MADE.lock().unwrap_or_else(PoisonError::into_inner).extend(missing.iter().rev().map(PathBuf::from));
    fs::create_dir_all(directory)
}

/// Removes the parts of all files that are not whole, and the directories that were made for them
/// if nothing else is there: for a process that is told to end, or that has failed.
pub fn remove_parts() {
    for part in UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).values().flatten() {
        let _ = fs::remove_file(part);
    }
    for directory in MADE.lock().unwrap_or_else(PoisonError::into_inner).drain(..).rev() {
        // Only an empty one can be removed.
        let _ = fs::remove_dir(directory);
    }
}

impl ResultPath {
    /// The place of this name. Nothing is written yet. Fails for one of `inputs`, for an earlier file
    /// that stays, for what this process is writing already, and for what may not be written.
    pub fn new(name: &Path, inputs: &[PathBuf], earlier: Earlier) -> io::Result<Self> {
        let place = Self { name: name.to_owned(), target: None, part: None };
        let Ok(metadata) = fs::metadata(name) else {
            let new = new_file(name).map_err(|error| place.error(&error))?;
            return place.at(new);
        };
        let file = identity(&metadata);
        if !metadata.is_file() || our_own_output().contains(&file) {
            return Ok(place);
        }
        if inputs.iter().filter_map(|input| fs::metadata(input).ok()).any(|input| identity(&input) == file) {
            let problem = "this file is an input of the run; expected another name";
            return Err(place.error(&io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        if earlier == Earlier::Stays && metadata.len() > 0 {
            let problem = "this file exists; expected another name, or --overwrite";
            return Err(place.error(&io::Error::new(io::ErrorKind::AlreadyExists, problem)));
        }
        OpenOptions::new().write(true).open(name).map_err(|error| place.error(&error))?;
        place.at(fs::canonicalize(name)?)
    }

    fn at(mut self, target: PathBuf) -> io::Result<Self> {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.contains_key(&target) {
            let problem = "this run already writes another file under this name; expected another name";
            return Err(self.error(&io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        under_way.insert(target.clone(), None);
        self.target = Some(target);
        Ok(self)
    }

    /// Opens the file, which stays open until it is whole: should this process be killed, a later
    /// one removes what is there.
    pub fn open(&mut self) -> io::Result<File> {
        self.open_for(Use::Throughout)
    }

    /// Opens the file, which is open only now and then: empty the first time, at its end later.
    pub fn open_again(&mut self) -> io::Result<File> {
        self.open_for(Use::NowAndThen)
    }

    fn open_for(&mut self, how: Use) -> io::Result<File> {
        let opened = match (&self.target, &self.part) {
            (Some(target), None) => part::begin(target, how).map(|(file, part)| {
                let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
                under_way.insert(target.clone(), Some(part.to_path_buf()));
                self.part = Some(part);
                file
            }),
            (Some(_), Some(part)) => OpenOptions::new().append(true).open(part),
            (None, _) => OpenOptions::new().append(true).open(&self.name),
        };
        opened.map_err(|error| self.error(&error))
    }

    /// What was written is whole: gives it its name. Without a first [`ResultPath::open`] there is
    /// nothing to be named.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        let persisted = self.part.take().map_or(Ok(()), |part| part.persist(target));
        persisted.map_err(|error| self.error(&error.error))
    }

    /// An error of this file's, with its name.
    pub fn error(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.name.display()))
    }
}

/// Where a file of this name will be that does not exist yet: a link leads to where it says.
fn new_file(name: &Path) -> io::Result<PathBuf> {
    /// As many as the kernel follows.
    const MAX_LINKS: usize = 40;
    let mut name = name.to_owned();
    for _ in 0..=MAX_LINKS {
        let directory = fs::canonicalize(directory_of(&name))?;
        name = directory.join(name.file_name().unwrap_or_default());
        match fs::read_link(&name) {
            Ok(target) => name = directory.join(target),
            Err(_) => return Ok(name),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Whether this is the name of where our standard output goes, so that a file there would be mixed
/// with what is printed: "-", `/dev/stdout`, or the file or pipe itself.
pub fn is_standard_output(name: &Path) -> bool {
    let Ok(metadata) = fs::metadata(name) else { return name == Path::new("-") };
    // On a terminal or /dev/null nothing is damaged.
    !metadata.file_type().is_char_device() && open_file(io::stdout().as_fd()) == Some(identity(&metadata))
}

/// Device and inode: what a file is by whatever name.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Where our standard output and standard error go.
fn our_own_output() -> Vec<(u64, u64)> {
    let (out, error) = (io::stdout(), io::stderr());
    [out.as_fd(), error.as_fd()].into_iter().filter_map(open_file).collect()
}

/// What a descriptor leads to.
fn open_file(descriptor: BorrowedFd<'_>) -> Option<(u64, u64)> {
    let file = File::from(descriptor.try_clone_to_owned().ok()?);
    file.metadata().ok().map(|metadata| identity(&metadata))
}

impl Drop for ResultPath {
    fn drop(&mut self) {
        // An unfinished part is removed with its path.
        if let Some(target) = &self.target {
            UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
        }
    }
}

/// A file of results that is being written.
#[derive(Debug)]
pub struct ResultFile {
    out: BufWriter<File>,
    place: ResultPath,
}

impl ResultFile {
    /// Begins a file of this name, with the errors of [`ResultPath::new`]. All errors name the
    /// file.
    pub fn create(name: &Path, inputs: &[PathBuf], earlier: Earlier) -> io::Result<Self> {
        let mut place = ResultPath::new(name, inputs, earlier)?;
        Ok(Self { out: BufWriter::new(place.open()?), place })
    }

    /// Writes what is still in memory, and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.place.finish()
    }
}

impl Write for ResultFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.out.write(octets).map_err(|error| self.place.error(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.place.error(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(name: &Path, inputs: &[PathBuf], text: &str) -> io::Result<()> {
        let mut file = ResultFile::create(name, inputs, Earlier::Goes)?;
        file.write_all(text.as_bytes())?;
        file.finish()
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_whole_and_replaces_an_earlier_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = directory.path().join("out.csv");
        write(&name, &[], "first").expect("writable");
        let mut second = ResultFile::create(&name, &[], Earlier::Goes).expect("writable");
        second.write_all(b"second").expect("writable");
        assert_eq!(fs::read_to_string(&name).expect("a file"), "first");
        second.finish().expect("writable");
        assert_eq!(fs::read_to_string(&name).expect("a file"), "second");
        assert_eq!(names(directory.path()), ["out.csv"]);
    }

    #[test]
    fn an_earlier_file_stays_unless_it_may_go_or_is_empty() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = directory.path().join("out.csv");
        write(&name, &[], "first").expect("writable");
        let refused = ResultFile::create(&name, &[], Earlier::Stays).expect_err("it is there");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(refused.to_string().ends_with("this file exists; expected another name, or --overwrite"));
        assert_eq!(fs::read_to_string(&name).expect("a file"), "first");
        std::os::unix::fs::symlink("out.csv", directory.path().join("link"))
            .expect("a file system with links");
        ResultFile::create(&directory.path().join("link"), &[], Earlier::Stays).expect_err("it leads there");
        fs::write(&name, "").expect("writable");
        ResultFile::create(&name, &[], Earlier::Stays).expect("nothing is lost").finish().expect("writable");
        ResultFile::create(Path::new("/dev/null"), &[], Earlier::Stays).expect("a device");
    }

    #[test]
    fn what_nobody_finished_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file =
            ResultFile::create(&directory.path().join("out.csv"), &[], Earlier::Goes).expect("writable");
        file.write_all(b"half").expect("writable");
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn an_input_is_not_overwritten_under_any_of_its_names() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::write(at("in.toml"), "in").expect("writable");
        fs::hard_link(at("in.toml"), at("hard")).expect("a file system with links");
        std::os::unix::fs::symlink("in.toml", at("soft")).expect("a file system with links");
        for name in ["in.toml", "hard", "soft"] {
            let error = write(&at(name), &[at("in.toml")], "out").expect_err("an input");
            assert!(
                error.to_string().contains(&format!("{name}: this file is an input of the run")),
                "{error}"
            );
            assert_eq!(fs::read_to_string(at("in.toml")).expect("a file"), "in");
        }
    }

    #[test]
    fn a_link_stays_a_link_and_its_file_is_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "old").expect("writable");
        std::os::unix::fs::symlink("file", at("link")).expect("a file system with links");
        write(&at("link"), &[], "new").expect("writable");
        assert!(fs::symlink_metadata(at("link")).expect("a link").is_symlink());
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "new");
        assert_eq!(names(directory.path()), ["file", "link"]);
    }

    #[test]
    fn a_link_to_what_is_not_there_yet_stays_a_link() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("there")).expect("writable");
        std::os::unix::fs::symlink("there/second", at("first")).expect("a file system with links");
        std::os::unix::fs::symlink("../file", at("there/second")).expect("a file system with links");
        write(&at("first"), &[], "new").expect("writable");
        for link in ["first", "there/second"] {
            assert!(fs::symlink_metadata(at(link)).expect("a link").is_symlink(), "{link}");
        }
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "new");
        std::os::unix::fs::symlink("round", at("round")).expect("a file system with links");
        let error = write(&at("round"), &[], "new").expect_err("it leads nowhere");
        assert!(error.to_string().contains("too many symbolic links"), "{error}");
    }

    #[test]
    fn nothing_beside_it_is_touched_and_two_runs_do_not_meet() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::write(at("out.part"), "precious").expect("writable");
        let mut first = ResultFile::create(&at("out"), &[], Earlier::Goes).expect("writable");
        // Another process knows nothing of this one.
        UNDER_WAY.lock().expect("no thread panicked").remove(&at("out"));
        let mut second = ResultFile::create(&at("out"), &[], Earlier::Goes).expect("writable");
        first.write_all(b"first").expect("writable");
        second.write_all(b"second").expect("writable");
        second.finish().expect("writable");
        assert_eq!(fs::read_to_string(at("out")).expect("a file"), "second");
        first.finish().expect("writable");
        assert_eq!(fs::read_to_string(at("out")).expect("a file"), "first");
        assert_eq!(fs::read_to_string(at("out.part")).expect("a file"), "precious");
        assert_eq!(names(directory.path()), ["out", "out.part"]);
    }

    #[test]
    fn one_run_does_not_write_two_things_into_one_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = directory.path().join("out");
        let first = ResultFile::create(&name, &[], Earlier::Goes).expect("writable");
        let by_another_way = directory.path().join(".").join("out");
        let error = ResultFile::create(&by_another_way, &[], Earlier::Goes).expect_err("under way");
        assert!(
            error.to_string().contains("this run already writes another file under this name"),
            "{error}"
        );
        drop(first);
        write(&name, &[], "later").expect("writable");
    }

    #[test]
    fn a_file_keeps_its_rights() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = directory.path().join("out");
        fs::write(&name, "old").expect("writable");
        fs::set_permissions(&name, Permissions::from_mode(0o600)).expect("ours");
        write(&name, &[], "new").expect("writable");
        assert_eq!(fs::metadata(&name).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_device_is_written_to_as_it_is() {
        write(Path::new("/dev/null"), &[], "gone").expect("writable");
        let error = write(Path::new("/dev/full"), &[], "too much").expect_err("full");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
