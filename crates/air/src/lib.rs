//! The medium: propagation, errors, channel access, airtime, capture.
