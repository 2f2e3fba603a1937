//! Stories: several VMs, one NIC that is played by hand.

mod desk;
mod feedback;
mod routing;
mod scans;
