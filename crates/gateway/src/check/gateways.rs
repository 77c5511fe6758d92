//! Checks for gateways that run on this machine: the one that a restart would replace, and others.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;

use super::finding::{Findings, Grade};
use crate::config::Config;
use crate::control::{Command, Status, ask};
use crate::io::claim::{self, Holder};
use crate::packet_loop::LoopReport;
use lasthop_linux::peer::Peer;

const NAME: &str = "other gateway";

/// The process ID of the gateway that runs with this file's control socket. A start is refused
/// until it has ended; `reload` goes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running(pub(super) NonZeroU32);

/// Finds the gateways by their claims on any interface; `interfaces` are those that a start would
/// use. Returns the gateway with this file's control socket, which does not count as another one.
pub(super) fn check(config: &Config, interfaces: &[String], found: &mut Findings) -> Option<Running> {
    let claims = match claim::holders() {
        Ok(claims) => claims,
        Err(error) => {
            let finding = format!("it is not known whether another gateway is running: {error}");
            found.add(NAME, Grade::Skipped, finding);
            return None;
        }
    };
    let mut gateways: BTreeMap<Option<NonZeroU32>, (Holder, Vec<String>)> = BTreeMap::new();
    for (interface, holder) in claims {
        gateways.entry(holder.pid()).or_insert((holder, Vec::new())).1.push(interface);
    }
    let peer = config.control.as_deref().map(|path| UnixStream::connect(path).and_then(Peer::from_socket));
    let may_be_ours = peer.as_ref().is_some_and(|peer| is_hidden(peer.as_ref()));
    let at_our_socket = peer.and_then(|peer| peer.ok()?.pid);
    let ours = at_our_socket.and_then(|pid| gateways.remove(&Some(pid)));
    for (holder, theirs) in gateways.values() {
        report_another(*holder, theirs, interfaces, may_be_ours, found);
    }
    let (holder, theirs) = ours?;
    found.advise(
        NAME,
        Grade::Ok,
        format!(
            "the gateway of this control socket is running: {holder}, on {}; this is what a restart would do",
            theirs.join(", ")
        ),
        "`lasthop gateway reload` has it read its file again",
    );
    if let Some(Ok(status)) = config.control.as_deref().map(|path| ask::<Status>(path, &Command::Status)) {
        report_faults(&status.report, found);
    }
    at_our_socket.map(Running)
}

/// Reports the faults of the running gateway.
fn report_faults(report: &LoopReport, found: &mut Findings) {
    for fault in &report.faults {
        found.add(NAME, Grade::Warning, format!("the running gateway reports: {fault}"));
    }
    if report.punctuality.is_out && report.faults.is_empty() {
        found.advise(
            NAME,
            Grade::Warning,
            "the running gateway is out, because it gets too little processor time: everything passes untouched",
            "[process] realtime = true, or less other work on this machine",
        );
    }
}

/// Whether this user may not query the process behind a socket.
fn is_hidden(peer: Result<&Peer, &io::Error>) -> bool {
    peer.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Reports a gateway that does not, or may not, have this file's control socket.
fn report_another(
    holder: Holder,
    theirs: &[String],
    ours: &[String],
    may_be_ours: bool,
    found: &mut Findings,
) {
    let shared: Vec<&str> = theirs.iter().filter(|name| ours.contains(name)).map(String::as_str).collect();
    if shared.is_empty() {
        let finding = format!("{holder} is a gateway on other interfaces: {}", theirs.join(", "));
        found.add(NAME, Grade::Ok, finding);
    } else if may_be_ours {
        let shared = shared.join(", ");
        let finding = format!(
            "{holder} is a gateway that uses {shared}; only root can see whether this control socket is its own"
        );
        found.add(NAME, Grade::Skipped, finding);
    } else {
        found.advise(
            NAME,
            Grade::Problem,
            format!("{holder} is a gateway that uses {}: a second one is refused", shared.join(", ")),
            "stop that gateway first, or name other interfaces",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::punctuality::PunctualityReport;

    #[test]
    fn a_gateway_that_is_out_or_whose_ports_are_broken_is_a_warning() {
        let findings = |report: &LoopReport| {
            let mut found = Findings(Vec::new());
            report_faults(report, &mut found);
            assert!(found.0.iter().all(|finding| finding.grade == Grade::Warning));
            found.0.into_iter().map(|finding| finding.finding).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(findings(&LoopReport::default()), "");
        let punctuality = PunctualityReport { is_out: true, ..PunctualityReport::default() };
        let out = LoopReport { punctuality, ..LoopReport::default() };
        assert!(findings(&out).contains("too little processor time"));
        let broken = LoopReport { faults: vec!["the device lasthop0 is down".to_owned()], ..out };
        assert_eq!(findings(&broken), "the running gateway reports: the device lasthop0 is down");
    }
}
