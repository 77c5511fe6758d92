//! Whose keys are known.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::fingerprint::Fingerprint;
use super::private_file;

/// The maximum length of a name, in octets.
pub const LONGEST_NAME: usize = 64;

/// The maximum length of a line in the file: a fingerprint, a space, a name and the end.
const LONGEST_LINE: u64 = 71 + 1 + LONGEST_NAME as u64 + 1;

/// A peer whose key is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its key.
    pub fingerprint: Fingerprint,
    /// The name for which its key is known.
    pub name: Arc<str>,
}

/// Why a key was not added. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The file cannot be read or written, or others may have changed it.
    #[error("the file of known keys")]
    File(#[from] io::Error),
    /// A line of the file is not a fingerprint and a name.
    #[error("the file of known keys, line {0}: expected a fingerprint, a space and a name")]
    Line(usize),
    /// Another key is known for the name. It has to be removed first.
    #[error("another key is known for {0}")]
    NameTaken(Arc<str>),
    /// The key is known for another name.
    #[error("the key is known for {0}")]
    KeyTaken(Arc<str>),
    /// A name is empty or too long, or it contains spaces or control characters.
    #[error("a name has 1 to {LONGEST_NAME} octets, and no spaces or control characters")]
    Name,
    /// As many keys are known as may be.
    #[error("{0} keys are known, and no more may be")]
    Full(usize),
}

/// The keys that are known, each for one name; no two for the same. They come from the configuration
/// ([`pin`](Self::pin)), from enrolment ([`enrol`](Self::enrol)), and from other access points by way of a registry
/// ([`set_pinned`](Self::set_pinned)). Those that were enrolled are also in a file, if there is one.
#[derive(Debug)]
pub struct Peers {
    known: RwLock<BTreeMap<Fingerprint, Known>>,
    file: Option<PathBuf>,
    limit: usize,
}

#[derive(Clone, Debug)]
struct Known {
    name: Arc<str>,
    /// Whether it is in the file.
    enrolled: bool,
}

impl Peers {
    /// At most `limit` keys, in memory.
    pub const fn new(limit: usize) -> Self {
        Self { known: RwLock::new(BTreeMap::new()), file: None, limit }
    }

    /// At most `limit` keys, with those that have been enrolled in a file. It need not exist; only its owner may
    /// have access to it.
    pub fn open(path: &Path, limit: usize) -> Result<Self, PeersError> {
        let peers = Self { file: Some(path.to_owned()), ..Self::new(limit) };
        let content = private_file::read(path, LONGEST_LINE * limit as u64)?.unwrap_or_default();
        let content = String::from_utf8(content).map_err(|_| PeersError::Line(1))?;
        let mut known = peers.write();
        for (index, line) in content.lines().enumerate() {
            let wrong = PeersError::Line(index + 1);
            let Some((fingerprint, name)) = line.split_once(' ') else { return Err(wrong) };
            let Ok(fingerprint) = fingerprint.parse() else { return Err(wrong) };
            peers.check(&known, fingerprint, name)?;
            known.insert(fingerprint, Known { name: name.into(), enrolled: true });
        }
        drop(known);
        Ok(peers)
    }

    /// Adds a key, until the end of the process.
    pub fn pin(&self, fingerprint: Fingerprint, name: &str) -> Result<(), PeersError> {
        let mut known = self.write();
        if self.check(&known, fingerprint, name)? {
            known.insert(fingerprint, Known { name: name.into(), enrolled: false });
        }
        Ok(())
    }

