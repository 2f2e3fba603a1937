//! Queues at work: doorbells, activation, taking entries, answering them in order.

use airlane_waist::stamp::{FrameId, Point};
use airlane_waist::{Command, Reply, Request, Tag, TxReport};

use super::Device;
use crate::command_ring::{self, Outstanding};
use crate::registers::{fh, scd};
use crate::tfd::Tfd;
use crate::transmit::{self, Completion, InFlight};

/// Frames that the radio may owe an answer, over all queues.
const MAX_IN_FLIGHT: usize = 512;
/// With this many packets waiting for receive buffers nothing more is fetched: each entry makes one.
const MAX_WAITING: usize = 512;
/// The tag of the card's own request, [`Command::Initialize`], which stands in no ring: no queue has this number.
const NO_ENTRY: Tag = Tag(u16::MAX);

impl Device {
    /// The next request, or `None` when nothing is to be done.
    pub(super) fn fetch(&mut self) -> Option<Request> {
        if let Some(command) = self.vmac.take_command() {
            let tag = NO_ENTRY;
            return Some(Request { tag, command });
        }
        if !self.is_up() || self.rx.waiting() >= MAX_WAITING {
            return None;
        }
        // Asked after every event, and mostly in vain: that must be cheap.
        let request = if self.scheduler.is_idle() {
            None
        } else {
            self.fetch_command().or_else(|| self.fetch_frame())
        };
        self.deliver();
        request
    }

    /// A doorbell: the write index of a queue. On an inactive queue it is only remembered.
    pub(super) fn doorbell(&mut self, value: u32) {
        self.counters.doorbells += 1;
        let [write, number, ..] = value.to_le_bytes();
        if let Some(queue) = self.scheduler.queue_mut(number) {
            let from = std::mem::replace(&mut queue.write, write);
            if self.stamps.on() && !queue.feeds_commands() {
                self.note_doorbell(number, from, write);
            }
        }
    }

    /// One stamp for each frame that the write pointer has passed.
    fn note_doorbell(&mut self, number: u8, from: u8, to: u8) {
        for step in 0..to.wrapping_sub(from) {
            let tag = self.scheduler.tag(number, from.wrapping_add(step));
            self.stamps.own(Point::Doorbell, FrameId::sent(tag.0));
        }
    }

    /// A queue goes on or off. Off: what it had in flight is the driver's again.
    pub(super) fn queue_status_written(&mut self, number: u8, value: u32) {
        let active = value & scd::STATUS_ACTIVE != 0;
        let aggregates = self.scd.get(scd::AGGR_SEL) & (1 << (number & 31)) != 0;
        let Some(queue) = self.scheduler.queue_mut(number) else {
            return;
        };
        let (was, next) = (*queue, queue.next);
        queue.active = active;
        queue.fifo = (value & 7) as u8;
        queue.aggregates = active && aggregates;
        let feeds_commands = if active { &*queue } else { &was }.feeds_commands();
        if feeds_commands && was.active != active {
            self.commands.clear(next);
        }
        if was.active != active {
            self.forget(number, next);
        }
    }

    /// A queue's read pointer is set: fetching goes on there.
    pub(super) fn read_pointer_written(&mut self, number: u8, index: u8) {
        if let Some(queue) = self.scheduler.queue_mut(number) {
            queue.next = index;
            if queue.active && queue.feeds_commands() {
                self.commands.clear(index);
            }
            self.forget(number, index);
        }
    }

    /// Drops what is in flight of a queue; the next entry has ring index `next`.
    fn forget(&mut self, number: u8, next: u8) {
        let Some(transmits) = self.transmits.get_mut(usize::from(number)) else {
            return;
        };
        self.in_flight = self.in_flight.saturating_sub(transmits.unanswered());
        transmits.clear(next);
        if let Some(queue) = self.scheduler.queue_mut(number) {
            queue.renew();
        }
    }

    /// True while TXFACT lets this FIFO fetch.
    fn fifo_enabled(&self, fifo: u8) -> bool {
        self.scd.get(scd::TXFACT) & (1 << (fifo & 7)) != 0
    }

    /// The next descriptor of a queue, and its ring index.
    fn next_tfd(&mut self, number: u8) -> Option<(u8, Option<Tfd>)> {
        let base = u64::from(self.fh.get(ring_base(number))) << 8;
        let queue = self.scheduler.queue_mut(number)?;
        let index = queue.next;
        queue.next = index.wrapping_add(1);
        let window = &mut self.windows.get_mut(usize::from(number))?.descriptors;
        let tfd = Tfd::fetch(&mut self.memory, window, base, index);
        if let Err(error) = &tfd {
            self.counters.bad_descriptors += 1;
            tracing::debug!("queue {number} entry {index}: {error:?}");
        }
        Some((index, tfd.ok()))
    }

