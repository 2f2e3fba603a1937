//! Stories: several VMs, one NIC that is played by hand.

use airlane_lane::VmId;
use airlane_wlan::*;

use crate::{Host, HostConfig};

const NOW: Micros = Micros(0);

fn vm(number: usize) -> VmId {
    VmId::new(number).unwrap()
}

struct Desk {
    host: Host,
    tag: u16,
}

impl Desk {
    /// A host driver whose first `count` VMs are initialized.
    fn new(count: usize) -> Self {
        let mut desk = Self {
            host: Host::new(HostConfig::default()),
            tag: 0,
        };
        for number in 0..count {
            desk.ask(number, Command::Initialize);
        }
        desk.nic();
        desk
    }

    fn ask(&mut self, number: usize, command: Command) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        self.host.request(NOW, vm(number), Request { tag, command });
        tag
    }

    fn tell(&mut self, number: usize, event: Event) {
        self.host.event(NOW, vm(number), event);
    }

    /// What the NIC is given, as (VM, tag, name of the command).
    fn nic(&mut self) -> Vec<(usize, Tag, String)> {
        std::iter::from_fn(|| self.host.next_for_nic())
            .map(|(vm, Request { tag, command })| {
                let kind = crate::CommandKind::from(&command);
                (vm.index(), tag, format!("{kind:?}"))
            })
            .collect()
    }

    /// What the VMs are told.
    fn vms(&mut self) -> Vec<(usize, String)> {
        std::iter::from_fn(|| self.host.next_for_vm())
            .map(|(vm, event)| (vm.index(), format!("{event:?}")))
            .collect()
    }
}

fn scan() -> Command {
    Command::Scan(Box::new(ScanRequest {
        channels: Vec::new(),
        probe: Vec::new(),
        ssids: Vec::new(),
        rate: Rate::OFDM_6,
        max_away: Micros(0),
        filter: ReceiveFilter::empty(),
    }))
}

fn complete(aborted: bool) -> Event {
    Event::Scan(ScanEvent::Complete {
        channels: 0,
        last: None,
        aborted,
    })
}

fn said(number: usize, event: &Event) -> (usize, String) {
    (number, format!("{event:?}"))
}

fn ok(number: usize, tag: Tag) -> (usize, String) {
    said(number, &Event::Done(tag, Reply::Ok))
}

fn refused(number: usize, tag: Tag, why: Refusal) -> (usize, String) {
    said(number, &Event::Done(tag, Reply::Refused(why)))
}

fn sleep(interval: u32) -> Command {
    Command::PowerSave(PowerSave {
        enabled: true,
        sleep_interval: interval,
        ..PowerSave::default()
    })
}

#[test]
fn a_command_for_the_own_vmac_goes_to_the_nic_unchanged() {
    let mut desk = Desk::new(1);
    let tag = desk.ask(0, Command::TxPower(30));
    assert_eq!(desk.nic(), [(0, tag, "TxPower".to_owned())]);
    assert!(desk.vms().is_empty());
}

#[test]
fn a_command_for_the_card_is_answered_here() {
    let mut desk = Desk::new(1);
    let tag = desk.ask(0, Command::Calibrate);
    assert!(desk.nic().is_empty());
    assert_eq!(desk.vms(), [ok(0, tag)]);
}

#[test]
fn scans_run_one_after_the_other_in_the_order_asked() {
    let mut desk = Desk::new(3);
    let tags: Vec<Tag> = [2, 0, 1].map(|number| desk.ask(number, scan())).into();
    assert_eq!(desk.vms(), [ok(2, tags[0]), ok(0, tags[1]), ok(1, tags[2])]);
    for number in [2, 0, 1] {
        assert_eq!(desk.nic(), [(number, Tag::HOST, "Scan".to_owned())]);
        desk.tell(number, Event::Done(Tag::HOST, Reply::Ok));
        desk.tell(number, complete(false));
        assert_eq!(desk.vms(), [said(number, &complete(false))]);
    }
    assert!(desk.nic().is_empty());
}

#[test]
fn a_second_scan_of_one_vm_is_busy() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan());
    desk.ask(1, scan());
    desk.vms();
    for number in [0, 1] {
        let tag = desk.ask(number, scan());
        assert_eq!(desk.vms(), [refused(number, tag, Refusal::Busy)]);
    }
}

