//! The augmented NIC: virtual MACs, receive filter, keys, rates.
