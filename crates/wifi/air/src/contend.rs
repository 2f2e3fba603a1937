//! Channel access: carrier sense, reservation, and the race of the back-off counters.
//!
//! Only radios with something to send, or with a post-back-off still running, are kept up to date;
//! an idle radio costs nothing and looks back at the recent past when it begins to contend.
//!
//! Not here: what a radio sends that has won ([`crate::exchange`]).

use airlane_dot11::airtime::eifs_extra;
use airlane_dot11::{AccessCategory, Channel};
use airlane_lane::{Instant, Micros};

use crate::medium::{Due, Medium, NOTICED, Space};
use crate::ppdu::Ppdu;
use crate::queue::Pending;
use crate::radio::Radio;
use crate::transmission::ChannelId;
use crate::{Outcome, RadioId};

/// Puts a frame at the end of its queue.
pub(crate) fn enqueue(medium: &mut Medium, id: RadioId, pending: Pending) {
    let category = pending.transmission.category;
    let radio = &mut medium.space.radios[id];
    let queue = &mut radio.queues[category].pending;
    queue.push_back(pending);
    if queue.len() == 1 {
        head_changed(medium, id, category);
    }
}

/// A queue has another head, or none: the radio may begin to contend with it.
pub(crate) fn head_changed(medium: &mut Medium, id: RadioId, category: AccessCategory) {
    let Some((channel_id, channel)) = medium.space.radios[id].tuned else {
        return;
    };
    join_contenders(medium, id, channel_id, channel);
    let now = medium.now;
    let radio = &mut medium.space.radios[id];
    let sense = radio.sense;
    let free = sense.counting && sense.clear_from() <= now;
    let queue = &mut radio.queues[category];
    let ready = queue.ready(channel);
    let beacon = ready.is_some_and(|head| head.beacon);
    if ready.is_some() {
        queue.arm(now, free, &mut medium.rng);
    }
    radio.plan_access();
    if free && beacon && is_taken(&medium.space, id, channel_id) {
        let radio = &mut medium.space.radios[id];
        radio.queues[category].give_way(&mut medium.rng);
        radio.plan_access();
    }
    plan(medium, channel_id);
}

/// Whether another contender begins when this radio would. Beacons of radios that share a clock, as all of one host's do, come at the
/// same moment at each beacon interval: they would collide for ever, while clocks of real access points drift apart.
fn is_taken(space: &Space, id: RadioId, channel: ChannelId) -> bool {
    let Some(own) = space.radios[id].sense.access_at else {
        return false;
    };
    let contenders = space.channels[channel].contenders.iter();
    let others = contenders.filter(|other| **other != id);
    let mut begins = others.filter_map(|other| space.radios[*other].sense.access_at);
    begins.any(|at| at <= own + NOTICED && own <= at + NOTICED)
}

/// Drops the frames of a queue whose token `matches`; each is reported. Those in the middle of their
/// exchange stay, unless `even_on_air`.
pub(crate) fn cancel(
    medium: &mut Medium,
    id: RadioId,
    category: AccessCategory,
    matches: &mut impl FnMut(u64) -> bool,
    even_on_air: bool,
) {
    let queue = &mut medium.space.radios[id].queues[category];
    for at in 0..queue.pending.len() {
        let Some(pending) = queue.pending.pop_front() else {
            break;
        };
        let stays = pending.in_ppdu && !even_on_air;
        if !stays && matches(pending.transmission.token) {
            if at == 0 {
                queue.forget_window();
            }
            let (now, output) = (medium.now, &mut medium.output);
            output.sent(now, id, &pending, Outcome::Cancelled, None);
        } else {
            queue.pending.push_back(pending);
        }
    }
    head_changed(medium, id, category);
}

