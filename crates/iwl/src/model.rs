//! Which cards there are: one row of facts for each.

use airlane_wlan::MacAddr;

/// A card of the family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Intel Ultimate N WiFi Link 5300: three streams, 2.4 and 5 GHz.
    #[default]
    Wifi5300,
}

/// One particular card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Which card.
    pub model: Model,
    /// Its address, as the EEPROM says.
    pub address: MacAddr,
}

/// What distinguishes a model (`cfg/5000.c`, `cfg/6000.c`, `pcie/drv.c`).
pub(crate) struct Facts {
    pub device_id: u16,
    pub subsystem_id: u16,
    /// CSR_HW_REV: type in bits 15:4, step 3:2, dash 1:0.
    pub hardware_revision: u32,
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
    pub instruction_sram: usize,
    /// Bytes of data SRAM at device address 0x800000.
    pub data_sram: usize,
}

const WIFI_5300: Facts = Facts {
    device_id: 0x4236,
    subsystem_id: 0x1014,
    hardware_revision: 0x24,
    eeprom_version: 0x11a,
    calibration_version: 4,
    radio: 0x7700,
    wide_2ghz: 0x82,
    microcode_file: "iwlwifi-5000-5.ucode",
    microcode_api: 5,
    instruction_sram: 0x2_0000,
    data_sram: 0xc000,
};

impl Model {
    pub(crate) const fn facts(self) -> &'static Facts {
        match self {
            Self::Wifi5300 => &WIFI_5300,
        }
    }
}
