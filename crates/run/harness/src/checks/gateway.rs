//! Whom a VM asks to see whether its network answers.

use crate::session::Session;
use std::net::Ipv4Addr;

/// The gateway that the VM has been given, if it is that of its network in the scenario.
pub fn gateway(session: &Session, vm: usize) -> Option<String> {
    let network = session.scenario.network_of(session.scenario.vms.get(vm)?)?;
    let told = session.members.get(vm)?.view.gateway.as_deref()?;
    // It goes into a command line: an address, or nothing.
    let gateway: Ipv4Addr = told.parse().ok()?;
    (gateway == network.subnet.address).then(|| gateway.to_string())
}
