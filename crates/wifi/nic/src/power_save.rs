//! Power save (Virtual WiFi, section 3.3, "power save command"). While the schedule that all VMs agree to
//! allows it, the card tells the access point of each idle vMAC that its station sleeps, and turns the radio off
//! between the beacons that some vMAC must hear (IEEE 802.11-2020 11.2.3): every DTIM, and as many others as the
//! shortest sleep asks for. What a traffic map promises is fetched by saying that the station is awake; a PS-Poll
//! has no way to hostapd on hwsim, whose transport takes no frame that short.
//!
//! Not here: whose wish counts (the host driver), absence for another channel (the channel scheduler). With networks
//! on several channels one of them needs the radio nearly always: it stays awake.

use airlane_air::Outcome;
use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};
use airlane_waist::{PowerSave, VmId};

use crate::card::Vmacs;
use crate::tx::frame::OwnFrame;
use crate::vmac::Vmac;

/// How long before a beacon's time the radio is on for it.
const LEAD: Micros = Micros::from_millis(2);
/// Time for what an access point had handed to its transmitter before it learned that its station sleeps.
const LINGER: Micros = Micros::from_millis(2);

/// What the radio is doing. Edges: `Off ⇄ Awake ⇄ Asleep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// There is no vMAC.
    #[default]
    Off,
    Awake,
    Asleep,
}

/// Time that the radio has spent awake and asleep. Neither while there was no vMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AwakeTime {
    /// Time that the radio was on: it heard, or could have heard.
    pub awake: Micros,
    /// Time that the radio was off between beacons.
    pub asleep: Micros,
    /// How often the radio was turned off between beacons.
    pub naps: u64,
}

/// What the NIC is to do now, in this order.
#[derive(Debug)]
pub(crate) enum Action {
    /// Turn the radio on, on the channel that it was tuned to.
    Wake,
    /// Turn the radio off.
    Sleep,
    /// Send this null frame, which tells a vMAC's access point that its station sleeps, or is awake.
    Announce(OwnFrame),
}

/// Where the radio is, as the channel scheduler has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) here: Option<Channel>,
    /// Since when the radio has been tuned to that channel.
    pub(crate) tuned_at: Option<Instant>,
    /// A scan is on, or to come.
    pub(crate) scans: bool,
    /// Transmissions whose end is not known yet.
    pub(crate) in_flight: usize,
}

/// Decides when one radio sleeps, and its stations with it.
#[derive(Default)]
pub(crate) struct PowerSaver {
    /// The sleep schedule that all VMs agree to.
    schedule: PowerSave,
    state: State,
    since: Instant,
    spent: AwakeTime,
    /// When an access point has last learned that a station sleeps.
    told_at: Instant,
    /// Some access point may believe that its station sleeps.
    told: bool,
}

impl PowerSaver {
    /// The sleep schedule that all VMs agree to.
    pub(crate) fn schedule(&self) -> PowerSave {
        self.schedule
    }

    pub(crate) fn set_schedule(&mut self, schedule: PowerSave) {
        self.schedule = schedule;
    }

    /// True while the radio may sleep, or an access point believes that one of its stations does.
    pub(crate) fn is_active(&self) -> bool {
        self.schedule.enabled || self.told
    }

    /// Since when the radio has been on the channel where it is tuned since `tuned`; `None` while it is not.
    pub(crate) fn present_since(&self, tuned: Option<Instant>) -> Option<Instant> {
        let on = (self.state != State::Asleep).then_some(self.since);
        on.zip(tuned).map(|(on, tuned)| on.max(tuned))
    }

    /// The radio gets its first vMAC, or loses its last one.
    pub(crate) fn turn(&mut self, now: Instant, on: bool) {
        match (on, self.state) {
            (true, State::Off) => self.enter(now, State::Awake),
            (false, State::Awake) => self.enter(now, State::Off),
            _ => {}
        }
    }

    /// Time that the radio has spent awake and asleep up to now.
    pub(crate) fn spent(&self, now: Instant) -> AwakeTime {
        let mut spent = self.spent;
        match self.state {
            State::Off => {}
            State::Awake => spent.awake += now.saturating_since(self.since),
            State::Asleep => spent.asleep += now.saturating_since(self.since),
        }
        spent
    }

    fn enter(&mut self, now: Instant, state: State) {
        self.spent = self.spent(now);
        self.spent.naps += u64::from(state == State::Asleep);
        (self.state, self.since) = (state, now);
    }

    /// Wakes the radio; `true` when it slept and is to be turned on.
    pub(crate) fn wake(&mut self, now: Instant) -> bool {
        let slept = self.state == State::Asleep;
        if slept {
            self.enter(now, State::Awake);
        }
        slept
    }

    /// Lets the radio and the stations of its vMACs sleep or wake; says what to do and when to look again.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        vmacs: &mut Vmacs,
        place: Place,
    ) -> (Vec<Action>, Option<Instant>) {
        let mut turn = Turn {
            now,
            place,
            saver: self,
            actions: Vec::new(),
        };
        let next = turn.run(vmacs);
        (turn.actions, next)
    }

    /// An access point has been told that a station sleeps, or could not be. `open`: the radio stays on its channel.
    pub(crate) fn announced(
        &mut self,
        now: Instant,
        vmac: &mut Vmac,
        open: bool,
        outcome: Outcome,
    ) {
        // Where the radio leaves for another channel, nobody is left to try again.
        if !open {
            return;
        }
        self.told_at = now + LINGER;
        if outcome != Outcome::Acknowledged {
            (vmac.pm_announced, vmac.woken_at) = (false, now);
        }
    }
}

