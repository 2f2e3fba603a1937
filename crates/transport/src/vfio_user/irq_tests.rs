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

fn fds<const N: usize>(events: [OwnedFd; N]) -> Fds {
    events.into_iter().collect()
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
    assert!(!irqs.fire(0));
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), fds([theirs]), 0)
        .unwrap();
    assert!(irqs.fire(0));
    assert_eq!(fired(&ours), 1);
    irqs.set(&set(NONE | TRIGGER, MSI, 0, &[]), Fds::new(), 0)
        .unwrap();
    assert!(!irqs.fire(0));
}

#[test]
fn an_eventfd_request_without_a_descriptor_takes_it_away() {
    let (theirs, _ours) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), fds([theirs]), 0)
        .unwrap();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), Fds::new(), 0)
        .unwrap();
    assert!(!irqs.fire(0));
}

#[test]
fn a_masked_line_is_silent_and_an_unmasked_one_signals_again() {
    let (theirs, ours) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, INTX, 1, &[]), fds([theirs]), 0)
        .unwrap();
    assert!(!irqs.drive_intx(false));
    assert!(irqs.drive_intx(true));
    assert!(!irqs.drive_intx(true), "automasked");
    irqs.set(&set(NONE | UNMASK, INTX, 1, &[]), Fds::new(), 0)
        .unwrap();
    irqs.set(&set(BOOL | MASK, INTX, 1, &[1]), Fds::new(), 0)
        .unwrap();
    assert!(!irqs.drive_intx(true), "masked");
    irqs.set(&set(BOOL | UNMASK, INTX, 1, &[1]), Fds::new(), 0)
        .unwrap();
    assert!(irqs.drive_intx(true));
    assert_eq!(fired(&ours), 2);
}

#[test]
fn the_kernel_may_unmask_by_eventfd() {
    let (theirs, _ours) = event();
    let (unmask, kernel) = event();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, INTX, 1, &[]), fds([theirs]), 0)
        .unwrap();
    irqs.set(&set(EVENTFD | UNMASK, INTX, 1, &[]), fds([unmask]), 0)
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
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), fds([theirs]), 0)
        .unwrap();
    irqs.set(&set(NONE | TRIGGER, MSI, 1, &[]), Fds::new(), 0)
        .unwrap();
    irqs.set(&set(BOOL | TRIGGER, MSI, 1, &[1]), Fds::new(), 0)
        .unwrap();
    irqs.set(&set(BOOL | TRIGGER, MSI, 1, &[0]), Fds::new(), 0)
        .unwrap();
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
        assert_eq!(irqs.set(&bad, Fds::new(), 0), Err(libc::EINVAL), "{bad:?}");
    }
    let wraps = SetIrqs {
        start: u32::MAX,
        ..set(NONE | TRIGGER, MSI, 1, &[])
    };
    assert_eq!(irqs.set(&wraps, Fds::new(), 0), Err(libc::EINVAL));
}

#[test]
fn one_vector_of_intx_and_of_msi_and_none_of_the_rest() {
    let count = |index| info(index, 0).map(|(_, count)| count);
    let counts = [0, 1, 2, 3, 4, 5].map(count);
    assert_eq!(counts, [Some(1), Some(1), Some(0), None, Some(0), None]);
}

#[test]
fn a_descriptor_that_is_full_does_not_hold_up_the_lane() {
    use std::io::Write;
    let full = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
    rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | TRIGGER, MSI, 1, &[]), fds([full]), 0)
        .unwrap();
    assert!(irqs.fire(0), "a full counter is a pending interrupt");

    let (_reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    while writer.write(&[0; 4096]).is_ok() {}
    writer.set_nonblocking(false).unwrap();
    irqs.set(
        &set(EVENTFD | TRIGGER, MSI, 1, &[]),
        fds([writer.into()]),
        0,
    )
    .unwrap();
    irqs.fire(0);
}

#[test]
fn an_unmask_that_somebody_else_has_consumed_does_not_hold_up_the_lane() {
    let empty = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
    let mut irqs = Interrupts::default();
    irqs.set(&set(EVENTFD | UNMASK, INTX, 1, &[]), fds([empty]), 0)
        .unwrap();
    irqs.take_unmask();
}

#[test]
fn each_vector_of_msi_x_has_its_own_eventfd() {
    let pairs: [_; 3] = std::array::from_fn(|_| event());
    let (theirs, ours): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let mut irqs = Interrupts::default();
    let all = set(EVENTFD | TRIGGER, MSIX, 3, &[]);
    irqs.set(&all, theirs.into_iter().collect(), 3).unwrap();
    assert!(irqs.fire(2) && irqs.fire(0) && irqs.fire(2));
    assert!(!irqs.fire(3), "no such vector");
    assert_eq!([0, 1, 2].map(|at: usize| fired(&ours[at])), [1, 0, 2]);
    let second = SetIrqs {
        start: 1,
        ..set(BOOL | TRIGGER, MSIX, 2, &[0, 1])
    };
    irqs.set(&second, Fds::new(), 3).unwrap();
    assert_eq!([0, 1, 2].map(|at: usize| fired(&ours[at])), [0, 0, 1]);
    let away = SetIrqs {
        start: 1,
        ..set(EVENTFD | TRIGGER, MSIX, 2, &[])
    };
    irqs.set(&away, Fds::new(), 3).unwrap();
    assert!(irqs.fire(0) && !irqs.fire(1) && !irqs.fire(2));
    irqs.set(&set(NONE | TRIGGER, MSIX, 0, &[]), Fds::new(), 3)
        .unwrap();
    assert!(!irqs.fire(0));
}

#[test]
fn eventfds_that_are_not_one_for_each_vector_are_refused() {
    let mut irqs = Interrupts::default();
    for (count, given) in [(1, 2), (3, 2)] {
        let events = (0..given).map(|_| event().0).collect();
        let bad = set(EVENTFD | TRIGGER, MSIX, count, &[]);
        assert_eq!(irqs.set(&bad, events, 4), Err(libc::EINVAL));
    }
    let beyond = set(EVENTFD | TRIGGER, MSIX, 5, &[]);
    assert_eq!(irqs.set(&beyond, Fds::new(), 4), Err(libc::EINVAL));
    assert_eq!(info(MSIX, 4).map(|(_, count)| count), Some(4));
}