    fn fetch_command(&mut self) -> Option<Request> {
        let number = self.scheduler.command_queue()?;
        loop {
            let queue = self.scheduler.queue(number)?;
            if !queue.has_work() || self.commands.is_full() || !self.fifo_enabled(queue.fifo) {
                return None;
            }
            let (index, tfd) = self.next_tfd(number)?;
            if let Some(command) = self.take_command(number, tfd) {
                let tag = self.scheduler.tag(number, index);
                return Some(Request { tag, command });
            }
            self.answer_commands();
        }
    }

    /// Takes one entry; gives what the radio has to do about it.
    fn take_command(&mut self, number: u8, tfd: Option<Tfd>) -> Option<Command> {
        let described = tfd.is_some();
        let window = &mut self.windows.get_mut(usize::from(number))?.contents;
        let fetched = match tfd {
            Some(tfd) => command_ring::take(&tfd, &mut self.driver_state, &mut self.memory, window),
            None => command_ring::nothing(),
        };
        self.counters.commands += 1;
        match fetched {
            command_ring::Fetched::Ask(outstanding, command) => {
                self.flush_unfetched(outstanding.flushes);
                self.commands.push(outstanding, None);
                self.follow_mode();
                return Some(command);
            }
            command_ring::Fetched::Acknowledge(outstanding, reply) => {
                self.commands.push(outstanding, Some(reply));
            }
            command_ring::Fetched::Malformed(outstanding, reply) => {
                self.counters.malformed_commands += 1;
                self.commands.push(outstanding, Some(reply));
            }
            command_ring::Fetched::Unknown(outstanding, id) => {
                self.report_unknown(id);
                self.commands.push(outstanding, Some(Reply::Ok));
            }
            command_ring::Fetched::Nothing(outstanding) => {
                self.counters.bad_descriptors += u64::from(described);
                self.commands.push(outstanding, Some(Reply::Ok));
            }
        }
        None
    }

    /// A monitor gets frames with their check sequence.
    fn follow_mode(&mut self) {
        let rxon = self.driver_state.rxon.as_ref();
        self.rx.with_fcs = rxon.is_some_and(crate::commands::Rxon::is_monitor);
    }

    fn report_unknown(&mut self, id: u8) {
        self.counters.unknown_commands += 1;
        let bit = 1 << (id % 64);
        if let Some(word) = self.reported.get_mut(usize::from(id / 64))
            && *word & bit == 0
        {
            *word |= bit;
            tracing::warn!("host command {id:#04x} is in no table; acknowledged");
        }
    }

    /// Completes, as flushed, the entries of these queues that were not fetched yet.
    fn flush_unfetched(&mut self, mask: u32) {
        for number in masked(mask) {
            if self.scheduler.command_queue() == Some(number) {
                continue;
            }
            while self.has_room(number) {
                let Some((_, tfd)) = self.next_tfd(number) else {
                    break;
                };
                self.take_frame(number, tfd, Some(Completion::FLUSHED));
                self.counters.tx_flushed += 1;
            }
            self.answer_frames(number);
        }
    }

    /// True when the queue has an entry that may be taken.
    fn has_room(&self, number: u8) -> bool {
        let waits = self
            .scheduler
            .queue(number)
            .is_some_and(|queue| queue.has_work());
        let transmits = self.transmits.get(usize::from(number));
        waits && transmits.is_some_and(|transmits| !transmits.is_full())
    }

    fn fetch_frame(&mut self) -> Option<Request> {
        while self.in_flight < MAX_IN_FLIGHT && self.rx.waiting() < MAX_WAITING {
            let number = self.next_data_queue()?;
            self.note_fetch(number);
            let (index, tfd) = self.next_tfd(number)?;
            if let Some(command) = self.take_frame(number, tfd, None) {
                let tag = self.scheduler.tag(number, index);
                return Some(Request { tag, command });
            }
            self.answer_frames(number);
        }
        None
    }

    fn note_fetch(&mut self, number: u8) {
        if self.stamps.on()
            && let Some(queue) = self.scheduler.queue(number)
        {
            let tag = self.scheduler.tag(number, queue.next);
            self.stamps.own(Point::Fetch, FrameId::sent(tag.0));
        }
    }

    fn next_data_queue(&mut self) -> Option<u8> {
        let flushing = self.flushing();
        let (transmits, active) = (&self.transmits, self.scd.get(scd::TXFACT));
        self.scheduler.next_queue(|number, queue| {
            let held = flushing & (1 << number) != 0;
            let full = transmits
                .get(usize::from(number))
                .is_none_or(|transmits| transmits.is_full());
            !held && !full && active & (1 << queue.fifo) != 0
        })
    }

    /// Queues of which a flush is under way: nothing is fetched from them until it is answered.
    fn flushing(&self) -> u32 {
        let waiting = self.commands.waiting();
        waiting.fold(0, |mask, outstanding| mask | outstanding.flushes)
    }