/// A radio has tuned to a channel.
pub(crate) fn join_channel(medium: &mut Medium, id: RadioId, channel: Channel) {
    let channel_id = medium.channel_of(channel);
    let now = medium.now;
    let radio = &mut medium.space.radios[id];
    radio.tuned = Some((channel_id, channel));
    radio.tuned_since = now;
    let state = &mut medium.space.channels[channel_id];
    state.tuned.push(id);
    if radio.promiscuous {
        state.monitors.push(id);
    }
    for category in AccessCategory::ALL {
        head_changed(medium, id, category);
    }
}

/// A radio is about to leave its channel.
pub(crate) fn leave_channel(medium: &mut Medium, id: RadioId) {
    let now = medium.now;
    let radio = &mut medium.space.radios[id];
    radio.stop_counting(now);
    radio.sense.contending = false;
    if let Some((channel_id, _)) = radio.tuned.take() {
        medium.space.channels[channel_id].leave(id);
        plan(medium, channel_id);
    }
}

/// Puts a radio among the contenders, with what it could hear until now.
fn join_contenders(medium: &mut Medium, id: RadioId, channel_id: ChannelId, channel: Channel) {
    let now = medium.now;
    let space = &mut medium.space;
    let radio = &space.radios[id];
    if radio.sense.contending || !radio.contends(channel) {
        return;
    }
    let busy = space.hears_any(radio, channel_id);
    let (idle_since, nav_until) = space.look_back(radio, channel_id);
    space.channels[channel_id].contenders.push(id);
    let radio = &mut space.radios[id];
    radio.sense.contending = true;
    radio.sense.busy = busy;
    radio.sense.idle_since = idle_since;
    radio.sense.nav_until = nav_until;
    radio.start_counting(now);
}

/// A radio's exchange is over: it counts again. A radio that was removed does not: the answer that it
/// owed was called off.
pub(crate) fn rejoin(medium: &mut Medium, id: RadioId) {
    let now = medium.now;
    if let Some(radio) = medium.space.radios.find_mut(id) {
        radio.start_counting(now);
        if let Some(channel) = radio.channel() {
            plan(medium, channel);
        }
    }
}

/// A frame has begun: radios that hear it stop counting, except those that are about to send and
/// cannot act on it any more.
pub(crate) fn carrier_rises(medium: &mut Medium, ppdu: &Ppdu) {
    let now = medium.now;
    let space = &mut medium.space;
    for channel in ppdu.channels() {
        for id in &space.channels[channel].contenders {
            let radio = &mut space.radios[*id];
            if !space.signals.hears(radio, ppdu) {
                continue;
            }
            radio.sense.busy = true;
            if radio.sense.access_at.is_none_or(|at| at >= now + NOTICED) {
                radio.stop_counting(now);
            }
        }
    }
}

/// A frame is over: its sender, unless it was removed, could not hear while it sent and listens again;
/// its own frame counts as busy. Then radios that hear no other frame count on after their AIFS.
pub(crate) fn carrier_falls(medium: &mut Medium, ppdu: &Ppdu) {
    let now = medium.now;
    if let Some(radio) = medium.space.radios.find_mut(ppdu.source.radio)
        && radio.channel() == Some(ppdu.primary)
    {
        radio.stop_counting(now);
        radio.sense.busy = true;
    }
    for channel in ppdu.channels() {
        // No contender comes or goes meanwhile.
        let contenders = std::mem::take(&mut medium.space.channels[channel].contenders);
        for id in &contenders {
            fall_for(&mut medium.space, now, *id, channel, ppdu);
        }
        medium.space.channels[channel].contenders = contenders;
    }
    for channel in ppdu.channels() {
        plan(medium, channel);
    }
}

