//! Cards, air and access points in one state machine, which lanes know as an [`Engine`]. No I/O, no clock: a reactor
//! runs it in real time, stories run it in virtual time.

use std::collections::VecDeque;

use airlane_air::{Air, AirConfig, Position, RadioConfig};
use airlane_dot11::{MacAddr, frame::Header};
use airlane_lane::{Admission, Engine, EventKind, Instant, LaneId, Next};
use airlane_nic::{AddressPolicy, VmCounters};
use airlane_waist::hwsim::{FromHwsim, ToHwsim};
use airlane_waist::stamp::{FrameId, Point, Stamps};
use airlane_waist::{Command, Event, Request, VmId};

use crate::access_points::AccessPoints;
use crate::built_in::{BuiltIn, BuiltIns};
use crate::card::{Card, DataPath, LaneError, Tenants};
use crate::external_station::{ExternalStation, hand_to_external, step_external};
use crate::journal::Journal;
use crate::other_cards::OtherCards;

/// A radio that can be put elsewhere while it is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// A card, by its number, and with it all its VMs.
    Card(usize),
    /// One radio of an access-point VM.
    AccessPoint {
        /// Number of the access-point VM.
        port: usize,
        /// hwsim's number of the radio.
        number: usize,
    },
    /// A built-in access point, by its number.
    BuiltIn(usize),
}

/// Cards, NICs, air and access points, wired.
///
/// ```
/// use airlane_air::{AirConfig, Position, RadioConfig};
/// use airlane_dot11::Dbm;
/// use airlane_engine::{AccessPoints, Wifi};
/// use airlane_lane::{Engine, Instant, Next};
/// use airlane_waist::{Command, Event, Reply, Request, Tag};
///
/// let mut wifi = Wifi::new(AirConfig::default(), AccessPoints::new(Vec::new()));
/// let (name, position) = ("card".to_owned(), Position::default());
/// let card = wifi.add_card(RadioConfig { name, position, tx_power: Dbm(15.0) });
/// let lane = wifi.add_lane(card)?;
///
/// // A VM attaches, and its driver starts the card; the request is answered under its tag.
/// wifi.attach(lane)?;
/// let command = Command::Initialize;
/// wifi.request(Instant(0), lane, Request { tag: Tag(1), command });
/// while wifi.run(Instant(0), 64) == Next::More {}
/// assert!(matches!(wifi.next_event(lane), Some(Event::Done(Tag(1), Reply::Ok))));
/// # Ok::<(), airlane_engine::LaneError>(())
/// ```
pub struct Wifi {
    air: Air,
    cards: Vec<Card>,
    tenants: Tenants,
    access_points: AccessPoints,
    built_ins: BuiltIns,
    external: Vec<Box<dyn ExternalStation>>,
    journal: Journal,
    /// When the last step was.
    now: Instant,
    to_hwsim: VecDeque<(usize, ToHwsim)>,
}

impl Wifi {
    /// An air with access points to come, and no card yet.
    pub fn new(air: AirConfig, access_points: AccessPoints) -> Self {
        Self {
            air: Air::new(air),
            cards: Vec::new(),
            tenants: Tenants::default(),
            access_points,
            built_ins: BuiltIns::default(),
            external: Vec::new(),
            journal: Journal::default(),
            now: Instant(0),
            to_hwsim: VecDeque::new(),
        }
    }

    /// One card on an air of its own; each of its VM-IDs has the lane of the same number.
    pub fn with_card(air: AirConfig, card: RadioConfig, access_points: AccessPoints) -> Self {
        let mut wifi = Self::new(air, access_points);
        let card = wifi.add_card(card);
        for _ in VmId::all() {
            // The card is there, and has as many VM-IDs.
            let lane = wifi.add_lane(card);
            let _ = lane.and_then(|lane| wifi.attach(lane));
        }
        wifi
    }

    /// One more card; its number.
    pub fn add_card(&mut self, radio: RadioConfig) -> usize {
        let mut card = Card::new(radio, &mut self.air);
        let built_ins = self
            .built_ins
            .iter()
            .map(|served| served.bss.config().bssid);
        let access_points = self.access_points.bssids().chain(built_ins);
        for address in self.tenants.addresses().chain(access_points) {
            card.nic.reserve(address);
        }
        self.cards.push(card);
        self.cards.len() - 1
    }

    /// One more lane at this card, to which no VM is attached. There may be more lanes than VM-IDs, but no more than
    /// [`airlane_lane::MAX_LANES`] of all cards together.
    pub fn add_lane(&mut self, card: usize) -> Result<LaneId, LaneError> {
        self.cards.get(card).ok_or(LaneError::NoCard(card))?;
        self.tenants.add(card)
    }

    /// A VM attaches to its lane: gives it the lowest VM-ID of the lane's card that is free, or the one that it has.
    pub fn attach(&mut self, lane: LaneId) -> Result<VmId, LaneError> {
        let at = self.tenants.find(lane, &mut self.cards);
        let (tenant, card) = at.ok_or(LaneError::NoLane(lane))?;
        tenant.attach(lane, card)
    }