    /// Takes one entry of a data queue: for the radio, or, with `end` or when it cannot be sent, to be
    /// answered at once.
    fn take_frame(
        &mut self,
        number: u8,
        tfd: Option<Tfd>,
        end: Option<Completion>,
    ) -> Option<Command> {
        let queue = *self.scheduler.queue(number)?;
        let (memory, stamps) = (&mut self.memory, &mut self.stamps);
        let window = &mut self.windows.get_mut(usize::from(number))?.contents;
        let take = |tfd| {
            transmit::take(
                &tfd,
                number,
                &queue,
                &self.driver_state,
                memory,
                window,
                stamps,
            )
        };
        let fetched = tfd.map(take);
        let (in_flight, command, end) = match (fetched, end) {
            (Some(transmit::Fetched::Send(in_flight, transmit)), None) => {
                (in_flight, Some(Command::Transmit(transmit)), None)
            }
            (Some(transmit::Fetched::Send(in_flight, _)), end) => (in_flight, None, end),
            (Some(transmit::Fetched::Refuse(in_flight)), end) => {
                self.counters.tx_refused += 1;
                (in_flight, None, end.or(Some(Completion::REFUSED)))
            }
            (Some(transmit::Fetched::Nothing), _) => {
                self.counters.bad_descriptors += 1;
                (InFlight::default(), None, Some(Completion::REFUSED))
            }
            (None, _) => (InFlight::default(), None, Some(Completion::REFUSED)),
        };
        self.push_frame(number, in_flight, end);
        command
    }

    fn push_frame(&mut self, number: u8, in_flight: InFlight, end: Option<Completion>) {
        if end.is_none() {
            self.in_flight += 1;
            self.counters.tx_frames += 1;
        }
        if let Some(transmits) = self.transmits.get_mut(usize::from(number)) {
            transmits.push(in_flight, end);
        }
    }

    /// The radio has done a command.
    pub(super) fn command_done(&mut self, tag: Tag, reply: Reply) {
        if tag == NO_ENTRY {
            return report_initialized(&reply);
        }
        let entry = self.scheduler.entry(tag);
        let commands = self.scheduler.command_queue();
        match entry {
            Some((number, index))
                if Some(number) == commands && self.commands.answer(index, reply) =>
            {
                self.answer_commands();
            }
            _ => self.counters.stale_events += 1,
        }
    }

    /// Writes the responses that are due, oldest first, up to the first command that is not done.
    fn answer_commands(&mut self) {
        while let Some((_, outstanding, reply)) = self.commands.pop_answered() {
            self.finish_flush(&outstanding);
            for packet in outstanding.respond(&reply) {
                self.send(packet);
            }
        }
    }

    /// A flush is answered after every frame of its queues. What the radio has not reported by now
    /// is flushed here, and its report will be stale.
    fn finish_flush(&mut self, outstanding: &Outstanding) {
        for number in masked(outstanding.flushes) {
            let Some(transmits) = self.transmits.get_mut(usize::from(number)) else {
                continue;
            };
            let unreported = transmits.answer_all(Completion::FLUSHED);
            self.in_flight = self.in_flight.saturating_sub(unreported);
            if unreported > 0
                && let Some(queue) = self.scheduler.queue_mut(number)
            {
                queue.renew();
            }
            self.answer_frames(number);
        }
    }

    /// The radio has sent a frame, or given it up.
    pub(super) fn frame_done(&mut self, tag: Tag, report: &TxReport) {
        let answered = self.scheduler.entry(tag).filter(|&(number, index)| {
            let transmits = self.transmits.get_mut(usize::from(number));
            transmits.is_some_and(|transmits| transmits.answer(index, report.into()))
        });
        match answered {
            Some((number, _)) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.answer_frames(number);
            }
            None => self.counters.stale_events += 1,
        }
    }

    /// Writes the transmit responses that are due, in ring order.
    fn answer_frames(&mut self, number: u8) {
        let Some(transmits) = self.transmits.get_mut(usize::from(number)) else {
            return;
        };
        while let Some((index, in_flight, completion)) = transmits.pop_answered() {
            let tag = self.scheduler.tag(number, index);
            self.stamps.own(Point::Answered, FrameId::sent(tag.0));
            let response = transmit::respond(number, index, &in_flight, &completion);
            if let Some(response) = response
                && !self.rx.push(response)
            {
                self.counters.packets_dropped += 1;
            }
        }
    }
}

/// The driver has no way to learn that there is no vMAC for it: every later command is refused.
fn report_initialized(reply: &Reply) {
    if let Reply::Refused(refusal) = reply {
        tracing::warn!("the radio has no vMAC for this card: {refusal}");
    }
}

/// The register with the TFD ring base of a queue.
fn ring_base(number: u8) -> u32 {
    let number = u32::from(number);
    match number {
        0..16 => fh::CBBC_LOW + 4 * number,
        _ => fh::CBBC_HIGH + 4 * (number - 16),
    }
}

/// The queues of a mask, lowest first.
fn masked(mask: u32) -> impl Iterator<Item = u8> {
    (0..scd::QUEUES).filter(move |number| mask & (1 << number) != 0)
}
