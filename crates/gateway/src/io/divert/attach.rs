//! Attaching the programs to interfaces, and detaching them.
//!
//! An attachment is identified by its handle: a TCX link by its descriptor, a filter by its
//! priority and handle. Whether it is still there is asked in the way in which it was made: a second one beside it would
//! take the frames that the first one lets pass. A link ends with its process. A filter does not; the next gateway that
//! claims the interface removes it ([`crate::io::claim`]).

use std::io;
use std::process::Command;
use std::thread;

use aya::programs::links::LinkOrder;
use aya::programs::tc::{
    NlOptions, SchedClassifierLink, TcAttachOptions, TcError, TcHandle, qdisc_add_clsact,
};
use aya::programs::{ProgramInfo, SchedClassifier, TcAttachType};

use super::error::{ProgramError, with_sources};
use crate::io::claim::ENDING;
use lasthop_linux::clock;
use lasthop_linux::device::Interface;
use lasthop_linux::netlink::{self, AnswerKind, Request, is_absent, written};

/// The programs of each worker, with their hooks.
pub(super) const DOWN: Hook = Hook { program: "lasthop_down", at: TcAttachType::Egress };
pub(super) const UP: Hook = Hook { program: "lasthop_up", at: TcAttachType::Ingress };
pub(super) const RESTORE: Hook = Hook { program: "lasthop_restore", at: TcAttachType::Ingress };
pub(super) const HOOKS: [Hook; 3] = [DOWN, UP, RESTORE];
/// With several workers, the programs that pass a packet to the copy of its worker.
pub(super) const STEER_DOWN: Hook = Hook { program: "lhop_steer_down", at: TcAttachType::Egress };
pub(super) const STEER_UP: Hook = Hook { program: "lhop_steer_up", at: TcAttachType::Ingress };

/// Priority and handle of our filters ("lhop"), which other software is unlikely to use.
const PRIORITY: u16 = 0x6c68;
const HANDLE: TcHandle = TcHandle::new(0x6c68, 0x6f70);

/// A program, and the hook of an interface at which it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hook {
    pub(super) program: &'static str,
    pub(super) at: TcAttachType,
}

/// How programs are attached to interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attachment {
    /// By TCX links if the kernel has them, otherwise by filters.
    #[default]
    Newest,
    /// By filters of a `clsact` queueing discipline, which every kernel has. They outlive a process
    /// that is killed, and then pass all frames until the next start removes them.
    Filters,
}

/// How a program was attached to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// By a TCX link, to the program with this number. Not every kernel knows its name.
    Link(u32),
    /// By our filter.
    Filter,
}

/// A place at which a program was attached.
#[derive(Clone, Debug)]
pub(super) struct Place {
    interface: String,
    at: TcAttachType,
    means: Means,
}

/// The attached programs; they are detached when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// The attachments, each with its place.
    links: Vec<(Place, SchedClassifierLink)>,
    /// Interfaces to which this or a previous gateway added a `clsact` discipline.
    disciplined: Vec<String>,
}

impl Attached {
    /// Attaches a program to an interface that this process has claimed or created.
    pub(super) fn attach(
        &mut self,
        program: &mut SchedClassifier,
        hook: Hook,
        interface: &str,
        how: Attachment,
    ) -> Result<(), ProgramError> {
        if remove_filter(interface, hook) {
            self.disciplined.push(interface.to_owned());
        }
        let refused = |error: String| ProgramError::Attach { interface: interface.to_owned(), error };
        let info = program.info().map_err(|error| refused(with_sources(&error)))?;
        if stays_linked(interface, hook, info.tag()) {
            return Err(ProgramError::Linked { interface: interface.to_owned() });
        }
        let place = |means| Place { interface: interface.to_owned(), at: hook.at, means };
        let link = TcAttachOptions::TcxOrder(LinkOrder::default());
        if how == Attachment::Newest
            && let Ok(id) = program.attach_with_options(interface, hook.at, link)
        {
            let link = program.take_link(id).map_err(|error| refused(with_sources(&error)))?;
            self.links.push((place(Means::Link(info.id())), link));
            return Ok(());
        }
        match qdisc_add_clsact(interface) {
            Ok(()) => self.disciplined.push(interface.to_owned()),
            Err(error) if already_there(&error) => {}
            Err(error) => return Err(refused(with_sources(&error))),
        }
        let filter = NlOptions { priority: PRIORITY, handle: HANDLE, classid: None };
        let attached = program.attach_with_options(interface, hook.at, TcAttachOptions::Netlink(filter));
        let link = attached.and_then(|id| program.take_link(id));
        let link = link.map_err(|error| refused(with_sources(&error)))?;
        self.links.push((place(Means::Filter), link));
        Ok(())
    }

