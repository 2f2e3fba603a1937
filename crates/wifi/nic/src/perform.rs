//! What the channel schedule wishes and what it makes the card do: moves, announcements, probes.

use airlane_air::{Protection, Transmission};
use airlane_dot11::frame::{FrameControl, FrameKind, three_address_header};
use airlane_dot11::{AccessCategory, Buffer, Channel, Rate, RateTable};
use airlane_lane::{Instant, Micros, VmId};
use airlane_waist::Event;

use crate::channel::context::{Home, Homes, same};
use crate::channel::scheduler::{Act, Stop, Wishes};
use crate::nic::Nic;
use crate::phy::Phy;
use crate::tx::in_flight::Cargo;
use crate::tx::prepare::lowest;
use crate::vmac::Vmac;

/// Attempts beyond the first for a null frame.
const ANNOUNCE_RETRIES: u8 = 4;

impl Nic {
    /// Where the radio ought to be, and when to ask again.
    pub(crate) fn wishes(&mut self, now: Instant) -> (Wishes, Option<Instant>) {
        let mut wishes = Wishes {
            homes: self.home_wishes(now),
            idle: self.active().find_map(|(_, vmac)| vmac.channel()),
            scan: None,
        };
        let Some(stop) = self.sweep.stop() else {
            return (wishes, None);
        };
        let joining = self
            .active()
            .filter_map(|(_, vmac)| vmac.joining_until(now));
        let joining = joining.min();
        // A stop that has begun is finished; only the next one waits.
        if self.sweep.waits(now, joining) && self.schedule.scanning() != Some(stop) {
            return (
                wishes,
                Instant::earlier(joining, self.sweep.patience_until()),
            );
        }
        wishes.scan = Some(stop);
        let at_home = |home: &&mut Home| same(Some(home.channel), stop.channel);
        if let Some(home) = wishes.homes.iter_mut().find(at_home) {
            home.pending = true;
        }
        (wishes, None)
    }

    /// Every home channel once, as wide as its widest vMAC has it.
    pub(crate) fn home_wishes(&self, now: Instant) -> Homes {
        let mut homes = Homes::new();
        for (vm, vmac) in self.active().filter(|(_, vmac)| vmac.needs_channel()) {
            let Some(channel) = vmac.channel() else {
                continue;
            };
            let known = |home: &Home| same(Some(home.channel), channel);
            if !homes.iter().any(known) && homes.try_push(Home::new(channel)).is_err() {
                continue;
            }
            if let Some(home) = homes.iter_mut().find(|home| known(home)) {
                let here = self.schedule.present_since(channel).is_some();
                vmac.speak_for(home, now, here, self.weight(vm));
            }
        }
        homes
    }

    /// Carries out one act of the schedule.
    pub(crate) fn perform<M: Phy>(&mut self, now: Instant, act: Act, air: &mut M) {
        match act {
            Act::Recall => self.recall(now, air),
            Act::AnnounceAbsence => self.announce(now, true, air),
            Act::Tune(channel) => {
                self.rise(now, air);
                self.recall(now, air);
                self.counters.tunes += 1;
                // A frame in the middle of its exchange is given back by the air once that has failed.
                air.tune(now, self.radio, Some(channel));
                self.announce(now, false, air);
            }
            Act::Started(stop) => self.stop_begins(now, stop, air),
            Act::Left(stop) => self.end_stop(stop),
        }
    }

    /// Takes back what the air still has: each frame returns to its place in its queue.
    fn recall<M: Phy>(&mut self, now: Instant, air: &mut M) {
        air.cancel(now, self.radio, &|_| true);
    }

    /// Tells the access points on the present channel that their stations sleep, or are awake.
    fn announce<M: Phy>(&mut self, now: Instant, away: bool, air: &mut M) {
        for vm in VmId::all() {
            self.tell(now, vm, away, air);
        }
    }

    /// Tells one of them, unless it knows.
    pub(crate) fn tell<M: Phy>(&mut self, now: Instant, vm: VmId, sleeps: bool, air: &mut M) {
        if let Some((frame, rate)) = self.announcement(vm, sleeps) {
            self.counters.announcements += 1;
            let cargo = Cargo::Announcement { vm, sleeps };
            self.send_own(now, frame, rate, cargo, true, air);
        }
    }