    /// The VM of a lane has gone, and what it had goes too; its VM-ID is free when that is done, at the latest when the
    /// engine has run. What the lane asks for from now on is not done, until a VM attaches again; a reset is, for there
    /// is nothing left.
    pub fn detach(&mut self, now: Instant, lane: LaneId) {
        if let Some((tenant, card)) = self.tenants.find(lane, &mut self.cards) {
            tenant.detach(now, card);
        }
    }

    /// The card of a lane, and the VM-ID while a VM is attached.
    pub fn vm(&self, lane: LaneId) -> Option<(usize, VmId)> {
        let tenant = self.tenants.get(lane)?;
        Some((tenant.card, tenant.vm?))
    }

    /// The numbers of the lanes to which VMs are attached.
    pub fn attached(&self) -> impl Iterator<Item = usize> {
        self.tenants.attached()
    }

    /// What was counted of a lane's VM at times when it had another VM-ID.
    pub(crate) fn counted_before(&self, lane: LaneId) -> VmCounters {
        let tenant = self.tenants.get(lane);
        tenant.map(|tenant| tenant.counters).unwrap_or_default()
    }

    /// Gives a lane's VM its address, which is nobody else's from now on, on whichever card.
    pub fn assign(&mut self, lane: LaneId, address: MacAddr, policy: AddressPolicy) {
        let Some((tenant, card)) = self.tenants.find(lane, &mut self.cards) else {
            return;
        };
        tenant.assign(card, address, policy);
        self.reserve(address);
    }

    /// From now on no VM bears this address but one to which it is assigned.
    fn reserve(&mut self, address: MacAddr) {
        for card in &mut self.cards {
            card.nic.reserve(address);
        }
    }

    /// Sets a lane's share of its card's airtime; 1 is the usual.
    pub fn set_weight(&mut self, lane: LaneId, weight: u16) {
        if let Some((tenant, card)) = self.tenants.find(lane, &mut self.cards) {
            tenant.set_weight(card, weight);
        }
    }

    /// One more built-in access point.
    pub fn add_built_in(&mut self, built_in: BuiltIn) {
        self.reserve(built_in.bss.bssid);
        self.built_ins.add(self.now, built_in, &mut self.air);
    }

    /// Adds a station that is neither a card nor an access point of this engine.
    pub fn add_external(&mut self, mut station: Box<dyn ExternalStation>) {
        station.join(self.now, &mut self.air);
        self.external.push(station);
    }

    /// One card, to be set up before any of its VMs asks for anything.
    pub fn card_mut(&mut self, number: usize) -> Option<&mut Card> {
        self.cards.get_mut(number)
    }

    /// The stamps of a card's stages.
    pub fn stamps(&mut self, card: usize) -> Option<&mut Stamps> {
        Some(self.cards.get_mut(card)?.nic.stamps())
    }

    /// Takes a message of access-point VM number `port`.
    pub fn hwsim(&mut self, now: Instant, port: usize, message: FromHwsim) {
        let Self { air, cards, .. } = self;
        let agreed = |header: &Header| {
            let mut cards = cards.iter();
            cards.find_map(|card| card.nic.receive_agreement(header))
        };
        let status = self.access_points.message(now, port, message, air, agreed);
        self.to_hwsim.extend(status.map(|status| (port, status)));
    }

