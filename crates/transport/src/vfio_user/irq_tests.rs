use super::*;

const EVENTFD: u32 = VFIO_IRQ_SET_DATA_EVENTFD;
const NONE: u32 = VFIO_IRQ_SET_DATA_NONE;
const BOOL: u32 = VFIO_IRQ_SET_DATA_BOOL;
const TRIGGER: u32 = VFIO_IRQ_SET_ACTION_TRIGGER;
const MASK: u32 = VFIO_IRQ_SET_ACTION_MASK;
const UNMASK: u32 = VFIO_IRQ_SET_ACTION_UNMASK;

fn event() -> (OwnedFd, OwnedFd) {
    let ours = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
    (ours.try_clone().unwrap(), ours)
}

fn fired(event: &OwnedFd) -> u64 {
    let mut count = [0; 8];
    rustix::io::read(event, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
}

fn set(flags: u32, index: u32, count: u32, data: &[u8]) -> SetIrqs<'_> {
    SetIrqs {
        flags,
        index,
        start: 0,
        count,
        data,
    }
}

#[test]
fn msi_goes_to_its_eventfd_until_it_is_taken_away() {
    let (theirs, ours) = event();
    let mut irqs = Interrupts::default();
    assert!(!irqs.fire_msi());
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Some(theirs))
        .unwrap();
    assert!(irqs.fire_msi());
    assert_eq!(fired(&ours), 1);
    irqs.set(&set(NONE | TRIGGER, MSI, 0, &[]), None).unwrap();
    assert!(!irqs.fire_msi());
}

#[test]
fn an_eventfd_request_without_a_descriptor_takes_it_away() {
    let (theirs, _ours) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Some(theirs))
        .unwrap();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), None)
        .unwrap();
    assert!(!irqs.fire_msi());
}

#[test]
fn a_masked_line_is_silent_and_an_unmasked_one_signals_again() {
    let (theirs, ours) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, INTX, 1, &[]), Some(theirs))
        .unwrap();
    assert!(!irqs.drive_intx(false));
    assert!(irqs.drive_intx(true));
    assert!(!irqs.drive_intx(true), "automasked");
    irqs.set(&set(NONE | UNMASK, INTX, 1, &[]), None).unwrap();
    irqs.set(&set(BOOL | MASK, INTX, 1, &[1]), None).unwrap();
    assert!(!irqs.drive_intx(true), "masked");
    irqs.set(&set(BOOL | UNMASK, INTX, 1, &[1]), None).unwrap();
    assert!(irqs.drive_intx(true));
    assert_eq!(fired(&ours), 2);
}

#[test]
fn the_kernel_may_unmask_by_eventfd() {
    let (theirs, _ours) = event();
    let (unmask, kernel) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, INTX, 1, &[]), Some(theirs))
        .unwrap();
    irqs.set(&set(EVENTFD | UNMASK, INTX, 1, &[]), Some(unmask))
        .unwrap();
    assert!(irqs.drive_intx(true));
    irqs.take_unmask();
    assert!(!irqs.drive_intx(true), "it has not fired");
    rustix::io::write(&kernel, &1u64.to_ne_bytes()).unwrap();
    assert!(irqs.unmask_event().is_some());
    irqs.take_unmask();
    assert_eq!(fired(&kernel), 0, "consumed");
    assert!(irqs.drive_intx(true));
}

#[test]
fn a_trigger_without_eventfd_loops_back() {
    let (theirs, ours) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Some(theirs))
        .unwrap();
    irqs.set(&set(NONE | TRIGGER, MSI, 1, &[]), None).unwrap();
    irqs.set(&set(BOOL | TRIGGER, MSI, 1, &[1]), None).unwrap();
    irqs.set(&set(BOOL | TRIGGER, MSI, 1, &[0]), None).unwrap();
    assert_eq!(fired(&ours), 2);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut irqs = Interrupts::default();
    for bad in [
        set(EVENTFD | TRIGGER, TYPES, 1, &[]),
        set(EVENTFD | TRIGGER, MSI, 2, &[]),
        set(EVENTFD | TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX, 1, &[]),
        set(NONE | MASK, MSI, 1, &[]),
        set(BOOL | TRIGGER, MSI, 1, &[]),
        set(TRIGGER, MSI, 1, &[]),
        set(NONE | BOOL | TRIGGER, MSI, 1, &[]),
        set(NONE, MSI, 1, &[]),
    ] {
        assert_eq!(irqs.set(&bad, None), Err(libc::EINVAL), "{bad:?}");
    }
    let wraps = SetIrqs {
        start: u32::MAX,
        ..set(NONE | TRIGGER, MSI, 1, &[])
    };
    assert_eq!(irqs.set(&wraps, None), Err(libc::EINVAL));
}

#[test]
fn one_vector_of_intx_and_of_msi_and_none_of_the_rest() {
    let count = |index| info(index).map(|(_, count)| count);
    let counts = [0, 1, 2, 3, 4, 5].map(count);
    assert_eq!(counts, [Some(1), Some(1), Some(0), None, Some(0), None]);
}

#[test]
fn a_descriptor_that_is_full_does_not_hold_up_the_lane() {
    use std::io::Write;
    let full = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
    rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Some(full))
        .unwrap();
    assert!(irqs.fire_msi(), "a full counter is a pending interrupt");

    let (_reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    while writer.write(&[0; 4096]).is_ok() {}
    writer.set_nonblocking(false).unwrap();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Some(writer.into()))
        .unwrap();
    irqs.fire_msi();
}

#[test]
fn an_unmask_that_somebody_else_has_consumed_does_not_hold_up_the_lane() {
    let empty = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | UNMASK, INTX, 1, &[]), Some(empty))
        .unwrap();
    irqs.take_unmask();
}