    /// Replaces all keys that were pinned. Those that [`pin`](Self::pin) would refuse are left out. Returns their number.
    pub fn set_pinned<'a>(&self, pinned: impl IntoIterator<Item = (Fingerprint, &'a str)>) -> usize {
        let mut known = self.write();
        known.retain(|_, known| known.enrolled);
        let mut refused = 0;
        for (fingerprint, name) in pinned {
            match self.check(&known, fingerprint, name) {
                Ok(false) => {}
                Ok(true) => {
                    known.insert(fingerprint, Known { name: name.into(), enrolled: false });
                }
                Err(_) => refused += 1,
            }
        }
        refused
    }

    /// Adds a key, also to the file.
    pub fn enrol(&self, fingerprint: Fingerprint, name: &str) -> Result<(), PeersError> {
        let mut known = self.write();
        if self.check(&known, fingerprint, name)? {
            let mut changed = known.clone();
            changed.insert(fingerprint, Known { name: name.into(), enrolled: true });
            self.save(&changed)?;
            *known = changed;
        }
        Ok(())
    }

    /// Removes a key, also from the file. Returns whether it was known. Channels that are open stay open
    /// ([`Listener::disconnect`](super::Listener::disconnect)).
    pub fn remove(&self, fingerprint: &Fingerprint) -> io::Result<bool> {
        let mut known = self.write();
        let mut changed = known.clone();
        let Some(removed) = changed.remove(fingerprint) else { return Ok(false) };
        if removed.enrolled {
            self.save(&changed)?;
        }
        *known = changed;
        Ok(true)
    }

    /// The peer with a key; none if it is not known.
    pub fn get(&self, fingerprint: &Fingerprint) -> Option<Peer> {
        let name = Arc::clone(&self.read().get(fingerprint)?.name);
        Some(Peer { fingerprint: *fingerprint, name })
    }

    /// The peer with a name; none if no key is known for it.
    pub fn named(&self, name: &str) -> Option<Peer> {
        let known = self.read();
        let (fingerprint, known) = known.iter().find(|(_, known)| *known.name == *name)?;
        Some(Peer { fingerprint: *fingerprint, name: Arc::clone(&known.name) })
    }

    /// All that are known, in the order of their fingerprints.
    pub fn list(&self) -> Vec<Peer> {
        let known = self.read();
        let peers = known.iter();
        peers.map(|(key, known)| Peer { fingerprint: *key, name: Arc::clone(&known.name) }).collect()
    }

    /// Whether a key may be added, and is not known yet.
    fn check(
        &self,
        known: &BTreeMap<Fingerprint, Known>,
        fingerprint: Fingerprint,
        name: &str,
    ) -> Result<bool, PeersError> {
        if !is_name(name) {
            return Err(PeersError::Name);
        }
        match known.get(&fingerprint) {
            Some(there) if *there.name == *name => return Ok(false),
            Some(there) => return Err(PeersError::KeyTaken(Arc::clone(&there.name))),
            None => {}
        }
        if let Some(there) = known.values().find(|known| *known.name == *name) {
            return Err(PeersError::NameTaken(Arc::clone(&there.name)));
        }
        if known.len() >= self.limit { Err(PeersError::Full(self.limit)) } else { Ok(true) }
    }

    fn save(&self, known: &BTreeMap<Fingerprint, Known>) -> io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut content = String::new();
        for (fingerprint, known) in known.iter().filter(|(_, known)| known.enrolled) {
            writeln!(content, "{fingerprint} {}", known.name).map_err(io::Error::other)?;
        }
        private_file::replace(path, content.as_bytes())
    }

    // Each change takes place at once, so a panic of another thread leaves nothing half done.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Fingerprint, Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Fingerprint, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |character: char| !character.is_control() && !character.is_whitespace();
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Fingerprint {
        Fingerprint::new([number; 32])
    }

    #[test]
    fn what_was_enrolled_is_there_after_a_start_and_what_was_pinned_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peers");
        let peers = Peers::open(&path, 4).expect("it is new");
        peers.enrol(key(1), "lobby").expect("there is room");
        peers.enrol(key(2), "hall").expect("there is room");
        peers.pin(key(3), "attic").expect("there is room");
        assert!(peers.remove(&key(2)).expect("it can be written"));
        assert!(!peers.remove(&key(2)).expect("nothing is written"));
        let peers = Peers::open(&path, 4).expect("it is ours");
        assert_eq!(peers.list(), [Peer { fingerprint: key(1), name: "lobby".into() }]);
        assert_eq!(peers.named("lobby").map(|peer| peer.fingerprint), Some(key(1)));
        assert_eq!(peers.named("hall"), None);
        assert_eq!(peers.get(&key(3)), None);
    }

    #[test]
    fn a_name_has_one_key_and_a_key_one_name() {
        let peers = Peers::new(4);
        peers.pin(key(1), "lobby").expect("there is room");
        peers.enrol(key(1), "lobby").expect("it is known");
        assert!(matches!(peers.enrol(key(2), "lobby"), Err(PeersError::NameTaken(_))));
        assert!(matches!(peers.pin(key(1), "hall"), Err(PeersError::KeyTaken(_))));
        assert_eq!(peers.list().len(), 1);
    }

    #[test]
    fn what_was_pinned_is_replaced_and_what_was_enrolled_stays() {
        let peers = Peers::new(3);
        peers.enrol(key(1), "lobby").expect("there is room");
        peers.pin(key(2), "hall").expect("there is room");
        // The hall has another key, the lobby's is known, and the attic has two; then it is full.
        let pinned =
            [(key(3), "hall"), (key(1), "lobby"), (key(4), "attic"), (key(5), "attic"), (key(6), "yard")];
        assert_eq!(peers.set_pinned(pinned), 2);
        let names: Vec<_> =
            peers.list().iter().map(|peer| (peer.fingerprint, peer.name.to_string())).collect();
        assert_eq!(names, [(key(1), "lobby".into()), (key(3), "hall".into()), (key(4), "attic".into())]);
    }

    #[test]
    fn there_are_at_most_as_many_keys_as_the_limit_says() {
        let peers = Peers::new(1);
        peers.pin(key(1), "lobby").expect("there is room");
        assert!(matches!(peers.pin(key(2), "hall"), Err(PeersError::Full(1))));
    }

    #[test]
    fn a_name_that_does_not_fit_into_a_line_is_refused() {
        let peers = Peers::new(1);
        for name in ["", "a b", "a\nsha256:", "a\u{a0}", &"n".repeat(65)] {
            assert!(matches!(peers.enrol(key(1), name), Err(PeersError::Name)), "{name}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peers");
        private_file::create(&path, format!("{} lobby\nhall\n", key(1)).as_bytes()).expect("it is new");
        assert!(matches!(Peers::open(&path, 4), Err(PeersError::Line(2))));
    }
}
