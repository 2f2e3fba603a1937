//! What stands on the other side in stories: a station's supplicant, and an IP host.

mod host;
mod supplicant;

pub use host::Host;
pub use supplicant::{RSN, Supplicant};
