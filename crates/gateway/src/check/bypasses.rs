//! Checks for flow offload, in the kernel or in the network card, which bypasses the gateway.

use super::finding::{Findings, Grade};
use super::rights::{Rights, UNKNOWN};
use crate::config::Backend;
use crate::flow_offload::{Flowtable, flowtables};
use lasthop_linux::device::Interface;

const NAME: &str = "flow offload";

pub(super) fn check(rights: Rights, backend: Option<Backend>, radio: &[String], found: &mut Findings) {
    if !rights.may_look() {
        found.add(NAME, Grade::Skipped, UNKNOWN);
        return;
    }
    let flowtables = match flowtables() {
        Ok(flowtables) => flowtables,
        Err(error) => {
            let finding = format!("it is not known whether nftables forwards past the gateway: {error}");
            found.add(NAME, Grade::Skipped, finding);
            return;
        }
    };
    let before = found.0.len();
    for flowtable in &flowtables {
        judge(flowtable, backend, radio, found);
    }
    for name in radio {
        // A missing interface has a finding of its own.
        let is_on = Interface::named(name).and_then(|interface| interface.has_on("hw-tc-offload"));
        if is_on.is_ok_and(|is_on| is_on == Some(true)) {
            found.advise(
                NAME,
                Grade::Warning,
                format!("hw-tc-offload is on for {name}: frames that tc rules forward in the network card bypass the gateway"),
                format!("`ethtool -K {name} hw-tc-offload off`, unless no tc rule forwards in the card"),
            );
        }
    }
    if found.0.len() == before {
        found.add(NAME, Grade::Ok, "nothing is set up that forwards past the gateway");
    }
}

fn judge(flowtable: &Flowtable, backend: Option<Backend>, radio: &[String], found: &mut Findings) {
    let Flowtable { table, name, interfaces, is_hardware } = flowtable;
    let ours: Vec<&str> = interfaces
        .iter()
        .map(String::as_str)
        .filter(|name| radio.iter().any(|radio| radio == name))
        .collect();
    // Frames are offloaded between interfaces of one flowtable only.
    if ours.is_empty() {
        return;
    }
    let what = format!("the flowtable {name} of the nftables table {table} has {}", ours.join(", "));
    if *is_hardware {
        found.advise(
            NAME,
            Grade::Warning,
            format!("{what}, with `flags offload`: connections that the network card forwards bypass the gateway"),
            "remove the flag (OpenWrt: `uci set firewall.@defaults[0].flow_offloading_hw=0`, `uci commit firewall`, \
             `service firewall restart`)",
        );
    } else if backend == Some(Backend::TcBpf) {
        found.add(NAME, Grade::Ok, format!("{what}, in software: tc-bpf takes frames before and after it"));
    } else {
        found.advise(
            NAME,
            Grade::Warning,
            format!("{what}: with the backend tun, connections in the flowtable bypass the gateway"),
            "take the interface out of the flowtable, or use the backend tc-bpf",
        );
    }
}
