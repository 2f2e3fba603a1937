//! What stands at each lane: the card, the VM-ID while a VM is attached, and the events that wait for it.

use std::collections::VecDeque;

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, LaneId};
use airlane_nic::{AddressPolicy, VmCounters};
use airlane_waist::{Command, Event, MAX_VMS, VmId};

use crate::card::Card;

/// A lane that a card does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// There is no such lane.
    #[error("there is no {0}")]
    NoLane(LaneId),
    /// There is no such card.
    #[error("there is no card {0}")]
    NoCard(usize),
    /// All its VM-IDs are given out.
    #[error("one card serves {MAX_VMS} VMs at once, and card {0} has them")]
    Full(usize),
    /// More lanes than have numbers.
    #[error("an engine has at most {max} lanes", max = u16::MAX)]
    TooMany,
}

/// The attachments of all lanes that the engine has given out, by the lane's number.
#[derive(Default)]
pub(crate) struct Attachments(Vec<Attachment>);

/// One lane's place at a card.
pub(crate) struct Attachment {
    /// The card's number, which is given out.
    pub card: usize,
    /// Its VM-ID on that card, while a VM is attached.
    pub vm: Option<VmId>,
    /// Resets that the lane has asked for and has not been told the end of.
    resets: u32,
    assigned: Option<(MacAddr, AddressPolicy)>,
    /// Its share of the card's airtime.
    weight: u16,
    /// Of the times when the lane had a VM-ID that it has no longer.
    pub counters: VmCounters,
    /// In the order in which the lane is to have them.
    pub events: VecDeque<Event>,
}

impl Attachments {
    /// One more lane, at this card.
    pub fn add(&mut self, card: usize) -> Result<LaneId, LaneError> {
        let number = u16::try_from(self.0.len()).map_err(|_| LaneError::TooMany)?;
        self.0.push(Attachment {
            card,
            vm: None,
            resets: 0,
            assigned: None,
            weight: 1,
            counters: VmCounters::default(),
            events: VecDeque::new(),
        });
        Ok(LaneId::new(number))
    }

    pub fn get(&self, lane: LaneId) -> Option<&Attachment> {
        self.0.get(lane.index())
    }

    /// What stands at a lane, and its card among `cards`; `None` for a lane that was not given out.
    pub fn find<'a>(
        &'a mut self,
        lane: LaneId,
        cards: &'a mut [Card],
    ) -> Option<(&'a mut Attachment, &'a mut Card)> {
        let attachment = self.0.get_mut(lane.index())?;
        let card = cards.get_mut(attachment.card)?;
        Some((attachment, card))
    }

    /// A card has an event for a lane. Cards name only lanes that were given out.
    pub fn tell(&mut self, lane: LaneId, event: Event) {
        if let Some(attachment) = self.0.get_mut(lane.index()) {
            let done = matches!(event, Event::ResetDone);
            attachment.resets = attachment.resets.saturating_sub(u32::from(done));
            attachment.events.push_back(event);
        }
    }

    /// A VM-ID that a lane had is free: these are its counters.
    pub fn count(&mut self, lane: LaneId, counters: &VmCounters) {
        if let Some(attachment) = self.0.get_mut(lane.index()) {
            attachment.counters.add(counters);
        }
    }
}

impl Attachment {
    /// A VM attaches: gives it the lowest free VM-ID, or the one that it has.
    pub fn attach(&mut self, lane: LaneId, card: &mut Card) -> Result<VmId, LaneError> {
        if let Some(vm) = self.vm {
            return Ok(vm);
        }
        let vm = card.admit(lane).ok_or(LaneError::Full(self.card))?;
        self.vm = Some(vm);
        card.nic.stamps().set_lane(vm, lane);
        if let Some((address, policy)) = self.assigned {
            card.nic.assign(vm, address, policy);
        }
        card.nic.set_weight(vm, self.weight);
        Ok(vm)
    }

    /// The VM has gone. Resets that it waits for are done, as far as its lane is concerned.
    pub fn detach(&mut self, now: Instant, card: &mut Card) {
        let Some(vm) = self.vm.take() else {
            return;
        };
        let resets = std::mem::take(&mut self.resets);
        for _ in 0..resets {
            self.events.push_back(Event::ResetDone);
        }
        card.retire(now, vm, resets);
    }

    /// The lane asks for something. `None` when no VM is attached: nothing is done, and the end of a reset is told
    /// at once, for the lane's device waits for it.
    pub fn asks(&mut self, command: &Command) -> Option<VmId> {
        let reset = matches!(command, Command::Reset);
        if self.vm.is_none() {
            self.events.extend(reset.then_some(Event::ResetDone));
        } else {
            self.resets += u32::from(reset);
        }
        self.vm
    }

    pub fn assign(&mut self, card: &mut Card, address: MacAddr, policy: AddressPolicy) {
        self.assigned = Some((address, policy));
        card.nic.reserve(address);
        if let Some(vm) = self.vm {
            card.nic.assign(vm, address, policy);
        }
    }

    pub fn set_weight(&mut self, card: &mut Card, weight: u16) {
        self.weight = weight;
        if let Some(vm) = self.vm {
            card.nic.set_weight(vm, weight);
        }
    }
}
