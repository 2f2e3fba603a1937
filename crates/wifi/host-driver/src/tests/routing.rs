//! Commands to the NIC, answers to VMs.

use airlane_waist::*;

use super::desk::*;

#[test]
fn a_command_for_the_own_vmac_goes_to_the_nic_unchanged() {
    let mut desk = Desk::new(1);
    let tag = desk.ask(0, Command::TxPower(30));
    assert_eq!(desk.nic(), [("0: TxPower".to_owned(), Some(tag))]);
    assert!(desk.vms().is_empty());
}

#[test]
fn commands_for_the_card_are_answered_here_and_reach_nobody() {
    let mut desk = Desk::new(2);
    for command in [
        Command::TxAntennas(1),
        Command::Calibrate,
        Command::Sensitivity,
        Command::Led,
        Command::Coexistence,
        Command::Thermal,
    ] {
        let tag = desk.ask(0, command);
        assert!(desk.nic().is_empty());
        assert_eq!(desk.vms(), [ok(0, tag)]);
    }
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
fn events_go_to_the_vm_they_are_for() {
    let mut desk = Desk::new(2);
    let missed = Event::MissedBeacons(MissedBeacons::default());
    desk.tell(1, missed.clone());
    assert_eq!(desk.vms(), [said(1, &missed)]);
}
