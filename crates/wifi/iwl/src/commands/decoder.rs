//! What a decoder is: it makes of a payload what the driver asks for, by what the driver has set up before.
//!
//! Not here: the decoders themselves, and which command has which (the table, in the parent).

use airlane_waist::Command;

use super::rxon::Rxon;

/// What a payload turned out to ask for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The radio is to do this.
    Radio(Command),
    /// The same, and the driver then waits for CALIBRATION_COMPLETE.
    Calibration(Command),
    /// Nothing that anybody but the card needs to know.
    Nothing,
}

/// What the driver has set up with earlier commands, as far as later ones are understood by it.
#[derive(Default)]
pub(crate) struct DriverState {
    /// The last RXON, changed by each RXON_ASSOC.
    pub rxon: Option<Rxon>,
    /// First rate word of each station's ladder: what transmit responses echo.
    pub first_rates: [u32; airlane_waist::STATIONS],
    /// Station flags of each station.
    pub station_flags: [u32; airlane_waist::STATIONS],
    /// Beacon interval, in time units.
    pub beacon_interval: u16,
}

/// Decodes a payload of allowed length; `None` when its content makes no sense.
pub(crate) type Decode = fn(&mut DriverState, &[u8]) -> Option<Asked>;
