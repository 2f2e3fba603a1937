//! Counters of lanes and transports by name, as reports show them. A field that is added to any of the counters and not
//! named here does not compile.

use airlane_engine::counters::Named;
use airlane_engine::named;
use airlane_iwl::Counters as CardCounters;
use airlane_lane::PollCounters;
use airlane_transport::{Counters as VfioCounters, HwsimCounters};

/// Counters of a card.
pub fn card(counters: &CardCounters) -> Named {
    named!(
        counters,
        CardCounters {
            unlisted_reads,
            unlisted_writes,
            odd_accesses,
            doorbells,
            commands,
            unknown_commands,
            malformed_commands,
            tx_frames,
            tx_refused,
            tx_flushed,
            bad_descriptors,
            rx_frames,
            rx_dropped,
            packets_dropped,
            receive_buffers,
            interrupts,
            dma_faults,
            resets,
            microcode_sections,
            microcode_starts,
            stale_events,
        }
    )
}

/// Counters of a card's transport.
pub fn transport(counters: &VfioCounters) -> Named {
    named!(
        counters,
        VfioCounters {
            connections,
            waits,
            messages,
            batches,
            sends,
            reads,
            writes,
            maps,
            maps_without_file,
            unmaps,
            resets,
            interrupts,
            interrupts_lost,
            refused,
            malformed,
        }
    )
}

/// Counters of an access-point VM's virtqueues.
pub fn hwsim(counters: &HwsimCounters) -> Named {
    named!(
        counters,
        HwsimCounters {
            connections,
            transmitted,
            received,
            statuses,
            malformed,
            refused,
            addresses_lost,
            receive_overflow,
            status_overflow,
            unsendable,
            bad_buffers,
            without_guest,
            memory_refused,
        }
    )
}

/// Counters of a thread's polling.
pub fn polling(counters: &PollCounters) -> Named {
    named!(
        counters,
        PollCounters {
            sleeps,
            polls_paid,
            polls_empty,
            polls_late
        }
    )
}
