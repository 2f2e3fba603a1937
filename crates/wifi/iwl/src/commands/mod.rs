//! Host commands: one table of id, payload length, meaning and response, and the decoders that turn
//! payloads into the waist's commands (`dvm/commands.h`).
//!
//! Not here: the ring that they come from, and transmit commands, which have rings of their own.

mod decoder;
mod radio;
mod rxon;
mod scan;
mod station;

use decoder::Decode;

pub(crate) use crate::response::Shape;
pub(crate) use decoder::{Asked, DriverState};
pub(crate) use rxon::Rxon;

/// Id of SCAN, whose refusal is told by a notification as well.
pub(crate) const SCAN: u8 = 0x80;

/// How long a payload may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Exactly(usize),
    AtLeast(usize),
}

impl Length {
    fn allows(self, length: usize) -> bool {
        match self {
            Self::Exactly(exact) => length == exact,
            Self::AtLeast(least) => length >= least,
        }
    }
}

/// A row of the table.
pub(crate) struct HostCommand {
    pub id: u8,
    pub name: &'static str,
    pub length: Length,
    pub decode: Decode,
    pub response: Shape,
    /// What the card makes of the command, for the document.
    pub effect: &'static str,
}

impl HostCommand {
    /// Looks at a payload; `None` when it is malformed.
    pub fn ask(&self, state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
        if !self.length.allows(payload.len()) {
            return None;
        }
        (self.decode)(state, payload)
    }
}

/// The row with this id.
pub(crate) fn find(id: u8) -> Option<&'static HostCommand> {
    let at = TABLE.binary_search_by_key(&id, |command| command.id).ok()?;
    TABLE.get(at)
}

const fn row(
    id: u8,
    name: &'static str,
    length: Length,
    decode: Decode,
    response: Shape,
    effect: &'static str,
) -> HostCommand {
    HostCommand {
        id,
        name,
        length,
        decode,
        response,
        effect,
    }
}

use Length::{AtLeast, Exactly};
use Shape::Generic;