/// One step of the power saver, and what comes of it.
struct Turn<'a> {
    now: Instant,
    place: Place,
    saver: &'a mut PowerSaver,
    actions: Vec<Action>,
}

impl Turn<'_> {
    fn run(&mut self, vmacs: &mut Vmacs) -> Option<Instant> {
        self.wake_stations(vmacs, |vmac| !vmac.tx.is_empty());
        if self.place.scans {
            self.wake();
            return None;
        }
        if !self.may_sleep(vmacs) {
            self.wake();
            self.wake_stations(vmacs, |_| true);
            self.saver.told = self.saver.schedule.enabled;
            let joining = vmacs.iter().map(|(_, vmac)| vmac.joining_until(self.now));
            return joining.flatten().min();
        }
        let idle = self.let_stations_sleep(vmacs);
        Instant::earlier(idle, self.let_radio_sleep(vmacs))
    }

    fn wake(&mut self) {
        if self.saver.wake(self.now) {
            self.actions.push(Action::Wake);
        }
    }

    /// True when no vMAC needs the radio all the time.
    fn may_sleep(&self, vmacs: &Vmacs) -> bool {
        let mut own: Option<Channel> = None;
        let mut vmacs = vmacs.iter();
        self.saver.schedule.enabled
            && vmacs.all(|(_, vmac)| {
                let channel = vmac.channel().filter(|_| vmac.bssid().is_some());
                let apart = |(own, other): (Channel, Channel)| !own.shares_primary(other);
                let elsewhere = own.zip(channel).is_some_and(apart);
                own = own.or(channel);
                !elsewhere && vmac.joining_until(self.now).is_none() && vmac.may_sleep()
            })
    }

    /// Tells the access points that these stations are awake.
    fn wake_stations(&mut self, vmacs: &mut Vmacs, which: impl Fn(&Vmac) -> bool) {
        let Some(here) = self.place.here else {
            return;
        };
        for (vm, vmac) in vmacs.iter_mut() {
            if !(vmac.is_on(here) && vmac.pm_announced && which(vmac)) {
                continue;
            }
            vmac.woken_at = self.now;
            vmac.beacons.fetch();
            self.wake();
            self.tell(vm, vmac, false);
        }
    }

    fn tell(&mut self, vm: VmId, vmac: &mut Vmac, sleeps: bool) {
        if let Some(frame) = vmac.announce(vm, self.place.here, sleeps) {
            self.place.in_flight += 1;
            self.actions.push(Action::Announce(frame));
        }
    }

    /// Tells the access points of idle vMACs that their stations sleep; gives when the next one is idle.
    fn let_stations_sleep(&mut self, vmacs: &mut Vmacs) -> Option<Instant> {
        self.wake_stations(vmacs, |vmac| vmac.beacons.promises_frames());
        let mut next = None;
        for (vm, vmac) in vmacs.iter_mut() {
            if !vmac.associated() || vmac.pm_announced {
                continue;
            }
            match vmac.idle_at(&self.saver.schedule) {
                Some(at) if at <= self.now => {
                    self.saver.told = true;
                    self.tell(vm, vmac, true);
                }
                Some(at) => next = Instant::earlier(next, Some(at)),
                None => {}
            }
        }
        next
    }

    /// Turns the radio off until the next beacon that some vMAC must hear, or on for it.
    fn let_radio_sleep(&mut self, vmacs: &Vmacs) -> Option<Instant> {
        let mut associated = vmacs.iter().filter(|(_, vmac)| vmac.associated());
        let all_told = associated.all(|(_, vmac)| vmac.pm_announced);
        if !all_told || self.place.in_flight > 0 || self.saver.state == State::Off {
            return None;
        }
        let group = vmacs.iter().map(|(_, vmac)| vmac.beacons.group_until());
        let stay = group.max().unwrap_or_default().max(self.saver.told_at);
        if self.saver.state == State::Awake && self.now < stay {
            return Some(stay);
        }
        match self.next_call(vmacs) {
            Some(call) if call <= self.now => {
                self.wake();
                self.beacon_deadline(vmacs)
            }
            call => {
                self.fall_asleep();
                call
            }
        }
    }

    /// When the radio must be on for a beacon.
    fn next_call(&self, vmacs: &Vmacs) -> Option<Instant> {
        let from = self.since();
        let associated = vmacs.iter().filter(|(_, vmac)| vmac.associated());
        let calls = associated.filter_map(|(_, vmac)| {
            let longest = vmac.longest_sleep(&self.saver.schedule);
            vmac.beacons.needed(from, longest)
        });
        calls.min().map(|at| at.saturating_sub(LEAD))
    }

    /// Since when the radio does what it does, here: beacons before that are none of its business.
    fn since(&self) -> Instant {
        let tuned_at = self.place.tuned_at.unwrap_or_default();
        self.saver.since.max(tuned_at)
    }

    /// When the first of the awaited beacons counts as missed.
    fn beacon_deadline(&self, vmacs: &Vmacs) -> Option<Instant> {
        let here = Some(self.since());
        let associated = vmacs.iter().filter(|(_, vmac)| vmac.associated());
        associated
            .filter_map(|(_, vmac)| vmac.beacons.deadline(here))
            .min()
    }

    fn fall_asleep(&mut self) {
        if self.saver.state == State::Awake {
            self.saver.enter(self.now, State::Asleep);
            self.actions.push(Action::Sleep);
        }
    }
}
