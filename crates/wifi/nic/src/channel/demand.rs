//! What the vMACs demand of the channel scheduler.

use airlane_dot11::Width;
use airlane_lane::{Instant, Micros};
use airlane_waist::VmId;

use crate::card::Vmacs;
use crate::channel::context::{ChannelContext, Contexts};
use crate::channel::scheduler::ChannelScheduler;
use crate::vmac::Vmac;
use crate::vmac::beacons::Due;

/// A vMAC counts as working for so long after its last data frame.
const WORKING: Micros = Micros::from_millis(200);

/// Every context once, as wide as its widest vMAC has it. `weight` gives a vMAC's share of the airtime.
pub(crate) fn contexts(
    now: Instant,
    vmacs: &Vmacs,
    scheduler: &ChannelScheduler,
    weight: impl Fn(VmId) -> u16,
) -> Contexts {
    let mut contexts = Contexts::new();
    for (vm, vmac) in vmacs.iter().filter(|(_, vmac)| vmac.needs_channel()) {
        let Some(channel) = vmac.channel() else {
            continue;
        };
        let here = scheduler.present_since(channel).is_some();
        let mut known = contexts.iter_mut();
        match known.find(|context| context.channel.shares_primary(channel)) {
            Some(context) => add(context, vmac, now, here, weight(vm)),
            None => {
                let mut context = ChannelContext::new(channel);
                add(&mut context, vmac, now, here, weight(vm));
                // There is room: at most one context for each vMAC.
                contexts.push(context);
            }
        }
    }
    contexts
}

/// Adds what this vMAC needs of its context. `here`: the radio is tuned to it.
fn add(context: &mut ChannelContext, vmac: &Vmac, now: Instant, here: bool, weight: u16) {
    if let Some(channel) = vmac.channel()
        && context.channel.width() == Width::Mhz20
    {
        context.channel = channel;
    }
    let pending = !vmac.tx.is_empty();
    let traffic = vmac.traffic_at();
    if pending || now.saturating_since(traffic) < WORKING {
        context.weight = context.weight.saturating_add(u32::from(weight));
    }
    context.pending |= pending;
    context.traffic = context.traffic.max(traffic);
    context.joining = context.joining.max(vmac.joining_until(now));
    if !vmac.associated() {
        return;
    }
    context.heard_at = context.heard_at.max(vmac.beacons.heard_at());
    context.group_until = context.group_until.max(vmac.beacons.group_until());
    let from = ChannelContext::beacon_from(now, here);
    let beacon = vmac.beacons.due(now, from);
    context.blind |= beacon.is_none();
    let matters = |due: &Due| (due.urgency, std::cmp::Reverse(due.at));
    context.beacon = context.beacon.into_iter().chain(beacon).max_by_key(matters);
}
