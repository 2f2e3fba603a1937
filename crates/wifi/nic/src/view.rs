//! How things stand in the card, for reports.

use airlane_dot11::{Channel, MacAddr};
use airlane_lane::{Instant, Micros};
use airlane_waist::{MissedBeacons, Mode, PowerSave, VmId};

use crate::channel::context::find;
use crate::counters::{Counters, VmCounters};
use crate::nic::Nic;
use crate::power_save::AwakeTime;

/// How one vMAC stands, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmacView {
    /// The VM that it belongs to.
    pub vm: VmId,
    /// Its address; zero when no interface is up.
    pub address: MacAddr,
    /// Its BSS; zero when none.
    pub bssid: MacAddr,
    /// Where its driver has configured it to be; `None` before that.
    pub channel: Option<Channel>,
    /// What its driver has made of it.
    pub mode: Mode,
    /// Its driver has associated with the BSS, or has joined it where that is an IBSS.
    pub associated: bool,
    /// Its share of the airtime relative to the other vMACs', 1 to [`crate::MAX_WEIGHT`].
    pub weight: u16,
    /// Beacons of its BSS since it associated; only those are expected for which the radio was there.
    pub beacons: MissedBeacons,
    /// The longest time without a beacon since it associated, absence included.
    pub longest_silence: Micros,
    /// What was counted of its VM, across resets.
    pub counters: VmCounters,
}

/// One channel context: how the radio divides its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextView {
    /// Its primary 20 MHz.
    pub channel: Channel,
    /// The part of the time that is its while all that compete now do, in thousandths; zero when no vMAC needs it
    /// any more.
    pub share: u64,
    /// Time that the radio has spent there so far.
    pub time: Micros,
    /// How often the radio has come there.
    pub visits: u64,
    /// Beacons that its vMACs have heard since each associated.
    pub beacons_heard: u64,
    /// Beacons that they missed though the radio was there.
    pub beacons_missed: u64,
}

impl Nic {
    /// How each vMAC stands, by VM-ID.
    pub fn vmacs(&self) -> impl Iterator<Item = VmacView> {
        self.card.vmacs.iter().map(|(vm, vmac)| VmacView {
            vm,
            address: vmac.address().unwrap_or_default(),
            bssid: vmac.bssid().unwrap_or_default(),
            channel: vmac.channel(),
            mode: vmac.mode(),
            associated: vmac.associated(),
            weight: self.tx.airtime.weight(vm),
            beacons: vmac.beacons.counts(),
            longest_silence: vmac.beacons.longest_silence(),
            counters: self.vm_counters(vm),
        })
    }

    /// The channel schedule: every channel that has been a context.
    pub fn contexts(&self, now: Instant) -> impl Iterator<Item = ContextView> {
        let contexts = self.channel_contexts(now);
        let accounts = self.scheduler.accounts();
        accounts.iter().map(move |account| {
            let context = find(&contexts, Some(account.channel));
            let (heard, missed) = self.beacons_on(account.channel);
            let present = self.scheduler.present_since(account.channel);
            let stay = present.map_or(Micros(0), |since| now.saturating_since(since));
            ContextView {
                channel: account.channel,
                share: context.map_or(0, |context| accounts.share(now, &contexts, context)),
                time: account.time + stay,
                visits: account.arrivals,
                beacons_heard: heard,
                beacons_missed: missed,
            }
        })
    }

    fn beacons_on(&self, channel: Channel) -> (u64, u64) {
        let vmacs = self.card.vmacs.iter();
        let there = vmacs.filter(|(_, vmac)| vmac.is_on(channel));
        let counts = there.map(|(_, vmac)| vmac.beacons.counts());
        counts.fold((0, 0), |(heard, missed), counts| {
            (
                heard + u64::from(counts.received),
                missed + u64::from(counts.total),
            )
        })
    }

    /// What was counted of the card as a whole.
    pub fn counters(&self) -> Counters {
        Counters {
            pool_misses: self.tx.pool_misses() + self.rx.pool_misses(),
            ..self.card.out.counters
        }
    }

    /// What was counted of one VM, also when it has no vMAC any more.
    pub fn vm_counters(&self, vm: VmId) -> VmCounters {
        self.card.out.vms[vm]
    }

    /// The channel that the radio is tuned to.
    pub fn channel(&self) -> Option<Channel> {
        self.scheduler.here()
    }

    /// The sleep schedule that the radio was last told.
    pub fn power_save(&self) -> PowerSave {
        self.power.schedule()
    }

    /// Time that the radio has spent awake and asleep.
    pub fn awake_time(&self, now: Instant) -> AwakeTime {
        self.power.spent(now)
    }
}
