//! A turn with the daemon's stamps on: what the stages of the frames' ways took, there and back.

use std::time::Duration;

use anyhow::Context;

use crate::load::{Load, Rig};
use airlane_trace::{Breakdown, Summary, TraceBuilder, Traces};

/// Of the frames of all VMs together; none of a way that no frame has gone.
#[derive(Debug, Default)]
pub struct Summaries {
    /// From the guest's doorbell to its transmit response.
    pub transmit: Option<Summary>,
    /// From the medium to the guest's buffer.
    pub receive: Option<Summary>,
}

/// Puts load on for `span`, at most as long as a listener is offered records before some are lost.
pub fn turn(rig: &mut Rig, load: &Load, span: Duration) -> anyhow::Result<Summaries> {
    let traces = rig.trace()?.context("this path has no stamps")?;
    // A listener is offered two seconds.
    rig.measure(load, span.min(Duration::from_millis(1_500)))?;
    Ok(summaries(&traces))
}

fn summaries(traces: &Traces) -> Summaries {
    let mut builder = TraceBuilder::default();
    let mut breakdown = Breakdown::default();
    while let Ok(chunk) = traces.next(Duration::from_millis(1)) {
        chunk.records.iter().for_each(|record| builder.take(record));
        builder.done().for_each(|trace| breakdown.add(&trace));
    }
    let mut found = Summaries::default();
    let all = breakdown.summaries(traces.scale, |vm| vm.to_string());
    for summary in all.into_iter().filter(|one| one.vm.is_none()) {
        match summary.way {
            "transmit" => found.transmit = Some(summary),
            _ => found.receive = Some(summary),
        }
    }
    found
}
