//! The processor's time-stamp counter: the clock that an emulated x86 guest counts by.

/// Its value; none on a processor without one.
#[cfg(target_arch = "x86_64")]
pub fn time_stamp_counter() -> Option<u64> {
    // SAFETY: reads a register that every x86-64 processor has (AMD64 Architecture Programmer's Manual 3, RDTSC);
    // user mode may (CR4.TSD is clear on Linux unless a process asks for PR_TSC_SIGSEGV, which nothing here does).
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// Its value; none on a processor without one.
#[cfg(not(target_arch = "x86_64"))]
pub fn time_stamp_counter() -> Option<u64> {
    None
}
