//! What each command does.

use airlane_dot11::{Dbm, EdcaParameters, MacAddr};
use airlane_lane::{Instant, VmId};
use airlane_waist::{Command, Event, Refusal, Reply, Request, VifConfig};

use crate::nic::Nic;
use crate::phy::Phy;
use crate::vmac::Vmac;

impl Nic {
    pub(crate) fn execute<M: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        Request { tag, command }: Request,
        air: &mut M,
    ) {
        if let Command::Transmit(transmit) = command {
            return self.accept(vm, tag, transmit);
        }
        self.stir();
        let result = match command {
            Command::Reset => {
                self.tear_down(now, vm, air);
                return self.emit(vm, Event::ResetDone);
            }
            Command::Initialize => self.initialize(now, vm, air),
            Command::ScanSlot(visit) => return self.visit(vm, tag, *visit),
            _ if self.vmac(vm).is_none() => Err(Refusal::NotInitialized),
            Command::Flush(mask) => return self.flush(now, vm, tag, mask, air),
            // The host driver makes visits of it.
            Command::Scan(_) => Err(Refusal::Busy),
            Command::AbortScan => self.leave_visit(vm),
            Command::Configure(configuration) => self.configure(now, vm, *configuration, air),
            Command::PowerSave(power) => {
                // Consolidated by the host driver: it holds for the radio, whoever sent it.
                self.power = power;
                Ok(Reply::Ok)
            }
            other => self.set(now, vm, other),
        };
        let reply = result.unwrap_or_else(Reply::Refused);
        self.emit(vm, Event::Done(tag, reply));
    }

    /// A vMAC comes into being; what the VM had before goes.
    fn initialize<M: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        air: &mut M,
    ) -> Result<Reply, Refusal> {
        self.tear_down(now, vm, air);
        let slot = self.vmacs.get_mut(vm.index());
        *slot.ok_or(Refusal::AddressTaken)? = Some(Box::new(Vmac::new()));
        self.doze.turn(now, true);
        Ok(Reply::Ok)
    }

    fn configure<M: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        configuration: VifConfig,
        air: &mut M,
    ) -> Result<Reply, Refusal> {
        if !self.may_bear(vm, configuration.address) {
            self.count(vm, |counters| counters.addresses_refused += 1);
            return Err(Refusal::AddressTaken);
        }
        if configuration.forget_stations {
            self.keys.forget(vm);
        }
        if let Some(vmac) = self.vmac_mut(vm) {
            vmac.configure(now, configuration);
        }
        self.refresh_filter(air);
        Ok(Reply::Ok)
    }

    /// True when the address is one that this VM may have and that nobody else has.
    fn may_bear(&self, vm: VmId, address: MacAddr) -> bool {
        let owner = self.addresses.get(&address);
        let taken = owner.is_some_and(|&owner| owner != vm);
        let of_access_point = || {
            let mut peers = self.active().filter_map(|(_, vmac)| vmac.bssid());
            peers.any(|bssid| bssid == address)
        };
        !address.is_group() && !taken && self.assignments.allow(vm, address) && !of_access_point()
    }

    /// The commands that set something of the vMAC and nothing else.
    fn set(&mut self, now: Instant, vm: VmId, command: Command) -> Result<Reply, Refusal> {
        let Self { vmacs, keys, .. } = self;
        let vmac = vmacs.get_mut(vm.index()).and_then(Option::as_deref_mut);
        let vmac = vmac.ok_or(Refusal::NotInitialized)?;
        match command {
            Command::AddStation(index, address, ht) => {
                if let Some(old) = vmac.station(index).map(|station| station.address)
                    && old != address
                {
                    keys.forget_peer(vm, old);
                }
                let added = vmac.add_station(index, address, ht);
                return known(added, Refusal::StationTableFull);
            }
            Command::RemoveStation(address) => {
                keys.forget_peer(vm, address);
                return known(vmac.remove_station(address), Refusal::UnknownStation);
            }
            Command::ModifyStation(index, ht) => {
                return known(vmac.set_ht(index, ht), Refusal::UnknownStation);
            }
            Command::SetKey(key) => {
                let station = vmac.station(key.station).ok_or(Refusal::UnknownStation)?;
                let peer: MacAddr = station.address;
                keys.set(vm, peer, &key);
                self.count(vm, |counters| counters.keys_set += 1);
            }
            Command::RemoveKey(station, slot) => keys.remove(vm, station, slot),
            Command::BlockAck(agreement) => {
                return known(vmac.set_agreement(agreement), Refusal::UnknownStation);
            }
            Command::RateTable(index, ladder, limits) => {
                let set = vmac.set_ladder(index, *ladder, limits);
                return known(set, Refusal::UnknownStation);
            }
            Command::Statistics { clear } => return Ok(statistics(vmac, clear)),
            Command::Timing(timing) => vmac.set_timing(now, timing),
            Command::Edca(parameters) => vmac.edca = parameters.map(bounded),
            Command::TxPower(power) => vmac.tx_power = Some(Dbm(f32::from(power) / 2.0)),
            Command::SwitchChannel(switch) => {
                vmac.switch = Some((now + switch.after, switch.channel));
            }
            // Of no effect on an emulated radio; the host driver answers these itself.
            Command::TxAntennas(_)
            | Command::Calibrate
            | Command::Sensitivity
            | Command::Led
            | Command::Coexistence
            | Command::Thermal => {}
            // Done by `execute`.
            Command::Reset
            | Command::Initialize
            | Command::Configure(_)
            | Command::Scan(_)
            | Command::AbortScan
            | Command::ScanSlot(_)
            | Command::Flush(_)
            | Command::PowerSave(_)
            | Command::Transmit(_) => {}
        }
        Ok(Reply::Ok)
    }
}

fn known(found: bool, refusal: Refusal) -> Result<Reply, Refusal> {
    if found { Ok(Reply::Ok) } else { Err(refusal) }
}

fn statistics(vmac: &mut Vmac, clear: bool) -> Reply {
    let report = airlane_waist::Statistics {
        cleared: clear,
        channel: vmac.channel(),
        ..vmac.statistics
    };
    if clear {
        vmac.statistics = airlane_waist::Statistics::default();
    }
    Reply::Statistics(Box::new(report))
}

/// Within what the standard allows (IEEE 802.11-2020 9.4.2.28; OFDM's CWmax): all vMACs contend through one
/// radio, and a window of one VM's choice delays every VM.
fn bounded(asked: EdcaParameters) -> EdcaParameters {
    EdcaParameters {
        cw_min: asked.cw_min.min(1023),
        cw_max: asked.cw_max.min(1023),
        aifsn: asked.aifsn.clamp(1, 15),
        ..asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_lane::Micros;

    #[test]
    fn channel_access_stays_within_the_standard() {
        let wild = EdcaParameters {
            cw_min: u16::MAX,
            cw_max: u16::MAX,
            aifsn: 0,
            txop: Micros(0),
        };
        let tame = bounded(wild);
        assert_eq!((tame.cw_min, tame.cw_max, tame.aifsn), (1023, 1023, 1));
        assert_eq!(bounded(EdcaParameters::DCF), EdcaParameters::DCF);
    }
}
