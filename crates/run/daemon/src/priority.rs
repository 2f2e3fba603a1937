//! How the kernel schedules the thread that runs a medium. Whatever is compared with the radio's thread must
//! call the same function, or the comparison measures the kernel's scheduler.

/// Lets the calling thread run before emulated guests, which can eat every core. Its timers keep the kernel's
/// usual slack (50 µs): the medium may be run late without harm, and what falls due within the slack, such as
/// a frame's end and its ACK's, is done in one turn.
pub fn raise_priority() {
    if rustix::process::setpriority_process(None, -15).is_err() {
        tracing::info!("the radio runs at normal priority: raising it needs CAP_SYS_NICE");
    }
}
