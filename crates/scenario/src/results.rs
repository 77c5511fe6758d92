//! Files of results. One appears under its name when it is whole, and never in the place of a file that the run was made from.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where a file of results is to be. Until it is whole it stands beside that, under the same name and `.part`.
#[derive(Debug)]
pub struct Place {
    /// As the user wrote it.
    name: PathBuf,
    /// Where the file is to be, and where it stands. A pipe, a terminal or a device is written to as it is.
    part: Option<(PathBuf, PathBuf)>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Untouched,
    Begun,
    Whole,
}

impl Place {
    /// The place of this name. Nothing is written yet.
    pub fn new(name: &Path) -> Self {
        // A link leads to the file that is meant; what is not there yet has no other name.
        let target = fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
        let is_regular = fs::metadata(&target).map_or(true, |metadata| metadata.is_file());
        let mut part = target.clone().into_os_string();
        part.push(".part");
        Self {
            name: name.to_owned(),
            part: is_regular.then(|| (target, part.into())),
            state: State::Untouched,
        }
    }

    /// Refuses a name that is one of these files'.
    fn refuse(&self, inputs: &[PathBuf]) -> io::Result<()> {
        let Some((target, _)) = &self.part else { return Ok(()) };
        if inputs.iter().any(|input| same_file::is_same_file(input, target).unwrap_or(false)) {
            let problem = "it was read for this, and would be lost; expected another name";
            return Err(self.error(&io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        Ok(())
    }

    /// Opens the file: empty the first time, at its end later.
    pub fn open(&mut self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        match self.state {
            State::Untouched => options.write(true).create(true).truncate(true),
            State::Begun | State::Whole => options.append(true),
        };
        let path = self.part.as_ref().map_or(&self.name, |(_, part)| part);
        let file = options.open(path).map_err(|error| self.error(&error))?;
        self.state = State::Begun;
        Ok(file)
    }

    /// What was written is whole: gives it its name. Without a first [`Place::open`] there is nothing to be named.
    pub fn finish(&mut self) -> io::Result<()> {
        if let (Some((target, part)), State::Begun) = (&self.part, self.state) {
            fs::rename(part, target).map_err(|error| self.error(&error))?;
        }
        self.state = State::Whole;
        Ok(())
    }

    /// An error of this file's, with its name.
    pub fn error(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.name.display()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some((_, part)), State::Begun) = (&self.part, self.state) {
            // Nobody finished it. That it cannot even be removed is no news worth a panic.
            let _ = fs::remove_file(part);
        }
    }
}

/// A file of results that is being written.
#[derive(Debug)]
pub struct ResultFile {
    out: BufWriter<File>,
    place: Place,
}

impl ResultFile {
    /// Begins a file of this name; `inputs` are files that it must not be. Errors name the file, here and in everything below.
    pub fn create(name: &Path, inputs: &[PathBuf]) -> io::Result<Self> {
        let mut place = Place::new(name);
        place.refuse(inputs)?;
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
    use super::*;

    fn write(name: &Path, inputs: &[PathBuf], text: &str) -> io::Result<()> {
        let mut file = ResultFile::create(name, inputs)?;
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
        let mut second = ResultFile::create(&name, &[]).expect("writable");
        second.write_all(b"second").expect("writable");
        assert_eq!(fs::read_to_string(&name).expect("a file"), "first");
        second.finish().expect("writable");
        assert_eq!(fs::read_to_string(&name).expect("a file"), "second");
        assert_eq!(names(directory.path()), ["out.csv"]);
    }

    #[test]
    fn what_nobody_finished_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file = ResultFile::create(&directory.path().join("out.csv"), &[]).expect("writable");
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
            assert!(error.to_string().contains(&format!("{name}: it was read for this")), "{error}");
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
    fn a_device_is_written_to_as_it_is() {
        write(Path::new("/dev/null"), &[], "gone").expect("writable");
        let error = write(Path::new("/dev/full"), &[], "too much").expect_err("full");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
