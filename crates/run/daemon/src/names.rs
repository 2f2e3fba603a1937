//! Counters of a lane by name, as reports show them.

type Named = Vec<(&'static str, u64)>;

/// The named fields of `$counters`, each with its name.
macro_rules! named {
    ($counters:expr; $($field:ident),* $(,)?) => {
        vec![$((stringify!($field), $counters.$field)),*]
    };
}

/// Counters of a card.
pub fn card(counters: &airlane_iwl::Counters) -> Named {
    named!(counters;
        unlisted_reads, unlisted_writes, odd_accesses, doorbells, commands, unknown_commands,
        malformed_commands, tx_frames, tx_refused, tx_flushed, bad_descriptors, rx_frames, rx_dropped,
        packets_dropped, receive_buffers, interrupts, dma_faults, resets, microcode_sections,
        microcode_starts, stale_events,
    )
}

/// Counters of a card's transport.
pub fn transport(counters: &airlane_transport::Counters) -> Named {
    named!(counters;
        connections, waits, messages, batches, sends, reads, writes, maps, maps_without_file, unmaps, resets,
        interrupts, interrupts_lost, refused, malformed,
    )
}

/// Counters of a thread's polling.
pub fn polling(counters: &airlane_lane::PollCounters) -> Named {
    named!(counters; sleeps, polls_paid, polls_empty, polls_late)
}
