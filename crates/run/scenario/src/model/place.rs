//! Where things stand.

/// A place, in metres east, north and up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position(pub [f64; 3]);