    /// Where a program was last attached at this hook of an interface; `None` if it was not.
    pub(super) fn place(&self, interface: &str, hook: Hook) -> Option<&Place> {
        let mut places = self.links.iter().rev().map(|(place, _)| place);
        places.find(|place| place.interface == interface && place.at == hook.at)
    }

    /// Detaches all programs from an interface.
    pub(super) fn forget(&mut self, interface: &str) {
        self.links.retain(|(place, _)| place.interface != interface);
        self.disciplined.retain(|name| name != interface);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // In the order in which the kernel closes them when the process is killed, so that no frame
        // is redirected to a device that is about to vanish.
        while self.links.pop().is_some() {}
        for interface in &self.disciplined {
            remove_empty_discipline(interface);
        }
    }
}

/// Removes the filter that a killed gateway left at this hook. Returns whether there was one.
fn remove_filter(interface: &str, hook: Hook) -> bool {
    let filter = SchedClassifierLink::attached(interface, hook.at, PRIORITY, HANDLE, None);
    filter.is_ok_and(|filter| aya::programs::links::Link::detach(filter).is_ok())
}

impl Place {
    /// Whether the program is still attached there. If the query fails, for example for lack of descriptors, it
    /// is assumed to be.
    pub(super) fn is_taken(&self) -> bool {
        let Self { interface, at, means } = self;
        match means {
            Means::Link(id) => SchedClassifier::query_tcx(interface, *at)
                .map_or(true, |(_, attached)| attached.iter().any(|program| program.id() == *id)),
            Means::Filter => has_filter(interface, *at).unwrap_or(true),
        }
    }
}

/// The message about a filter and the attribute with its kind (`linux/rtnetlink.h`), the two
/// parents of a `clsact` discipline, and the value for all protocols.
const RTM_GETTFILTER: u16 = 46;
const TCA_KIND: u16 = 1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
const ETH_P_ALL: u16 = 3;

/// Whether our filter is attached there.
fn has_filter(interface: &str, at: TcAttachType) -> io::Result<bool> {
    let parent = if at == TcAttachType::Ingress { INGRESS } else { EGRESS };
    let info = u32::from(PRIORITY) << 16 | u32::from(ETH_P_ALL.to_be());
    let index = Interface::named(interface)?.index();
    // `struct tcmsg`.
    let message = [0, index, HANDLE.into(), parent, info].map(u32::to_ne_bytes).concat();
    let body = [message, written(TCA_KIND, b"bpf\0")].concat();
    let request = Request { protocol: None, kind: RTM_GETTFILTER, asks: AnswerKind::One, body: &body };
    match netlink::request(request, |_, _| None::<()>) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the `clsact` discipline of an interface unless it contains filters of others. Without
/// `tc` it stays, and has no effect.
fn remove_empty_discipline(interface: &str) {
    let tc = |arguments: &[&str]| Command::new("tc").args(arguments).output().map(|output| output.stdout);
    let is_empty = |direction| {
        tc(&["filter", "show", "dev", interface, direction]).is_ok_and(|filters| filters.is_empty())
    };
    if is_empty("ingress") && is_empty("egress") {
        let _ = tc(&["qdisc", "del", "dev", interface, "clsact"]);
    }
}

/// Whether a program of a gateway remains linked to the interface, although no gateway has claimed
/// it: one of ours by name or, for a kernel that does not know names, with this tag.
#[expect(clippy::disallowed_methods, reason = "no packet waits at this point")]
fn stays_linked(interface: &str, hook: Hook, tag: u64) -> bool {
    let is_one = |program: &ProgramInfo| {
        let mut ours = HOOKS.iter().chain([&STEER_DOWN, &STEER_UP]);
        program.tag() == tag || ours.any(|hook| hook.program.as_bytes() == program.name())
    };
    // On a kernel without TCX links the query fails.
    let is_linked = || {
        SchedClassifier::query_tcx(interface, hook.at).is_ok_and(|(_, attached)| attached.iter().any(is_one))
    };
    let began = clock::now();
    while is_linked() {
        if clock::now().since(began) > ENDING {
            return true;
        }
        thread::sleep(ENDING / 50);
    }
    false
}

fn already_there(error: &TcError) -> bool {
    with_sources(error).contains("os error 17")
}
