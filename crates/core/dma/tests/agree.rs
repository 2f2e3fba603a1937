//! The three translations reach the same bytes and fault alike, whatever a VMM maps and a guest asks for.

use airlane_dma::{Backing, Frame, Memory, Translation, Window};
use proptest::prelude::*;

/// Ranges begin and end here and there, mostly at pages, also at the seams of tables (2 MiB and 1 GiB).
const SEAMS: [u64; 4] = [0, 0x20_0000, 0x4000_0000, (1 << 35) - 0x1_0000];

#[derive(Clone, Debug)]
enum Act {
    Map {
        address: u64,
        size: u64,
        writable: bool,
    },
    /// Of the range that was mapped n-th.
    Unmap(usize),
    UnmapAll,
    Read {
        address: u64,
        length: usize,
    },
    Write {
        address: u64,
        bytes: Vec<u8>,
    },
    /// Makes a frame of these pieces, and keeps it.
    Keep(Vec<(u64, usize)>),
    /// Reads the frame that was kept n-th.
    Copy(usize),
}

fn address() -> impl Strategy<Value = u64> {
    (
        0..SEAMS.len(),
        0..8_u64,
        prop_oneof![3 => Just(0), 1 => 0..0x1000_u64],
    )
        .prop_map(|(seam, page, offset)| {
            let beyond = SEAMS[seam] + page * 0x1000 + offset;
            beyond.saturating_sub(0x2000)
        })
}

fn size() -> impl Strategy<Value = u64> {
    (1..5_u64, prop_oneof![3 => Just(0), 1 => 0..0x1000_u64])
        .prop_map(|(pages, less)| (pages * 0x1000 - less).max(1))
}

fn act() -> impl Strategy<Value = Act> {
    let pieces = prop::collection::vec((address(), 0..0x1800_usize), 0..6);
    let bytes = prop::collection::vec(any::<u8>(), 0..0x1800);
    prop_oneof![
        4 => (address(), size(), prop::bool::weighted(0.8))
            .prop_map(|(address, size, writable)| Act::Map { address, size, writable }),
        1 => (0..8_usize).prop_map(Act::Unmap),
        1 => Just(Act::UnmapAll),
        3 => (address(), 0..0x2800_usize).prop_map(|(address, length)| Act::Read { address, length }),
        3 => (address(), bytes).prop_map(|(address, bytes)| Act::Write { address, bytes }),
        3 => pieces.prop_map(Act::Keep),
        3 => (0..8_usize).prop_map(Act::Copy),
    ]
}

/// One memory and what its users remember.
struct Guest {
    memory: Memory,
    window: Window,
    mapped: Vec<(u64, u64)>,
    kept: Vec<Option<Frame>>,
}

/// What a guest could tell of it. Where a frame's fault is found is the translation's affair: when it is made, or
/// when it is copied.
#[derive(Debug, PartialEq)]
enum Seen {
    Done(bool),
    Bytes(Option<Vec<u8>>),
    Nothing,
}

impl Guest {
    fn new(translation: Translation) -> Self {
        Self {
            memory: Memory::translated(translation, 5, "guest"),
            window: Window::new("test"),
            mapped: Vec::new(),
            kept: Vec::new(),
        }
    }

    fn go(&mut self, act: &Act) -> Seen {
        let Self { memory, window, .. } = self;
        match act {
            &Act::Map {
                address,
                size,
                writable,
            } => {
                let done = memory
                    .map(address, size, Backing::Anonymous, writable)
                    .is_ok();
                self.mapped.extend(done.then_some((address, size)));
                Seen::Done(done)
            }
            Act::Unmap(number) if *number < self.mapped.len() => {
                let (address, size) = self.mapped.remove(*number);
                Seen::Done(memory.unmap(address, size).is_ok())
            }
            Act::UnmapAll => {
                memory.unmap_all();
                self.mapped.clear();
                Seen::Nothing
            }
            &Act::Read { address, length } => {
                let mut bytes = vec![0; length];
                let read = memory.read_via(window, address, &mut bytes);
                Seen::Bytes(read.is_ok().then_some(bytes))
            }
            Act::Write { address, bytes } => {
                Seen::Done(memory.write_via(window, *address, bytes).is_ok())
            }
            Act::Keep(pieces) => {
                let frame = Frame::new_via(memory, window, pieces.iter().copied());
                self.kept.push(frame.ok());
                Seen::Nothing
            }
            Act::Copy(number) => Seen::Bytes(self.copy(*number)),
            Act::Unmap(_) => Seen::Nothing,
        }
    }

