//! hwsim's messages on the virtqueues: what a guest sends, and what it accepts.
//!
//! Pure: bytes to values and back. The guest validates strictly: a message with an attribute that it
//! does not know, with the padding attribute (20), or with a wrong length is dropped whole, so only
//! what it requires is sent. In the other direction unknown attributes are skipped. Sources:
//! `mac80211_hwsim.h`, `hwsim_genl_policy` and the receive functions of `mac80211_hwsim.c`.

use airlane_dot11::{Channel, Dbm, MacAddr, Rate};
use airlane_waist::hwsim::{MAX_RATES, ToHwsim, TxInfo};
use arrayvec::ArrayVec;

use super::error::{CodecError, LONGEST_RECEIVED, SHORTEST_RECEIVED};
use super::netlink::{Attributes, Writer, message};
use super::rates;

/// Commands (`HWSIM_CMD_*`).
pub mod command {
    #![allow(missing_docs)]
    pub const FRAME: u8 = 2;
    pub const TX_INFO_FRAME: u8 = 3;
    pub const ADD_MAC_ADDR: u8 = 7;
    pub const DEL_MAC_ADDR: u8 = 8;
}

/// Attributes (`HWSIM_ATTR_*`).
pub mod attribute {
    #![allow(missing_docs)]
    pub const ADDR_RECEIVER: u16 = 1;
    pub const ADDR_TRANSMITTER: u16 = 2;
    pub const FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RX_RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const TX_INFO: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const FREQ: u16 = 19;
    pub const TX_INFO_FLAGS: u16 = 21;
}

/// FLAGS: the receiver acknowledged (`HWSIM_TX_STAT_ACK`).
const STAT_ACK: u32 = 1 << 2;
/// The shortest frame that a guest sends: an acknowledgement without its check sequence
/// (IEEE 802.11-2020 9.3.1.3).
const SHORTEST_SENT: usize = 10;

/// What a guest sends, borrowed from its message.
#[derive(Clone, Debug, PartialEq)]
pub enum FromGuest<'a> {
    /// A frame to be sent on the air.
    Frame(FrameFromGuest<'a>),
    /// The radio now receives for `address`.
    AddAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
    /// It no longer does.
    RemoveAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
}

/// A frame to be sent on the air.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameFromGuest<'a> {
    /// Hardware address of the radio.
    pub radio: MacAddr,
    /// 802.11 frame, encrypted if at all, without check sequence.
    pub frame: &'a [u8],
    /// 20 MHz wide, as hwsim names centre frequencies only.
    pub channel: Channel,
    /// FLAGS as they came.
    pub flags: u32,
    /// Rates to try, and how often each. Never empty.
    pub rates: ArrayVec<(Rate, u8), MAX_RATES>,
    /// TX_INFO as it came.
    pub tx_info: TxInfo,
    /// Names the frame in its status.
    pub cookie: u64,
}

/// What the message at the start of `bytes` says.
pub fn parse(bytes: &[u8]) -> Result<FromGuest<'_>, CodecError> {
    let (command, attributes) = message(bytes)?;
    let fields = Fields::collect(attributes)?;
    match command {
        command::FRAME => fields.frame().map(FromGuest::Frame),
        command::ADD_MAC_ADDR => Ok(FromGuest::AddAddress {
            radio: fields.address(attribute::ADDR_TRANSMITTER)?,
            address: fields.address(attribute::ADDR_RECEIVER)?,
        }),
        command::DEL_MAC_ADDR => Ok(FromGuest::RemoveAddress {
            radio: fields.address(attribute::ADDR_TRANSMITTER)?,
            address: fields.address(attribute::ADDR_RECEIVER)?,
        }),
        other => Err(CodecError::Command(other)),
    }
}

/// Attributes by number, the last of each as the kernel's own parser has it.
#[derive(Default)]
struct Fields<'a>([Option<&'a [u8]>; 22]);

impl<'a> Fields<'a> {
    fn collect(attributes: Attributes<'a>) -> Result<Self, CodecError> {
        let mut fields = Self::default();
        for attribute in attributes {
            let (number, value) = attribute?;
            if let Some(field) = fields.0.get_mut(usize::from(number)) {
                *field = Some(value);
            }
        }
        Ok(fields)
    }

