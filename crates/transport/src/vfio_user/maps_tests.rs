use super::*;
use rustix::fs::SealFlags;

fn unsealed(size: u64) -> OwnedFd {
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("guest", flags).unwrap();
    rustix::fs::ftruncate(&fd, size).unwrap();
    fd
}

fn file(size: u64) -> Option<OwnedFd> {
    let fd = unsealed(size);
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
    Some(fd)
}

fn range(address: u64, size: u64) -> DmaMap {
    DmaMap {
        flags: 3,
        offset: 0,
        address,
        size,
    }
}

fn unmap(address: u64, size: u64, flags: u32) -> DmaUnmap {
    DmaUnmap {
        argsz: 24,
        flags,
        address,
        size,
    }
}

#[test]
fn a_map_without_a_file_is_out_of_reach_but_can_be_unmapped() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    let mapped = maps.map(&mut memory, &range(0x1000, 0x1000), None);
    assert_eq!(mapped, Ok(Mapped::Unbacked));
    assert!(!memory.contains(0x1000, 1));
    assert_eq!(maps.unmap(&mut memory, &unmap(0x1000, 0x1000, 0)), Ok(()));
}

#[test]
fn a_range_that_is_not_writable_can_be_read_only() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    let readable = DmaMap {
        flags: 1,
        ..range(0, 0x1000)
    };
    maps.map(&mut memory, &readable, file(0x1000)).unwrap();
    assert_eq!(memory.read_u32(0), Ok(0));
    assert!(memory.write_u32(0, 1).is_err());
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    maps.map(&mut memory, &range(0x4000, 0x2000), file(0x2000))
        .unwrap();
    let mut refused = |map: DmaMap, file| maps.map(&mut memory, &map, file).unwrap_err();
    assert_eq!(refused(range(0, 0), file(0x1000)), libc::EINVAL, "empty");
    assert_eq!(
        refused(range(u64::MAX, 2), file(0x1000)),
        libc::EINVAL,
        "wraps"
    );
    let writable_only = DmaMap {
        flags: 2,
        ..range(0, 0x1000)
    };
    assert_eq!(refused(writable_only, file(0x1000)), libc::EINVAL);
    assert_eq!(refused(range(0x5000, 0x1000), file(0x1000)), libc::EEXIST);
    assert_eq!(refused(range(0x5000, 0x1000), None), libc::EEXIST);
    assert_eq!(refused(range(0x3000, 0x1001), None), libc::EEXIST);
    assert_eq!(
        refused(range(0, 0x1000), file(0x800)),
        libc::ENOMEM,
        "file too short"
    );
    let unaligned = DmaMap {
        offset: 7,
        ..range(0, 0x1000)
    };
    assert_eq!(refused(unaligned, file(0x2000)), libc::ENOMEM);
    assert_eq!(memory.ranges(), 1);
}

#[test]
fn an_unmap_takes_whole_ranges_and_cuts_none() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    for address in [0x1000, 0x2000, 0x4000] {
        maps.map(&mut memory, &range(address, 0x1000), file(0x1000))
            .unwrap();
    }
    for (address, size) in [(0, 0x1000), (0x1800, 0x1800), (0x1000, 0x1800), (0x1000, 0)] {
        let refused = maps.unmap(&mut memory, &unmap(address, size, 0));
        assert_eq!(refused, Err(libc::EINVAL), "{address:#x} {size:#x}");
    }
    assert_eq!(maps.unmap(&mut memory, &unmap(0x1000, 0x2000, 0)), Ok(()));
    assert_eq!((memory.ranges(), memory.contains(0x4000, 1)), (1, true));
    assert_eq!(
        maps.unmap(&mut memory, &unmap(0, 0x9000, 1)),
        Err(libc::ENOTSUP)
    );
    assert_eq!(maps.unmap(&mut memory, &unmap(0, 0, 2)), Ok(()));
    assert_eq!(memory.ranges(), 0);
}

#[test]
fn the_number_of_ranges_is_bounded() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    for number in 0..MAX_MAPS as u64 {
        maps.map(&mut memory, &range(number << 12, 0x1000), None)
            .unwrap();
    }
    let more = maps.map(&mut memory, &range(1 << 40, 0x1000), None);
    assert_eq!(more, Err(libc::ENOSPC));
}

#[test]
fn memory_that_can_shrink_is_refused() {
    let (mut maps, mut memory) = (Maps::default(), Memory::new());
    let plain = File::open(std::env::current_exe().unwrap()).unwrap();
    for file in [unsealed(0x1000), OwnedFd::from(plain)] {
        let refused = maps.map(&mut memory, &range(0, 0x1000), Some(file));
        assert_eq!(refused, Err(libc::EPERM));
    }
    assert!(!memory.contains(0, 1));
    let mapped = maps.map(&mut memory, &range(0, 0x1000), file(0x1000));
    assert_eq!(mapped, Ok(Mapped::Backed));
}
