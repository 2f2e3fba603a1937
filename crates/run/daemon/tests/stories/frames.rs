//! The frames of the stories, byte by byte (IEEE 802.11-2020 9.3), and what their payload says.

use airlane_dot11::{MacAddr, frame::FrameKind};

/// LLC and SNAP with an EtherType for experiments.
const LLC: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5];
/// LLC, then VM and number.
const NOTE_HEADER: usize = LLC.len() + 5;

/// What a VM writes into a frame: who it is and how many it has written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub vm: u8,
    pub number: u32,
}

impl Note {
    /// As the body of a frame, `length` bytes of it.
    pub fn encode(self, length: usize) -> Vec<u8> {
        let mut body = LLC.to_vec();
        body.push(self.vm);
        body.extend(self.number.to_le_bytes());
        body.extend((NOTE_HEADER..length).map(|at| self.fill(at)));
        body
    }

    /// `None` when a single byte is not as it was written.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(NOTE_HEADER)?;
        let note = Self {
            vm: header[8],
            number: u32::from_le_bytes(header[9..13].try_into().ok()?),
        };
        let whole = rest
            .iter()
            .zip(NOTE_HEADER..)
            .all(|(&byte, at)| byte == note.fill(at));
        (header[..8] == LLC && whole).then_some(note)
    }

    fn fill(self, at: usize) -> u8 {
        (at as u32)
            .wrapping_mul(31)
            .wrapping_add(self.number)
            .wrapping_add(u32::from(self.vm)) as u8
    }
}

/// Second octet of the frame control: the body is encrypted.
pub const PROTECTED: u8 = 0x40;

/// A management frame.
pub fn management(
    kind: FrameKind,
    to: MacAddr,
    from: MacAddr,
    bssid: MacAddr,
    body: &[u8],
) -> Vec<u8> {
    let control = [kind.octet(), 0, 0, 0];
    [&control[..], &to.0, &from.0, &bssid.0, &[0, 0], body].concat()
}

/// Open system, this step.
pub fn authentication(to: MacAddr, from: MacAddr, bssid: MacAddr, step: u8) -> Vec<u8> {
    let body = [0, 0, step, 0, 0, 0];
    management(FrameKind::AUTHENTICATION, to, from, bssid, &body)
}

/// Association request for this network.
pub fn association_request(bssid: MacAddr, own: MacAddr, ssid: &str) -> Vec<u8> {
    let body = [&[0x01, 0, 10, 0][..], &network(ssid)].concat();
    management(FrameKind::ASSOCIATION_REQUEST, bssid, own, bssid, &body)
}

/// Association response: accepted under this association ID.
pub fn association_response(to: MacAddr, bssid: MacAddr, id: u16) -> Vec<u8> {
    let id = (id | 0xc000).to_le_bytes();
    let body = [&[0x11, 0, 0, 0][..], &id, &rates()].concat();
    management(FrameKind::ASSOCIATION_RESPONSE, to, bssid, bssid, &body)
}

/// The body of beacons and probe responses.
pub fn announcement(timestamp: u64, ssid: &str, elements: &[u8]) -> Vec<u8> {
    let fixed = [100, 0, 0x11, 0];
    let timestamp = timestamp.to_le_bytes();
    [&timestamp[..], &fixed, &network(ssid), elements].concat()
}

/// Traffic indication map with DTIM period 1: group frames wait, these stations have frames waiting.
pub fn traffic_map(group: bool, ids: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut map = [5, 7, 0, 1, u8::from(group), 0, 0, 0, 0];
    for id in ids {
        if let Some(byte) = map.get_mut(5 + usize::from(id / 8)) {
            *byte |= 1 << (id % 8);
        }
    }
    map.to_vec()
}

/// SSID element and rates.
fn network(ssid: &str) -> Vec<u8> {
    [&[0, ssid.len() as u8][..], ssid.as_bytes(), &rates()].concat()
}

fn rates() -> [u8; 10] {
    [1, 8, 0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c]
}

/// The SSID of a beacon's, probe response's or probe request's elements.
pub fn ssid(elements: &[u8]) -> Option<String> {
    let [0, length, rest @ ..] = elements else {
        return None;
    };
    let name = rest.get(..usize::from(*length))?;
    String::from_utf8(name.to_vec()).ok()
}

/// Which way a data frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From a station to its access point.
    Up,
    /// From an access point to a station.
    Down,
}

/// Header of a protected QoS data frame of TID 0. `third` is destination or source.
pub fn qos_header(
    way: Way,
    receiver: MacAddr,
    transmitter: MacAddr,
    third: MacAddr,
    sequence: u16,
) -> Vec<u8> {
    [
        &data_header(0x88, way, [receiver, transmitter, third], sequence)[..],
        &[0, 0],
    ]
    .concat()
}

/// Header of a protected group frame of an access point.
pub fn group_header(to: MacAddr, bssid: MacAddr, source: MacAddr, sequence: u16) -> Vec<u8> {
    data_header(0x08, Way::Down, [to, bssid, source], sequence)
}

fn data_header(kind: u8, way: Way, addresses: [MacAddr; 3], sequence: u16) -> Vec<u8> {
    let way = match way {
        Way::Up => 0x41,
        Way::Down => 0x42,
    };
    let mut header = vec![kind, way, 0, 0];
    for address in addresses {
        header.extend(address.0);
    }
    header.extend((sequence << 4).to_le_bytes());
    header
}
