//! Guest memory that cannot vanish. A file that shrinks below a mapping ends this process with SIGBUS, and all other
//! VMs' cards and access points with it; so memory is taken only from files that are sealed against it.

use std::os::fd::AsFd;

use rustix::fs::SealFlags;

/// True when the file can never shrink. QEMU seals a memory-backend-memfd unless it is told `seal=off`
/// (`man 2 fcntl`, F_SEAL_SHRINK). Says what to do when it can.
pub(crate) fn cannot_shrink(file: impl AsFd) -> bool {
    let seals = rustix::fs::fcntl_get_seals(file);
    let sealed = seals.is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    if !sealed {
        tracing::error!(
            "guest memory is refused: its file is not sealed against shrinking. Use memory-backend-memfd \
             with share=on and without seal=off"
        );
    }
    sealed
}
