//! Stories in virtual time: the NIC on the real medium, with small access points.

mod aggregation;
mod channels;
mod hostile;
mod neighbours;
mod protection;
mod receive;
mod reports;
mod scale;
mod sleep;
mod transmit;
mod world;
