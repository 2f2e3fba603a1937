//! Which cards there are: one row of facts for each.

use std::fmt;
use std::str::FromStr;

use airlane_dot11::MacAddr;

/// A card of the family. All receive and send in 2.4 and 5 GHz, 20 and 40 MHz wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// WiFi Link 5100 AGN: sends one stream, receives two.
    Wifi5100,
    /// Ultimate N WiFi Link 5300 AGN: three streams.
    #[default]
    Wifi5300,
    /// Centrino Advanced-N 6200 AGN: two streams.
    Wifi6200,
    /// Centrino Advanced-N 6205 AGN: two streams.
    Wifi6205,
    /// Centrino Ultimate-N 6300 AGN: three streams.
    Wifi6300,
}

/// A name that is none of [`Model::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no card of that name")]
pub struct UnknownModel;

/// Model and address of one card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What the driver finds on the bus.
    pub model: Model,
    /// The MAC address in its EEPROM or OTP.
    pub address: MacAddr,
}

/// What holds a card's identity and calibration (CSR_OTP_GP, bit 16; CSR_EEPROM_GP, bits 2:0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The 5000 series.
    Eeprom,
    /// One-time programmable, read through its shadow in RAM: the 6000 series.
    Otp,
}

/// What distinguishes a model (`cfg/5000.c`, `cfg/6000.c`, `pcie/drv.c`).
pub(crate) struct Facts {
    pub name: &'static str,
    pub device_id: u16,
    pub subsystem_id: u16,
    /// CSR_HW_REV: type in bits 15:4, step 3:2, dash 1:0.
    pub hardware_revision: u32,
    pub memory: Memory,
    /// EEPROM word 0x88, the least that the driver accepts.
    pub eeprom_version: u16,
    /// First byte of the calibration section.
    pub calibration_version: u8,
    /// EEPROM word 0x90: radio type, step, dash; antennas.
    pub radio: u16,
    /// Offset of the 2.4 GHz 40 MHz channels in the regulatory section.
    pub wide_2ghz: usize,
    pub microcode_file: &'static str,
    /// The API number within the microcode's version word.
    pub microcode_api: u8,
    /// Bytes of instruction SRAM at device address 0.
    pub instruction_sram: u32,
    /// Bytes of data SRAM at device address 0x800000.
    pub data_sram: u32,
}

const WIFI_5300: Facts = Facts {
    name: "5300",
    device_id: 0x4236,
    subsystem_id: 0x1014,
    hardware_revision: 0x24,
    memory: Memory::Eeprom,
    eeprom_version: 0x11a,
    calibration_version: 4,
    radio: 0x7700,
    wide_2ghz: 0x82,
    microcode_file: "iwlwifi-5000-5.ucode",
    microcode_api: 5,
    instruction_sram: 0x2_0000,
    data_sram: 0xc000,
};

const WIFI_5100: Facts = Facts {
    name: "5100",
    device_id: 0x4232,
    subsystem_id: 0x1201,
    hardware_revision: 0x54,
    radio: 0x3200,
    ..WIFI_5300
};

const WIFI_6300: Facts = Facts {
    name: "6300",
    device_id: 0x422b,
    subsystem_id: 0x1101,
    hardware_revision: 0x74,
    memory: Memory::Otp,
    eeprom_version: 0x423,
    wide_2ghz: 0x80,
    microcode_file: "iwlwifi-6000-4.ucode",
    microcode_api: 4,
    instruction_sram: 0x4_0000,
    data_sram: 0x1_4000,
    ..WIFI_5300
};

const WIFI_6200: Facts = Facts {
    name: "6200",
    device_id: 0x422c,
    subsystem_id: 0x1301,
    radio: 0x6600,
    ..WIFI_6300
};

const WIFI_6205: Facts = Facts {
    name: "6205",
    device_id: 0x0082,
    subsystem_id: 0x1301,
    hardware_revision: 0xb0,
    eeprom_version: 0x709,
    calibration_version: 6,
    radio: 0x3301,
    microcode_file: "iwlwifi-6000g2a-6.ucode",
    microcode_api: 6,
    ..WIFI_6300
};

impl Model {
    /// Every model that can be emulated, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Wifi5100,
        Self::Wifi5300,
        Self::Wifi6200,
        Self::Wifi6205,
        Self::Wifi6300,
    ];

    pub(crate) const fn facts(self) -> &'static Facts {
        match self {
            Self::Wifi5100 => &WIFI_5100,
            Self::Wifi5300 => &WIFI_5300,
            Self::Wifi6200 => &WIFI_6200,
            Self::Wifi6205 => &WIFI_6205,
            Self::Wifi6300 => &WIFI_6300,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, UnknownModel> {
        let mut models = Self::ALL.into_iter();
        let found = models.find(|model| model.facts().name == name);
        found.ok_or(UnknownModel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_its_name() {
        for model in Model::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert_eq!("4965".parse::<Model>(), Err(UnknownModel));
    }

    #[test]
    fn no_two_models_look_alike_to_the_driver() {
        let mut ids = Model::ALL.map(|model| model.facts().device_id).to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Model::ALL.len());
    }
}
