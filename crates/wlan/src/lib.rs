//! The waist: commands and notifications, and the 802.11 types that they speak of.