    fn bytes(&self, number: u16) -> Result<&'a [u8], CodecError> {
        let field = self.0.get(usize::from(number)).copied().flatten();
        field.ok_or(CodecError::Missing(number))
    }

    fn array<const N: usize>(&self, number: u16) -> Result<[u8; N], CodecError> {
        let value = self.bytes(number)?;
        value.try_into().map_err(|_| CodecError::Value {
            number,
            length: value.len(),
        })
    }

    fn address(&self, number: u16) -> Result<MacAddr, CodecError> {
        self.array(number).map(MacAddr)
    }

    fn word(&self, number: u16) -> Result<u32, CodecError> {
        self.array(number).map(u32::from_ne_bytes)
    }

    fn frame(&self) -> Result<FrameFromGuest<'a>, CodecError> {
        let frame = self.bytes(attribute::FRAME)?;
        if frame.len() < SHORTEST_SENT {
            return Err(CodecError::Value {
                number: attribute::FRAME,
                length: frame.len(),
            });
        }
        let channel = Channel::from_frequency(self.word(attribute::FREQ)?)?;
        let tx_info = TxInfo::from_bytes(self.array(attribute::TX_INFO)?);
        Ok(FrameFromGuest {
            radio: self.address(attribute::ADDR_TRANSMITTER)?,
            frame,
            channel,
            flags: self.word(attribute::FLAGS)?,
            rates: self.rates(channel, &tx_info)?,
            tx_info,
            cookie: self.array(attribute::COOKIE).map(u64::from_ne_bytes)?,
        })
    }

    /// The rates up to the first entry that names none; the band's slowest when there is no entry.
    fn rates(
        &self,
        channel: Channel,
        info: &TxInfo,
    ) -> Result<ArrayVec<(Rate, u8), MAX_RATES>, CodecError> {
        let flags: [u8; 12] = match self.bytes(attribute::TX_INFO_FLAGS) {
            Ok(_) => self.array(attribute::TX_INFO_FLAGS)?,
            Err(_) => [0; 12],
        };
        let flags = flags.chunks_exact(3).map(|entry| {
            entry
                .last_chunk()
                .map_or(0, |flags| u16::from_ne_bytes(*flags))
        });
        let entries = info.0.iter().zip(flags);
        let mut rates: ArrayVec<_, MAX_RATES> = entries
            .map_while(|(entry, flags)| {
                let rate = rates::rate(channel.band(), entry.index, flags)?;
                Some((rate, entry.tries.max(1)))
            })
            .collect();
        if rates.is_empty() {
            rates.push((rates::slowest(channel.band()), 1));
        }
        Ok(rates)
    }
}

/// Writes `what` into `out`; gives its length.
pub fn encode(what: &ToHwsim, out: &mut [u8]) -> Result<usize, CodecError> {
    match what {
        ToHwsim::Status {
            radio,
            cookie,
            flags,
            acknowledged,
            signal,
            used,
        } => {
            let flags = match acknowledged {
                true => flags | STAT_ACK,
                false => flags & !STAT_ACK,
            };
            let mut writer = Writer::new(out, command::TX_INFO_FRAME)?;
            writer.put(attribute::ADDR_TRANSMITTER, &radio.0)?;
            writer.put(attribute::FLAGS, &flags.to_ne_bytes())?;
            writer.put(attribute::COOKIE, &cookie.to_ne_bytes())?;
            writer.put(attribute::SIGNAL, &signal_word(*signal))?;
            writer.put(attribute::TX_INFO, &used.to_bytes())?;
            writer.finish()
        }
        ToHwsim::Receive {
            radio,
            frame,
            rate,
            signal,
            channel,
        } => {
            if !(SHORTEST_RECEIVED..=LONGEST_RECEIVED).contains(&frame.len()) {
                return Err(CodecError::FrameLength(frame.len()));
            }
            let rate = rates::legacy_index(channel.band(), *rate);
            let mut writer = Writer::new(out, command::FRAME)?;
            writer.put(attribute::ADDR_RECEIVER, &radio.0)?;
            writer.put(attribute::FRAME, frame)?;
            writer.put(attribute::RX_RATE, &rate.to_ne_bytes())?;
            writer.put(attribute::SIGNAL, &signal_word(*signal))?;
            writer.put(attribute::FREQ, &channel.frequency().to_ne_bytes())?;
            writer.finish()
        }
    }
}

fn signal_word(signal: Dbm) -> [u8; 4] {
    i32::from(signal.rounded()).to_ne_bytes()
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
