//! The receive filter: finds the vMACs that a frame is for, and opens it with their keys.
//!
//! Not here: duplicates, replay of packet numbers and reordering, which the drivers above look
//! after. A unicast frame reaches the VM whose address it bears and no other; the one exception is
//! a vMAC in promiscuous mode, which gets what any receiver on the channel gets, never decrypted.

use airlane_air::Heard;
use airlane_dot11::ccmp::{Ccmp, CcmpError, key_id};
use airlane_dot11::frame::{FrameControl, FrameKind, FrameType, Header};
use airlane_dot11::{Buffer, BufferPool, Channel, MacAddr};
use airlane_lane::Instant;
use airlane_waist::stamp::{FrameId, Point, Stamps};
use airlane_waist::{Event, ReceiveFilter, Received, RxCipher, VmId};

use crate::card::{Card, Output};
use crate::rx::keys::{KeyKind, KeyTable};
use crate::vmac::Vmac;
use crate::vmac::beacons::BeaconFacts;

/// What a vMAC gets of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Nothing,
    /// The frame as it is on the air.
    Raw,
    /// The frame decrypted with the vMAC's keys.
    Own,
}

/// The receiving side of the card: its buffers for decrypted frames.
pub(crate) struct Receiver {
    pool: BufferPool,
}

impl Receiver {
    /// A receiver with this many buffers for decrypted frames.
    pub(crate) fn new(buffers: usize) -> Self {
        Self {
            pool: BufferPool::new(buffers),
        }
    }

    /// Buffers made because the pool was in use.
    pub(crate) fn pool_misses(&self) -> u64 {
        self.pool.misses()
    }

    /// Delivers a frame to the vMACs that it is for. `scans`: whether a VM's scan listens on a channel now. `true` when
    /// it was no data frame: a beacon, say, which the channel schedule must see.
    pub(crate) fn heard(
        &mut self,
        card: &mut Card,
        heard: &Heard,
        scans: impl Fn(VmId, Channel) -> bool,
    ) -> bool {
        card.out.counters.heard += 1;
        let Ok(header) = Header::parse(&heard.frame) else {
            card.out.counters.malformed += 1;
            return false;
        };
        let before = card.out.counters.delivered;
        if header.receiver.is_group() || header.frame_type() == FrameType::Control {
            self.deliver_to_group(card, &header, heard, scans);
        } else {
            self.deliver_to_owner(card, &header, heard);
        }
        if card.out.counters.delivered == before {
            card.out.counters.unwanted += 1;
        }
        !header.is_data()
    }

    /// Unicast: one table look-up, and a raw copy for those who listen to everything.
    fn deliver_to_owner(&mut self, card: &mut Card, header: &Header, heard: &Heard) {
        let owner = card.vmacs.owner(header.receiver);
        if let Some(vm) = owner {
            let Some(vmac) = card.vmacs.get_mut(vm) else {
                return card.out.broken("whoever bears an address has a vMAC");
            };
            let way = (&card.keys, &mut card.out, &mut card.stamps);
            self.open_and_deliver(way, (vm, vmac), header, heard);
        }
        if !card.vmacs.any_promiscuous() {
            return;
        }
        let others = card.vmacs.iter_mut().filter(|(vm, _)| Some(*vm) != owner);
        for to in others.filter(|(_, vmac)| sniffs(vmac, heard)) {
            let frame = heard.frame.clone();
            deliver(
                &mut card.out,
                &mut card.stamps,
                to,
                heard,
                frame,
                raw(header),
            );
        }
    }

    fn deliver_to_group(
        &mut self,
        card: &mut Card,
        header: &Header,
        heard: &Heard,
        scans: impl Fn(VmId, Channel) -> bool,
    ) {
        let Card {
            vmacs,
            keys,
            out,
            stamps,
        } = card;
        for (vm, vmac) in vmacs.iter_mut() {
            match share(vmac, header, heard, |channel| scans(vm, channel)) {
                Share::Nothing => {}
                Share::Raw => {
                    let frame = heard.frame.clone();
                    deliver(out, stamps, (vm, vmac), heard, frame, raw(header));
                }
                Share::Own => {
                    self.open_and_deliver((keys, out, stamps), (vm, vmac), header, heard);
                }
            }
        }
    }

