//! Host commands with their payloads, as the driver lays them out.

use airlane_dot11::{Band, Channel, MacAddr};
use airlane_lane::Micros;
use airlane_waist::AggregationLimits;

use super::{Card, Driver};

/// What RXON says of a station.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    /// The station's own address.
    pub address: MacAddr,
    /// The BSS to join, or zero.
    pub bssid: MacAddr,
    /// Operating channel; RXON is sent for 20 MHz whatever its width.
    pub channel: Channel,
    /// Association ID once associated.
    pub association_id: Option<u16>,
}

impl<C: Card> Driver<C> {
    /// Sends a command, lets the radio work, and gives the response's payload.
    pub fn command(&mut self, id: u8, payload: &[u8]) -> Vec<u8> {
        let sequence = self.send(id, payload);
        self.run();
        let response = self.until(|driver| driver.take_response(sequence));
        let response = response.unwrap_or_else(|| panic!("no response to command {id:#04x}"));
        assert_eq!(response.id, id, "the response has the command's id");
        response.payload
    }

    /// RXON, and what the driver sends after one without association: the broadcast station.
    pub fn configure(&mut self, station: &Station) {
        self.command(0x10, &rxon(station));
        if station.association_id.is_none() {
            self.add_station(15, MacAddr::BROADCAST);
            self.link_quality(15, &[0x420a; 16]);
        }
    }

    /// ADD_STA, mode add; its status byte.
    pub fn add_station(&mut self, index: u8, address: MacAddr) -> u8 {
        let mut payload = [0; 92];
        payload[0x04..0x0a].copy_from_slice(&address.0);
        payload[0x0c] = index;
        self.command(0x18, &payload)[0]
    }

    /// TX_LINK_QUALITY with these rate words, and the bounds of A-MPDUs that the driver starts with.
    pub fn link_quality(&mut self, station: u8, rates: &[u32; 16]) {
        let limits = AggregationLimits {
            frames: 63,
            time: Micros(4_000),
            no_start_after: 3,
        };
        self.link_quality_with(station, rates, &limits);
    }

    /// QOS_PARAM: default parameters (IEEE 802.11-2020 table 9-155), one frame per opportunity.
    pub fn set_default_edca(&mut self) {
        self.command(0x13, &default_edca());
    }

    /// Installs a CCMP key; the status byte.
    pub fn set_key(&mut self, station: u8, slot: u8, key: Option<u8>, bytes: [u8; 16]) -> u8 {
        self.command(0x18, &ccmp_key(station, slot, key, bytes))[0]
    }

    /// Removes the key in this slot; the status byte.
    pub fn remove_key(&mut self, station: u8, slot: u8) -> u8 {
        let mut payload = ccmp_key(station, slot, None, [0; 16]);
        payload[0x10..0x12].copy_from_slice(&0x0808_u16.to_le_bytes());
        self.command(0x18, &payload)[0]
    }

    /// Scans channels of one band, actively; the status word of the response.
    pub fn scan(&mut self, band: Band, channels: &[u8], address: MacAddr) -> u32 {
        let active: Vec<_> = channels.iter().map(|&channel| (channel, true)).collect();
        self.scan_with(band, &active, address, Micros(0))
    }

    /// Scans channels of one band, each actively or not, away from the operating channel for no longer than
    /// `max_away` (zero: not associated); the status word of the response.
    pub fn scan_with(
        &mut self,
        band: Band,
        channels: &[(u8, bool)],
        address: MacAddr,
        max_away: Micros,
    ) -> u32 {
        let mut payload = scan(band, channels, address);
        payload[0x0c..0x10].copy_from_slice(&(max_away.0 as u32).to_le_bytes());
        let response = self.command(0x80, &payload);
        u32::from_le_bytes([response[0], response[1], response[2], response[3]])
    }
}

/// QOS_PARAM's payload: a flag word, then minimum and maximum window and AIFSN of background, best effort, video, voice.
fn default_edca() -> [u8; 36] {
    let mut payload = [0; 36];
    payload[0] = 1;
    let parameters: [(u16, u16, u8); 4] = [(15, 1_023, 7), (15, 1_023, 3), (7, 15, 2), (3, 7, 2)];
    for (place, (cw_min, cw_max, aifsn)) in parameters.into_iter().enumerate() {
        let at = 4 + 8 * place;
        payload[at..at + 2].copy_from_slice(&cw_min.to_le_bytes());
        payload[at + 2..at + 4].copy_from_slice(&cw_max.to_le_bytes());
        payload[at + 4] = aifsn;
    }
    payload
}

/// RXON's 50 bytes.
pub(super) fn rxon(station: &Station) -> [u8; 50] {
    let mut payload = [0; 50];
    payload[0x00..0x06].copy_from_slice(&station.address.0);
    payload[0x08..0x0e].copy_from_slice(&station.bssid.0);
    payload[0x18] = 3;
    let mut flags: u32 = 1 << 15;
    let mut filter: u32 = 1 << 2;
    if station.channel.band() == Band::Ghz2 {
        flags |= 0x5 | 1 << 4;
    }
    match station.association_id {
        Some(id) => {
            payload[0x1e..0x20].copy_from_slice(&id.to_le_bytes());
            filter |= 1 << 5;
        }
        None => filter |= 1 << 6,
    }
    payload[0x20..0x24].copy_from_slice(&flags.to_le_bytes());
    payload[0x24..0x28].copy_from_slice(&filter.to_le_bytes());
    payload[0x28] = station.channel.number();
    payload
}

/// ADD_STA that installs a CCMP key: pairwise, or a group key with this key ID.
pub fn ccmp_key(station: u8, slot: u8, group: Option<u8>, bytes: [u8; 16]) -> [u8; 92] {
    let mut payload = [0; 92];
    payload[0] = 1;
    payload[0x0c] = station;
    payload[0x0d] = 1;
    let flags: u16 = match group {
        Some(id) => 0x400a | u16::from(id) << 8,
        None => 0x000a,
    };
    payload[0x10..0x12].copy_from_slice(&flags.to_le_bytes());
    payload[0x1e] = slot;
    payload[0x20..0x30].copy_from_slice(&bytes);
    payload
}

/// SCAN with a template that names no network. Dwell times are the driver's for one name, actively 36 ms, else 120.
fn scan(band: Band, channels: &[(u8, bool)], address: MacAddr) -> Vec<u8> {
    let mut probe = vec![0x40, 0, 0, 0];
    probe.extend([0xff; 6]);
    probe.extend(address.0);
    probe.extend([0xff; 6]);
    probe.extend([0, 0, 0, 0]);
    let mut payload = vec![0; 764];
    payload[0x03] = channels.len() as u8;
    payload[0x1c..0x1e].copy_from_slice(&(probe.len() as u16).to_le_bytes());
    payload[0x18] = 0x44;
    let rate: u32 = match band {
        Band::Ghz2 => 0x420a,
        Band::Ghz5 => 0x400d,
    };
    payload[0x14] = if band == Band::Ghz2 { 5 } else { 0 };
    payload[0x28..0x2c].copy_from_slice(&rate.to_le_bytes());
    payload.extend(probe);
    for &(channel, active) in channels {
        let kind = u8::from(active);
        payload.extend([kind, 0, 0, 0, channel, 0, 0, 110, 36, 0, 120, 0]);
    }
    payload
}
