//! The way of a frame from the air to its VM: the receive filter finds the vMAC, the vMAC's key
//! opens the frame.
//!
//! Not here: duplicates, replay of packet numbers and reordering, which the drivers above look
//! after. A unicast frame reaches the VM whose address it bears and no other; the one exception is
//! a vMAC in promiscuous mode, which gets what any receiver on the channel gets, never decrypted.

use airlane_dot11::frame::{FrameControl, FrameKind, FrameType, Header};
use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate};
use airlane_lane::stamp::{FrameId, Point};
use airlane_lane::{Instant, VmId};
use airlane_waist::{Event, ReceiveFilter, Received, RxCipher};

use crate::channel::context::same;
use crate::nic::Nic;
use crate::rx::keys::KeyKind;
use crate::vmac::Vmac;
use crate::vmac::beacons::BeaconFacts;
use airlane_dot11::ccmp::{Ccmp, CcmpError, key_id};

/// A frame as it was heard.
#[derive(Clone)]
pub(crate) struct Heard {
    pub(crate) frame: Buffer,
    pub(crate) channel: Channel,
    pub(crate) rate: Rate,
    pub(crate) signal: Dbm,
    pub(crate) at: Instant,
    pub(crate) aggregated: bool,
}

/// What a vMAC gets of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Nothing,
    /// As it is on the air.
    Raw,
    /// Its own: decrypted with its keys.
    Own,
}

impl Nic {
    /// A frame was heard.
    pub(crate) fn heard(&mut self, heard: &Heard) {
        self.counters.heard += 1;
        let Ok(header) = Header::parse(&heard.frame) else {
            self.counters.malformed += 1;
            return;
        };
        if !header.is_data() {
            // A beacon, say.
            self.stir();
        }
        let before = self.counters.delivered;
        if header.receiver.is_group() || header.frame_type() == FrameType::Control {
            self.deliver_to_group(&header, heard);
        } else {
            self.deliver_to_owner(&header, heard);
        }
        if self.counters.delivered == before {
            self.counters.unwanted += 1;
        }
    }

    /// Unicast: one table look-up, and a raw copy for those who listen to everything.
    fn deliver_to_owner(&mut self, header: &Header, heard: &Heard) {
        let owner = self.addresses.get(&header.receiver).copied();
        if let Some(vm) = owner {
            self.open_and_deliver(vm, header, heard);
        }
        if self.promiscuous == 0 {
            return;
        }
        for vm in VmId::all().filter(|&vm| Some(vm) != owner) {
            if self.vmac(vm).is_some_and(|vmac| sniffs(vmac, heard)) {
                self.deliver(vm, heard, heard.frame.clone(), raw(header));
            }
        }
    }

    fn deliver_to_group(&mut self, header: &Header, heard: &Heard) {
        for vm in VmId::all() {
            match self.share(vm, header, heard) {
                Share::Nothing => {}
                Share::Raw => self.deliver(vm, heard, heard.frame.clone(), raw(header)),
                Share::Own => self.open_and_deliver(vm, header, heard),
            }
        }
    }

    fn share(&self, vm: VmId, header: &Header, heard: &Heard) -> Share {
        let Some(vmac) = self.vmac(vm) else {
            return Share::Nothing;
        };
        let own_bss = header.bssid().is_some() && header.bssid() == vmac.bssid();
        let filter = filter(vmac);
        let present = present(vmac, heard.channel);
        if header.frame_type() == FrameType::Control {
            let wanted = present && filter.contains(ReceiveFilter::CONTROL);
            let mine = Some(header.receiver) == vmac.address();
            return raw_if((wanted && mine) || sniffs(vmac, heard));
        }
        let announces = header.is_beacon() || header.is(FrameKind::PROBE_RESPONSE);
        if announces && (own_bss || self.looks_for_foreign(vm, vmac, heard.channel)) {
            return Share::Own;
        }
        let group = filter.contains(ReceiveFilter::GROUP) || vmac.associated();
        if own_bss && present && group && !announces {
            return Share::Own;
        }
        raw_if(sniffs(vmac, heard))
    }

    fn looks_for_foreign(&self, vm: VmId, vmac: &Vmac, channel: Channel) -> bool {
        let foreign = ReceiveFilter::FOREIGN_BEACONS;
        if present(vmac, channel) && filter(vmac).contains(foreign) {
            return true;
        }
        let stop = self.schedule.scanning();
        let here = stop.filter(|stop| same(Some(stop.channel), channel));
        here.is_some_and(|stop| self.sweep.listens(vm, stop))
    }

    fn open_and_deliver(&mut self, vm: VmId, header: &Header, heard: &Heard) {
        let (frame, cipher) = self.open(vm, header, &heard.frame);
        if let Some(vmac) = self.vmac_mut(vm) {
            note_beacon(vmac, header, heard);
            note_data(vmac, header, heard.at);
        }
        self.deliver(vm, heard, frame, cipher);
    }