    fn copy(&mut self, number: usize) -> Option<Vec<u8>> {
        let frame = self.kept.get(number)?.as_ref()?;
        let mut bytes = vec![0; frame.len()];
        let read = frame.read(&mut bytes).ok()?;
        (read == bytes.len()).then_some(bytes)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_three_agree_on_every_sequence(acts in prop::collection::vec(act(), 1..40)) {
        let mut guests = Translation::ALL.map(Guest::new);
        for act in &acts {
            let [flat, merged, software] = guests.each_mut().map(|guest| guest.go(act));
            prop_assert_eq!(&flat, &software, "flat, {:?}", act);
            prop_assert_eq!(&merged, &software, "merged, {:?}", act);
        }
    }
}

fn guest(translation: Translation, number: usize, fill: u8) -> Memory {
    let mut memory = Memory::translated(translation, number, "guest");
    memory.map(0, 0x4000, Backing::Anonymous, true).unwrap();
    memory.write(0, &[fill; 0x4000]).unwrap();
    memory
}

/// A descriptor holds 36 bits of address: the highest is the lowest bit of the VM's number.
#[test]
fn an_address_with_another_vms_bits_does_not_reach_that_vms_memory() {
    let mut own = guest(Translation::Merged, 2, 2);
    let other = guest(Translation::Merged, 3, 3);
    for number in 0..16_u64 {
        let address = (number << 35) | 0x1000;
        let mut bytes = [0; 16];
        let reached = own.read(address, &mut bytes).is_ok();
        assert_eq!(
            (reached, bytes[0]),
            if number == 0 { (true, 2) } else { (false, 0) }
        );
        assert_eq!(own.write(address, &[9; 16]).is_ok(), number == 0);
        assert_eq!(Frame::new(&mut own, [(address, 16)]).is_ok(), number == 0);
    }
    let mut theirs = vec![0; 0x4000];
    other.clone().read(0, &mut theirs).unwrap();
    assert_eq!(theirs, [3; 0x4000]);
    assert_eq!((own.faults(), other.faults()), (45, 0));
}

/// The last piece of a chunk runs into the next VM's.
#[test]
fn a_frame_that_runs_out_of_its_chunk_is_a_fault_of_its_own_vm() {
    let mut own = Memory::translated(Translation::Merged, 2, "own");
    let end = 1 << 35;
    own.map(end - 0x1000, 0x1000, Backing::Anonymous, true)
        .unwrap();
    let other = guest(Translation::Merged, 3, 3);
    let frame = Frame::new(&mut own, [(end - 8, 16)]).unwrap();
    let mut bytes = [0; 16];
    assert!(frame.read(&mut bytes).is_err());
    assert_eq!(bytes[8..], [0; 8]);
    assert_eq!((own.faults(), other.faults()), (1, 0));
}

#[test]
fn a_page_that_is_missing_is_counted_for_the_vm_whoever_finds_it() {
    for translation in Translation::ALL {
        let mut memory = guest(translation, 1, 1);
        let frame = Frame::new(&mut memory, [(0x3ff8, 8), (0x4000, 8)]);
        let read = frame.map(|frame| frame.read(&mut [0; 16]));
        assert!(!matches!(read, Ok(Ok(_))), "{translation}");
        assert_eq!(memory.faults(), 1, "{translation}");
    }
}

#[test]
fn a_read_only_range_stays_unwritable() {
    for translation in Translation::ALL {
        let mut memory = guest(translation, 1, 1);
        memory
            .map(0x4000, 0x1000, Backing::Anonymous, false)
            .unwrap();
        let mut window = Window::new("test");
        assert!(
            memory.write_via(&mut window, 0x3ffc, &[7; 8]).is_err(),
            "{translation}"
        );
        assert!(
            memory.write_via(&mut window, 0x4ffc, &[7; 4]).is_err(),
            "{translation}"
        );
        assert_eq!(memory.read_u32(0x3ffc), Ok(0x0101_0101), "{translation}");
        assert_eq!(memory.read_u32(0x4ffc), Ok(0), "{translation}");
    }
}

#[test]
fn a_window_does_not_outlive_its_range() {
    for translation in Translation::ALL {
        let mut memory = guest(translation, 1, 1);
        let mut window = Window::new("test");
        assert_eq!(memory.read_u32_via(&mut window, 0), Ok(0x0101_0101));
        memory.unmap(0, 0x4000).unwrap();
        assert!(
            memory.read_u32_via(&mut window, 0).is_err(),
            "{translation}"
        );
        memory
            .map(0x1000, 0x1000, Backing::Anonymous, true)
            .unwrap();
        assert!(
            memory.read_u32_via(&mut window, 0).is_err(),
            "{translation}"
        );
        assert_eq!(
            memory.read_u32_via(&mut window, 0x1000),
            Ok(0),
            "{translation}"
        );
    }
}