    /// Runs everything that is due, however much it is, and says when to come back.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        loop {
            match self.run(now, usize::MAX) {
                Next::More => {}
                next => return next.at(),
            }
        }
    }

    /// Each part does what is due, once; says when to come back, and how much has moved between them.
    fn pass(&mut self, now: Instant, budget: usize) -> (Option<Instant>, usize) {
        let (mut wake, mut moved) = (None, 0);
        for number in 0..self.cards.len() {
            let Some((card, others)) = OtherCards::than(number, &mut self.cards) else {
                break;
            };
            let is_elsewhere = |address| others.bear(address);
            let (due, passed) = card.step(now, &mut self.air, is_elsewhere);
            wake = Instant::earlier(wake, due);
            moved += passed;
        }
        wake = Instant::earlier(wake, self.built_ins.step(now, &mut self.air));
        let external = step_external(&mut self.external, now, &mut self.air);
        wake = Instant::earlier(wake, external);
        wake = Instant::earlier(wake, self.air.step(now));
        moved += self.hand_out_air_events(now, budget);
        moved += self.tell_lanes(now);
        (wake, moved)
    }

    fn hand_out_air_events(&mut self, now: Instant, budget: usize) -> usize {
        let mut moved = 0;
        while moved < budget
            && let Some(event) = self.air.next_event()
        {
            moved += 1;
            let radio = event.radio();
            if let Some(card) = self.cards.iter_mut().find(|card| card.radio == radio) {
                card.air_event(now, &event);
            } else if !self.built_ins.air_event(now, &event)
                && !hand_to_external(&mut self.external, now, &event)
            {
                self.access_points
                    .hold_for_sleeper(now, &event, &mut self.air);
                self.to_hwsim.extend(self.access_points.air_event(event));
            }
        }
        moved
    }

    fn tell_lanes(&mut self, now: Instant) -> usize {
        let Self { cards, tenants, .. } = self;
        let mut tell = |lane, event| tenants.tell(lane, event);
        let told = cards.iter_mut().map(|card| card.tell_vms(now, &mut tell));
        let told = told.sum();
        for (lane, counters) in cards.iter_mut().flat_map(Card::departed) {
            tenants.count(lane, &counters);
        }
        told
    }

    /// Puts a radio elsewhere: signals follow from the next frame on.
    pub fn place(&mut self, what: Placed, position: Position) {
        match what {
            Placed::Card(number) => {
                if let Some(card) = self.cards.get(number) {
                    self.air.move_radio(card.radio, position);
                }
            }
            Placed::AccessPoint { port, number } => {
                self.access_points
                    .place(port, number, position, &mut self.air);
            }
            Placed::BuiltIn(number) => self.built_ins.place(number, position, &mut self.air),
        }
    }

    /// The next message for an access-point VM.
    pub fn next_for_hwsim(&mut self) -> Option<(usize, ToHwsim)> {
        self.to_hwsim.pop_front()
    }

    /// The medium, for the tap and reports.
    pub fn air(&self) -> &Air {
        &self.air
    }

    /// The medium, to set the tap.
    pub fn air_mut(&mut self) -> &mut Air {
        &mut self.air
    }

    /// The cards by number, for reports.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// What happens to each VM.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What happens to each VM, to take its events.
    pub fn journal_mut(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// The built-in access points, for reports.
    pub fn built_ins(&self) -> &BuiltIns {
        &self.built_ins
    }

    /// The built-in access points, for their uplinks.
    pub fn built_ins_mut(&mut self) -> &mut BuiltIns {
        &mut self.built_ins
    }

    /// The access points, for reports.
    pub fn access_points(&self) -> &AccessPoints {
        &self.access_points
    }
}

impl Engine for Wifi {
    type Request = Request;
    type Event = Event;

    fn admit(&mut self, now: Instant, lane: LaneId) -> Admission {
        let error = match self.attach(lane) {
            Ok(_) => return Admission::Admitted,
            Err(error) => error,
        };
        if let LaneError::Full(card) = error
            && self.cards.get(card).is_some_and(Card::is_vm_leaving)
        {
            return Admission::Later;
        }
        self.journal.refused(now, lane);
        Admission::Refused(error.to_string())
    }

    fn dismiss(&mut self, now: Instant, lane: LaneId) {
        self.detach(now, lane);
    }

    fn request(&mut self, now: Instant, lane: LaneId, request: Request) {
        let Self {
            air,
            cards,
            tenants,
            journal,
            ..
        } = self;
        let Some(tenant) = tenants.get_mut(lane) else {
            return;
        };
        let Some((card, others)) = OtherCards::than(tenant.card, cards) else {
            return;
        };
        let Some(vm) = tenant.asks(&request.command) else {
            return;
        };
        let frame = request.frame();
        stamp(card, Point::Taken, vm, frame);
        journal.request(now, lane, &request.command);
        match request.command {
            Command::Transmit(transmit) if card.data_path == DataPath::Passthrough => {
                // What the VM asked for before goes before: a station, a key.
                card.pass_to_nic(now, air, |address| others.bear(address));
                stamp(card, Point::Classified, vm, frame);
                card.nic.transmit(vm, request.tag, transmit);
            }
            _ => {
                card.host.request(now, vm, request);
                stamp(card, Point::Classified, vm, frame);
            }
        }
    }

    /// The parts answer each other until nothing moves: the budget counts what has moved between them.
    fn run(&mut self, now: Instant, budget: usize) -> Next {
        self.now = now;
        let mut left = budget;
        loop {
            let (wake, moved) = self.pass(now, left);
            if moved == 0 {
                return wake.into();
            }
            left = left.saturating_sub(moved);
            if left == 0 {
                return Next::More;
            }
        }
    }

    fn next_event(&mut self, lane: LaneId) -> Option<Event> {
        let (tenant, card) = self.tenants.find(lane, &mut self.cards)?;
        let event = tenant.events.pop_front()?;
        self.journal.event(self.now, lane, &event);
        if let Some(vm) = tenant.vm {
            stamp(card, Point::Handed, vm, event.frame());
        }
        Some(event)
    }

    fn is_reported(request: &Request) -> bool {
        matches!(request.command, Command::Transmit(_))
    }

    fn kind(event: &Event) -> EventKind {
        match event {
            Event::Transmitted(..) => EventKind::Report,
            Event::Received(_) => EventKind::Arrival,
            // What was taken before the reset is never reported.
            Event::ResetDone => EventKind::Reset,
            Event::Done(..)
            | Event::Scan(_)
            | Event::MissedBeacons(_)
            | Event::ChannelSwitched(_) => EventKind::Urgent,
        }
    }
}

fn stamp(card: &mut Card, point: Point, vm: VmId, frame: Option<FrameId>) {
    if let Some(frame) = frame {
        card.nic.stamps().of(point, vm, frame);
    }
}