fn fall_for(space: &mut Space, now: Instant, id: RadioId, channel: ChannelId, ppdu: &Ppdu) {
    let radio = &space.radios[id];
    if !radio.sense.busy {
        return;
    }
    let busy = space.hears_any(radio, channel);
    let own = ppdu.source.radio == radio.id;
    let read = own || space.signals.reads(radio, ppdu);
    let reserved = read && reserves(radio, ppdu) && space.signals.hears(radio, ppdu);
    let radio = &mut space.radios[id];
    if reserved {
        radio.sense.nav_until = radio.sense.nav_until.max(now + ppdu.nav);
    }
    if !busy {
        radio.sense.busy = false;
        radio.sense.idle_since = if read {
            now
        } else {
            now + eifs_extra(ppdu.channel.band())
        };
        radio.start_counting(now);
    }
}

/// The Duration of a frame binds a station that understands it and is not its receiver
/// (IEEE 802.11-2020 10.3.2.4). Bit errors are not drawn for this.
fn reserves(radio: &Radio, ppdu: &Ppdu) -> bool {
    let meant = radio.addresses.contains(&ppdu.receiver);
    ppdu.nav > Micros(0) && ppdu.source.radio != radio.id && !meant
}

/// Plans a channel's next access: the earliest of its contenders'.
pub(crate) fn plan(medium: &mut Medium, id: ChannelId) {
    let Space {
        radios, channels, ..
    } = &mut medium.space;
    let channel = &mut channels[id];
    let contenders = channel.contenders.iter();
    let earliest = contenders
        .filter_map(|id| radios[*id].sense.access_at)
        .min();
    if earliest == channel.access_at {
        return;
    }
    channel.access_at = earliest;
    channel.access_serial = channel.access_serial.wrapping_add(1);
    if let Some(time) = earliest {
        let due = Due::Access(id, channel.access_serial);
        medium.planned.at(time.max(medium.now), due);
    }
}

/// The planned access of a channel is due: lists the radios whose counters reach zero now. All of
/// them send, unaware of each other. False when the plan has changed meanwhile.
pub(crate) fn winners(
    medium: &mut Medium,
    id: ChannelId,
    serial: u32,
    list: &mut Vec<RadioId>,
) -> bool {
    list.clear();
    let Space {
        radios, channels, ..
    } = &mut medium.space;
    let channel = &mut channels[id];
    if channel.access_serial != serial {
        return false;
    }
    channel.access_at = None;
    let now = medium.now;
    let due = |id: &RadioId| radios[*id].sense.access_at.is_some_and(|at| at <= now);
    list.extend(channel.contenders.iter().copied().filter(due));
    true
}

/// One radio's counters have reached zero in one queue or several: the highest category sends, the
/// others act as after a collision (IEEE 802.11-2020 10.23.2.4). `None`: only a post-back-off ended.
pub(crate) fn win(medium: &mut Medium, id: RadioId) -> Option<AccessCategory> {
    let now = medium.now;
    let radio = &mut medium.space.radios[id];
    let (channel_id, channel) = radio.tuned.expect("a contender is tuned to its channel");
    let clear_from = radio.sense.clear_from();
    let mut first = None;
    for category in AccessCategory::ALL.into_iter().rev() {
        let queue = &mut radio.queues[category];
        if queue.access_at(clear_from).is_none_or(|at| at > now) {
            continue;
        }
        if queue.ready(channel).is_none() {
            queue.end_backoff();
        } else if first.is_none() {
            first = Some(category);
        } else {
            let edca = queue.adopt_head();
            queue.back_off(true, &edca, &mut medium.rng);
            queue.resume(now);
            medium.output.counters.internal_collisions += 1;
        }
    }
    radio.stop_counting(now);
    if first.is_none() {
        retire(&mut medium.space, now, id, channel_id, channel);
    }
    first
}

/// A radio whose post-back-off has ended and that has nothing else to do contends no more.
fn retire(space: &mut Space, now: Instant, id: RadioId, channel_id: ChannelId, channel: Channel) {
    let radio = &mut space.radios[id];
    if radio.contends(channel) {
        radio.start_counting(now);
        return;
    }
    radio.sense.contending = false;
    let contenders = &mut space.channels[channel_id].contenders;
    contenders.retain(|other| *other != id);
}