#[test]
fn aborting_a_waiting_scan_leaves_the_running_one() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan());
    desk.ask(1, scan());
    desk.nic();
    desk.vms();
    let tag = desk.ask(1, Command::AbortScan);
    assert_eq!(desk.vms(), [ok(1, tag), said(1, &complete(true))]);
    assert!(desk.nic().is_empty());
    let tag = desk.ask(0, Command::AbortScan);
    assert_eq!(desk.nic(), [(0, tag, "AbortScan".to_owned())]);
}

#[test]
fn aborting_nothing_is_refused() {
    let mut desk = Desk::new(1);
    let tag = desk.ask(0, Command::AbortScan);
    assert_eq!(desk.vms(), [refused(0, tag, Refusal::NoScan)]);
}

#[test]
fn a_reset_of_the_scanning_vm_lets_the_next_scan_begin() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan());
    desk.ask(1, scan());
    desk.nic();
    let reset = desk.ask(0, Command::Reset);
    assert_eq!(
        desk.nic(),
        [
            (0, reset, "Reset".to_owned()),
            (1, Tag::HOST, "Scan".to_owned())
        ]
    );
}

#[test]
fn a_late_completion_from_before_a_reset_does_not_end_the_next_scan() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan());
    desk.ask(0, Command::Reset);
    desk.ask(0, Command::Initialize);
    desk.ask(0, scan());
    desk.ask(1, scan());
    desk.nic();
    desk.tell(0, complete(false));
    desk.tell(0, Event::ResetDone);
    assert!(desk.nic().is_empty(), "the second scan of VM 0 still runs");
    desk.tell(0, complete(false));
    assert_eq!(desk.nic(), [(1, Tag::HOST, "Scan".to_owned())]);
}

#[test]
fn an_overdue_sweep_is_ended_when_others_wait() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan());
    assert_eq!(desk.host.step(Micros::from_millis(99_000)), None);
    desk.ask(1, scan());
    let due = Micros::from_millis(14_000);
    assert_eq!(desk.host.step(NOW), Some(due));
    desk.nic();
    desk.host.step(due);
    assert_eq!(desk.nic(), [(0, Tag::HOST, "AbortScan".to_owned())]);
    assert_eq!(desk.host.counters().overdue_sweeps, 1);
}

#[test]
fn the_radio_sleeps_when_all_let_it_and_the_nic_hears_of_changes_only() {
    let mut desk = Desk::new(2);
    let tag = desk.ask(0, sleep(5));
    assert_eq!(desk.vms(), [ok(0, tag)]);
    assert!(desk.nic().is_empty(), "VM 1 has not agreed");
    desk.ask(1, sleep(3));
    assert_eq!(desk.nic().len(), 1);
    assert_eq!(desk.host.power_save().sleep_interval, 3);
    desk.ask(0, sleep(7));
    assert!(desk.nic().is_empty(), "nothing changed");
    desk.ask(1, Command::Reset);
    assert_eq!(desk.host.power_save().sleep_interval, 7);
}

#[test]
fn answers_of_our_own_wait_for_the_confirmation_of_a_reset() {
    let mut desk = Desk::new(1);
    desk.ask(0, Command::Reset);
    desk.ask(0, Command::Initialize);
    let tag = desk.ask(0, Command::Led);
    assert!(desk.vms().is_empty());
    desk.tell(0, Event::ResetDone);
    assert_eq!(desk.vms(), [said(0, &Event::ResetDone), ok(0, tag)]);
}

#[test]
fn a_vm_that_is_gone_is_told_nothing_and_its_successor_is() {
    let mut desk = Desk::new(2);
    desk.ask(0, Command::Led);
    desk.host.release(NOW, vm(0));
    let late = Event::ChannelSwitched(Channel::new(Band::Ghz5, 36).unwrap());
    desk.tell(0, late.clone());
    let reset = desk.ask(0, Command::Reset);
    let nic = desk.nic();
    assert_eq!(nic.len(), 2);
    assert_eq!(nic[1], (0, reset, "Reset".to_owned()));
    desk.tell(0, Event::ResetDone);
    assert!(desk.vms().is_empty());
    assert_eq!(desk.host.counters().discarded, 2);
    desk.tell(0, Event::ResetDone);
    desk.tell(0, late.clone());
    assert_eq!(desk.vms(), [said(0, &Event::ResetDone), said(0, &late)]);
}

#[test]
fn events_go_to_the_vm_they_are_for() {
    let mut desk = Desk::new(2);
    let missed = Event::MissedBeacons(MissedBeacons::default());
    desk.tell(1, missed.clone());
    assert_eq!(desk.vms(), [said(1, &missed)]);
}