/// Every command of the driver, by id.
static TABLE: &[HostCommand] = &[
    row(0x03, "ECHO", AtLeast(0), nothing, Generic, "acknowledged"),
    row(
        0x10,
        "RXON",
        Exactly(size_of::<rxon::RxonCommand>()),
        radio::configure,
        Generic,
        "Configure; without ASSOC stations are forgotten",
    ),
    row(
        0x11,
        "RXON_ASSOC",
        Exactly(size_of::<rxon::RxonAssocCommand>()),
        radio::reconfigure,
        Generic,
        "merged into the last RXON; Configure, stations kept",
    ),
    row(
        0x13,
        "QOS_PARAM",
        Exactly(size_of::<radio::QosCommand>()),
        radio::edca,
        Generic,
        "Edca",
    ),
    row(
        0x14,
        "RXON_TIMING",
        Exactly(size_of::<radio::TimingCommand>()),
        radio::timing,
        Generic,
        "Timing",
    ),
    row(
        0x18,
        "ADD_STA",
        Exactly(size_of::<station::AddStationCommand>()),
        station::add,
        Shape::Station,
        "mode 0: AddStation; mode 1: SetKey, RemoveKey, BlockAck or ModifyStation",
    ),
    row(
        0x19,
        "REMOVE_STA",
        Exactly(size_of::<station::RemoveStationCommand>()),
        station::remove,
        Shape::Station,
        "RemoveStation",
    ),
    row(
        0x1e,
        "TXFIFO_FLUSH",
        AtLeast(4),
        radio::flush,
        Generic,
        "Flush; what the card has not fetched is completed at once",
    ),
    row(
        0x20,
        "WEPKEY",
        AtLeast(4),
        nothing,
        Generic,
        "acknowledged: the NIC has no WEP",
    ),
    row(0x48, "LEDS", Exactly(8), radio::led, Generic, "Led"),
    row(
        0x4e,
        "TX_LINK_QUALITY",
        Exactly(size_of::<station::LinkQualityCommand>()),
        station::link_quality,
        Generic,
        "RateTable",
    ),
    row(
        0x5a,
        "COEX_PRIORITY_TABLE",
        Exactly(68),
        radio::coexistence,
        Generic,
        "Coexistence",
    ),
    row(
        0x65,
        "CALIBRATION_CFG",
        Exactly(size_of::<radio::CalibrationCommand>()),
        radio::calibration_config,
        Generic,
        "Calibrate; flags bit 0 (INIT image): CALIBRATION_COMPLETE follows",
    ),
    row(
        0x72,
        "CHANNEL_SWITCH",
        AtLeast(size_of::<radio::ChannelSwitchCommand>()),
        radio::channel_switch,
        Generic,
        "SwitchChannel; its notification follows the switch",
    ),
    row(
        0x77,
        "POWER_TABLE",
        Exactly(size_of::<radio::PowerCommand>()),
        radio::power_table,
        Generic,
        "PowerSave",
    ),
    row(
        0x80,
        "SCAN",
        AtLeast(size_of::<scan::ScanCommand>()),
        scan::decode,
        Shape::Scan,
        "Scan; notifications follow",
    ),
    row(
        0x81,
        "SCAN_ABORT",
        AtLeast(0),
        scan::abort,
        Shape::ScanAbort,
        "AbortScan",
    ),
    row(
        0x91,
        "TX_BEACON",
        AtLeast(60),
        nothing,
        Generic,
        "acknowledged: the NIC sends no beacons",
    ),
    row(
        0x95,
        "TX_POWER_DBM",
        Exactly(4),
        radio::tx_power,
        Generic,
        "TxPower",
    ),
    row(
        0x98,
        "TX_ANT_CONFIG",
        Exactly(4),
        radio::tx_antennas,
        Generic,
        "TxAntennas",
    ),
    row(
        0x9b,
        "BT_CONFIG",
        AtLeast(0),
        radio::coexistence,
        Generic,
        "Coexistence",
    ),
    row(
        0x9c,
        "STATISTICS",
        Exactly(4),
        radio::statistics,
        Shape::Statistics,
        "Statistics; bit 0 clears",
    ),
    row(
        0xa0,
        "CARD_STATE",
        Exactly(4),
        nothing,
        Generic,
        "acknowledged",
    ),
    row(
        0xa4,
        "CT_KILL_CONFIG",
        Exactly(12),
        radio::thermal,
        Generic,
        "Thermal",
    ),
    row(
        0xa8,
        "SENSITIVITY",
        AtLeast(24),
        radio::sensitivity,
        Generic,
        "Sensitivity",
    ),
    row(
        0xb0,
        "PHY_CALIBRATION",
        AtLeast(4),
        radio::calibrate,
        Generic,
        "Calibrate",
    ),
    row(
        0xcc,
        "BT_COEX_PRIO_TABLE",
        AtLeast(0),
        radio::coexistence,
        Generic,
        "Coexistence",
    ),
    row(
        0xcd,
        "BT_COEX_PROT_ENV",
        AtLeast(0),
        radio::coexistence,
        Generic,
        "Coexistence",
    ),
];

const _: () = assert!(ascending());

const fn ascending() -> bool {
    let mut rest = TABLE;
    while let [command, after @ ..] = rest {
        if let [next, ..] = after
            && command.id >= next.id
        {
            return false;
        }
        rest = after;
    }
    true
}

fn nothing(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    Some(Asked::Nothing)
}

/// A row of the table in words.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// First byte of the command's header.
    pub id: u8,
    /// The driver's name for it.
    pub name: &'static str,
    /// Bytes of payload, and whether more are allowed.
    pub length: (usize, bool),
    /// What the card makes of the command; names of the waist's commands stand as they are spelled there.
    pub effect: &'static str,
    /// Length and meaning of the response.
    pub response: &'static str,
}

/// The whole table, by id, for documents.
pub fn descriptions() -> impl Iterator<Item = Description> {
    TABLE.iter().map(|command| Description {
        id: command.id,
        name: command.name,
        length: match command.length {
            Exactly(exact) => (exact, false),
            AtLeast(least) => (least, true),
        },
        effect: command.effect,
        response: command.response.words(),
    })
}
