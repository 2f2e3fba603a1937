//! What one access point is told to be.

use airlane_dot11::{Channel, MacAddr};
use airlane_lane::{Instant, Micros};

use crate::crypto::Pmk;

/// Settings of one BSS, fixed for its life.
#[derive(Clone)]
pub struct Config {
    /// Its address, which names the BSS.
    pub bssid: MacAddr,
    /// 1 to 32 bytes; what is beyond is cut off.
    pub ssid: String,
    /// 20 MHz wide.
    pub channel: Channel,
    /// Who may join.
    pub security: Security,
    /// Names the randomness of nonces and group keys. Whoever knows it knows the keys.
    pub seed: u64,
    /// When the first beacon is due; several access points should not beacon at the same time.
    pub first_beacon: Instant,
    /// How often the group key is changed; `None`: never.
    pub group_rekey: Option<Micros>,
}

/// Who may join.
#[derive(Clone)]
pub enum Security {
    /// Everybody, without encryption.
    Open,
    /// Who knows the passphrase, with CCMP (IEEE 802.11-2020 12.7).
    Wpa2Psk(Pmk),
}

impl Config {
    /// An open network with the defaults.
    pub fn new(bssid: MacAddr, ssid: &str, channel: Channel) -> Self {
        Self {
            bssid,
            ssid: ssid.to_owned(),
            channel,
            security: Security::Open,
            seed: 1,
            first_beacon: Instant(0),
            group_rekey: None,
        }
    }

    /// The same with a passphrase.
    pub fn wpa2(self, passphrase: &str) -> Self {
        let pmk = Pmk::from_passphrase(passphrase, &self.ssid);
        Self {
            security: Security::Wpa2Psk(pmk),
            ..self
        }
    }

    /// True when frames are encrypted.
    pub fn is_protected(&self) -> bool {
        matches!(self.security, Security::Wpa2Psk(_))
    }
}
