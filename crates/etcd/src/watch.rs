//! The changes that etcd reports.
//!
//! A thread reads the stream of a watch, and asks again at another member when it fails or nothing comes for a while: at
//! the revision after the last one that came, so no change is missed or comes twice. It ends with the watch, or with the
//! first error that asking again would not mend.

use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use lasthop_registry::{Change, Error, Refusal, Watch};
use serde_json::json;

use super::gateway::{Gateway, LONGEST_ANSWER, not_an_answer};
use super::keys::{Keys, entry};
use super::messages::{Streamed, Watched, base64};

/// How long a stream is read without anything in it.
const QUIET: Duration = Duration::from_secs(10);

/// Answers that are kept until they are asked for. Then etcd keeps them.
const KEPT: usize = 16;

/// After all members have failed, they are asked again after this time.
const RETRY: Duration = Duration::from_millis(500);

/// How often all members may fail before the watch does.
const FAILURES: u32 = 3;

pub fn open(gateway: Arc<Gateway>, keys: Keys, after: u64) -> Result<Box<dyn Watch>, Error> {
    let (sender, changes) = sync_channel(KEPT);
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = Reader { gateway, keys, after, sender, is_over: Arc::clone(&is_over) };
    let first = reader.open()?;
    thread::Builder::new().name("etcd watch".to_owned()).spawn(move || reader.run(first))?;
    Ok(Box::new(Changes { changes, is_over }))
}

struct Changes {
    changes: Receiver<Result<Vec<Change>, Error>>,
    is_over: Arc<AtomicBool>,
}

impl Watch for Changes {
    fn next(&mut self, wait: Duration) -> Result<Vec<Change>, Error> {
        match self.changes.recv_timeout(wait) {
            Ok(changes) => changes,
            Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => Err(std::io::Error::other("the watch has failed").into()),
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

struct Reader {
    gateway: Arc<Gateway>,
    keys: Keys,
    /// The revision of the last change that came.
    after: u64,
    sender: SyncSender<Result<Vec<Change>, Error>>,
    is_over: Arc<AtomicBool>,
}

type Lines = BufReader<ureq::BodyReader<'static>>;

impl Reader {
    /// A stream of changes after those that came. If etcd does not keep them, it says so in the stream.
    fn open(&self) -> Result<Lines, Error> {
        let [key, end] = self.keys.clients();
        let request = json!({ "create_request": {
            "key": base64(&key), "range_end": base64(&end), "start_revision": (self.after + 1).to_string(),
        } });
        let body = self.gateway.stream("/v3/watch", &request, QUIET)?;
        let mut lines = BufReader::new(body.into_with_config().limit(u64::MAX).reader());
        check(&next(&mut lines)?)?;
        Ok(lines)
    }

    fn run(mut self, first: Lines) {
        let mut lines = Some(first);
        let mut failures = 0;
        while !self.is_over.load(Relaxed) {
            let result = match lines.take() {
                Some(lines) => Ok(lines),
                None => self.open(),
            };
            match result {
                Ok(mut open) => {
                    failures = 0;
                    match self.read(&mut open) {
                        // Whatever failed may be otherwise at another member.
                        Err(Error::Failed(_)) => {}
                        Err(error) => return drop(self.sender.send(Err(error))),
                        Ok(()) => return,
                    }
                }
                Err(Error::Failed(_)) if failures < FAILURES => {
                    failures += 1;
                    thread::park_timeout(RETRY);
                }
                Err(error) => return drop(self.sender.send(Err(error))),
            }
        }
    }

    /// Reads until something fails, or the watch has been dropped.
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        loop {
            let watched = next(lines)?;
            check(&watched)?;
            let changes = watched.events.iter().map(|event| {
                let client = self.keys.client_of(&event.kv.key)?;
                let is_there = event.kind.as_deref() != Some("DELETE");
                let entry = is_there.then(|| entry(&event.kv)).transpose()?;
                Ok(Change { revision: event.kv.mod_revision, client, entry })
            });
            let changes: Vec<Change> = changes.collect::<Result<_, Error>>()?;
            let Some(last) = changes.last().map(|last| last.revision) else { continue };
            if self.is_over.load(Relaxed) || self.sender.send(Ok(changes)).is_err() {
                return Ok(());
            }
            self.after = last;
        }
    }
}

/// The next line of a stream.
fn next(lines: &mut Lines) -> Result<Watched, Error> {
    let mut line = Vec::new();
    lines.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    let message: Streamed<Watched> = serde_json::from_slice(&line).map_err(|error| not_an_answer(&error))?;
    message.result.ok_or_else(|| {
        let why = message.error.map_or_else(String::new, |error| error.to_string());
        std::io::Error::other(format!("etcd ends the watch: {why}")).into()
    })
}

/// Whether the watch goes on. Of a revision that etcd has not had yet, it only waits for the changes: the member may be
/// behind others.
fn check(watched: &Watched) -> Result<(), Error> {
    if watched.compact_revision > 0 {
        let (oldest, newest) = (watched.compact_revision, watched.header.revision);
        return Err(Refusal::NotKept { oldest, newest }.into());
    }
    if watched.canceled {
        return Err(std::io::Error::other("etcd ended the watch").into());
    }
    Ok(())
}
