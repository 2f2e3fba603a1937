//! 802.11n as the driver sets it up: what a peer can, and queues of block-ack agreements.

use airlane_dot11::PeerHt;
use airlane_waist::AggregationLimits;

use super::{Card, Driver};

const SCHEDULER_SRAM: u32 = 0x00a0_2c00;
const CHAIN: u32 = 0x00a0_2ce8;
const AGGREGATES: u32 = 0x00a0_2e48;
/// Most frames of one A-MPDU, and the window of an agreement, that the driver asks for.
const FRAME_LIMIT: u32 = 63;

/// Which agreement a queue serves.
#[derive(Clone, Copy, Debug)]
pub struct Aggregation {
    /// 11 to 19.
    pub queue: u8,
    /// Index of the peer in the station table, 0 to 15.
    pub station: u8,
    /// Traffic identifier, 0 to 7.
    pub tid: u8,
    /// FIFO of its access category: 0 background to 3 voice.
    pub fifo: u32,
    /// First sequence number.
    pub start: u16,
}

impl<C: Card> Driver<C> {
    /// ADD_STA with what the peer can, as after association (`iwl_sta_update_ht`); its status byte.
    pub fn update_ht(&mut self, station: u8, peer: PeerHt) -> u8 {
        let flags = u32::from(peer.ampdu_exponent) << 19
            | u32::from(peer.ht40) << 21
            | u32::from(peer.ampdu_spacing) << 23;
        let mut payload = [0; 92];
        (payload[0], payload[0x0c]) = (1, station);
        payload[0x48..0x4c].copy_from_slice(&flags.to_le_bytes());
        payload[0x4c..0x50].copy_from_slice(&0x03fa_0000_u32.to_le_bytes());
        self.command(0x18, &payload)[0]
    }

    /// TX_LINK_QUALITY with these rate words and bounds of A-MPDUs.
    pub fn link_quality_with(
        &mut self,
        station: u8,
        rates: &[u32; 16],
        limits: &AggregationLimits,
    ) {
        let mut payload = [0; 88];
        payload[0] = station;
        payload[0x0c..0x0e].copy_from_slice(&(limits.time.0 as u16).to_le_bytes());
        (payload[0x0e], payload[0x0f]) = (limits.no_start_after, limits.frames);
        for (index, rate) in rates.iter().enumerate() {
            payload[0x14 + 4 * index..0x18 + 4 * index].copy_from_slice(&rate.to_le_bytes());
        }
        self.command(0x4e, &payload);
    }

    /// ADD_STA that lets every traffic identifier aggregate, before an agreement is asked for.
    pub fn allow_aggregation(&mut self, station: u8) -> u8 {
        let mut payload = [0; 92];
        (payload[0], payload[0x0c], payload[0x0d]) = (1, station, 0x02);
        self.command(0x18, &payload)[0]
    }

    /// The agreement holds: its queue goes on (`iwl_trans_pcie_txq_enable`). Frames for it carry its sequence
    /// numbers, from `start` on.
    pub fn start_aggregation(&mut self, agreement: &Aggregation) {
        let queue = agreement.queue;
        self.set_peripheral_bits(CHAIN, 1 << queue);
        self.translate(agreement);
        self.set_peripheral_bits(AGGREGATES, 1 << queue);
        self.place_queue(queue, agreement.start);
        self.limit_frames(queue);
        self.activate_queue(queue, agreement.fifo);
    }

    /// The agreement's RA/TID word: two queues share a 32-bit word of the scheduler's memory.
    fn translate(&mut self, agreement: &Aggregation) {
        let queue = u32::from(agreement.queue);
        let address = self.read_peripheral(SCHEDULER_SRAM) + 0x7e0 + 2 * (queue & !1);
        self.write(0x40c, address);
        let old = self.read(0x41c);
        let shift = 16 * (queue & 1);
        let word = u32::from(agreement.station) << 4 | u32::from(agreement.tid);
        self.write(0x410, address);
        self.write(0x418, old & !(0xffff << shift) | word << shift);
    }

    /// The queue's context: window and frame limit.
    fn limit_frames(&mut self, queue: u8) {
        let address = self.read_peripheral(SCHEDULER_SRAM) + 0x600 + 8 * u32::from(queue);
        self.write(0x410, address);
        self.write(0x418, 0);
        self.write(0x418, FRAME_LIMIT | FRAME_LIMIT << 16);
    }

    fn set_peripheral_bits(&mut self, address: u32, bits: u32) {
        let old = self.read_peripheral(address);
        self.write_peripheral(address, old | bits);
    }
}
