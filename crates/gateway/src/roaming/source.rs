//! The registry of a site, which may only be reached some time after the start.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{Error, Registry};

/// The time between two attempts to reach a registry for the first time.
const RETRY: Duration = Duration::from_secs(1);

/// Returns the registry, once it can be used.
pub type Opening = Box<dyn FnMut() -> Result<Arc<dyn Registry>, Error> + Send>;

/// A registry that is opened when it is first needed.
pub struct RegistrySource(Mutex<State>);

enum State {
    Open(Arc<dyn Registry>),
    Closed { open: Opening, not_before: Option<Instant> },
}

impl RegistrySource {
    /// A registry that can be used.
    pub const fn of(registry: Arc<dyn Registry>) -> Self {
        Self(Mutex::new(State::Open(registry)))
    }

    /// A registry that `open` opens, which is called until it succeeds.
    pub const fn opened_by(open: Opening) -> Self {
        Self(Mutex::new(State::Closed { open, not_before: None }))
    }

    /// The registry. Waits as long as opening it takes.
    ///
    /// # Errors
    /// [`Error::Failed`], also if it could not be opened a moment ago.
    pub fn get(&self, now: Instant) -> Result<Arc<dyn Registry>, Error> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (open, not_before) = match &mut *state {
            State::Open(registry) => return Ok(Arc::clone(registry)),
            State::Closed { open, not_before } => (open, not_before),
        };
        if not_before.is_some_and(|at| now < at) {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        }
        *not_before = Some(now + RETRY);
        let registry = open()?;
        *state = State::Open(Arc::clone(&registry));
        Ok(registry)
    }
}

#[cfg(test)]
mod tests {
    use lasthop_registry::{Durability, Embedded, Limits};

    use super::*;

    #[test]
    fn a_registry_that_is_away_at_the_start_is_tried_again_but_not_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry");
        let registry = Embedded::open(&path, Limits::default(), Durability::ProcessEnd, Instant::ZERO);
        let registry: Arc<dyn Registry> = Arc::new(registry.expect("it is new"));
        let (mut tries, last) = (0, Instant::ZERO + RETRY);
        let source = RegistrySource::opened_by(Box::new(move || {
            tries += 1;
            if tries == 2 { Ok(Arc::clone(&registry)) } else { Err(std::io::Error::other("away").into()) }
        }));
        assert!(source.get(Instant::ZERO).is_err());
        assert!(source.get(Instant::ZERO).is_err(), "this is not the second attempt");
        assert!(source.get(last).is_ok());
        assert!(source.get(last).is_ok());
    }
}
