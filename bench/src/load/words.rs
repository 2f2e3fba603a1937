//! What the two ends of a load say to each other: one byte and two numbers at the front of a frame's body,
//! behind an EtherType for experiments. The frames have the length that UDP over IPv4 would have.

use airlane_dot11::MacAddr;

/// LLC and SNAP with an EtherType for experiments (IEEE 802 9.2.4).
const LLC: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5];
/// LLC, IPv4 and UDP headers, which count as part of a frame and not as payload.
pub const HEADERS: usize = 8 + 20 + 8;
/// UDP payload of a full frame: 1,500 bytes of IPv4.
pub const UDP: usize = 1_472;
/// LLC, then the word.
const HEAD: usize = LLC.len() + 7;
/// MAC header of QoS data with three addresses (IEEE 802.11-2020 9.3.2.1).
pub const MAC_HEADER: usize = 26;

/// What a frame asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing: it is counted.
    Sink,
    /// To be sent back as it is; which of its sender's echo requests it is.
    Echo { number: u32 },
    /// Frames of this payload from now on, so many under way at a time.
    Flood { payload: u16, depth: u32 },
    /// Frames as above, each of which counts as under way until it is acknowledged.
    Stream { payload: u16, depth: u32 },
    /// No more of either.
    Stop,
    /// Acknowledges so many frames.
    Acknowledge { frames: u32 },
    /// A segment: every second one is acknowledged.
    Segment,
}

impl Word {
    /// As the body of a frame with this payload.
    pub fn body(self, payload: usize) -> Vec<u8> {
        let (code, first, second) = match self {
            Self::Sink => (0, 0, 0),
            Self::Echo { number } => (1, 0, number),
            Self::Flood { payload, depth } => (2, payload, depth),
            Self::Stream { payload, depth } => (3, payload, depth),
            Self::Stop => (4, 0, 0),
            Self::Acknowledge { frames } => (5, 0, frames),
            Self::Segment => (6, 0, 0),
        };
        let mut body = LLC.to_vec();
        body.push(code);
        body.extend(first.to_le_bytes());
        body.extend(second.to_le_bytes());
        body.resize((HEADERS + payload).max(HEAD), 0x5a);
        body
    }

    /// Of a frame's body; none for what is not of a load.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let rest = body.strip_prefix(&LLC)?;
        let &[code, p0, p1, d0, d1, d2, d3, ..] = rest else {
            return None;
        };
        let payload = u16::from_le_bytes([p0, p1]);
        let number = u32::from_le_bytes([d0, d1, d2, d3]);
        Some(match code {
            0 => Self::Sink,
            1 => Self::Echo { number },
            2 => Self::Flood {
                payload,
                depth: number,
            },
            3 => Self::Stream {
                payload,
                depth: number,
            },
            4 => Self::Stop,
            5 => Self::Acknowledge { frames: number },
            6 => Self::Segment,
            _ => return None,
        })
    }
}

/// A QoS data header of TID 0 (IEEE 802.11-2020 9.3.2.1): `direction` 1 to the distribution system, 2 from it.
pub fn header(direction: u8, addresses: [MacAddr; 3], sequence: u16) -> [u8; MAC_HEADER] {
    let mut header = [0; MAC_HEADER];
    let [receiver, transmitter, third] = addresses.map(|address| address.0);
    let sequence = (sequence << 4).to_le_bytes();
    let fields = [
        &[0x88, direction, 0, 0][..],
        &receiver,
        &transmitter,
        &third,
        &sequence,
        &[0, 0],
    ];
    for (place, byte) in header.iter_mut().zip(fields.concat()) {
        *place = byte;
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_as_it_was_said() {
        let (payload, depth) = (1_472, 64);
        for word in [
            Word::Sink,
            Word::Echo { number: 70_000 },
            Word::Flood { payload, depth },
            Word::Stream { payload, depth },
            Word::Stop,
            Word::Acknowledge { frames: 2 },
            Word::Segment,
        ] {
            assert_eq!(Word::parse(&word.body(64)), Some(word));
        }
    }

    #[test]
    fn a_body_of_something_else_is_no_word() {
        assert_eq!(Word::parse(&[0; 64]), None);
        assert_eq!(Word::parse(&LLC), None, "nothing behind the header");
    }

    #[test]
    fn a_frame_is_as_long_as_udp_would_make_it() {
        assert_eq!(Word::Sink.body(1_472).len(), 8 + 20 + 8 + 1_472);
    }
}
