//! Stories from end to end in virtual time: a driver with real rings in fake guest memory, the card
//! that it drives, and the daemon's own composition of host driver, NIC, air and hwsim radios.
//!
//! Nothing real-time is here: no threads, no sockets, no guests, no hostapd. A story is named by its
//! seed; the same seed gives the same events. After every story all frames are accounted for.

#[path = "stories/access_point.rs"]
mod access_point;
#[path = "stories/ccmp.rs"]
mod ccmp;
#[path = "stories/cell.rs"]
mod cell;
#[path = "stories/drive.rs"]
mod drive;
#[path = "stories/frames.rs"]
mod frames;
#[path = "stories/guest.rs"]
mod guest;
#[path = "stories/story.rs"]
mod story;
#[path = "stories/vm.rs"]
mod vm;
#[path = "stories/world.rs"]
mod world;

#[path = "stories/addresses.rs"]
mod addresses;
#[path = "stories/aggregates.rs"]
mod aggregates;
#[path = "stories/built_in.rs"]
mod built_in;
#[path = "stories/channels.rs"]
mod channels;
#[path = "stories/interrupts.rs"]
mod interrupts;
#[path = "stories/isolation.rs"]
mod isolation;
#[path = "stories/joining.rs"]
mod joining;
#[path = "stories/lossy.rs"]
mod lossy;
#[path = "stories/moving.rs"]
mod moving;
#[path = "stories/neighbours.rs"]
mod neighbours;
#[path = "stories/resets.rs"]
mod resets;
#[path = "stories/scanning.rs"]
mod scanning;
#[path = "stories/security.rs"]
mod security;
#[path = "stories/sharing.rs"]
mod sharing;
#[path = "stories/sleeping.rs"]
mod sleeping;
#[path = "stories/two_cards.rs"]
mod two_cards;
