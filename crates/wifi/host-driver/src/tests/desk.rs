//! The VMs' side of a host driver, and the NIC's, by hand.

use airlane_lane::Instant;
use airlane_waist::VmId;
use airlane_waist::*;

use crate::{Host, HostConfig};

pub(super) const NOW: Instant = Instant(0);

pub(super) fn vm(number: usize) -> VmId {
    VmId::new(number).unwrap()
}

pub(super) struct Desk {
    pub(super) now: Instant,
    pub(super) host: Host,
    tag: u16,
}

impl Desk {
    /// A host driver whose first `count` VMs are initialized.
    pub(super) fn new(count: usize) -> Self {
        Self::with(count, HostConfig::default())
    }

    pub(super) fn with(count: usize, config: HostConfig) -> Self {
        let mut desk = Self {
            now: NOW,
            host: Host::new(config),
            tag: 0,
        };
        for number in 0..count {
            desk.ask(number, Command::Initialize);
        }
        desk.nic();
        desk
    }

    pub(super) fn ask(&mut self, number: usize, command: Command) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        self.host
            .request(self.now, vm(number), Request { tag, command });
        tag
    }

    pub(super) fn tell(&mut self, number: usize, event: Event) {
        let event = NicEvent::Vif(vm(number), event);
        self.host.event(self.now, event);
    }

    /// The NIC is done with the scan slot.
    pub(super) fn slot_done(&mut self) {
        self.host.event(self.now, NicEvent::ScanDone(Ok(())));
    }

    /// What the NIC is given, with the tag that it is to answer to; commands by name.
    pub(super) fn nic(&mut self) -> Vec<(String, Option<Tag>)> {
        let name = |text: String| {
            let end = text.find(|c: char| !c.is_alphanumeric());
            text[..end.unwrap_or(text.len())].to_owned()
        };
        std::iter::from_fn(|| self.host.next_for_nic())
            .map(|request| match request {
                NicRequest::Vif(vm, tag, command) => {
                    let name = name(format!("{command:?}"));
                    (format!("{vm}: {name}"), Some(tag))
                }
                NicRequest::LeaveScan(vm) => (format!("{vm}: LeaveScan"), None),
                other => (name(format!("{other:?}")), None),
            })
            .collect()
    }

    /// What the VMs are told.
    pub(super) fn vms(&mut self) -> Vec<(usize, String)> {
        std::iter::from_fn(|| self.host.next_for_vm())
            .map(|(vm, event)| (vm.index(), format!("{event:?}")))
            .collect()
    }
}

pub(super) fn said(number: usize, event: &Event) -> (usize, String) {
    (number, format!("{event:?}"))
}

pub(super) fn ok(number: usize, tag: Tag) -> (usize, String) {
    said(number, &Event::Done(tag, Reply::Ok))
}

pub(super) fn refused(number: usize, tag: Tag, why: Refusal) -> (usize, String) {
    said(number, &Event::Done(tag, Reply::Refused(why)))
}

pub(super) fn sleep(interval: u32) -> Command {
    Command::PowerSave(PowerSave {
        enabled: true,
        sleep_interval: interval,
        ..PowerSave::default()
    })
}
