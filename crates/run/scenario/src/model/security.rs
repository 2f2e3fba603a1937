//! What networks ask of stations, and how VMs prove who they are.

/// What an access point asks of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Asks for nothing; frames go in clear.
    #[default]
    Open,
    /// A passphrase; CCMP (IEEE 802.11-2020 12.7).
    Wpa2Psk,
    /// A password that is never seen, not even scrambled, and protected management frames
    /// (IEEE 802.11-2020 12.4 and 12.6.19).
    Wpa3Sae,
    /// A certificate or an identity with its password (IEEE 802.1X, EAP); CCMP.
    Wpa2Enterprise,
    /// A passphrase; TKIP, for which the driver must use its own crypto.
    WpaTkip,
}

impl Security {
    /// All of them, in the order in which they are offered.
    pub(crate) const ALL: [Self; 5] = [
        Self::Open,
        Self::Wpa2Psk,
        Self::Wpa3Sae,
        Self::Wpa2Enterprise,
        Self::WpaTkip,
    ];

    /// The word for it in a scenario.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Wpa2Psk => "wpa2-psk",
            Self::Wpa3Sae => "wpa3-sae",
            Self::Wpa2Enterprise => "wpa2-enterprise",
            Self::WpaTkip => "wpa-tkip",
        }
    }

    /// What `wpa_cli status` calls it (wpa_supplicant's `key_mgmt`).
    pub const fn key_mgmt(self) -> &'static str {
        match self {
            Self::Open => "NONE",
            Self::Wpa2Psk => "WPA2-PSK",
            Self::Wpa3Sae => "SAE",
            Self::Wpa2Enterprise => "WPA2/IEEE 802.1X/EAP",
            Self::WpaTkip => "WPA-PSK",
        }
    }

    /// True when management frames must be protected.
    pub const fn protects_management(self) -> bool {
        matches!(self, Self::Wpa3Sae)
    }

    /// True when one passphrase serves all stations.
    pub(crate) const fn has_passphrase(self) -> bool {
        matches!(self, Self::Wpa2Psk | Self::Wpa3Sae | Self::WpaTkip)
    }
}

/// How a VM proves who it is in a `wpa2-enterprise` network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eap {
    /// The name under which it asks.
    pub identity: String,
    /// How it proves it.
    pub method: EapMethod,
}

/// The proof of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EapMethod {
    /// EAP-TLS (RFC 5216): a certificate of its own.
    Tls {
        /// The certificate comes from an authority that the network does not know.
        foreign: bool,
    },
    /// PEAP with MSCHAPv2 inside.
    Peap {
        /// What the VM believes the password to be.
        password: String,
    },
}

impl EapMethod {
    /// The word for it in a scenario.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Tls { .. } => "tls",
            Self::Peap { .. } => "peap",
        }
    }
}
