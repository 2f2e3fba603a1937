//! The commands that set something of one vMAC and nothing else.

use airlane_dot11::{Dbm, EdcaParameters, PerAc};
use airlane_lane::Instant;
use airlane_waist::{Refusal, Reply, Statistics, VifCommand, VmId};

use crate::card::Card;
use crate::vmac::Vmac;

/// Carries out a command of `vm` that sets something of its vMAC.
pub(crate) fn set(
    card: &mut Card,
    now: Instant,
    vm: VmId,
    command: VifCommand,
) -> Result<Reply, Refusal> {
    let Card {
        vmacs, keys, out, ..
    } = card;
    let vmac = vmacs.get_mut(vm).ok_or(Refusal::NotInitialized)?;
    match command {
        VifCommand::AddStation(index, address, ht) => {
            if let Some(old) = vmac.stations.get(index).map(|station| station.address)
                && old != address
            {
                keys.forget_peer(vm, old);
            }
            let added = vmac.stations.add(index, address, ht);
            return known(added, Refusal::StationTableFull);
        }
        VifCommand::RemoveStation(address) => {
            keys.forget_peer(vm, address);
            return known(vmac.stations.remove(address), Refusal::UnknownStation);
        }
        VifCommand::ModifyStation(index, ht) => {
            return known(vmac.stations.set_ht(index, ht), Refusal::UnknownStation);
        }
        VifCommand::SetKey(key) => {
            let station = vmac.stations.get(key.station);
            let peer = station.ok_or(Refusal::UnknownStation)?.address;
            keys.set(vm, peer, &key);
            out.vms[vm].keys_set += 1;
        }
        VifCommand::RemoveKey(station, slot) => keys.remove(vm, station, slot),
        VifCommand::BlockAck(agreement) => {
            let noted = vmac.stations.set_agreement(agreement);
            return known(noted, Refusal::UnknownStation);
        }
        VifCommand::RateTable(index, rates, limits) => {
            let set = vmac.stations.set_rates(index, *rates, limits);
            return known(set, Refusal::UnknownStation);
        }
        VifCommand::Statistics { clear } => return Ok(statistics(vmac, clear)),
        VifCommand::Timing(timing) => vmac.set_timing(now, timing),
        VifCommand::Edca(parameters) => vmac.edca = PerAc::from_array(parameters.map(bounded)),
        VifCommand::TxPower(power) => vmac.tx_power = Some(Dbm(f32::from(power) / 2.0)),
        VifCommand::SwitchChannel(switch) => {
            vmac.switch = Some((now + switch.after, switch.channel));
        }
        // These touch more than one vMAC: `Nic::vif_request` carries them out.
        VifCommand::Reset
        | VifCommand::Initialize
        | VifCommand::Configure(_)
        | VifCommand::Flush(_)
        | VifCommand::Transmit(_) => {
            out.broken("the card carries out what touches more than a vMAC")
        }
    }
    Ok(Reply::Ok)
}

fn known(found: bool, refusal: Refusal) -> Result<Reply, Refusal> {
    if found { Ok(Reply::Ok) } else { Err(refusal) }
}

fn statistics(vmac: &mut Vmac, clear: bool) -> Reply {
    let report = Statistics {
        cleared: clear,
        channel: vmac.channel(),
        ..vmac.statistics
    };
    if clear {
        vmac.statistics = Statistics::default();
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
    use airlane_lane::Micros;

    use super::*;

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