    fn announcement(&mut self, vm: VmId, away: bool) -> Option<(Buffer, Rate)> {
        let here = self.schedule.here();
        let vmac = self.vmac_mut(vm)?;
        if !vmac.associated() || !same(here, vmac.channel()?) || vmac.told_away == away {
            return None;
        }
        vmac.told_away = away;
        // A station that its own driver has put to sleep stays asleep for its access point.
        if vmac.dozes {
            return None;
        }
        let rate = lowest(vmac);
        null_frame(vmac, away).map(|frame| (frame, rate))
    }

    fn stop_begins<M: Phy>(&mut self, now: Instant, stop: Stop, air: &mut M) {
        for (vm, rate, mut probe) in self.begin_stop(stop) {
            if air.queued(self.radio, AccessCategory::Voice) >= MAX_PROBES_WAITING {
                self.counters.probes_skipped += 1;
                continue;
            }
            let number = self.vmac_mut(vm).map_or(0, Vmac::next_sequence);
            airlane_dot11::frame::set_sequence_number(probe.bytes_mut(), number);
            self.counters.probes += 1;
            self.send_own(now, probe, rate, Cargo::Probe { vm }, false, air);
        }
    }

    /// Sends a frame of the card's own.
    fn send_own<M: Phy>(
        &mut self,
        now: Instant,
        frame: Buffer,
        rate: Rate,
        cargo: Cargo,
        acknowledge: bool,
        air: &mut M,
    ) {
        let Some(channel) = self.schedule.here() else {
            return;
        };
        let token = self.next_serial();
        self.flights.add(token, cargo);
        let category = AccessCategory::Voice;
        let transmission = Transmission {
            token,
            frame,
            channel,
            category,
            edca: VOICE,
            rates: RateTable::from_iter([rate]),
            retry_limit: if acknowledge { ANNOUNCE_RETRIES } else { 0 },
            acknowledge,
            protect: Protection::None,
            short_slot: false,
            short_preamble: false,
            power: None,
            aggregation: None,
        };
        air.transmit(now, self.radio, transmission);
    }

    /// Each vMAC's own timers: its access point changes its channel, a beacon fails to come. Says when the next
    /// one is due.
    pub(crate) fn watch(&mut self, now: Instant) -> Option<Instant> {
        let mut next = None;
        for vm in VmId::all() {
            if self.vmac(vm).is_some() {
                next = Instant::earlier(next, self.watch_switch(now, vm));
                next = Instant::earlier(next, self.watch_beacons(now, vm));
            }
        }
        next
    }

    fn watch_switch(&mut self, now: Instant, vm: VmId) -> Option<Instant> {
        let (at, channel) = self.vmac(vm)?.switch?;
        if now < at {
            return Some(at);
        }
        self.switch_channel(vm, channel);
        None
    }

    fn watch_beacons(&mut self, now: Instant, vm: VmId) -> Option<Instant> {
        let vmac = self.vmac(vm).filter(|vmac| vmac.associated())?;
        let tuned = self.schedule.present_since(vmac.channel()?);
        let here = self.doze.present_since(tuned);
        let vmac = self.vmac_mut(vm)?;
        let missed = vmac.beacons.pass(now, here);
        let next = vmac.beacons.deadline(here);
        if let Some(missed) = missed {
            self.emit(vm, Event::MissedBeacons(missed));
        }
        next
    }

    fn switch_channel(&mut self, vm: VmId, channel: Channel) {
        if let Some(vmac) = self.vmac_mut(vm) {
            vmac.switch = None;
            if let Some(config) = vmac.config.as_mut() {
                config.channel = channel;
            }
            self.emit(vm, Event::ChannelSwitched(channel));
        }
    }
}

/// Probe requests that may wait for the air: a scan must not fill it.
const MAX_PROBES_WAITING: usize = 32;

/// Default parameters of AC_VO (IEEE 802.11-2020 table 9-155, OFDM).
const VOICE: airlane_dot11::EdcaParameters = airlane_dot11::EdcaParameters {
    cw_min: 3,
    cw_max: 7,
    aifsn: 2,
    txop: Micros(0),
};

/// A null frame to the access point (IEEE 802.11-2020 9.3.2.1.3, 11.2.3.2): power management 1 says
/// that the station sleeps, 0 that it is awake.
fn null_frame(vmac: &mut Vmac, away: bool) -> Option<Buffer> {
    let (own, bssid) = (vmac.address()?, vmac.bssid()?);
    let mut flags = FrameControl::TO_DS;
    flags.set(FrameControl::POWER_MANAGEMENT, away);
    let control = FrameKind::NULL.with(flags);
    let frame = three_address_header(control, [bssid, own, bssid], vmac.next_sequence());
    Buffer::from_slice(&frame)
}
