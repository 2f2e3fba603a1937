//! Receive block-ack agreements, for those who send to the card.
//!
//! Not here: how they come about. The driver negotiates them and tells by [`crate::Nic::request`].

use airlane_air::Aggregation;
use airlane_dot11::frame::Header;

use crate::Nic;

/// What the 5000 series receives: A-MPDUs of 65,535 bytes, MPDUs 4 µs apart (`iwl-eeprom-parse.c`,
/// `iwl_init_ht_hw_capab`).
const RECEIVES: Aggregation = Aggregation {
    spacing_nanos: 4_000,
    ..Aggregation::LARGEST
};

impl Nic {
    /// How frames with this header may share A-MPDUs by the agreement that their receiver's driver
    /// has made; `None`: there is no such agreement, or no such vMAC.
    pub fn receive_agreement(&self, header: &Header) -> Option<Aggregation> {
        let vm = self.addresses.get(&header.receiver)?;
        let vmac = self.vmac(*vm)?;
        let agreed = vmac.receives_aggregates(header.transmitter?, header.tid?);
        agreed.then_some(RECEIVES)
    }
}
