//! The BPF programs, from `bpf/divert.bpf.c`.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::Duration;

use aya::programs::tc::{NlOptions, TcAttachOptions, TcError, qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfError, EbpfLoader};
use lasthop_agent::Side;

use super::error::ProgramError;
use super::layout;
use super::maps::Maps;
use crate::clock;
use crate::io::Selection;

/// The compiled programs, as `bpf/build.sh` writes them.
#[cfg(target_endian = "little")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfel.o");
#[cfg(target_endian = "big")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfeb.o");

/// The programs, each with the hook that it is for.
const DOWN: Hook = Hook { program: "lasthop_down", at: TcAttachType::Egress };
const UP: Hook = Hook { program: "lasthop_up", at: TcAttachType::Ingress };
const RESTORE: Hook = Hook { program: "lasthop_restore", at: TcAttachType::Ingress };
const HOOKS: [Hook; 3] = [DOWN, UP, RESTORE];

/// A program, and where on an interface it runs.
#[derive(Clone, Copy, Debug)]
struct Hook {
    program: &'static str,
    at: TcAttachType,
}

/// Where frames of a side are taken: what comes from the core's side where it goes out, what comes from the radio where it comes in.
const fn hook_of(side: Side) -> Hook {
    match side {
        Side::Core => DOWN,
        Side::Radio => UP,
    }
}

/// How programs are attached to interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attachment {
    /// By TCX links if the kernel has them, otherwise by filters.
    #[default]
    Newest,
    /// By filters of a `clsact` queueing discipline, as every kernel has them. They outlive a process that is killed, and then pass
    /// everything until the next start removes them.
    Filters,
}

/// The loaded programs.
#[derive(Debug)]
pub(super) struct Programs {
    /// Detaches what it has attached when it is dropped.
    bpf: Ebpf,
    pub(super) maps: Maps,
    /// Interfaces to which we gave a `clsact` discipline.
    disciplined: BTreeSet<String>,
}

impl Programs {
    pub(super) fn load(selection: &Selection) -> Result<Self, ProgramError> {
        layout::check(OBJECT)?;
        let load = |error: EbpfError| ProgramError::Load(Box::new(error));
        // The programs use no kernel types; to read the kernel's BTF would take 20 MB for a moment, half of which stays.
        let mut bpf = EbpfLoader::new().btf(None).load(OBJECT).map_err(load)?;
        let mut maps = Maps::of(&mut bpf)?;
        for hook in HOOKS {
            program(&mut bpf, hook.program)?.load().map_err(|error| load(error.into()))?;
        }
        maps.select(selection)?;
        Ok(Self { bpf, maps, disciplined: BTreeSet::new() })
    }

    /// Has what is written to a TAP device go on by an interface, from the hook of this side. Both are names and numbers.
    pub(super) fn restore(
        &mut self,
        side: Side,
        interface: (&str, u32),
        tap: (&str, u32),
        how: Attachment,
    ) -> Result<(), ProgramError> {
        self.maps.join(side, interface.1, tap.1)?;
        self.attach(RESTORE, tap.0, how)
    }

    /// Takes frames at the hook of this side. To be called behind [`Programs::restore`] of all interfaces: when a process is killed
    /// the kernel closes what was opened last first, and nothing is to be led to a device that is going.
    pub(super) fn divert(
        &mut self,
        side: Side,
        interface: &str,
        how: Attachment,
    ) -> Result<(), ProgramError> {
        self.attach(hook_of(side), interface, how)
    }

    fn attach(&mut self, hook: Hook, interface: &str, how: Attachment) -> Result<(), ProgramError> {
        // A filter that a dead gateway left passes everything; one of a living gateway yields to us.
        if qdisc_detach_program(interface, hook.at, hook.program).is_ok() {
            self.disciplined.insert(interface.to_owned());
        }
        if stays_linked(interface, hook) {
            return Err(ProgramError::Taken { interface: interface.to_owned() });
        }
        let program = program(&mut self.bpf, hook.program)?;
        let link = TcAttachOptions::TcxOrder(LinkOrder::default());
        if how == Attachment::Newest && program.attach_with_options(interface, hook.at, link).is_ok() {
            return Ok(());
        }
        let refused = |error: String| ProgramError::Attach { interface: interface.to_owned(), error };
        match qdisc_add_clsact(interface) {
            Ok(()) => {
                self.disciplined.insert(interface.to_owned());
            }
            Err(error) if already_there(&error) => {}
            Err(error) => return Err(refused(with_sources(&error))),
        }
        let filter = TcAttachOptions::Netlink(NlOptions::default());
        let attached = program.attach_with_options(interface, hook.at, filter);
        attached.map(|_| ()).map_err(|error| refused(with_sources(&error)))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for interface in &self.disciplined {
            for hook in HOOKS {
                let _ = qdisc_detach_program(interface, hook.at, hook.program);
            }
            remove_empty_discipline(interface);
        }
    }
}

/// Removes the `clsact` discipline of an interface unless somebody has filters in it. One that stays, for want of `tc`, does nothing.
fn remove_empty_discipline(interface: &str) {
    let tc = |arguments: &[&str]| Command::new("tc").args(arguments).output().map(|output| output.stdout);
    let is_empty = |direction| {
        tc(&["filter", "show", "dev", interface, direction]).is_ok_and(|filters| filters.is_empty())
    };
    if is_empty("ingress") && is_empty("egress") {
        let _ = tc(&["qdisc", "del", "dev", interface, "clsact"]);
    }
}

/// How long a gateway that is just ending may take to let go.
const ENDING: Duration = Duration::from_millis(500);

/// Whether such a program is linked to the interface and stays so.
#[expect(clippy::disallowed_methods, reason = "before there are packets, nobody waits for us")]
fn stays_linked(interface: &str, hook: Hook) -> bool {
    let asked = clock::now();
    // Where there are no TCX links the query fails, and there is nobody.
    while SchedClassifier::query_tcx(interface, hook.at)
        .is_ok_and(|(_, attached)| attached.iter().any(|program| program.name() == hook.program.as_bytes()))
    {
        if clock::now().since(asked) > ENDING {
            return true;
        }
        thread::sleep(ENDING / 50);
    }
    false
}

fn program<'a>(bpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut SchedClassifier, ProgramError> {
    let program = bpf.program_mut(name).ok_or(ProgramError::Missing(name))?;
    program.try_into().map_err(|_| ProgramError::Missing(name))
}

fn already_there(error: &TcError) -> bool {
    with_sources(error).contains("os error 17")
}

/// aya's errors name the system call, and only their sources what the kernel said.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let source_text = source.to_string();
        if !text.contains(&source_text) {
            text = format!("{text}: {source_text}");
        }
        next = source.source();
    }
    text
}