    /// Decrypts with this vMAC's key, where it has one and its driver leaves that to us.
    fn open(&mut self, vm: VmId, header: &Header, frame: &Buffer) -> (Buffer, RxCipher) {
        let Some(kind) = key_kind(header, frame) else {
            return (frame.clone(), raw(header));
        };
        let left = self.vmac(vm).is_none_or(|vmac| {
            filter(vmac).contains(match kind {
                KeyKind::Pairwise(_) => ReceiveFilter::NO_DECRYPTION,
                KeyKind::Group(_) => ReceiveFilter::NO_GROUP_DECRYPTION,
            })
        });
        let peer = header.transmitter.unwrap_or(MacAddr::ZERO);
        let Self {
            keys,
            rx_pool,
            stamps,
            ..
        } = self;
        let Some(key) = keys.receive(vm, peer, kind).filter(|_| !left) else {
            return (frame.clone(), RxCipher::Encrypted);
        };
        let fill = |bytes: &mut [u8]| decrypt(key, header, frame, bytes);
        stamps.mark(Point::Decrypt);
        let opened = rx_pool.fill(frame.len(), fill);
        stamps.mark(Point::Decrypted);
        match opened {
            Ok(opened) => (opened, RxCipher::Ccmp),
            // Nothing that was decrypted with a wrong result leaves the card.
            Err(_) => (frame.clone(), RxCipher::CcmpBad),
        }
    }

    fn deliver(&mut self, vm: VmId, heard: &Heard, frame: Buffer, cipher: RxCipher) {
        self.counters.delivered += 1;
        self.count(vm, |counters| {
            counters.received += 1;
            counters.received_bytes += frame.len() as u64;
            counters.decrypted += u64::from(cipher == RxCipher::Ccmp);
            counters.undecryptable += u64::from(cipher == RxCipher::CcmpBad);
        });
        if let Some(vmac) = self.vmac_mut(vm) {
            let statistics = &mut vmac.statistics;
            statistics.received = statistics.received.wrapping_add(1);
            let bad = u32::from(cipher == RxCipher::CcmpBad);
            statistics.undecryptable = statistics.undecryptable.wrapping_add(bad);
        }
        self.stamps
            .of(Point::Delivered, vm, FrameId::received(&frame));
        let received = Received {
            frame,
            cipher,
            channel: heard.channel,
            rate: heard.rate,
            signal: heard.signal,
            at: heard.at,
            aggregated: heard.aggregated,
        };
        self.emit(vm, Event::Received(received));
    }
}

fn decrypt(key: &Ccmp, header: &Header, frame: &Buffer, bytes: &mut [u8]) -> Result<(), CcmpError> {
    if bytes.len() != frame.len() {
        return Err(CcmpError::Shape);
    }
    bytes.copy_from_slice(frame);
    key.decrypt(header, bytes)
}

/// Which key opens the frame; `None` when it is not encrypted with CCMP.
fn key_kind(header: &Header, frame: &Buffer) -> Option<KeyKind> {
    if !header.is_protected() || !(header.is_data() || is_robust(header)) {
        return None;
    }
    let id = key_id(header, frame)?;
    Some(if header.receiver.is_group() {
        KeyKind::Group(id)
    } else {
        KeyKind::Pairwise(id)
    })
}

/// Management frames that CCMP may protect (IEEE 802.11-2020 12.2.7). Of protected authentication
/// frames the body is WEP's.
fn is_robust(header: &Header) -> bool {
    [
        FrameKind::DISASSOCIATION,
        FrameKind::DEAUTHENTICATION,
        FrameKind::ACTION,
    ]
    .into_iter()
    .any(|kind| header.is(kind))
}

fn raw(header: &Header) -> RxCipher {
    if header.is_protected() {
        RxCipher::Encrypted
    } else {
        RxCipher::Clear
    }
}

fn raw_if(wanted: bool) -> Share {
    if wanted { Share::Raw } else { Share::Nothing }
}

fn filter(vmac: &Vmac) -> ReceiveFilter {
    let config = vmac.config.as_ref();
    config.map_or(ReceiveFilter::empty(), |config| config.filter)
}

/// True when the vMAC's own channel is where the frame was heard.
fn present(vmac: &Vmac, channel: Channel) -> bool {
    same(vmac.channel(), channel)
}

fn sniffs(vmac: &Vmac, heard: &Heard) -> bool {
    present(vmac, heard.channel) && filter(vmac).contains(ReceiveFilter::PROMISCUOUS)
}

fn note_beacon(vmac: &mut Vmac, header: &Header, heard: &Heard) {
    if header.is_beacon() && header.bssid() == vmac.bssid() {
        let statistics = &mut vmac.statistics;
        statistics.beacons = statistics.beacons.wrapping_add(1);
        statistics.beacon_signal = heard.signal.rounded();
        let body = heard.frame.get(header.length..).unwrap_or_default();
        let facts = BeaconFacts::parse(body, vmac.association_id());
        vmac.beacons.heard(heard.at, &facts.unwrap_or_default());
    }
}

fn note_data(vmac: &mut Vmac, header: &Header, at: Instant) {
    if !header.is_data() {
        return;
    }
    if header.receiver.is_group() {
        vmac.beacons
            .group_frame(at, header.control.contains(FrameControl::MORE_DATA));
    } else {
        vmac.received_at = at;
    }
}