    fn open_and_deliver(
        &mut self,
        (keys, out, stamps): (&KeyTable, &mut Output, &mut Stamps),
        (vm, vmac): (VmId, &mut Vmac),
        header: &Header,
        heard: &Heard,
    ) {
        let owner = (vm, vmac.filter());
        let (frame, cipher) = self.open(keys, stamps, owner, header, &heard.frame);
        note_beacon(vmac, header, heard);
        note_data(vmac, header, heard.at);
        deliver(out, stamps, (vm, vmac), heard, frame, cipher);
    }

    /// Decrypts with this vMAC's key, where it has one and its driver leaves that to us.
    fn open(
        &mut self,
        keys: &KeyTable,
        stamps: &mut Stamps,
        (vm, filter): (VmId, ReceiveFilter),
        header: &Header,
        frame: &Buffer,
    ) -> (Buffer, RxCipher) {
        let Some(kind) = key_kind(header, frame) else {
            return (frame.clone(), raw(header));
        };
        let by_driver = filter.contains(match kind {
            KeyKind::Pairwise(_) => ReceiveFilter::NO_DECRYPTION,
            KeyKind::Group(_) => ReceiveFilter::NO_GROUP_DECRYPTION,
        });
        let peer = header.transmitter.unwrap_or(MacAddr::ZERO);
        let key = keys.receive(vm, peer, kind);
        let Some(key) = key.filter(|_| !by_driver) else {
            return (frame.clone(), RxCipher::Encrypted);
        };
        let fill = |bytes: &mut [u8]| decrypt(key, header, frame, bytes);
        stamps.mark(Point::Decrypt);
        let opened = self.pool.fill(frame.len(), fill);
        stamps.mark(Point::Decrypted);
        match opened {
            Ok(opened) => (opened, RxCipher::Ccmp),
            // Nothing that was decrypted with a wrong result leaves the card.
            Err(_) => (frame.clone(), RxCipher::CcmpBad),
        }
    }
}

fn deliver(
    out: &mut Output,
    stamps: &mut Stamps,
    (vm, vmac): (VmId, &mut Vmac),
    heard: &Heard,
    frame: Buffer,
    cipher: RxCipher,
) {
    let bad = cipher == RxCipher::CcmpBad;
    out.counters.delivered += 1;
    let counters = &mut out.vms[vm];
    counters.received += 1;
    counters.received_bytes += frame.len() as u64;
    counters.decrypted += u64::from(cipher == RxCipher::Ccmp);
    counters.undecryptable += u64::from(bad);
    let statistics = &mut vmac.statistics;
    statistics.received = statistics.received.wrapping_add(1);
    statistics.undecryptable = statistics.undecryptable.wrapping_add(u32::from(bad));
    stamps.of(Point::Delivered, vm, FrameId::received(&frame));
    let received = Received {
        frame,
        cipher,
        channel: heard.channel,
        rate: heard.rate,
        signal: heard.signal,
        at: heard.at,
        aggregated: heard.aggregated,
    };
    out.emit(vm, Event::Received(received));
}

/// What a vMAC gets of a frame to a group, or of a control frame. `scans`: whether its VM's scan listens on a channel.
fn share(vmac: &Vmac, header: &Header, heard: &Heard, scans: impl Fn(Channel) -> bool) -> Share {
    let own_bss = header.bssid().is_some() && header.bssid() == vmac.bssid();
    let filter = vmac.filter();
    let present = vmac.is_on(heard.channel);
    if header.frame_type() == FrameType::Control {
        let wanted = present && filter.contains(ReceiveFilter::CONTROL);
        let mine = Some(header.receiver) == vmac.address();
        return raw_if((wanted && mine) || sniffs(vmac, heard));
    }
    let announces = header.is_beacon() || header.is(FrameKind::PROBE_RESPONSE);
    let foreign = present && filter.contains(ReceiveFilter::FOREIGN_BEACONS);
    if announces && (own_bss || foreign || scans(heard.channel)) {
        return Share::Own;
    }
    let group = filter.contains(ReceiveFilter::GROUP) || vmac.associated();
    if own_bss && present && group && !announces {
        return Share::Own;
    }
    raw_if(sniffs(vmac, heard))
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

fn sniffs(vmac: &Vmac, heard: &Heard) -> bool {
    vmac.is_on(heard.channel) && vmac.listens_to_all()
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
