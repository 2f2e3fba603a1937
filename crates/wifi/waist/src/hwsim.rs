//! What passes between a guest's `mac80211_hwsim` radios and the medium, as values: the second front end
//! beside the cards.
//!
//! Not here: the messages' bytes on a virtqueue (the transport's), and who hears what (the engine's).
//! Source: `drivers/net/wireless/virtual/mac80211_hwsim.h` of Linux 6.12.

use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate};
use arrayvec::ArrayVec;

/// How many rates one frame names (`IEEE80211_TX_MAX_RATES`).
pub const MAX_RATES: usize = 4;

/// FLAGS: the guest wants a status (`HWSIM_TX_CTL_REQ_TX_STATUS`). It is sent in any case.
const REQ_TX_STATUS: u32 = 1 << 0;
/// FLAGS: nobody is to acknowledge (`HWSIM_TX_CTL_NO_ACK`).
const NO_ACK: u32 = 1 << 1;

/// One entry of TX_INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRate {
    /// mac80211's rate index; -1 ends the list.
    pub index: i8,
    /// How often it is, or was, tried.
    pub tries: u8,
}

/// The rates of a frame in hwsim's own terms, to be echoed in its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxInfo(pub [TxRate; MAX_RATES]);

impl Default for TxInfo {
    fn default() -> Self {
        Self(
            [TxRate {
                index: -1,
                tries: 0,
            }; MAX_RATES],
        )
    }
}

impl TxInfo {
    /// The same rates with the tries that were made at each; rates beyond `tries` were not used.
    pub fn used(&self, tries: &[u8]) -> Self {
        let mut used = Self::default();
        for ((entry, from), &tries) in used.0.iter_mut().zip(self.0).zip(tries) {
            *entry = TxRate {
                index: from.index,
                tries,
            };
        }
        used
    }

    /// From the bytes of the attribute TX_INFO: for each rate its index, then its tries.
    pub fn from_bytes(bytes: [u8; 2 * MAX_RATES]) -> Self {
        let mut info = Self::default();
        for (entry, bytes) in info.0.iter_mut().zip(bytes.chunks_exact(2)) {
            if let [index, tries] = *bytes {
                *entry = TxRate {
                    index: index.cast_signed(),
                    tries,
                };
            }
        }
        info
    }

    /// As the bytes of the attribute TX_INFO.
    pub fn to_bytes(self) -> [u8; 2 * MAX_RATES] {
        let mut bytes = [0; 2 * MAX_RATES];
        for (bytes, entry) in bytes.chunks_exact_mut(2).zip(self.0) {
            bytes.copy_from_slice(&[entry.index.cast_unsigned(), entry.tries]);
        }
        bytes
    }
}

/// A frame that a guest's radio sends.
#[derive(Clone, Debug)]
pub struct HwsimFrame {
    /// Hardware address of the radio, unique within its guest only.
    pub radio: MacAddr,
    /// 802.11 frame, encrypted if at all, without check sequence.
    pub frame: Buffer,
    /// Where, 20 MHz wide.
    pub channel: Channel,
    /// FLAGS as they came, for the status.
    pub flags: u32,
    /// Rates to try in order, and how often each; never empty, tries never 0.
    pub rates: ArrayVec<(Rate, u8), MAX_RATES>,
    /// The same in hwsim's terms, for the status.
    pub tx_info: TxInfo,
    /// Names the frame in its status.
    pub cookie: u64,
}

impl HwsimFrame {
    /// Nobody is to acknowledge this frame.
    pub fn no_ack(&self) -> bool {
        self.flags & NO_ACK != 0
    }

    /// The guest waits for the status. One is due in any case: it keeps each frame until then.
    pub fn wants_status(&self) -> bool {
        self.flags & REQ_TX_STATUS != 0
    }

    /// The status of this frame after `tries` at each of its rates.
    pub fn status(&self, acknowledged: bool, signal: Dbm, tries: &[u8]) -> ToHwsim {
        ToHwsim::Status {
            radio: self.radio,
            cookie: self.cookie,
            flags: self.flags,
            acknowledged,
            signal,
            used: self.tx_info.used(tries),
        }
    }
}

/// From a guest with hwsim radios to the medium.
#[derive(Clone, Debug)]
pub enum FromHwsim {
    /// A radio sends. Exactly one [`ToHwsim::Status`] is due.
    Frame(HwsimFrame),
    /// A radio receives, and acknowledges, for one address more. Count them: around each software
    /// scan the driver adds and removes the scan's address, which usually is the interface's own.
    AddAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
    /// One addition of the address is taken back.
    RemoveAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
    /// The guest's driver has started: radios announce themselves from here on.
    Connected,
    /// The guest's driver, or the guest, is gone, and its radios with it.
    Closed,
}

/// From the medium to a guest with hwsim radios.
#[derive(Clone, Debug)]
pub enum ToHwsim {
    /// What became of a frame that the guest sent.
    Status {
        /// The radio that sent it.
        radio: MacAddr,
        /// The frame's cookie.
        cookie: u64,
        /// The frame's FLAGS.
        flags: u32,
        /// Whether it was acknowledged.
        acknowledged: bool,
        /// Signal of the acknowledgement.
        signal: Dbm,
        /// Tries at each rate; see [`TxInfo::used`].
        used: TxInfo,
    },
    /// A radio hears a frame of 24 to 2,304 bytes.
    Receive {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// 802.11 frame without check sequence.
        frame: Buffer,
        /// Rate; the guest sees the nearest legacy rate.
        rate: Rate,
        /// Signal.
        signal: Dbm,
        /// Where.
        channel: Channel,
    },
}
