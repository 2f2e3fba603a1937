//! Of the map: what is reached, what is refused.

use std::fs::File;

use super::*;

#[test]
fn an_unmapped_address_is_a_counted_fault() {
    let mut memory = Memory::anonymous(0x1000).unwrap();
    assert_eq!(memory.write_u32(0xffc, 7), Ok(()));
    assert_eq!(memory.read_u32(0xffc), Ok(7));
    assert_eq!(
        memory.read_u32(0xffd),
        Err(Fault {
            address: 0xffd,
            length: 4
        })
    );
    assert_eq!(memory.faults(), 1);
}

#[test]
fn maps_and_unmaps_follow_live_and_an_old_view_keeps_its_pages() {
    let mut memory = Memory::anonymous(0x1000).unwrap();
    memory.write_u32(0, 1).unwrap();
    let mut old = memory.clone();
    memory.unmap(0, 0x1000).unwrap();
    assert!(memory.read_u32(0).is_err());
    assert_eq!(old.read_u32(0), Ok(1));
    assert!(matches!(
        memory.unmap(0, 0x1000),
        Err(MapError::Unknown { .. })
    ));
}

#[test]
fn a_write_to_a_range_that_is_read_only_is_a_fault_and_writes_nothing() {
    let mut memory = Memory::anonymous(0x1000).unwrap();
    memory
        .map(0x1000, 0x1000, Backing::Anonymous, false)
        .unwrap();
    assert_eq!(memory.read_u32(0x1000), Ok(0));
    assert!(memory.write_u32(0x1000, 7).is_err());
    assert!(memory.write_u32(0xffe, 7).is_err());
    assert_eq!(memory.read_u32(0xffc), Ok(0));
    assert!(memory.write_u32(u64::MAX - 1, 7).is_err());
    assert_eq!(memory.faults(), 3);
    assert_eq!(memory.write(0x5000, &[]), Ok(()));
}

#[test]
fn a_range_beyond_its_file_is_refused() {
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let length = file.metadata().unwrap().len();
    let mut memory = Memory::new();
    let mut map = |offset, size| {
        let backing = Backing::File(file.try_clone().unwrap(), offset);
        memory.map(0, size, backing, false)
    };
    assert!(map(0, length + 1).is_err());
    assert!(map(u64::MAX - 4096, 8192).is_err());
    assert!(map(0, length).is_ok());
}

#[test]
fn an_overlap_is_refused() {
    let mut memory = Memory::anonymous(0x2000).unwrap();
    assert!(matches!(
        memory.map(0x1000, 0x2000, Backing::Anonymous, true),
        Err(MapError::Overlap { .. })
    ));
}

#[test]
fn an_empty_or_wrapping_range_is_refused() {
    let mut memory = Memory::new();
    assert!(memory.map(0, 0, Backing::Anonymous, true).is_err());
    assert!(
        memory
            .map(u64::MAX - 1, 0x1000, Backing::Anonymous, true)
            .is_err()
    );
}
